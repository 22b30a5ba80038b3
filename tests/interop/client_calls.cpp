#include "client_calls.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cstdlib>

namespace interop {

using namespace std::chrono_literals;

received::received(sqs::message const& m)
    : body(m.body), handle(m.receipt_handle), count(m.receive_count()), trace(m.system("AWSTraceHeader")),
      source_arn(m.system("DeadLetterQueueSourceArn"))
{
    for (auto const& a : m.attributes)
        attributes.emplace_back(a.name, sqs::attribute_value{std::string(a.data_type), std::string(a.value)});
    std::ranges::sort(attributes, {}, [](auto const& a) { return a.first; });
}

std::string shown(std::string const& text)
{
    return text;
}
std::string shown(texts const& list)
{
    std::string out;
    for (auto const& text : list)
        out.append(out.empty() ? "" : ", ").append(text.substr(0, 60));
    return '[' + out + ']';
}

texts sorted(texts list)
{
    std::ranges::sort(list);
    return list;
}

texts bodies(messages const& list)
{
    texts out;
    for (auto const& m : list)
        out.push_back(m.body);
    return out;
}

texts codes(sqs::outcomes const& all)
{
    texts out;
    for (auto const& each : all)
        out.push_back(each ? "" : each.error().service_code);
    return out;
}

std::string variable(char const* name, char const* otherwise)
{
    auto const* const value = std::getenv(name);
    return value ? value : otherwise;
}

std::string calls::name(std::string const& of)
{
    return variable("QUERN_INTEROP_PREFIX", "quern") + '-' + of;
}

checked calls::pause(std::chrono::milliseconds time)
{
    asio::steady_timer timer(io_, time);
    co_await timer.async_wait(asio::use_awaitable);
}

asio::awaitable<std::string> calls::create(std::string of, sqs::string_map attributes)
{
    sqs::create_queue_request request(name(of));
    request.attributes = std::move(attributes);
    auto const created = co_await client_.create_queue(std::move(request));
    co_return created.value().queue_url;
}

asio::awaitable<std::string> calls::attribute(std::string queue, std::string wanted)
{
    sqs::get_queue_attributes_request request(queue);
    auto const got = co_await client_.get_queue_attributes(std::move(request));
    auto const& all = got.value().attributes;
    auto const at = all.find(wanted);
    co_return at == all.end() ? std::string() : at->second;
}

checked calls::put(std::string queue, std::string body)
{
    sqs::send_message_request request(std::move(queue), std::move(body));
    auto const sent = co_await client_.send_message(std::move(request));
    sent.value();
}

asio::awaitable<messages> calls::receive(std::string queue, sqs::seconds wait, int most, texts attribute_names)
{
    sqs::receive_message_request request(std::move(queue));
    request.max_messages = most;
    request.wait_time = wait;
    request.visibility_timeout = 30s;
    request.system_attribute_names = {"All"};
    request.attribute_names = std::move(attribute_names);
    auto const got = co_await client_.receive_message(std::move(request));
    for (auto const& bad : got.value().damaged)
        throw std::runtime_error("damaged message: " + describe(bad.why));
    co_return messages(got->messages.begin(), got->messages.end());
}

asio::awaitable<messages> calls::collect(std::string queue, std::size_t count, int most, texts attribute_names)
{
    messages all;
    for (auto left = count + 5; left > 0 && all.size() < count; --left) {
        auto const got = co_await receive(queue, 1s, most, attribute_names);
        all.insert(all.end(), got.begin(), got.end());
    }
    same(all.size(), count, "messages");
    co_return all;
}

checked calls::remove(std::string queue, messages const& list)
{
    for (auto const& m : list) {
        sqs::delete_message_request request(queue, m.handle);
        auto const done = co_await client_.delete_message(std::move(request));
        done.value();
    }
}

checked calls::show(std::string queue, received const& m)
{
    sqs::change_message_visibility_request request(std::move(queue), m.handle, 0s);
    auto const done = co_await client_.change_message_visibility(std::move(request));
    done.value();
}

asio::awaitable<calls::graveyard> calls::kill_twice(std::string of)
{
    graveyard at;
    at.letters = co_await create(of + "-dlq");
    at.arn = co_await attribute(at.letters, "QueueArn");
    sqs::string_map settings{
        {"RedrivePolicy", R"({"deadLetterTargetArn": ")" + at.arn + R"(", "maxReceiveCount": 2})"}};
    at.source = co_await create(of, std::move(settings));
    co_await put(at.source, "poison");
    for (int count = 0; count != 2; ++count) {
        auto const got = co_await collect(at.source, 1);
        co_await show(at.source, got[0]);
    }
    auto const left = co_await now(at.source);
    same(bodies(left), {}, "after its last receive");
    co_return at;
}

} // namespace interop
