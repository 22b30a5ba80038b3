#pragma once

#include <quern/core/clock.hpp>

#include <chrono>
#include <cstddef>
#include <vector>

namespace quern::detail {

/// Whether messages wait in the queue although answers are not full: SQS may return fewer than it has.
///
/// A try is a few receives more that begin at one moment. Where the answers before had brought all that had arrived,
/// the first of these brings what there is, and the others next to nothing, or wait for it; where there is a backlog
/// each brings as much as any.
class backlog {
public:
    enum class change {
        none,
        more,      ///< a try begins: more receives shall begin now
        confirmed, ///< there is a backlog, and twice as many receives would bring twice as much
        refuted,   ///< there is none
    };

    /// After each answer that brought something, `got` of `asked`. `unknown`: it matters, and the answer
    /// does not say.
    change answered(int asked, int got, bool unknown, tick started, tick now);

    /// A receive begins. `alone`: no other is open.
    void begins(bool alone, tick now);

    /// A receive failed: what was tried proves nothing.
    void failed();

    /// An answer was empty.
    void empty();

    bool is_there() const { return state_ == state::there; }
    bool is_tried() const { return state_ == state::tried; }

    /// The quickest answer that brought something in the last half minute, or in the one before.
    tick::duration quickest() const { return quickest_; }

private:
    enum class state { unknown, tried, there };

    double came(int asked, int got, tick::duration took, tick now);
    change judge(tick now);
    bool has_shrunk(double part);

    state state_ = state::unknown;
    tick::duration quickest_ = tick::duration::max(); // answer of the last half minute
    tick::duration quickest_since_ = tick::duration::max();
    tick since_{};
    double mean_ = 0;             // part of what was asked for that came without a wait, of late
    double expected_ = 0;         // the same before the try
    std::vector<double> brought_; // by the receives of the try
    std::size_t begun_ = 0;       // these
    bool follows_ = false;        // the first of them, the answer before, while no other was open
    double level_ = 0, top_ = 0;  // of it while there is a backlog, and its highest
    tick tried_at_{};
    std::chrono::milliseconds pause_{50}; // between tries
};

} // namespace quern::detail
