#include "search.hpp"
#include "world.hpp"

#include <boost/unordered/unordered_flat_set.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>

namespace quern::test {

namespace {

/// A state, as the way to it.
struct node {
    std::uint32_t from = 0;
    event by;
};

class frontier {
public:
    frontier() : nodes_(1) {}

    path way_to(std::uint32_t at) const
    {
        path out;
        for (; at != 0; at = nodes_[at].from)
            out.push_back(nodes_[at].by);
        std::ranges::reverse(out);
        return out;
    }

    /// False when it was there before.
    bool is_new(world const& w) { return known_.insert(std::hash<std::string>()(w.fingerprint())).second; }

    std::uint32_t add(std::uint32_t from, event const& by)
    {
        nodes_.push_back({from, by});
        return static_cast<std::uint32_t>(nodes_.size() - 1);
    }

    std::size_t size() const { return nodes_.size(); }

private:
    std::vector<node> nodes_;
    boost::unordered_flat_set<std::size_t> known_;
};

struct open_state {
    std::uint32_t at;
    std::vector<event> possible;
};

} // namespace

search_result search(scene const& s, limits_of_search most)
{
    auto const began = std::chrono::steady_clock::now();
    auto const passed = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    };
    search_result out;
    frontier states;
    std::vector<open_state> level;
    {
        world const w(s);
        states.is_new(w);
        level.push_back({0, w.possible()});
    }
    auto const done = [&] {
        out.states = states.size();
        out.seconds = passed();
        return out;
    };
    while (!level.empty() && out.depth < most.depth) {
        std::vector<open_state> next;
        for (auto const& one : level) {
            auto way = states.way_to(one.at);
            for (auto const& e : one.possible) {
                if (++out.steps % 64 == 0 && passed() > most.seconds) return done();
                world w(s);
                for (auto const& before : way)
                    w.apply(before);
                w.apply(e);
                way.push_back(e);
                if (!w.broken().empty()) {
                    out.found = finding{way, w.broken()};
                    return done();
                }
                if (states.is_new(w)) {
                    next.push_back({states.add(one.at, e), w.possible()});
                    w.go_on_well();
                    if (!w.broken().empty()) {
                        out.found = finding{way, w.broken(), true};
                        return done();
                    }
                }
                way.pop_back();
            }
        }
        level = std::move(next);
        ++out.depth;
    }
    out.closed = level.empty();
    return done();
}

namespace {

void go(world& w, path const& how, bool and_go_on_well)
{
    for (auto const& e : how) {
        auto const may_be = w.possible();
        if (std::ranges::find(may_be, e) == may_be.end()) break;
        w.apply(e);
    }
    if (and_go_on_well) w.go_on_well();
}

} // namespace

std::vector<std::string> replay(scene const& s, path const& how, bool and_go_on_well)
{
    world w(s);
    go(w, how, and_go_on_well);
    return w.broken();
}

std::vector<std::string> story_of(scene const& s, finding const& f)
{
    std::vector<std::string> out;
    world w(s, &out);
    go(w, f.how, f.at_last);
    return out;
}

} // namespace quern::test
