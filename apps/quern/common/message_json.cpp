#include "common/message_json.hpp"

#include <quern/core/detail/text/base64.hpp>
#include <quern/sqs/detail/copy.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace quern::app {

using namespace quern::detail;

namespace {

namespace json = boost::json;

json::object attributes_of(delivery const& d)
{
    json::object all;
    for (auto const& a : d.message().attributes) {
        json::object one;
        one["type"] = a.data_type;
        if (a.is_binary())
            one["value"] = text::base64_encode(a.value);
        else
            one["value"] = a.value;
        all[a.name] = std::move(one);
    }
    return all;
}

} // namespace

std::string iso_time(wall_time at)
{
    return sqs::detail::rfc3339_ms(at);
}

std::string json_line(delivery const& d, std::string const& queue_url)
{
    json::object line;
    line["message_id"] = d.id();
    line["body"] = d.body();
    line["receive_count"] = d.receive_count();
    if (auto const at = d.message().sent_at()) line["sent_at"] = iso_time(*at);
    if (auto const at = d.first_received_at()) line["first_received_at"] = iso_time(*at);
    if (!d.group().empty()) line["group"] = d.group();
    if (!queue_url.empty()) line["queue_url"] = queue_url;
    line["attributes"] = attributes_of(d);
    return json::serialize(line) + '\n';
}

std::string attributes_json(delivery const& d)
{
    return json::serialize(attributes_of(d));
}

} // namespace quern::app
