#include <quern/net/web_server.hpp>

#include <quern/core/detail/text/digest.hpp>
#include <quern/core/detail/throw_wrong.hpp>
#include <quern/net/detail/http_rules.hpp>
#include <quern/net/detail/http_server.hpp>

#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <utility>

namespace quern::net {

using namespace detail;
using namespace quern::detail;
namespace asio = boost::asio;
namespace {

web_server_options checked(web_server_options options)
{
    throw_wrong(options.validate());
    return options;
}

web_answer refused(int status, std::string why)
{
    web_answer out;
    out.status = status;
    out.body = std::move(why) + '\n';
    return out;
}

/// A script or a picture of another site asks, and not somebody who follows a link.
bool is_from_another_site(headers const& fields)
{
    auto const site = fields.find("sec-fetch-site");
    bool const elsewhere = site == "cross-site" || site == "same-site";
    return elsewhere && fields.find("sec-fetch-mode") != "navigate";
}

http_limits limits_of(web_server_options const& o)
{
    http_limits out{};
    out.max_header_bytes = o.max_header_bytes;
    out.max_body_bytes = o.max_body_bytes;
    out.max_connections = o.max_connections;
    out.max_held_bytes = std::numeric_limits<std::size_t>::max(); // few connections, with small bodies
    out.max_unsent_bytes = o.max_unsent_bytes;
    out.handshake_timeout = out.header_timeout = o.header_timeout;
    out.write_timeout = o.write_timeout;
    out.idle_timeout = o.idle_timeout;
    out.first_at_once = true;
    return out;
}

constexpr std::string_view token_header = "x-quern-token";

/// 128 bits of the system, in hexadecimal digits.
std::string new_token()
{
    std::random_device system;
    std::array<std::byte, 16> out;
    std::ranges::generate(out, [&] { return static_cast<std::byte>(system()); });
    return text::hex(out);
}

} // namespace

std::optional<failure> web_server_options::validate() const
{
    auto const refuse = [](std::string why) { return failure(errc::invalid_option, std::move(why)); };
    boost::system::error_code ec;
    asio::ip::make_address(address, ec);
    if (ec) return refuse("web_server_options.address: '" + address + "' is no IP address");
    if (max_header_bytes < 1024 || max_header_bytes > 1024 * 1024)
        return refuse("web_server_options.max_header_bytes: must be from 1 KiB to 1 MiB");
    if (max_body_bytes > 64 * 1024 * 1024) return refuse("web_server_options.max_body_bytes: must be at most 64 MiB");
    if (max_connections < 1) return refuse("web_server_options.max_connections: must be at least 1");
    if (max_unsent_bytes < 1) return refuse("web_server_options.max_unsent_bytes: must be at least 1");
    if (max_followers < 1) return refuse("web_server_options.max_followers: must be at least 1");
    std::pair<char const*, std::chrono::milliseconds> const timeouts[] = {
        {"header_timeout", header_timeout}, {"idle_timeout", idle_timeout}, {"write_timeout", write_timeout}};
    for (auto const& [name, value] : timeouts) {
        if (value.count() < 1 || value > longest_wait)
            return refuse("web_server_options." + std::string(name) + ": must be from a millisecond to a day");
    }
    return {};
}

/// Server of HTTP with what a web_server answers by itself: who may ask, and what browsers are told.
class web_server::core final : public http_server {
public:
    core(asio::any_io_executor ex, web_server_options opts, answerer serve, clock& t)
        : http_server(std::move(ex), limits_of(opts), nullptr, t), options(std::move(opts)),
          token(options.max_body_bytes == 0 ? "" : new_token()), serve_(std::move(serve)),
          on_loopback_(is_loopback(options.address))
    {}

    void close();
    std::unique_ptr<http_session> greet(http_connection&) override;

    /// Why a request is refused whatever its body is, as its header shows.
    std::optional<web_answer> refusal(http_request const&) const;
    /// The answer to a request that is whole, and was not refused.
    web_answer answer(http_request const&) const;

    web_server_options const options;
    std::string const token;

private:
    class visit;

    answerer serve_;
    bool const on_loopback_;
};

/// Talk with one client.
class web_server::core::visit final : public http_session {
public:
    explicit visit(core const& of) : core_(of) { answer_.lingers = true; }

    gate look(http_request const& r) override { return core_.refusal(r) ? gate::shut : gate::open; }
    http_turn serve(http_request const& r) override
    {
        auto why_not = core_.refusal(r);
        bool const refused = why_not.has_value();
        give(refused ? std::move(*why_not) : core_.answer(r));
        if (refused) answer_.keep_alive = false;
        return {};
    }
    void refuse(http_request const& r, int status, std::string const& why) override
    {
        bool const looks = r.method == "GET" || r.method == "HEAD";
        bool const may_not = status == 413 && !looks && core_.options.max_body_bytes == 0;
        give(refused(may_not ? 405 : status, "The request is none that is answered here: " + why + "."));
    }
    http_answer& answer() override { return answer_; }

private:
    void give(web_answer said);

    core const& core_;
    http_answer answer_;
};

void web_server::core::visit::give(web_answer said)
{
    auto const& limits = core_.options;
    auto const others = core_.counters().followers;
    if (said.follows && (others >= limits.max_followers || others + 1 >= limits.max_connections))
        said = refused(503, "Others follow already, as many as may.");
    answer_.clear();
    answer_.status = said.status;
    answer_.content_type = said.content_type;
    answer_.body = std::move(said.body);
    answer_.follows = said.follows;
    answer_.keep_alive = said.status < 400 || said.status == 404 || said.status == 503;
    auto& to = answer_.more_headers;
    to.append("\r\nContent-Security-Policy: ").append(said.content_security);
    to.append("\r\nX-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin"
              "\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store");
    if (said.status == 405) to.append("\r\nAllow: ").append(said.allow);
}

std::unique_ptr<http_session> web_server::core::greet(http_connection&)
{
    return std::make_unique<visit>(*this);
}

std::optional<web_answer> web_server::core::refusal(http_request const& request) const
{
    static constexpr std::string_view decisive[] = {"host", "origin", token_header};
    auto const& fields = request.fields;
    auto const host = fields.find("host");
    if (host.empty() || !repeated_header(fields, decisive).empty())
        return refused(400, "A request names one host, one origin and one token.");
    bool const known = is_local_host(host, options.hosts) || (!on_loopback_ && is_address(host));
    if (!known)
        return refused(403,
            "This server does not answer to that host's name; it has to be allowed: quern --admin-host NAME, or "
            "--allow-host of a broker.");
    if (is_from_another_site(fields)) return refused(403, "Scripts of other sites are not answered.");
    if (request.method == "GET" || request.method == "HEAD") {
        auto const size = fields.find("content-length");
        bool const has_body = !fields.find("transfer-encoding").empty() || (!size.empty() && size != "0");
        if (has_body) return refused(413, "Who looks has no body."); // before it is taken
        return {};
    }
    if (request.method != "POST" || options.max_body_bytes == 0) return refused(405, "GET is all that there is.");
    // From here on something may change. A page that is navigated to, or a link, brings neither the token nor this
    // origin.
    auto const site = fields.find("sec-fetch-site"), origin = fields.find("origin");
    bool const own =
        (site.empty() || site == "same-origin") && (origin.empty() || origin == "http://" + std::string(host));
    if (!own) return refused(403, "Only the page of this server may change something.");
    if (fields.find(token_header) != token) return refused(403, "What changes something has to bring the token.");
    return {};
}

web_answer web_server::core::answer(http_request const& request) const
{
    bool const acts = request.method == "POST";
    if (!acts && !request.body.empty()) return refused(413, "Who looks has no body.");
    try {
        return serve_({acts ? "POST" : "GET", request.path(), request.query(), request.fields, request.body});
    } catch (std::exception const&) {
        return refused(500, "This could not be answered.");
    }
}

void web_server::core::close()
{
    serve_ = [](web_request const&) { return refused(503, "closed"); };
    shut();
}

web_server::web_server(asio::any_io_executor ex, web_server_options options, answerer serve, clock& time)
    : core_(std::make_shared<core>(std::move(ex), checked(std::move(options)), std::move(serve), time))
{}

web_server::~web_server()
{
    core_->close();
}

result<void> web_server::listen()
{
    return core_->listen(core_->options.address, core_->options.port);
}
std::uint16_t web_server::port() const
{
    return core_->port();
}
std::string web_server::url() const
{
    return core_->origin();
}
std::string_view web_server::token() const
{
    return core_->token;
}
void web_server::tell(std::string_view piece)
{
    core_->tell(piece);
}
void web_server::close()
{
    core_->close();
}
web_server_counters web_server::counters() const
{
    auto const& seen = core_->counters();
    return {seen.connections, seen.cut, core_->open(), seen.followers};
}

} // namespace quern::net
