#include "common/depth.hpp"

#include "common/endpoint_options.hpp"

#include <quern/sqs/queue_reference.hpp>

namespace quern::app {

sqs::answer<sqs::queue_depth> queue_depth(sqs::api& sqs, std::string queue_url)
{
    sqs::get_queue_attributes_request request(std::move(queue_url));
    request.attribute_names = sqs::depth_attributes();
    auto const got = co_await sqs.get_queue_attributes(std::move(request));
    if (!got) co_return got.error();
    co_return sqs::depth_in(got->attributes);
}

sqs::answer<std::string> existing_queue(sqs::api& sqs, std::string queue, bool must_count)
{
    auto url = co_await sqs::find_queue_url(sqs, std::move(queue));
    if (!url) co_return url;
    auto const there = co_await queue_depth(sqs, *url);
    bool const may_ask = there || !there.error().service_code.starts_with("AccessDenied");
    if (!there && (may_ask || must_count)) co_return there.error();
    co_return url;
}

sqs::answer<bool> empty_watch::is_empty(consumer const& c)
{
    if (c.counters().empty_polls == empty_polls_ || c.in_flight() != 0) co_return false;
    empty_polls_ = c.counters().empty_polls;
    auto const found = co_await queue_depth(sqs_, queue_url_);
    if (!found) co_return found.error();
    co_return found->total() == 0 && c.in_flight() == 0;
}

sqs::answer<bool> empty_watch::stays_empty(consumer const& c)
{
    auto const received = c.counters().received;
    auto const now = co_await is_empty(c);
    if (!now) co_return now;
    if (*now) received_ = received;
    co_return received_ == c.counters().received&& c.in_flight() == 0;
}

} // namespace quern::app
