#include "service.hpp"

#include <quern/broker/detail/errors.hpp>
#include <quern/broker/detail/move_task.hpp>

#include <support/conformance.hpp>

// Every error that SQS was seen to answer with, provoked here.

using namespace quern::test;

namespace {

/// The failure that a request provoked: a whole one, or one entry of a batch.
struct provoked {
    std::string code;
    std::string message;
    int http_status = 0; ///< 0: a batch entry
    bool sender_fault = false;
    std::string masked{}; ///< stands for "<…>" in the recorded text
};

template <class T>
provoked whole(quern::result<T> const& outcome)
{
    BOOST_REQUIRE(!outcome);
    auto const& why = outcome.error();
    return {why.service_code, why.message, why.http_status, why.sender_fault};
}

struct provoker : service {
    std::string standard = create("standard");
    std::string fifo = create_fifo("fifo");

    provoked sent(std::string const& url, std::string body, std::optional<std::string> group = {},
        std::optional<std::string> id = {})
    {
        sqs::send_message_request request(url, std::move(body));
        request.group_id = std::move(group);
        request.deduplication_id = std::move(id);
        return whole(engine.send_message(request, now));
    }
    provoked sent(std::string const& url, std::vector<sqs::send_message_entry> entries)
    {
        return whole(engine.send_message_batch({url, std::move(entries)}, now));
    }
    provoked created(std::string name, sqs::string_map attributes)
    {
        sqs::create_queue_request request(std::move(name));
        request.attributes = std::move(attributes);
        return whole(engine.create_queue(request, now));
    }
    provoked waited(int seconds)
    {
        sqs::receive_message_request request(standard);
        request.wait_time = std::chrono::seconds(seconds);
        return whole(engine.receive_message(request, now));
    }
    provoked moved(std::string from, std::string to)
    {
        sqs::start_message_move_task_request request(std::move(from));
        request.destination_arn = std::move(to);
        return whole(engine.start_message_move_task(request, now));
    }

    provoked oversized_entry()
    {
        auto const url = create("small", {{"MaximumMessageSize", "1024"}});
        auto const answer = engine.send_message_batch({url, {{"1", std::string(1025, 'a')}}}, now).value();
        auto const& failed = answer.failed.at(0);
        return {failed.code, failed.message, 0, failed.sender_fault};
    }
    provoked entry_without_group()
    {
        sqs::send_message_entry entry("1", "m");
        entry.deduplication_id = "d";
        return sent(fifo, std::vector{entry});
    }
    provoked purged_twice()
    {
        sqs::purge_queue_request const request(standard);
        engine.purge_queue(request, now).value();
        auto out = whole(engine.purge_queue(request, now));
        out.masked = "standard";
        return out;
    }
    provoked deleted_late()
    {
        send(fifo, "m", "g");
        auto const handle_text = handle(fifo, 1);
        pass(1s);
        auto out = whole(remove(fifo, handle_text));
        out.masked = handle_text;
        return out;
    }
    provoked cancelled_unknown()
    {
        auto const text =
            broker::detail::encode(broker::detail::task_handle{"id", "arn:aws:sqs:us-east-1:000000000000:none"});
        return whole(engine.cancel_message_move_task(sqs::cancel_message_move_task_request(text), now));
    }
    provoked existing()
    {
        create("delayed", {{"DelaySeconds", "1"}});
        return created("delayed", {{"DelaySeconds", "2"}});
    }

    provoked provoke(std::string const& test)
    {
        std::string const too_long(129, 'a');
        auto const is = [&](std::string_view name) { return test.starts_with(name); };
        if (is("test_send_message_batch_with_oversized_contents[")) {
            return sent(standard, {{"1", std::string(1'048'576, 'a')}, {"2", "a"}});
        }
        if (is("test_create_queue_with_different_attributes")) return existing();
        if (is("test_change_message_visibility_batch_with_too_large_batch")) {
            return whole(engine.change_message_visibility_batch(
                {standard, std::vector<sqs::change_visibility_entry>(20)}, now));
        }
        if (is("test_delete_message_batch_with_too_large_batch")) {
            return whole(engine.delete_message_batch({standard, std::vector<sqs::delete_message_entry>(20)}, now));
        }
        if (is("test_delete_message_batch_invalid_msg_id")) {
            auto const id = test.substr(test.find("sqs-") + 4);
            return whole(engine.delete_message_batch({standard, {{id.substr(0, id.size() - 1), "h"}}}, now));
        }
        if (is("test_invalid_batch_id")) return sent(standard, {{"message:1", "m"}});
        if (is("test_posting_to_fifo_requires") && wanted_ == "MissingParameter") return sent(fifo, "m", {}, "d");
        if (is("test_posting_to_fifo_requires")) return sent(fifo, "m", "g");
        if (is("test_send_batch_missing_deduplication_id")) {
            sqs::send_message_entry entry("1", "m");
            entry.group_id = "g";
            return sent(fifo, std::vector{entry});
        }
        if (is("test_send_batch_message_size")) return oversized_entry();
        if (is("test_send_batch_missing_message_group_id")) return entry_without_group();
        if (is("test_create_standard_queue_with_fifo_attribute")) {
            for (auto const* name :
                {"ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit", "FifoQueue"}) {
                if (text_.find(name) != text_.npos) return created("q", {{name, "false"}});
            }
        }
        if (is("test_set_unsupported_attribute_fifo")) {
            return whole(wanted_ == "InvalidAttributeName" ? set(standard, {{"FifoQueue", "true"}})
                                                           : set(fifo, {{"FifoQueue", "false"}}));
        }
        if (is("test_successive_purge_calls_fail")) return purged_twice();
        if (is("test_send_receive_wait_time_seconds")) return waited(text_.find("-1") != text_.npos ? -1 : 21);
        if (is("test_send_empty_message")) return sent(standard, "");
        if (is("test_fifo_delete_after_visibility_timeout")) return deleted_late();
        if (is("test_send_message_to_standard_queue_with_invalid_message_group_id")) {
            return sent(standard, "m", is_spaces(test) ? "group 123" : too_long);
        }
        if (is("test_message_deduplication_id_invalid")) {
            return sent(fifo, "m", "g", is_spaces(test) ? "group 123" : too_long);
        }
        if (is("test_source_needs_redrive_policy")) return moved(arn(standard), arn(create("to")));
        if (is("test_cancel_with_invalid_source_arn")) return cancelled_unknown();
        if (is("test_destination_needs_to_exist")) {
            auto const pair = create_pair("pair", 1);
            return moved(arn(pair.dead), arn(pair.source) + "doesntexist");
        }
        BOOST_FAIL("not provoked: " << test);
        return {};
    }

    static bool is_spaces(std::string const& test) { return test.find("[spaces]") != test.npos; }

    std::string wanted_; ///< the code, where a test saw several errors
    std::string text_;
};

} // namespace

BOOST_AUTO_TEST_SUITE(error_facts)

BOOST_AUTO_TEST_CASE(every_recorded_error_has_its_status_code_and_text)
{
    auto const facts = conformance_json("08-recorded-sqs-traffic/error-facts.json");
    if (!facts) return;
    for (auto const& fact : facts->as_array()) {
        for (auto const& seen : fact.at("seen_in").as_array()) {
            provoker s;
            s.wanted_ = fact.at("code").as_string();
            s.text_ = fact.at("message").as_string();
            BOOST_TEST_CONTEXT(seen << " " << s.wanted_)
            {
                auto const got = s.provoke(std::string(seen.as_string()));
                BOOST_TEST(got.code == s.wanted_);

                auto expected = s.text_;
                if (auto const from = expected.find('<'); from != expected.npos && !got.masked.empty()) {
                    expected.replace(from, expected.find('>', from) + 1 - from, got.masked);
                }
                BOOST_TEST(got.message == expected);

                auto const& status = fact.at("http_status");
                BOOST_TEST(got.http_status == (status.is_int64() ? static_cast<int>(status.as_int64()) : 0));
                auto const& detail = fact.at("query_error_code_or_sender_fault");
                if (detail.is_bool()) {
                    BOOST_TEST(got.sender_fault == detail.as_bool());
                } else {
                    auto const* shape = broker::detail::find_error(got.code);
                    BOOST_REQUIRE(shape);
                    BOOST_TEST(shape->name == std::string_view(detail.as_string()));
                }
            }
        }
    }
    BOOST_TEST(facts->as_array().size() >= 25u);
}

BOOST_AUTO_TEST_SUITE_END()
