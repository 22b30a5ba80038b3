#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace quern::sim {

/// The places in the consumer's rules, and in what a day may have in store for it, that days have reached.
///
/// Threads  none in common: one for each day, added up afterwards.
class coverage {
public:
    enum class group : std::uint8_t {
        steps,    ///< rows of the table of a message's life: a state, and what happened in it
        faults,   ///< incidents, spells, harm to requests
        pairs,    ///< a fault, and the state of a message that its process held at that moment
        parts,    ///< what simulated handlers do
        verdicts, ///< what that means for the message
        breakers, ///< their changes, of the whole and of a key
        gates,    ///< ways on which the gate sends messages
    };
    static constexpr std::size_t groups = 7;

    struct place {
        group of;
        std::string name; ///< "deleting: delete_done", unlike any other
    };

    /// All that there are, group after group.
    static std::vector<place> const& places();
    static std::size_t count(group);

    coverage() : times_(places().size()) {}

    void reach(std::size_t place) { ++times_[place]; }

    /// Adds what others have reached; how many places that none had reached before.
    std::size_t add(coverage const&);

    std::uint64_t times(std::size_t place) const { return times_[place]; }
    std::size_t reached() const;
    std::size_t reached(group) const;

    /// A line for each group with its figures, and one for each place that nothing has reached.
    std::string to_text() const;

    bool operator==(coverage const&) const = default;

private:
    std::vector<std::uint64_t> times_;
};

} // namespace quern::sim
