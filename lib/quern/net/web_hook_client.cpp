#include <quern/net/web_hook_client.hpp>

#include <quern/core/detail/text/date.hpp>
#include <quern/net/detail/proxy.hpp>
#include <quern/net/detail/watchdog.hpp>
#include <quern/net/detail/web_hook_host.hpp>
#include <quern/net/detail/web_hook_text.hpp>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <map>

namespace quern::net {

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

std::optional<wall_time> date_of(headers const& fields)
{
    return text::parse_http_date(fields.find("date"));
}

/// Why an exchange failed.
web_hook_error broken(failure why, connection const& wire, bool is_fresh, conversation& talk)
{
    auto fault = web_hook_fault::cut_off;
    if (why.code == make_error_code(errc::timed_out))
        fault = web_hook_fault::timed_out;
    else if (why.code == make_error_code(errc::stopped))
        fault = web_hook_fault::cancelled;
    else if (why.code == make_error_code(errc::reply_too_large))
        fault = web_hook_fault::too_large;
    else if (why.code == make_error_code(errc::bad_reply))
        fault = web_hook_fault::bad_answer;
    else if (wire.met() == obstacle::own_certificate)
        fault = web_hook_fault::own_certificate;
    else if (wire.unanswered())
        fault = is_fresh ? web_hook_fault::closed : web_hook_fault::stale;

    web_hook_error out(fault, std::move(why));
    if (!talk.has_headers) return out;
    out.status = talk.answer.status;
    out.date = date_of(talk.answer.fields);
    out.fields = std::move(talk.answer.fields);
    return out;
}

} // namespace

/// State that the requests share. Every member is touched on the strand of the client's executor only.
class web_hook_client::pool : public std::enable_shared_from_this<pool> {
public:
    pool(asio::any_io_executor, web_hook_options);

    /// Static, so that the state is kept even before it begins.
    static asio::awaitable<web_hook_result> send(std::shared_ptr<pool>, web_hook_request);

    result<void> reload() { return files_.load(); }
    web_hook_counters counters() const;
    void close();
    void enforce(); ///< of the watchdog

    asio::any_io_executor const executor;

private:
    using host_ptr = std::shared_ptr<web_hook_host>;

    result<host_ptr> host_of(web_hook_request const&);
    asio::awaitable<web_hook_result> send_to(web_hook_host&, web_hook_request, tick deadline);
    asio::awaitable<std::optional<web_hook_error>> connected(web_hook_host&, web_hook_link_ptr&, tick deadline);
    void watch(connection&, tick deadline);

    web_hook_options const options_;
    tls_files files_;
    std::map<std::string, host_ptr> hosts_;
    watchdog watchdog_;
    web_hook_counters counted_;
    std::size_t under_way_ = 0;
    bool closed_ = false;
};

web_hook_client::pool::pool(asio::any_io_executor ex, web_hook_options options)
    : executor(ex), options_(std::move(options)), files_(material_of(options_)), watchdog_(ex)
{
    if (auto const wrong = options_.validate()) throw_exception_from_error(*wrong, BOOST_CURRENT_LOCATION);
    if (auto const read = files_.load(); !read) throw_exception_from_error(read.error(), BOOST_CURRENT_LOCATION);
}

asio::awaitable<web_hook_result> web_hook_client::pool::send(std::shared_ptr<pool> self, web_hook_request ask)
{
    auto const deadline =
        std::chrono::steady_clock::now() + std::clamp<std::chrono::milliseconds>(ask.timeout, {}, longest_wait);
    auto wrong = problem_of(ask);
    if (wrong) co_return web_hook_error(web_hook_fault::invalid_request, std::move(*wrong));
    auto const host = self->host_of(ask);
    if (!host) co_return web_hook_error(web_hook_fault::invalid_request, host.error());

    struct presence {
        pool& at;
        explicit presence(pool& p) : at(p) { ++at.under_way_; }
        ~presence()
        {
            if (--at.under_way_ == 0) at.watchdog_.rest();
        }
    } const here(*self);
    try {
        auto got = co_await self->send_to(**host, std::move(ask), deadline);
        co_return got;
    } catch (boost::system::system_error const& e) {
        // A cancellation that met no operation under way is thrown by the next co_await.
        if (e.code() != asio::error::operation_aborted) throw;
    }
    co_return web_hook_error(web_hook_fault::cancelled, failure(errc::stopped, "cancelled"));
}

asio::awaitable<web_hook_result> web_hook_client::pool::send_to(
    web_hook_host& host, web_hook_request ask, tick deadline)
{
    if (!closed_) {
        auto const full = co_await host.vacancy(deadline);
        if (full) co_return *full;
    }
    if (closed_) co_return web_hook_error(web_hook_fault::cancelled, failure(errc::stopped, "the client is closed"));

    web_hook_host::place held(host, std::chrono::steady_clock::now());
    auto text = wire_text(ask);
    ask.body = std::string();
    auto const& way = host.way;
    bool const is_passed_on = way.via && !way.peer.tls;
    if (is_passed_on) address_to_proxy(text, *way.via, way.peer);
    ++counted_.requests;
    for (;;) {
        bool const is_fresh = !held.link();
        if (is_fresh) {
            auto const failed = co_await connected(host, held.link(), deadline);
            if (failed) co_return *failed;
        }
        auto const link = held.link();
        auto& wire = link->wire;
        watch(wire, deadline);
        auto const began = std::chrono::steady_clock::now();
        auto words = std::move(text);
        if (ask.replay) text = words;
        auto const talk = std::make_shared<conversation>(std::move(words));
        talk->is_bare = ask.method == "HEAD";
        std::shared_ptr<connection> const at(link, &wire);
        auto ended = co_await connection::converse(at, talk);
        wire.deadline = tick::max();
        if (ended && is_passed_on && talk->answer.status == 407)
            co_return web_hook_error(web_hook_fault::proxy_refused, refused_by(*way.via, 407));
        if (ended) {
            web_hook_answer out;
            out.status = talk->answer.status;
            out.date = date_of(talk->answer.fields);
            out.fields = std::move(talk->answer.fields);
            out.body = std::move(talk->answer.body);
            co_return out;
        }
        auto why = broken(ended.error(), wire, is_fresh, *talk);
        bool const is_dead = why.fault == web_hook_fault::stale || why.fault == web_hook_fault::timed_out;
        if (!is_fresh && is_dead) host.distrust(began);
        if (why.fault != web_hook_fault::stale || !ask.replay || closed_) co_return why;
        ++counted_.replays;
        held.link().reset();
    }
}

asio::awaitable<std::optional<web_hook_error>> web_hook_client::pool::connected(
    web_hook_host& host, web_hook_link_ptr& link, tick deadline)
{
    auto const now = std::chrono::steady_clock::now();
    deadline = std::min(deadline, now + options_.connect_timeout);
    auto const made = host.unopened(now);
    if (!made) co_return web_hook_error(web_hook_fault::own_certificate, made.error());
    link = *made;
    ++counted_.connects;
    watch(link->wire, deadline);
    co_return co_await host.open(*link, deadline);
}

/// The host that a request goes to, by its origin and socket; new if it was unknown.
result<web_hook_client::pool::host_ptr> web_hook_client::pool::host_of(web_hook_request const& ask)
{
    auto const key = ask.to.origin() + ' ' + ask.unix_socket;
    if (auto const known = hosts_.find(key); known != hosts_.end()) return known->second;
    route way{ask.to, {}};
    way.peer.path = "/";
    auto const named = options_.proxy ? *options_.proxy
        : options_.environment        ? proxy_for(ask.to, options_.environment)
                                      : std::string();
    if (!named.empty() && ask.unix_socket.empty()) {
        auto via = parse_proxy(named);
        if (!via) return via.error();
        way.via = std::move(*via);
    }
    if (hosts_.size() >= most_idle_hosts)
        std::erase_if(hosts_, [](auto const& each) { return !each.second->is_busy(); });
    auto const made = std::make_shared<web_hook_host>(executor, std::move(way), ask.unix_socket, options_, files_);
    hosts_.emplace(key, made);
    return made;
}

void web_hook_client::pool::watch(connection& wire, tick deadline)
{
    wire.deadline = deadline;
    watchdog_.watch(*this, deadline);
}

void web_hook_client::pool::enforce()
{
    auto const now = std::chrono::steady_clock::now();
    auto next = tick::max();
    for (auto const& [key, host] : hosts_)
        next = std::min(next, host->enforce(now));
    if (next != tick::max()) watchdog_.watch(*this, next);
}

web_hook_counters web_hook_client::pool::counters() const
{
    auto out = counted_;
    out.reloads = files_.reloads();
    for (auto const& [key, host] : hosts_)
        out.open += host->connections();
    return out;
}

void web_hook_client::pool::close()
{
    closed_ = true;
    watchdog_.rest();
    for (auto const& [key, host] : hosts_)
        host->close();
}

std::optional<failure> web_hook_options::validate() const
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (connections == 0) return wrong("connections must be at least 1");
    if (connect_timeout.count() <= 0) return wrong("connect_timeout must be longer than zero");
    if (connect_timeout > longest_wait) return wrong("connect_timeout must not exceed a day");
    if (idle_timeout.count() < 0) return wrong("idle_timeout must not be negative");
    if (idle_timeout > longest_wait) return wrong("idle_timeout must not exceed a day");
    if (max_age.count() < 0) return wrong("max_age must not be negative");
    if (max_age > longest_wait) return wrong("max_age must not exceed a day");
    if (max_answer_bytes == 0) return wrong("max_answer_bytes must be at least 1");
    if (max_header_bytes < 1024) return wrong("max_header_bytes must be at least 1024");
    if (max_header_bytes > 1024 * 1024) return wrong("max_header_bytes must not exceed 1 MiB");
    if (certificate_file.empty() && !key_file.empty()) return wrong("key_file is of no use without certificate_file");
    if (insecure && !ca_file.empty()) return wrong("ca_file is of no use with insecure");
    if (proxy && !proxy->empty()) {
        if (auto const via = parse_proxy(*proxy); !via) return via.error();
    }
    return {};
}

web_hook_client::web_hook_client(asio::any_io_executor ex, web_hook_options options)
    : pool_(std::make_shared<pool>(std::move(ex), std::move(options)))
{}

web_hook_client::~web_hook_client()
{
    pool_->close();
}

asio::awaitable<web_hook_result> web_hook_client::send(web_hook_request ask)
{
    return pool::send(pool_, std::move(ask));
}

result<void> web_hook_client::reload()
{
    return pool_->reload();
}

void web_hook_client::close()
{
    pool_->close();
}

web_hook_counters web_hook_client::counters() const
{
    return pool_->counters();
}

asio::any_io_executor web_hook_client::get_executor() const
{
    return pool_->executor;
}

} // namespace quern::net
