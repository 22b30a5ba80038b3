#pragma once

#include <quern/broker/detail/giving_back.hpp>
#include <quern/broker/detail/ids.hpp>
#include <quern/broker/detail/stored_message.hpp>

#include <boost/intrusive/unordered_set.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace quern::broker::detail {

/// Owner of the messages of a queue, by stored_message::number. Insertion, look-up and removal in O(1).
class message_table {
    struct number_of {
        using type = std::uint64_t;
        type operator()(stored_message const& m) const { return m.number; }
    };
    struct spread { // numbers of messages may all be even
        std::size_t operator()(std::uint64_t number) const { return mixed(number); }
    };
    using table = boost::intrusive::unordered_set<stored_message, boost::intrusive::base_hook<table_hook>,
        boost::intrusive::key_of_value<number_of>, boost::intrusive::hash<spread>,
        boost::intrusive::power_2_buckets<true>>;

public:
    message_table() = default;
    ~message_table() { clear(); }
    message_table(message_table const&) = delete;
    message_table& operator=(message_table const&) = delete;

    std::size_t size() const { return table_.size(); }
    bool empty() const { return table_.empty(); }
    std::size_t capacity() const { return buckets_.size(); }

    stored_message* find(std::uint64_t number)
    {
        auto const at = table_.find(number);
        return at == table_.end() ? nullptr : &*at;
    }

    void insert(std::unique_ptr<stored_message> m)
    {
        if (table_.size() == buckets_.size()) resize(buckets_.size() * 2);
        table_.insert(*m.release());
    }

    std::unique_ptr<stored_message> extract(stored_message& m)
    {
        table_.erase(table_.iterator_to(m));
        std::unique_ptr<stored_message> out(&m);
        if (!has_shrunk(table_.size(), buckets_.size())) return out;
        try {
            resize(buckets_.size() / 4);
        } catch (std::bad_alloc const&) {
            // It stays as it is.
        }
        return out;
    }

    /// Gives the memory of the table back too.
    void clear()
    {
        table_.clear_and_dispose(std::default_delete<stored_message>());
        resize(least);
    }

    template <class Use>
    void each(Use use)
    {
        for (auto& m : table_)
            use(m);
    }

private:
    using buckets = std::vector<table::bucket_type>;
    static constexpr std::size_t least = 16;

    void resize(std::size_t number)
    {
        buckets next(number);
        table_.rehash({next.data(), next.size()});
        buckets_.swap(next);
    }

    buckets buckets_ = buckets(least);
    table table_{table::bucket_traits(buckets_.data(), buckets_.size())};
};

} // namespace quern::broker::detail
