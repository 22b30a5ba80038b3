#pragma once

#include "scene.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace quern::test {

/// Shortest way to a promise that is broken.
struct finding {
    path how;
    std::vector<std::string> broken;
    bool at_last = false; ///< only when all went well from there on
};

struct limits_of_search {
    std::size_t depth = 1000;
    double seconds = 60;
};

struct search_result {
    std::size_t states = 0, steps = 0, depth = 0; ///< distinct states; events tried; complete to this depth
    bool closed = false;                          ///< nothing new can come
    double seconds = 0;
    std::optional<finding> found;
};

/// Goes through all orders of all events, breadth first, until a promise is broken or nothing new comes. From each
/// new state it also lets all go well, which has to come to an end.
search_result search(scene const&, limits_of_search);

/// Promises broken on this path, as far as its events are possible.
std::vector<std::string> replay(scene const&, path const&, bool and_go_on_well = false);

/// Lines that tell what happens on it.
std::vector<std::string> story_of(scene const&, finding const&);

} // namespace quern::test
