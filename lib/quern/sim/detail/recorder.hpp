#pragma once

#include <quern/consumer/detail/message/message_life.hpp>
#include <quern/consumer/gate.hpp>
#include <quern/consumer/options.hpp>
#include <quern/sim/coverage.hpp>
#include <quern/sim/detail/places.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <optional>

namespace quern::sim::detail {

/// Notes what the messages of one consumer go through, and in which states a fault finds them. Without a coverage to
/// note it in, it does nothing.
class recorder final : quern::detail::message_life::listener {
public:
    using life = quern::detail::message_life;

    /// `into`: null, or outlives it. `in_flight`: what the consumer holds.
    recorder(coverage* into, std::function<std::size_t()> in_flight);

    /// The time in which steps on this thread are of this consumer.
    class hearing {
    public:
        explicit hearing(recorder& by) : on_(by.into_ != nullptr)
        {
            if (on_) before_ = life::listen(&by);
        }
        ~hearing()
        {
            if (on_) life::listen(before_);
        }
        hearing(hearing const&) = delete;

    private:
        bool const on_;
        life::listener* before_ = nullptr;
    };

    void strike(fault);
    void strike(spell const&); ///< it begins

    /// A request that left, and what befalls it on its way.
    void harm(std::string_view operation, broker::transport_fault);
    /// An entry of a batch was refused; `for_good`: its receipt handle is no longer valid.
    void refuse(std::string_view operation, bool for_good);

    template <class... What>
    void reach(What const&... what)
    {
        if (!into_) return;
        if (auto const at = place_of(what...)) into_->reach(*at);
    }

    /// Has the consumer's breakers be seen at work, where it has some of its own.
    void watch_gate(consumer_options&, tick now);

private:
    class seen_gate;
    void stepped(life::row const&) override;

    coverage* const into_;
    std::function<std::size_t()> const in_flight_;
    std::array<int, life::states> here_{}; // messages by state, but those that wait and nothing has befallen
};

} // namespace quern::sim::detail
