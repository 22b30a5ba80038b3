#pragma once

#include <quern/consumer/detail/message/age_book.hpp>
#include <quern/consumer/detail/message/probe_search.hpp>
#include <quern/core/clock.hpp>
#include <quern/policy/breaker.hpp>

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace quern::detail {

struct held;

/// Something that handlers need, as consumer_options::dependency tells it apart. A message refers to its own.
struct dependency : boost::intrusive_ref_counter<dependency> {
    using phase = policy::breaker::phase;

    dependency(std::string what, policy::breaker_options const&, std::uint64_t seed);
    ~dependency();

    /// It is up, and was when somebody looked last.
    bool is_up() const
    {
        return seen == phase::closed && breaker.state() == phase::closed && counted == breaker.start();
    }

    std::string const name;
    policy::breaker breaker;
    phase seen = phase::closed;                   ///< of the breaker, when somebody looked last
    tick down_since{};                            ///< the outage that is not over began
    probe_search search;                          ///< half open: for messages to probe with
    policy::breaker::ticket counted{};            ///< of the handlers counted in working
    std::size_t working = 0;                      ///< handlers
    tick probe_began{};                           ///< half open: the last one
    int hung_probes = 0;                          ///< in a row, were given up
    bool has_messages = false;                    ///< else only an unavailable(key) has named it
    std::deque<boost::intrusive_ptr<held>> kept;  ///< wait here until it is up again, or to probe with
    std::deque<boost::intrusive_ptr<held>> tried; ///< these too, but they have found it down
    std::optional<tick> next_turn;                ///< of those; absent: to be worked out
    age_book ages;                                ///< how long it was down
};
using dependency_ptr = boost::intrusive_ptr<dependency>;

/// The dependencies that are known, by name, and no more than so many. For a new one the one that was not used for
/// longest has to go, if it is up and no message refers to it; where there is none, all further ones count as one.
class dependency_table {
public:
    dependency_table(policy::breaker_options, std::size_t most, std::uint64_t seed);

    /// Dependency of this name, made where it is new.
    dependency_ptr of(std::string_view name);

    /// The same, where a message belongs to it.
    dependency_ptr of_message(std::string_view name);

    /// With so many in flight their slow start is over, whatever the options say.
    void limit_full_speed(std::size_t most);

    /// True when nobody but the caller refers to it, who does once: then it is known no longer.
    bool forget_unused(dependency const&);

    /// Where it is known no longer.
    void keep_ages(dependency const&);

    /// Times in which dependencies were down that had to go. They count for the age of every message: which ones
    /// needed them is not known.
    age_book const& ages_of_gone() const { return ages_of_gone_; }

    /// Dependencies to which messages belong.
    std::size_t serving() const { return serving_; }

    /// In the order of their last use, the latest first.
    template <class Visit>
    void for_each(Visit visit) const
    {
        for (auto const& one : by_use_)
            visit(*one);
        if (rest_) visit(*rest_);
    }

private:
    using line = std::list<dependency_ptr>;
    dependency_ptr make(std::string_view name);
    bool make_room();
    bool knows(dependency const&) const;
    void forget(dependency const&);

    policy::breaker_options options_;
    std::size_t full_speed_; // as the options had it
    std::size_t most_;
    std::uint64_t seed_;
    line by_use_; // the latest first
    std::unordered_map<std::string_view, line::iterator> by_name_;
    dependency_ptr rest_;
    age_book ages_of_gone_;
    std::size_t serving_ = 0;
};

} // namespace quern::detail
