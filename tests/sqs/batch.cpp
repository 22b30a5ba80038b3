#include <quern/sqs/batch.hpp>
#include <quern/sqs/detail/failures.hpp>
#include <quern/sqs/detail/split_and_join.hpp>
#include <quern/sqs/limits.hpp>

#include <support/run.hpp>
#include <support/stub_api.hpp>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>

using namespace quern::sqs;
using namespace quern::sqs::detail;
using namespace std::chrono_literals;
using boost::test_tools::per_element;
using quern::errc;
using quern::failure;
using quern::result;
using quern::test::run;
using std::string;

namespace asio = boost::asio;

namespace {

using counts = std::vector<std::size_t>;

template <class T>
boost::system::error_code code(result<T> const& r)
{
    return r ? boost::system::error_code() : r.error().code;
}

batch_failure refusal(string id, string why = "InternalError", bool sender_fault = false)
{
    return {std::move(id), std::move(why), "told so", sender_fault};
}

/// Answers every batch call through `reply`, which sees the ids of its entries.
class server : public quern::test::stub_api {
public:
    using ids = std::vector<string>;
    std::function<result<batch_response<done_entry>>(ids const&)> reply = confirm;
    std::vector<ids> calls;
    std::vector<string> texts; // bodies or receipt handles, as they came

    static result<batch_response<done_entry>> confirm(ids const& all)
    {
        batch_response<done_entry> done;
        for (auto const& id : all)
            done.successful.push_back({id});
        return done;
    }

    answer<delete_message_batch_response> delete_message_batch(delete_message_batch_request r) override
    {
        co_await asio::post(asio::use_awaitable); // as a real one, it does not end where it began
        for (auto const& e : r.entries)
            texts.push_back(e.receipt_handle);
        co_return note(r);
    }
    answer<change_message_visibility_batch_response> change_message_visibility_batch(
        change_message_visibility_batch_request r) override
    {
        for (auto const& e : r.entries)
            texts.push_back(e.receipt_handle + std::to_string(e.visibility_timeout.count()));
        co_return note(r);
    }
    answer<send_message_batch_response> send_message_batch(send_message_batch_request r) override
    {
        for (auto const& e : r.entries)
            texts.push_back(e.body);
        auto const done = note(r);
        if (!done) co_return done.error();
        send_message_batch_response sent;
        for (auto const& d : done->successful) {
            sent.successful.emplace_back().id = d.id;
            sent.successful.back().message_id = "message " + d.id;
        }
        sent.failed = done->failed;
        co_return sent;
    }

private:
    template <class Request>
    result<batch_response<done_entry>> note(Request const& r)
    {
        ids all;
        for (auto const& e : r.entries)
            all.push_back(e.id);
        calls.push_back(all);
        return reply(all);
    }
};

std::vector<string> handles(int count)
{
    std::vector<string> out;
    for (int i = 0; i != count; ++i)
        out.push_back("h" + std::to_string(i));
    return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(batch)

BOOST_AUTO_TEST_CASE(a_call_has_at_most_ten_entries)
{
    BOOST_TEST(split(counts{}).empty());
    BOOST_TEST(split(counts(1)) == (counts{1}), per_element());
    BOOST_TEST(split(counts(10)) == (counts{10}), per_element());
    BOOST_TEST(split(counts(11)) == (counts{10, 1}), per_element());
    BOOST_TEST(split(counts(25)) == (counts{10, 10, 5}), per_element());
}

BOOST_AUTO_TEST_CASE(a_call_has_at_most_one_mebibyte_and_what_is_larger_goes_alone)
{
    auto const all = max_message_bytes;
    BOOST_TEST(split(counts{all / 2, all / 2}) == (counts{2}), per_element());
    BOOST_TEST(split(counts{all / 2, all / 2, 1}) == (counts{2, 1}), per_element());
    BOOST_TEST(split(counts{all / 2, all / 2 + 1}) == (counts{1, 1}), per_element());
    BOOST_TEST(split(counts{1, all, 1}) == (counts{1, 1, 1}), per_element());
    BOOST_TEST(split(counts{1, 2 * all, 1, 1}) == (counts{1, 1, 2}), per_element());
}

BOOST_AUTO_TEST_CASE(an_answer_is_brought_into_the_order_of_the_entries)
{
    batch_response<done_entry> answer;
    answer.successful = {{"2"}, {"0"}};
    answer.failed = {refusal("1", "InvalidParameterValue", true)};
    auto const out = join(3, answer);
    BOOST_REQUIRE(out.size() == 3u);
    BOOST_TEST(out[0].has_value());
    BOOST_TEST(out[2].has_value());
    BOOST_TEST(code(out[1]) == make_error_code(errc::service_error));
    BOOST_TEST(out[1].error().service_code == "InvalidParameterValue");
    BOOST_TEST(out[1].error().sender_fault);
    BOOST_TEST(!out[1].error().retryable);
}

BOOST_AUTO_TEST_CASE(what_an_answer_does_not_say_clearly_is_not_confirmed)
{
    batch_response<done_entry> answer;
    answer.successful = {{"0"}, {"1"}, {"1"}, {"5"}, {""}, {"-1"}, {"02"}, {"2 "}, {"99999999999999999999999"}};
    answer.failed = {refusal("3"), refusal("3"), refusal("0x4"), refusal("6")};
    auto const out = join(5, answer);
    BOOST_REQUIRE(out.size() == 5u);
    BOOST_TEST(out[0].has_value());
    for (std::size_t const i : {1, 2, 3, 4}) {
        BOOST_TEST(code(out[i]) == make_error_code(errc::not_confirmed), i);
        BOOST_TEST(out[i].error().retryable);
    }
}

BOOST_AUTO_TEST_CASE(an_entry_both_done_and_failed_is_not_confirmed)
{
    batch_response<done_entry> answer;
    answer.successful = {{"0"}};
    answer.failed = {refusal("0")};
    BOOST_TEST(code(join(1, answer)[0]) == make_error_code(errc::not_confirmed));
}

BOOST_AUTO_TEST_CASE(a_failed_entry_says_what_kind_of_failure_it_is)
{
    auto const kind = [](string service_code, string message, bool sender_fault = true) {
        return entry_failure({"0", std::move(service_code), std::move(message), sender_fault});
    };
    auto const expired = "Value h for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.";
    BOOST_TEST(kind("InvalidParameterValue", expired).code == make_error_code(errc::receipt_expired));
    auto const gone = "Value h for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not "
                      "available for visibility timeout change.";
    BOOST_TEST(kind("InvalidParameterValue", gone).code == make_error_code(errc::receipt_expired));
    BOOST_TEST(kind("ReceiptHandleIsInvalid", "").code == make_error_code(errc::receipt_expired));
    BOOST_TEST(kind("AWS.SimpleQueueService.MessageNotInflight", "").code == make_error_code(errc::receipt_expired));
    BOOST_TEST(kind("InvalidParameterValue", "too long").code == make_error_code(errc::service_error));
    BOOST_TEST(kind("RequestThrottled", "", false).code == make_error_code(errc::throttled));
    BOOST_TEST(kind("RequestThrottled", "", false).retryable);
    for (auto const* const slower : {"OverLimit", "KMS.ThrottlingException", "KmsThrottled", "ThrottlingException"}) {
        BOOST_TEST(kind(slower, "").code == make_error_code(errc::throttled), slower);
        BOOST_TEST(kind(slower, "").retryable, slower);
    }
    BOOST_TEST(kind("InternalError", "", false).retryable);
    BOOST_TEST(!kind("InternalError", "", true).retryable);
    BOOST_TEST(kind(string(checksum_mismatch_code), "", false).code == make_error_code(errc::checksum_mismatch));
    BOOST_TEST(!kind(string(checksum_mismatch_code), "", false).retryable);
    BOOST_TEST(!kind("ReceiptHandleIsInvalid", "", false).retryable);
}

BOOST_AUTO_TEST_CASE(deletes_go_out_in_order_and_come_back_by_position)
{
    server sqs;
    sqs.reply = [&](server::ids const& ids) -> result<batch_response<done_entry>> {
        auto answer = server::confirm(ids);
        std::reverse(
            answer->successful.begin(), answer->successful.end()); // one fails, the others come back to front
        answer->successful.pop_back();
        answer->failed.push_back(refusal("0"));
        return answer;
    };
    auto const out = run(delete_batch(sqs, "u", handles(10)));
    BOOST_TEST(sqs.texts == handles(10), per_element());
    BOOST_TEST(sqs.calls.size() == 1u);
    BOOST_REQUIRE(out.size() == 10u);
    for (std::size_t i = 0; i != out.size(); ++i)
        BOOST_TEST(out[i].has_value() == (i != 0), i);
}

BOOST_AUTO_TEST_CASE(no_entries_make_no_call)
{
    server sqs;
    BOOST_TEST(run(delete_batch(sqs, "u", {})).empty());
    BOOST_TEST(run(send_batch(sqs, "u", {})).empty());
    BOOST_TEST(sqs.calls.empty());
}

BOOST_AUTO_TEST_CASE(the_failure_of_a_call_is_that_of_its_entries)
{
    server sqs;
    sqs.reply = [](server::ids const&) -> result<batch_response<done_entry>> {
        return failure(errc::connection_lost, "gone", true);
    };
    auto const out = run(delete_batch(sqs, "u", handles(10)));
    BOOST_REQUIRE(out.size() == 10u);
    for (std::size_t i = 0; i != 10; ++i)
        BOOST_TEST(code(out[i]) == make_error_code(errc::connection_lost), i);
}

BOOST_AUTO_TEST_CASE(an_entry_that_breaks_a_limit_fails_alone_and_is_not_sent)
{
    server sqs;
    std::vector<change_visibility_entry> entries{{"", "a", 5s}, {"", "b", 50'000s}, {"", "c", 0s}};
    auto const out = run(change_visibility_batch(sqs, "u", entries));
    BOOST_TEST(sqs.texts == (std::vector<string>{"a5", "c0"}), per_element());
    BOOST_TEST(out[0].has_value());
    BOOST_TEST(code(out[1]) == make_error_code(errc::invalid_request));
    BOOST_TEST(out[2].has_value());

    auto const none = run(delete_batch(sqs, "u", {""}));
    BOOST_TEST(code(none.at(0)) == make_error_code(errc::invalid_request));
    BOOST_TEST(sqs.calls.size() == 1u);
}

BOOST_AUTO_TEST_CASE(messages_come_back_by_position_and_one_too_large_is_not_sent)
{
    server sqs;
    std::vector<send_message_entry> entries;
    entries.emplace_back("b");
    entries.emplace_back(string(max_message_bytes + 1, 'c'));
    entries.emplace_back("d");
    entries.back().id = "the caller's id is not used";
    auto const out = run(send_batch(sqs, "u", entries));
    BOOST_REQUIRE(out.size() == 3u);
    BOOST_TEST(sqs.texts == (std::vector<string>{"b", "d"}), per_element());
    BOOST_TEST(out[0]->message_id == "message 0");
    BOOST_TEST(code(out[1]) == make_error_code(errc::invalid_request));
    BOOST_TEST(out[2]->message_id == "message 2");
}

BOOST_AUTO_TEST_SUITE_END()
