#include <quern/net/web_hook_client.hpp>

#include <quern/core/detail/throw_wrong.hpp>
#include <quern/net/detail/host_pool.hpp>
#include <quern/net/detail/web_hook_text.hpp>

#include <map>

namespace quern::net {

using namespace detail;
using namespace quern::detail;
namespace asio = boost::asio;

namespace {

/// Hosts that are remembered though nobody uses them: what a template makes of messages must not fill the memory.
constexpr std::size_t most_idle_hosts = 32;

tls_material material_of(web_hook_options const& options)
{
    tls_material out;
    out.authorities.file = options.ca_file;
    out.certificate.file = options.certificate_file;
    out.key.file = options.key_file.empty() ? options.certificate_file : options.key_file;
    out.oldest_version = options.min_tls == tls_version::v1_3 ? TLS1_3_VERSION : TLS1_2_VERSION;
    out.is_checking = !options.insecure;
    return out;
}

pool_rules rules_of(web_hook_options const& options)
{
    pool_rules out;
    out.limits = {options.connections, 0};
    out.connect_timeout = options.connect_timeout;
    out.idle_timeout = options.idle_timeout;
    out.max_age = options.max_age;
    out.max_header_bytes = options.max_header_bytes;
    out.max_reply_bytes = options.max_answer_bytes;
    return out;
}

request on_the_wire(web_hook_request ask)
{
    request out;
    out.via = lane::data;
    out.timeout = ask.timeout;
    out.repeatable = ask.replay;
    out.is_bare = ask.method == "HEAD";
    out.write = [ask = std::move(ask)]() mutable {
        auto text = wire_text(ask);
        ask.body = std::string(); // it stands in the text
        return text;
    };
    return out;
}

} // namespace

/// State that the requests share. Every member is touched on the strand of the client's executor only.
struct web_hook_client::state {
    state(asio::any_io_executor, web_hook_options);

    /// Static, so that the state is kept even before it begins.
    static asio::awaitable<web_hook_result> send(std::shared_ptr<state>, web_hook_request);

    result<std::shared_ptr<host_pool>> host_of(web_hook_request const&);
    web_hook_counters counters() const;
    void close();

    asio::any_io_executor const executor;
    web_hook_options const options;
    std::shared_ptr<tls_files> const files;
    std::shared_ptr<pool_counters> const counted = std::make_shared<pool_counters>();
    std::map<std::string, std::shared_ptr<host_pool>> hosts;
    bool is_closed = false;
};

web_hook_client::state::state(asio::any_io_executor ex, web_hook_options o)
    : executor(std::move(ex)), options(std::move(o)), files(std::make_shared<tls_files>(material_of(options)))
{
    throw_wrong(options.validate());
    files->load().value();
}

asio::awaitable<web_hook_result> web_hook_client::state::send(std::shared_ptr<state> self, web_hook_request ask)
{
    auto wrong = problem_of(ask);
    if (wrong) co_return web_hook_error(web_hook_fault::invalid_request, std::move(*wrong));
    if (self->is_closed)
        co_return web_hook_error(web_hook_fault::cancelled, failure(errc::stopped, "the client is closed"));
    auto const host = self->host_of(ask);
    if (!host) co_return web_hook_error(web_hook_fault::invalid_request, host.error());
    auto work = (*host)->exchange(*host, on_the_wire(std::move(ask)));
    co_return co_await std::move(work);
}

/// The host that a request goes to, by its origin and socket; new if it was unknown.
result<std::shared_ptr<host_pool>> web_hook_client::state::host_of(web_hook_request const& ask)
{
    auto const key = ask.to.origin() + ' ' + ask.unix_socket;
    if (auto const known = hosts.find(key); known != hosts.end()) return known->second;
    route way{ask.to, {}};
    way.peer.path = "/";
    auto const named = options.proxy ? *options.proxy
        : options.environment        ? proxy_for(ask.to, options.environment)
                                     : std::string();
    if (!named.empty() && ask.unix_socket.empty()) {
        auto via = parse_proxy(named);
        if (!via) return via.error();
        way.via = std::move(*via);
    }
    if (hosts.size() >= most_idle_hosts)
        std::erase_if(hosts, [](auto const& each) { return !each.second->is_busy(); });
    auto tls = way.peer.tls ? tls_source(files) : tls_source();
    auto const made = std::make_shared<host_pool>(
        executor, std::move(way), ask.unix_socket, rules_of(options), std::move(tls), counted);
    hosts.emplace(key, made);
    return made;
}

web_hook_counters web_hook_client::state::counters() const
{
    web_hook_counters out;
    out.connects = counted->connects;
    out.requests = counted->requests;
    out.replays = counted->replays;
    out.reloads = files->reloads();
    for (auto const& [key, host] : hosts)
        out.open += host->connections();
    return out;
}

void web_hook_client::state::close()
{
    is_closed = true;
    for (auto const& [key, host] : hosts)
        host->close();
}

std::optional<failure> web_hook_options::validate() const
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (connections == 0) return wrong("connections must be at least 1");
    if (max_age.count() < 0) return wrong("max_age must not be negative");
    if (max_age > longest_wait) return wrong("max_age must not exceed a day");
    if (max_answer_bytes == 0) return wrong("max_answer_bytes must be at least 1");
    if (certificate_file.empty() && !key_file.empty()) return wrong("key_file is of no use without certificate_file");
    if (insecure && !ca_file.empty()) return wrong("ca_file is of no use with insecure");
    if (proxy && !proxy->empty()) {
        if (auto const via = parse_proxy(*proxy); !via) return via.error();
    }
    return rules_of(*this).validate();
}

web_hook_client::web_hook_client(asio::any_io_executor ex, web_hook_options options)
    : state_(std::make_shared<state>(std::move(ex), std::move(options)))
{}

web_hook_client::~web_hook_client()
{
    state_->close();
}

asio::awaitable<web_hook_result> web_hook_client::send(web_hook_request ask)
{
    return state::send(state_, std::move(ask));
}

result<void> web_hook_client::reload()
{
    return state_->files->load();
}

void web_hook_client::close()
{
    state_->close();
}

web_hook_counters web_hook_client::counters() const
{
    return state_->counters();
}

asio::any_io_executor web_hook_client::get_executor() const
{
    return state_->executor;
}

} // namespace quern::net
