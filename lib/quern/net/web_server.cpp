#include <quern/net/web_server.hpp>

#include <quern/core/detail/throw_wrong.hpp>
#include <quern/net/detail/http_rules.hpp>
#include <quern/net/detail/web_server_core.hpp>

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <random>
#include <utility>

namespace quern::net {

namespace asio = boost::asio;
using asio::ip::tcp;

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

constexpr std::string_view token_header = "x-quern-token";

/// 128 bits of the system, in hexadecimal digits.
std::string new_token()
{
    std::random_device system;
    std::string out;
    for (int i = 0; i != 32; ++i)
        out += "0123456789abcdef"[system() % 16];
    return out;
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

web_server::core::core(asio::any_io_executor ex, web_server_options opts, answerer serve, clock& t)
    : options(std::move(opts)), time(t), token(options.max_body_bytes == 0 ? "" : new_token()), executor_(ex),
      listener_(ex, t), serve_(std::move(serve)), on_loopback_(is_loopback(options.address))
{}

result<void> web_server::core::listen()
{
    if (auto const bound = listener_.listen(options.address, options.port); !bound) return bound.error();
    auto const& o = options;
    listener::host host;
    host.owner = shared_from_this();
    host.take = [this](tcp::socket s) { take(std::move(s)); };
    host.look = [this](tick now) { return look(now); };
    host.look_every = listener::interval_for({o.header_timeout, o.idle_timeout, o.write_timeout});
    listener_.begin(std::move(host));
    return {};
}

void web_server::core::take(tcp::socket socket)
{
    ++counters.connections;
    if (open_.size() >= options.max_connections) make_room();
    auto const client = std::make_shared<connection>(shared_from_this(), std::move(socket));
    auto const ended = [client](std::exception_ptr) { client->close(); };
    asio::co_spawn(executor_, client->run(), ended);
}

bool web_server::core::look(tick now)
{
    for (auto* const c : open_) {
        if (c->deadline() > now) continue;
        ++counters.cut;
        c->close();
    }
    return !open_.empty();
}

/// Closes the oldest. Followers stay: they are few, and somebody looks at them.
void web_server::core::make_room()
{
    connection* oldest = nullptr;
    for (auto* const c : open_) {
        if (!c->follows() && (!oldest || c->since() < oldest->since())) oldest = c;
    }
    if (!oldest) return;
    ++counters.cut;
    oldest->close();
    open_.erase(oldest); // its coroutine ends later
}

/// It must not cost those their connection who leave next to nothing.
void web_server::core::limit_unsent(connection const& latest)
{
    auto const spared = options.max_unsent_bytes / 4;
    while (unsent > options.max_unsent_bytes && unsent - latest.unsent() > spared) {
        connection* largest = nullptr;
        for (auto* const c : open_) {
            if (c != &latest && (!largest || c->unsent() > largest->unsent())) largest = c;
        }
        ++counters.cut;
        largest->close();
    }
}

std::optional<web_answer> web_server::core::refusal(http_request const& request) const
{
    static constexpr std::string_view decisive[] = {"host", "origin", token_header};
    auto const& fields = request.fields;
    auto const host = fields.find("host");
    if (host.empty() || !repeated_header(fields, decisive).empty())
        return refused(400, "A request names one host, one origin and one token.");
    bool const known = is_local_host(host, options.hosts) || (!on_loopback_ && is_address(host));
    if (!known) return refused(403, "This server does not answer to that host's name; it has to be allowed.");
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
    std::string_view const target = request.target;
    auto const path = target.substr(0, target.find('?'));
    auto const query = target.substr(std::min(path.size() + 1, target.size()));
    bool const acts = request.method == "POST";
    if (!acts && !request.body.empty()) return refused(413, "Who looks has no body.");
    try {
        return serve_({acts ? "POST" : "GET", path, query, request.fields, request.body});
    } catch (std::exception const&) {
        return refused(500, "This could not be answered.");
    }
}

void web_server::core::enter(connection& c)
{
    open_.insert(&c);
}

void web_server::core::leave(connection& c)
{
    open_.erase(&c);
    if (c.follows()) --counters.followers;
}

void web_server::core::tell(std::string_view piece)
{
    for (auto* const c : open_)
        c->tell(piece);
}

void web_server::core::close()
{
    serve_ = [](web_request const&) { return refused(503, "closed"); };
    listener_.close();
    for (auto* const c : open_)
        c->close();
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
    return core_->listen();
}
std::uint16_t web_server::port() const
{
    return core_->port();
}
std::string web_server::url() const
{
    return core_->url();
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
    return core_->counters;
}

} // namespace quern::net
