#include <quern/broker/detail/admin.hpp>

#include <quern/aws/detail/signing/canonical.hpp>
#include <quern/broker/detail/picture.hpp>
#include <quern/core/detail/text/json_writer.hpp>

#include <algorithm>
#include <charconv>

namespace quern::broker::detail {

using namespace quern::detail;

namespace {

constexpr std::size_t usual_messages = 100, most_messages = 10'000;

void write_queues(std::vector<queue_look> const& all, std::string& to)
{
    text::json_writer out(to);
    out.begin_object().key("queues").begin_array();
    for (auto const& q : all) {
        out.begin_object().member("name", q.name).member("arn", q.arn);
        out.member("visible", q.visible);
        out.member("delayed", q.delayed);
        out.member("in_flight", q.in_flight).end_object();
    }
    out.end_array().end_object();
}

} // namespace

bool is_look(net::detail::http_request const& request)
{
    auto const path = request.path();
    return request.method == "GET" && (path == "/metrics" || path == "/_quern/queues" || path == "/_quern/messages");
}

void serve_admin(net::detail::http_request const& request, engine& queues,
    std::function<std::string()> const& metrics, instant now, http_answer& answer)
{
    auto const path = request.path();
    if (path == "/metrics") {
        answer.content_type = "text/plain; version=0.0.4";
        answer.body = metrics();
        return;
    }
    answer.content_type = "application/json";
    queues.set_caller({});
    if (path == "/_quern/queues") {
        write_queues(queues.look_at_queues(now), answer.body);
        return;
    }
    auto const parameters = aws::detail::parse_query(request.query());
    auto most = usual_messages;
    if (auto const text = aws::detail::value_of(parameters, "most"); !text.empty())
        std::from_chars(text.data(), text.data() + text.size(), most);
    auto const found =
        queues.look_at_messages(aws::detail::value_of(parameters, "queue"), std::min(most, most_messages), now);
    if (found) {
        write_messages(*found, std::string::npos, answer.body);
    } else {
        answer.status = 404;
        text::json_writer out(answer.body);
        out.begin_object().member("error", std::string_view(found.error().message)).end_object();
    }
}

} // namespace quern::broker::detail
