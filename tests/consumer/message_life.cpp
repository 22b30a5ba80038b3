#include <quern/consumer/detail/message/message_life.hpp>
#include <quern/consumer/detail/stage_context.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

using quern::detail::message_life;
using state = message_life::state;
using event = message_life::event;

namespace {

/// A life that has come to that state the shortest way, or nothing where there is none.
std::map<state, message_life> every_state()
{
    std::map<state, message_life> out{{state::waiting, message_life()}};
    for (bool grows = true; grows;) {
        grows = false;
        for (auto const& r : message_life::table()) {
            if (!out.contains(r.at) || out.contains(r.next)) continue;
            auto next = out.at(r.at);
            if (r.what == event::postpone_later) next.extension_sent();
            next.on(r.what == event::postpone_later ? event::postpone : r.what);
            out.emplace(r.next, next);
            grows = true;
        }
    }
    return out;
}

/// The rows of the table in docs/design/consumer.md, as "state | event | next | actions".
std::vector<std::string> documented()
{
    std::ifstream page("docs/design/consumer.md");
    std::vector<std::string> out;
    bool inside = false;
    for (std::string line; std::getline(page, line);) {
        if (line == "| state | event | next | to do |")
            inside = true;
        else if (inside && !line.starts_with('|'))
            break;
        else if (inside && !line.starts_with("|--"))
            out.push_back(line);
    }
    return out;
}

/// "count_acked, leave_group, …", or nothing.
std::string describe_actions(message_life::actions todo)
{
    static constexpr std::array<std::string_view, 16> names{"note_lost", "give_back_tail", "leave_group", "forget",
        "cancel", "tell_done", "tell_too_late", "send_delete", "send_postpone", "drop_lease", "refuse_lease",
        "release", "count_acked", "count_rejected", "try_later", "count_given_back"};
    std::string out;
    for (std::size_t i = 0; i < names.size(); ++i)
        if (todo & (1u << i)) out.append(out.empty() ? "" : ", ").append(names[i]);
    return out;
}

std::string row_of(message_life::row const& r)
{
    return "| " + std::string(name_of(r.at)) + " | " + std::string(name_of(r.what)) + " | " +
        (r.next == r.at ? std::string("stays") : std::string(name_of(r.next))) + " | " + describe_actions(r.todo) +
        " |";
}

} // namespace

BOOST_AUTO_TEST_SUITE(message_life_rule)

BOOST_AUTO_TEST_CASE(every_state_can_be_reached)
{
    BOOST_TEST(every_state().size() == message_life::states);
}

BOOST_AUTO_TEST_CASE(each_row_of_the_table_is_what_happens)
{
    auto const lives = every_state();
    for (auto const& r : message_life::table()) {
        if (r.what == event::postpone_later) continue; // postpone while an extension is on the wire
        BOOST_TEST_CONTEXT(row_of(r))
        {
            auto life = lives.at(r.at);
            if (life.is_extending() && r.what == event::postpone) continue;
            BOOST_TEST(life.on(r.what) == r.todo);
            BOOST_TEST(life.at() == r.next);
        }
    }
}

// Of whatever a message goes through, its handler runs once at a time and it leaves the ledger once.
BOOST_AUTO_TEST_CASE(it_leaves_the_ledger_once_and_nothing_follows)
{
    for (auto const& r : message_life::table()) {
        BOOST_TEST_CONTEXT(row_of(r))
        {
            auto const leaves = r.at != state::gone && r.next == state::gone;
            BOOST_TEST(leaves == ((r.todo & message_life::forget) != 0));
            if (r.at == state::gone) BOOST_TEST((r.todo & ~message_life::tell_too_late) == 0);
        }
    }
}

// The observer is told how a life ended by what there is to do: no row may say what is not so.
BOOST_AUTO_TEST_CASE(each_way_out_of_the_ledger_has_its_name)
{
    using quern::message_end;
    using quern::detail::end_of;
    std::map<std::pair<state, event>, message_end> const named{
        {{state::deleted_early, event::end}, message_end::deleted},
        {{state::deleting, event::delete_done}, message_end::deleted},
        {{state::deleting_copy, event::delete_done}, message_end::deleted},
        {{state::giving_back, event::delete_done}, message_end::deleted},
        {{state::giving_back_later, event::delete_done}, message_end::deleted},
        {{state::kept_back, event::delete_done}, message_end::deleted},
        {{state::discarding, event::delete_done}, message_end::rejected},
        {{state::giving_back, event::postpone_done}, message_end::put_off},
        {{state::giving_back, event::received_again}, message_end::came_again},
        {{state::giving_back_later, event::received_again}, message_end::came_again},
    };
    for (auto const& r : message_life::table()) {
        if (r.at == state::gone || r.next != state::gone) continue;
        auto const at = named.find({r.at, r.what});
        auto const wanted = at == named.end() ? message_end::lost : at->second;
        auto const was_lost = (r.todo & message_life::note_lost) != 0 || r.at == state::running_lost;
        BOOST_TEST_CONTEXT(row_of(r))
        BOOST_TEST(end_of(r.todo, was_lost, std::chrono::seconds(7)) == wanted);
    }
    BOOST_TEST(end_of(message_life::count_given_back, true, {}) == message_end::released);
}

// Who waits for an answer gets one, whatever way the message goes.
BOOST_AUTO_TEST_CASE(whoever_asked_is_told_when_the_message_leaves)
{
    for (auto const& r : message_life::table()) {
        if (r.at == state::gone || r.next != state::gone) continue;
        BOOST_TEST_CONTEXT(row_of(r))
        BOOST_TEST((r.todo & (message_life::tell_done | message_life::tell_too_late)) != 0);
    }
}

BOOST_AUTO_TEST_CASE(a_lost_lease_fences_the_handler_off)
{
    message_life life;
    life.on(event::begin);
    auto const todo = life.on(event::lease_lost);
    BOOST_TEST((todo & message_life::cancel) != 0);
    BOOST_TEST(life.note_loss());
    BOOST_TEST(!life.note_loss());
    BOOST_TEST(!life.answers_asks());
    BOOST_TEST((life.on(event::end) & message_life::forget) != 0);
    BOOST_TEST(life.is(state::gone));
}

BOOST_AUTO_TEST_CASE(what_came_back_after_its_lease_was_lost_is_given_back_whatever_the_handler_says)
{
    message_life life;
    for (auto const e : {event::begin, event::lease_lost, event::received_again})
        life.on(e);
    BOOST_TEST((life.on(event::end) & message_life::release) != 0);
    BOOST_TEST(life.is(state::ended));
}

BOOST_AUTO_TEST_CASE(a_postponement_waits_for_the_answer_to_an_extension)
{
    message_life life;
    life.extension_sent();
    life.on(event::postpone);
    BOOST_TEST(life.is(state::giving_back_later));
    BOOST_TEST(!life.wants_extension());
    BOOST_TEST((life.on(event::extension_answered) & message_life::send_postpone) != 0);
    BOOST_TEST(life.is(state::giving_back));
}

BOOST_AUTO_TEST_CASE(an_early_delete_counts_once_and_its_copy_goes_the_same_way)
{
    message_life life;
    life.on(event::begin);
    BOOST_TEST(life.on(event::delete_asked) == message_life::send_delete);
    BOOST_TEST((life.on(event::delete_done) & message_life::count_acked) != 0);
    BOOST_TEST(life.on(event::received_again) == message_life::send_delete);
    BOOST_TEST((life.on(event::delete_done) & message_life::count_acked) == 0);
    BOOST_TEST((life.on(event::end) & message_life::forget) != 0);
}

// docs/design/consumer.md shows the table; `QUERN_PRINT_TABLE=1 test_consumer_rules -t message_life_rule` prints it
// anew.
BOOST_AUTO_TEST_CASE(the_table_in_the_docs_is_this_one)
{
    std::vector<std::string> rows;
    for (auto const& r : message_life::table())
        rows.push_back(row_of(r));
    if (std::getenv("QUERN_PRINT_TABLE"))
        for (auto const& r : rows)
            BOOST_TEST_MESSAGE(r);
    auto const shown = documented();
    BOOST_TEST(shown == rows, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(whoever_listens_on_this_thread_hears_each_step_and_changes_none)
{
    struct : message_life::listener {
        std::vector<std::string> rows;
        void stepped(message_life::row const& r) override { rows.push_back(row_of(r)); }
    } first, second;
    auto const lives = every_state();
    BOOST_TEST(message_life::listen(&first) == nullptr);
    std::vector<std::string> taken;
    for (auto const& r : message_life::table()) {
        auto life = lives.at(r.at);
        if (r.what == event::postpone_later) life.extension_sent();
        if (life.is_extending() && r.what == event::postpone) continue;
        BOOST_TEST(life.on(r.what == event::postpone_later ? event::postpone : r.what) == r.todo);
        BOOST_TEST(life.at() == r.next);
        taken.push_back(row_of(r));
    }
    BOOST_TEST(first.rows == taken, boost::test_tools::per_element());
    BOOST_TEST(message_life::listen(&second) == &first);
    message_life().on(event::begin);
    BOOST_TEST(message_life::listen(nullptr) == &second);
    message_life().on(event::begin);
    BOOST_TEST(second.rows.size() == 1u);
    BOOST_TEST(first.rows.size() == taken.size());
}

BOOST_AUTO_TEST_SUITE_END()
