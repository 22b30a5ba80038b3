#include "service.hpp"

#include <algorithm>

namespace yardstick {

service::service(options const& what, std::function<void(peer, std::string_view)> send)
    : what_(what), send_(std::move(send)), queue_(what), renderer_(what)
{}

void service::request(peer who, http_head const& head, std::string_view body, micros now)
{
    if (head.target.starts_with("/bench/")) return control(who, head, now);
    if (head.target == "/hook") { // the web service of those who relay
        reply_.reserve();
        return answer(who, 200, now);
    }
    auto const& what = reader_.read(body);
    if (!what.understood) {
        ++counts_.others;
        return refuse(who, "SerializationException", "the body is not understood", now);
    }
    auto const action = head.action;
    if (action == "ReceiveMessage") return receive(who, what, now);
    if (action == "DeleteMessageBatch") return settle(who, shape::batch, intent::remove, what, now);
    if (action == "DeleteMessage") return settle(who, shape::single, intent::remove, what, now);
    if (action == "ChangeMessageVisibilityBatch") return settle(who, shape::batch, intent::change, what, now);
    if (action == "ChangeMessageVisibility") return settle(who, shape::single, intent::change, what, now);
    ++counts_.others;
    if (action == "GetQueueUrl") return queue_url(who, head, what, now);
    if (action == "GetQueueAttributes") return queue_attributes(who, now);
    refuse(who, "UnsupportedOperation", "this server only has what a consumer needs", now);
}

void service::control(peer who, http_head const& head, micros now)
{
    auto& out = reply_.reserve();
    if (head.method == "GET" && head.target == "/bench/stats") {
        out += counts_.to_json(queue_.in_flight(), connections, queue_.behind(now), now);
    } else if (head.method == "POST" && head.target == "/bench/reset") {
        counts_ = counts::from(now);
        queue_.measure(now);
        out += "{}";
    } else {
        return refuse(who, "UnsupportedOperation", "there are GET /bench/stats and POST /bench/reset", now);
    }
    send_(who, reply_.seal(200, now));
}

void service::receive(peer who, call const& what, micros now)
{
    ++counts_.receives;
    auto const visibility = what.visibility.value_or(what_.visibility / second);
    auto const wait = what.wait.value_or(0);
    if (what.max < 1 || what.max > 10 || visibility < 0 || visibility > 43'200 || wait < 0 || wait > 20)
        return refuse(who, "InvalidParameterValue", "MaxNumberOfMessages, VisibilityTimeout or WaitTimeSeconds", now);
    queue_.wake(now);
    tick(now);
    waiter const one{who, static_cast<std::size_t>(what.max), visibility * second, now + wait * second,
        wanted::of(what.attributes)};
    if (hand_out(one, now)) return;
    if (wait > 0) {
        waiters_.push_back(one);
        return;
    }
    ++counts_.empty_receives;
    reply_.reserve() += "{}";
    answer(who, 200, now);
}

bool service::hand_out(waiter const& to, micros now)
{
    taken_.clear();
    counts_.in_flight_was(queue_.in_flight(), now);
    queue_.take(to.max, to.visibility, now, taken_);
    if (taken_.empty()) return false;
    counts_.handed += taken_.size();
    for (auto const& one : taken_)
        counts_.redelivered += one.handle.receives > 1;
    renderer_.messages(taken_, to.which, reply_.reserve());
    answer(to.who, 200, now);
    return true;
}

void service::serve_waiters(micros now)
{
    while (!waiters_.empty() && hand_out(waiters_.front(), now))
        waiters_.pop_front();
}

fate service::settle(entry const& what, intent to, micros now)
{
    auto const handle = renderer_.handles.read(what.handle);
    auto out = fate::unknown;
    if (handle && to == intent::remove) {
        micros due = 0;
        out = queue_.remove(*handle, due);
        if (due > 0) counts_.latency.add(now + what_.delay - due);
        counts_.deleted += out == fate::done;
    } else if (handle) {
        out = queue_.change(*handle, what.visibility.value_or(0) * second, now);
        counts_.changed += out == fate::done;
    }
    counts_.repeated += out == fate::repeated;
    counts_.stale += out == fate::stale;
    counts_.unknown += out == fate::unknown;
    return out;
}

void service::settle(peer who, shape answers, intent to, call const& what, micros now)
{
    auto const batch = answers == shape::batch;
    ++(to == intent::remove ? counts_.deletes : counts_.changes);
    if (what.entries.empty() || what.entries.size() > 10)
        return refuse(who, "TooManyEntriesInBatchRequest", "1 to 10 entries", now);
    counts_.in_flight_was(queue_.in_flight(), now);
    auto const changed_before = counts_.changed;
    std::string failed;
    auto& out = reply_.reserve();
    if (batch) out += R"({"Successful":[)";
    auto const begin = out.size();
    for (auto const& one : what.entries) {
        bool const bad = settle(one, to, now) == fate::unknown;
        if (!batch) {
            if (bad) return refuse(who, "ReceiptHandleIsInvalid", "the handle is not one of this queue", now);
            out += "{}";
        } else if (bad) {
            failed += failed.empty() ? "" : ",";
            failed += R"({"Id":")" + std::string(one.id);
            failed += R"(","SenderFault":true,"Code":"ReceiptHandleIsInvalid","Message":"not of this queue"})";
        } else {
            out += out.size() == begin ? R"({"Id":")" : R"(,{"Id":")";
            out += one.id;
            out += "\"}";
        }
    }
    if (batch) out += "],\"Failed\":[" + failed + "]}";
    answer(who, 200, now);
    // A FIFO group may be free now, a message visible.
    if (what_.groups > 0 || counts_.changed != changed_before) serve_waiters(now);
}

void service::queue_url(peer who, http_head const& head, call const& what, micros now)
{
    auto& out = reply_.reserve();
    out += who.tls ? R"({"QueueUrl":"https://)" : R"({"QueueUrl":"http://)";
    out += head.host;
    out += "/000000000000/";
    out += what.queue_name;
    out += "\"}";
    answer(who, 200, now);
}

void service::queue_attributes(peer who, micros now)
{
    auto& out = reply_.reserve();
    out += R"({"Attributes":{"QueueArn":"arn:aws:sqs:us-east-1:000000000000:bench","DelaySeconds":"0",)";
    out += R"("ReceiveMessageWaitTimeSeconds":"0","MaximumMessageSize":"1048576","MessageRetentionPeriod":"345600",)";
    out += R"("ApproximateNumberOfMessages":"1","ApproximateNumberOfMessagesNotVisible":"0",)";
    out += R"("ApproximateNumberOfMessagesDelayed":"0",)";
    out += what_.groups > 0 ? R"("FifoQueue":"true",)" : "";
    out += R"("VisibilityTimeout":")" + std::to_string(what_.visibility / second) + "\"}}";
    answer(who, 200, now);
}

void service::refuse(peer who, std::string_view code, std::string_view why, micros now)
{
    auto& out = reply_.reserve();
    out += R"({"__type":"com.amazonaws.sqs#)";
    out += code;
    out += R"(","message":")";
    out += why;
    out += "\"}";
    answer(who, 400, now);
}

void service::answer(peer who, int status, micros now)
{
    auto const bytes = reply_.seal(status, now);
    if (what_.delay == 0)
        send_(who, bytes);
    else
        delayed_.push_back({now + what_.delay, who, std::string(bytes)});
}

void service::gone(peer who)
{
    waiters_.remove_if([&](waiter const& one) { return one.who.fd == who.fd && one.who.serial == who.serial; });
}

std::optional<micros> service::next(micros now) const
{
    std::optional<micros> out;
    auto const sooner = [&](micros at) { out = out ? std::min(*out, at) : at; };
    if (!delayed_.empty()) sooner(delayed_.front().at);
    for (auto const& one : waiters_)
        sooner(one.until);
    if (!waiters_.empty())
        if (auto const at = queue_.next(now)) sooner(*at);
    return out;
}

void service::tick(micros now)
{
    while (!delayed_.empty() && delayed_.front().at <= now) {
        auto const one = std::move(delayed_.front());
        delayed_.pop_front();
        send_(one.who, one.bytes);
    }
    counts_.in_flight_was(queue_.in_flight(), now);
    counts_.expired += queue_.expire(now);
    serve_waiters(now);
    for (auto one = waiters_.begin(); one != waiters_.end();) {
        if (one->until > now) {
            ++one;
            continue;
        }
        ++counts_.empty_receives;
        reply_.reserve() += "{}";
        answer(one->who, 200, now);
        one = waiters_.erase(one);
    }
}

} // namespace yardstick
