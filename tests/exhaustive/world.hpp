#pragma once

#include "process.hpp"

#include <memory>
#include <string>
#include <vector>

namespace quern::test {

/// Processes and their queue, moved by one event at a time. Nothing else moves them: no thread, no timer, no chance.
class world {
public:
    explicit world(scene const&, std::vector<std::string>* story = nullptr);
    ~world();

    /// Carries out the event and all that follows from it at once.
    void apply(event const&);

    std::vector<event> possible() const;

    /// Promises that were broken up to now.
    std::vector<std::string> const& broken() const { return surroundings_.broken; }

    /// The same for two worlds that differ in names only.
    std::string fingerprint() const;

    /// Lets everything go well from now on: says what does not come to an end.
    void go_on_well();

    bool is_done() const;
    bool is_idle() const;

    /// The world that is at work; one at a time. For what stands between the rules and their callers.
    static world* now();
    void note_loss(detail::message_life const*, bool notes_lost, bool in_time);
    bool any_drains() const;
    void tell(std::string const& what) { surroundings_.tell(-1, what); }
    void breaks(std::string promise) { surroundings_.breaks(std::move(promise)); }

private:
    void settle();
    void pass(std::optional<tick> end, bool to_the_end);
    void lie_still(process&);
    std::optional<tick> next() const;
    std::string described(std::vector<int> const& messages, std::vector<int> const& processes) const;

    surroundings surroundings_;
    std::vector<std::unique_ptr<process>> all_;
};

} // namespace quern::test
