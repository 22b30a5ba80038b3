#include <quern/core/detail/text/date.hpp>
#include <quern/idempotency/detail/gatherer.hpp>
#include <quern/idempotency/dynamodb_store.hpp>

#include <support/fake_dynamodb.hpp>
#include <support/run.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>

using namespace quern;
using namespace quern::idempotency;
using namespace quern::detail;
using namespace std::chrono_literals;
using quern::test::dynamodb_tables;
using quern::test::fake_dynamodb;
using std::string;

namespace asio = boost::asio;

namespace {

wall_time const now = wall_time(1'800'000'000s);

record row_of(string owner)
{
    record out;
    out.owner = std::move(owner);
    out.expires = now + 1h;
    out.in_progress_until = now + 30s;
    return out;
}

claim_request claim_of(string owner, string key)
{
    claim_request out;
    out.key = std::move(key);
    out.row = row_of(std::move(owner));
    out.now = now;
    return out;
}

record done_by(string owner)
{
    auto out = row_of(std::move(owner));
    out.is = record::state::completed;
    return out;
}

std::shared_ptr<services::dynamodb> client_of(asio::io_context& io, string const& url)
{
    services::dynamodb_options options;
    options.where.url = url;
    options.where.region = "us-east-1";
    options.credentials = aws::static_credentials({"AKIDEXAMPLE", "secret", ""});
    return std::make_shared<services::dynamodb>(io.get_executor(), options);
}

/// Writes that come at the same time.
struct company {
    asio::io_context io;
    fake_dynamodb service{io};
    std::shared_ptr<services::dynamodb> client;
    std::optional<dynamodb_store> store;
    std::map<string, result<store_answer>> said;
    std::size_t asked = 0;

    company()
    {
        client = client_of(io, service.url());
        service.tables.add("seen");
        dynamodb_store_options how;
        how.table = "seen";
        store.emplace(client, how);
    }

    void ask(string name, asio::awaitable<result<store_answer>> work)
    {
        ++asked;
        asio::co_spawn(io, std::move(work), [this, name](std::exception_ptr thrown, result<store_answer> answer) {
            if (thrown) std::rethrow_exception(thrown);
            said.insert_or_assign(name, std::move(answer));
            if (said.size() == asked) io.stop();
        });
    }

    void answers()
    {
        io.restart();
        io.run();
    }

    store_answer const& of(string const& name) { return said.at(name).value(); }
    auto sent(string const& operation) const { return std::ranges::count(service.operations, operation); }

    void put(string const& key, string const& owner)
    {
        ask("put " + key, store->claim(claim_of(owner, key)));
        answers();
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_request_has_25_statements_and_no_item_twice)
{
    idempotency::detail::statement_line line;
    line.add({1, "a", {}});
    line.add({2, "b", {}});
    line.add({3, "a", {}});
    line.add({4, "c", {}});
    line.add({5, "a", {}});
    auto const ids = [&] {
        std::vector<std::uint64_t> out;
        for (auto const& one : line.take())
            out.push_back(one.id);
        return out;
    };
    std::vector<std::uint64_t> const first{1, 2, 4}, second{3}, third{5};
    BOOST_TEST(ids() == first);
    BOOST_TEST(ids() == second);
    BOOST_TEST(ids() == third);
    for (std::uint64_t i = 0; i < 30; ++i)
        line.add({i, std::to_string(i), {}});
    BOOST_TEST(ids().size() == 25u);
    BOOST_TEST(line.size() == 5u);
}

BOOST_FIXTURE_TEST_SUITE(writes_in_company, company)

BOOST_AUTO_TEST_CASE(claims_of_one_receive_share_a_request)
{
    put("first", "o");
    service.operations.clear();
    for (int i = 0; i < 10; ++i)
        ask(std::to_string(i), store->claim(claim_of("o", "p#" + std::to_string(i))));
    answers();
    for (int i = 0; i < 10; ++i)
        BOOST_TEST(of(std::to_string(i)).applied);
    BOOST_TEST(sent("BatchExecuteStatement") == 1);
    BOOST_TEST(service.operations.size() == 1u);
    BOOST_TEST(service.tables.all["seen"].items.size() == 11u);
}

BOOST_AUTO_TEST_CASE(each_write_of_a_batch_is_conditional_as_it_is_alone)
{
    for (auto const* key : {"b", "c", "d", "e", "f", "g"})
        put(key, "mine");
    service.operations.clear();
    ask("claim", store->claim(claim_of("mine", "a")));
    ask("complete", store->complete("b", done_by("mine")));
    ask("extend", store->extend("c", row_of("mine")));
    ask("abandon", store->abandon("d", "mine"));
    ask("late complete", store->complete("e", done_by("other")));
    ask("late abandon", store->abandon("f", "other"));
    ask("second claim", store->claim(claim_of("other", "g")));
    ask("gone", store->extend("h", row_of("mine")));
    answers();
    for (auto const* name : {"claim", "complete", "extend", "abandon"})
        BOOST_TEST(of(name).applied, name);
    for (auto const* name : {"late complete", "late abandon", "second claim"}) {
        BOOST_TEST(!of(name).applied, name);
        BOOST_TEST(of(name).found.value().owner == "mine", name);
    }
    BOOST_TEST(!of("gone").applied);
    BOOST_TEST(!of("gone").found.has_value());
    BOOST_TEST(sent("BatchExecuteStatement") == 1);
    BOOST_TEST(sent("PutItem") == 1); // the second claim, which wants to know of whom, and whether that has expired
    auto const row = service.tables.all["seen"].items.at("{\"S\":\"b\"}");
    BOOST_TEST(row.at("status").at("S").as_string() == "COMPLETED");
}

BOOST_AUTO_TEST_CASE(writes_of_one_key_never_share_a_request)
{
    ask("one", store->claim(claim_of("one", "k")));
    ask("two", store->claim(claim_of("two", "k")));
    ask("other", store->claim(claim_of("one", "l")));
    answers();
    BOOST_TEST(of("one").applied != of("two").applied);
    BOOST_TEST(of("other").applied);
}

BOOST_AUTO_TEST_CASE(a_write_without_company_is_sent_by_itself)
{
    put("a", "o");
    service.operations.clear();
    put("b", "o");
    BOOST_TEST(sent("PutItem") == 1);
    BOOST_TEST(service.operations.size() == 1u);
}

// By a clock that is ahead, the claim of another seemed to be over, and both worked on the key.
BOOST_AUTO_TEST_CASE(the_first_claim_of_a_program_goes_by_the_clock_of_the_service)
{
    put("k", "other"); // until `now` and 30 s
    auto late = claim_of("mine", "k");
    late.now += 10min; // by our clock
    service.date = text::http_date(real_clock().wall() - 10min);
    dynamodb_store_options how;
    how.table = "seen";
    dynamodb_store fresh(client_of(io, service.url()), how);
    service.operations.clear();
    ask("claim", fresh.claim(std::move(late)));
    answers();
    BOOST_TEST(!of("claim").applied);
    BOOST_TEST(of("claim").found.value().owner == "other");
    BOOST_TEST(sent("GetItem") == 2);
    ask("next", fresh.claim(claim_of("mine", "l")));
    answers();
    BOOST_TEST(sent("GetItem") == 2);
}

BOOST_AUTO_TEST_CASE(a_service_that_refuses_to_be_read_has_told_the_time_all_the_same)
{
    service.instead = [](string const& operation) -> std::optional<dynamodb_tables::reply> {
        if (operation == "GetItem") return dynamodb_tables::error("AccessDeniedException", "no");
        return {};
    };
    put("k", "mine");
    BOOST_TEST(of("put k").applied);
}

// Whoever asked from another context waited for ever.
BOOST_AUTO_TEST_CASE(a_context_that_ends_leaves_nobody_waiting)
{
    for (int const turns : {0, 1, 5}) { // of the context that ends
        auto its = std::make_unique<asio::io_context>();
        auto const there = client_of(*its, "http://127.0.0.1:1");
        auto const gathers = std::make_shared<idempotency::detail::gatherer>(there, real_clock(), 0ms);
        std::vector<result<idempotency::detail::gatherer::reply>> ends;
        asio::io_context elsewhere;
        for (auto const* key : {"a", "b"})
            asio::co_spawn(elsewhere, gathers->carry(key, services::statement()),
                [&](std::exception_ptr, auto end) { ends.push_back(std::move(end)); });
        elsewhere.poll();
        for (int i = 0; i < turns; ++i)
            its->poll_one();
        its.reset();
        elsewhere.restart();
        elsewhere.run();
        BOOST_REQUIRE(ends.size() == 2u);
        for (auto const& each : ends)
            BOOST_TEST(each.error().code == errc::stopped);
    }
}

BOOST_AUTO_TEST_CASE(a_service_that_knows_no_batches_is_asked_one_by_one)
{
    service.instead = [](string const& operation) -> std::optional<dynamodb_tables::reply> {
        if (operation == "BatchExecuteStatement") return dynamodb_tables::error("AccessDeniedException", "no");
        return {};
    };
    for (auto const* key : {"a", "b", "c"})
        ask(key, store->claim(claim_of("o", key)));
    answers();
    for (auto const* key : {"a", "b", "c"})
        BOOST_TEST(of(key).applied);
    BOOST_TEST(sent("PutItem") == 3);
}

BOOST_AUTO_TEST_CASE(a_batch_whose_answer_was_lost_meets_itself)
{
    put("first", "mine");
    int lost = 1;
    service.loses_answer = [&](string const&) { return lost-- > 0; };
    for (auto const* key : {"a", "b"})
        ask(key, store->claim(claim_of("mine", key)));
    answers();
    for (auto const* key : {"a", "b"}) {
        BOOST_TEST(!of(key).applied);
        BOOST_TEST(is_mine(&*of(key).found, "mine"));
    }
}

BOOST_AUTO_TEST_SUITE_END()
