#include <quern/idempotency/detail/row.hpp>
#include <quern/idempotency/dynamodb_store.hpp>
#include <quern/idempotency/memory_store.hpp>

#include <support/fake_dynamodb.hpp>
#include <support/run.hpp>

#include <boost/test/unit_test.hpp>

#include <functional>

using namespace quern;
using namespace quern::idempotency;
using namespace std::chrono_literals;
using quern::test::fake_dynamodb;
using quern::test::run;
using state = record::state;

namespace asio = boost::asio;

namespace {

wall_time const now = wall_time(1'800'000'000s) + 500ms;

claim_request claim_of(std::string owner, std::string key = "p#k", wall_time at = now)
{
    claim_request out;
    out.key = std::move(key);
    out.row.owner = std::move(owner);
    out.row.expires = wall_time(std::chrono::floor<std::chrono::seconds>(at) + 1h);
    out.row.in_progress_until = at + 30s;
    out.now = at;
    return out;
}

record done_by(std::string owner)
{
    record out;
    out.is = state::completed;
    out.owner = std::move(owner);
    out.expires = wall_time(1'800'003'600s);
    out.result = "{\"n\":1}";
    return out;
}

/// The same store in memory and in a table, which have to agree.
struct stores {
    asio::io_context io;
    fake_dynamodb service{io};
    std::shared_ptr<services::dynamodb> client;
    memory_store memory;

    stores()
    {
        client =
            std::make_shared<services::dynamodb>(io.get_executor(), service.options<services::dynamodb_options>());
        service.tables.add("seen");
    }

    dynamodb_store table(flavour as = flavour::quern)
    {
        dynamodb_store_options options;
        options.table = "seen";
        options.as = as;
        return dynamodb_store(client, options);
    }

    template <class T>
    T done(asio::awaitable<result<T>> work)
    {
        return run(io, std::move(work)).value();
    }

    void for_both(std::function<void(idempotency::store&)> const& check)
    {
        BOOST_TEST_CONTEXT("in memory")
        {
            check(memory);
        }
        for (auto const as : {flavour::quern, flavour::python, flavour::typescript, flavour::java}) {
            service.tables.all["seen"].items.clear();
            auto of = table(as);
            BOOST_TEST_CONTEXT("in a table, " << name_of(as))
            {
                check(of);
            }
        }
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(the_stores, stores)

BOOST_AUTO_TEST_CASE(let_one_of_two_claims_through_and_show_it_to_the_other)
{
    for_both([this](idempotency::store& s) {
        BOOST_TEST(done(s.claim(claim_of("one"))).applied);
        auto const second = done(s.claim(claim_of("two")));
        BOOST_TEST(!second.applied);
        BOOST_TEST(second.found.value().owner == "one");
        BOOST_TEST(second.found->is == state::in_progress);
        BOOST_TEST(second.found->in_progress_until == now + 30s);
        BOOST_TEST(done(s.claim(claim_of("three", "p#other"))).applied);
    });
}

BOOST_AUTO_TEST_CASE(keep_a_completed_key_with_its_result_until_it_expires)
{
    for_both([this](idempotency::store& s) {
        done(s.claim(claim_of("one")));
        BOOST_TEST(done(s.complete("p#k", done_by("one"))).applied);
        auto const met = done(s.claim(claim_of("two")));
        BOOST_TEST(!met.applied);
        BOOST_TEST(met.found.value().is == state::completed);
        BOOST_TEST(met.found->result.value() == "{\"n\":1}");
        BOOST_TEST(!done(s.claim(claim_of("two", "p#k", wall_time(1'800'003'600s)))).applied);
        BOOST_TEST(done(s.claim(claim_of("two", "p#k", wall_time(1'800'003'601s)))).applied);
    });
}

BOOST_AUTO_TEST_CASE(let_a_claim_be_taken_over_a_millisecond_after_its_end)
{
    for_both([this](idempotency::store& s) {
        done(s.claim(claim_of("one")));
        BOOST_TEST(!done(s.claim(claim_of("two", "p#k", now + 30s))).applied);
        BOOST_TEST(done(s.claim(claim_of("two", "p#k", now + 30s + 1ms))).applied);
    });
}

// Powertools completes and deletes without a condition: a late finisher overwrites the row of whoever came after.
BOOST_AUTO_TEST_CASE(refuse_every_write_of_a_late_finisher)
{
    for_both([this](idempotency::store& s) {
        done(s.claim(claim_of("one")));
        done(s.claim(claim_of("two", "p#k", now + 31s)));
        auto const check = [](store_answer const& said) {
            BOOST_TEST(!said.applied);
            BOOST_TEST(said.found.value().owner == "two");
        };
        check(done(s.extend("p#k", claim_of("one").row)));
        check(done(s.complete("p#k", done_by("one"))));
        check(done(s.abandon("p#k", "one")));
        BOOST_TEST(done(s.complete("p#k", done_by("two"))).applied);
        BOOST_TEST(!done(s.extend("p#k", claim_of("two").row)).applied); // nor is a completed row in progress again
        BOOST_TEST(!done(s.abandon("p#k", "two")).applied);
    });
}

BOOST_AUTO_TEST_CASE(extend_and_give_free_what_is_claimed)
{
    for_both([this](idempotency::store& s) {
        done(s.claim(claim_of("one")));
        auto longer = claim_of("one").row;
        longer.in_progress_until = now + 60s;
        BOOST_TEST(done(s.extend("p#k", longer)).applied);
        BOOST_TEST(!done(s.claim(claim_of("two", "p#k", now + 59s))).applied);
        BOOST_TEST(done(s.abandon("p#k", "one")).applied);
        auto const again = done(s.abandon("p#k", "one"));
        BOOST_TEST(!again.applied);
        BOOST_TEST(!again.found.has_value());
        BOOST_TEST(done(s.claim(claim_of("two"))).applied);
    });
}

// The condition that DynamoDB evaluates, and the rule that judges what it returns, must be of one mind.
BOOST_AUTO_TEST_CASE(the_condition_of_a_claim_is_the_rule_that_judges_it)
{
    auto of = table();
    int number = 0;
    for (auto const is : {state::in_progress, state::completed}) {
        for (std::chrono::seconds const expires :
            {std::chrono::seconds(-1h), -1s, 0s, 1s, std::chrono::seconds(1h)}) {
            for (auto const until : {std::optional<std::chrono::milliseconds>(), {-1h}, {-1ms}, {0ms}, {1ms}, {1h}}) {
                record row;
                row.is = is;
                row.owner = "other";
                row.expires = wall_time(std::chrono::floor<std::chrono::seconds>(now)) + expires;
                if (until) row.in_progress_until = now + *until;
                auto const key = "p#" + std::to_string(number++);
                services::item item{{"id", services::attribute::text(key)}};
                item.merge(idempotency::detail::to_item(row, row_names(), flavour::quern));
                done(client->put_item({"seen", item}));
                BOOST_TEST(done(of.claim(claim_of("mine", key))).applied == is_free(&row, now), "line " << number);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_row_that_powertools_has_written_is_understood)
{
    using services::attribute;
    auto of = table(flavour::python);
    services::item const theirs{{"id", attribute::text("p#k")}, {"status", attribute::text("INPROGRESS")},
        {"expiration", {"N", "1800003600"}}, {"in_progress_expiration", {"N", "1800000030000"}}};
    done(client->put_item({"seen", theirs}));
    auto const met = done(of.claim(claim_of("ours")));
    BOOST_TEST(judge_claim(&*met.found, {"ours", ""}, now).is == claim_kind::in_progress);
    auto finished = theirs;
    finished["status"] = attribute::text("COMPLETED");
    finished["data"] = attribute::text("null");
    done(client->put_item({"seen", finished}));
    auto const again = done(of.claim(claim_of("ours")));
    BOOST_TEST(judge_claim(&*again.found, {"ours", ""}, now).is == claim_kind::completed);
}

BOOST_AUTO_TEST_CASE(a_table_may_have_a_sort_key_and_names_of_its_own)
{
    service.tables.add("shared", "pk", "sk");
    dynamodb_store_options options;
    options.table = "shared";
    options.names.key = "pk";
    options.names.sort_key = "sk";
    options.names.status = "st";
    options.partition = "idempotency#orders";
    dynamodb_store of(client, options);
    BOOST_TEST(done(of.claim(claim_of("one"))).applied);
    BOOST_TEST(!done(of.claim(claim_of("two"))).applied);
    BOOST_TEST(done(of.complete("p#k", done_by("one"))).applied);
    auto const& row = service.tables.all["shared"].items.begin()->second;
    BOOST_TEST(row.at("pk").at("S").as_string() == "idempotency#orders");
    BOOST_TEST(row.at("sk").at("S").as_string() == "p#k");
    BOOST_TEST(row.at("st").at("S").as_string() == "COMPLETED");
}

BOOST_AUTO_TEST_CASE(a_row_can_be_looked_at_and_forgotten_by_hand)
{
    auto of = table();
    BOOST_TEST(!done(of.get("p#k")).has_value());
    BOOST_TEST(!done(of.forget("p#k")));
    done(of.claim(claim_of("one")));
    BOOST_TEST(done(of.get("p#k")).value().owner == "one");
    BOOST_TEST(done(of.forget("p#k")));
    BOOST_TEST(service.tables.all["seen"].items.empty());
}

BOOST_AUTO_TEST_CASE(the_memory_drops_what_has_expired_as_others_come)
{
    for (int i = 0; i < 1'024; ++i)
        done(memory.claim(claim_of("o", "p#" + std::to_string(i))));
    BOOST_TEST(memory.size() == 1'024u);
    done(memory.claim(claim_of("o", "p#last", now + 31s)));
    BOOST_TEST(memory.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
