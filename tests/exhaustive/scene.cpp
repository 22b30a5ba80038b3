#include "scene.hpp"

#include <array>

namespace quern::test {

std::string_view name_of(event::kind k)
{
    static constexpr std::array<std::string_view, event::kinds> names{"receives", "receives_again", "receive_lost",
        "poll_ends", "carried_out", "answered", "request_lost", "answer_lost", "entry_fails", "refused", "succeeds",
        "fails", "rejects", "obeys", "asks_delete", "asks_lease", "drains", "hurries", "pauses", "resumes", "sleeps",
        "waits", "waits_half"};
    return names.at(k);
}

std::string to_code(path const& all)
{
    std::string out;
    for (auto const& e : all) {
        out += out.empty() ? "{event::" : ", {event::";
        out += name_of(e.what);
        for (auto const n : {e.process, e.which, e.entry})
            out += ", " + std::to_string(n);
        out += '}';
    }
    return out;
}

} // namespace quern::test
