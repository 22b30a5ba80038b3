#pragma once

#include <quern/broker/engine.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace quern::test {

using namespace std::chrono_literals;
namespace broker = quern::broker;
namespace sqs = quern::sqs;

/// An engine and the time that it sees.
class service {
public:
    explicit service(broker::engine_options options = {}) : engine(std::move(options)) {}

    broker::engine engine;
    broker::instant now{std::chrono::seconds(1'700'000'000)};

    void pass(std::chrono::nanoseconds time)
    {
        now += std::chrono::duration_cast<broker::instant::duration>(time);
        engine.advance(now);
    }

    std::string create(std::string name, sqs::string_map attributes = {})
    {
        sqs::create_queue_request request(std::move(name));
        request.attributes = std::move(attributes);
        return engine.create_queue(request, now).value().queue_url;
    }
    std::string create_fifo(std::string name, sqs::string_map attributes = {})
    {
        attributes.emplace("FifoQueue", "true");
        return create(name + ".fifo", std::move(attributes));
    }

    std::string send(std::string const& url, std::string body, int delay = 0)
    {
        sqs::send_message_request request(url, std::move(body));
        if (delay != 0) request.delay = std::chrono::seconds(delay);
        return engine.send_message(request, now).value().message_id;
    }
    /// To a FIFO queue: the body is the deduplication id too, unless one is given.
    std::string send(std::string const& url, std::string body, std::string group, std::string id = {})
    {
        sqs::send_message_request request(url, body);
        request.group_id = std::move(group);
        request.deduplication_id = id.empty() ? body : std::move(id);
        return engine.send_message(request, now).value().message_id;
    }

    result<broker::received> try_receive(sqs::receive_message_request request)
    {
        return engine.receive_message(request, now);
    }

    sqs::receive_message_response receive(sqs::receive_message_request request)
    {
        auto got = engine.receive_message(std::move(request), now);
        BOOST_REQUIRE(got);
        BOOST_REQUIRE(!got->parked);
        return std::move(got->answer);
    }
    sqs::receive_message_response receive(std::string const& url, int most = 10, std::optional<int> visibility = {})
    {
        sqs::receive_message_request request(url);
        request.max_messages = most;
        request.wait_time = 0s;
        if (visibility) request.visibility_timeout = std::chrono::seconds(*visibility);
        request.system_attribute_names = {"All"};
        request.attribute_names = {"All"};
        return receive(std::move(request));
    }
    /// The receipt handle of the next message, which must be there.
    std::string handle(std::string const& url, std::optional<int> visibility = {})
    {
        auto const got = receive(url, 1, visibility);
        BOOST_REQUIRE(got.messages.size() == 1u);
        return std::string(got.messages[0].receipt_handle);
    }
    std::vector<std::string> bodies(std::string const& url, int most = 10, std::optional<int> visibility = {})
    {
        return bodies_of(receive(url, most, visibility));
    }
    static std::vector<std::string> bodies_of(sqs::receive_message_response const& answer)
    {
        std::vector<std::string> out;
        for (auto const& m : answer.messages)
            out.emplace_back(m.body);
        return out;
    }

    /// A long poll that finds nothing yet.
    broker::poll_id poll(std::string const& url, int wait = 20, int most = 10)
    {
        sqs::receive_message_request request(url);
        request.max_messages = most;
        request.wait_time = std::chrono::seconds(wait);
        auto const got = engine.receive_message(request, now);
        BOOST_REQUIRE(got);
        BOOST_REQUIRE(got->parked.has_value());
        return *got->parked;
    }

    result<sqs::empty_response> remove(std::string const& url, std::string_view handle)
    {
        return engine.delete_message({url, std::string(handle)}, now);
    }
    result<sqs::empty_response> change(std::string const& url, std::string_view handle, int timeout)
    {
        return engine.change_message_visibility({url, std::string(handle), std::chrono::seconds(timeout)}, now);
    }
    result<sqs::empty_response> set(std::string const& url, sqs::string_map attributes)
    {
        return engine.set_queue_attributes({url, std::move(attributes)}, now);
    }
    sqs::string_map attributes(std::string const& url, std::vector<std::string> names = {"All"})
    {
        sqs::get_queue_attributes_request request(url);
        request.attribute_names = std::move(names);
        return engine.get_queue_attributes(request, now).value().attributes;
    }
    std::string arn(std::string const& url) { return attributes(url, {"QueueArn"}).at("QueueArn"); }

    /// visible, delayed, in flight: "3/0/1"
    std::string counts(std::string const& url)
    {
        auto const all = attributes(url);
        return all.at("ApproximateNumberOfMessages") + '/' + all.at("ApproximateNumberOfMessagesDelayed") + '/' +
            all.at("ApproximateNumberOfMessagesNotVisible");
    }

    /// A queue with a dead-letter queue: urls of both.
    struct with_dead_letters {
        std::string source;
        std::string dead;
    };
    with_dead_letters create_pair(
        std::string const& name, int max_receives, sqs::string_map source_attributes = {}, bool fifo = false)
    {
        auto const suffix = std::string(fifo ? ".fifo" : "");
        sqs::string_map kind;
        if (fifo) kind = {{"FifoQueue", "true"}};
        auto const dead = create(name + "-dead" + suffix, kind);
        source_attributes.insert(kind.begin(), kind.end());
        source_attributes["RedrivePolicy"] = R"({"deadLetterTargetArn":")" + arn(dead) + R"(","maxReceiveCount":)" +
            std::to_string(max_receives) + '}';
        return {create(name + suffix, source_attributes), dead};
    }
};

using strings = std::vector<std::string>;

} // namespace quern::test

/// The code and the text of a failure, for comparison: "InvalidParameterValue: …".
template <class T>
std::string why(quern::result<T> const& outcome)
{
    return outcome ? "no failure" : outcome.error().service_code + ": " + outcome.error().message;
}
