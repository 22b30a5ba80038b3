#include <quern/consumer/consumers.hpp>
#include <quern/consumer/detail/crew.hpp>
#include <quern/core/detail/ask.hpp>
#include <quern/core/detail/throw_wrong.hpp>

#include <boost/asio/execution/context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace quern {

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// The crew as its context knows it: it ends with the context at the latest.
class consumers::lodger final : public lodgers::lodger {
public:
    explicit lodger(std::shared_ptr<crew> who) : who_(std::move(who)) {}
    std::shared_ptr<crew> const& who() const { return who_; }

private:
    std::shared_ptr<crew> const who_;
};

std::optional<failure> consumers_options::validate() const
{
    auto const wrong = [](char const* what) { return failure(errc::invalid_option, what); };
    if (max_in_flight == 0 || max_in_flight > 1'000'000) return wrong("max_in_flight must be from 1 to 1000000");
    if (look_every < 10ms || look_every > 1min) return wrong("look_every must be from 10 ms to 1 min");
    return {};
}

consumers::consumers(asio::any_io_executor ex, consumers_options options)
    : ex_(std::move(ex)), at_{lodgers::of(asio::query(ex_, asio::execution::context)), {}},
      max_in_flight_(options.max_in_flight)
{
    throw_wrong(options.validate());
    auto const made = std::make_shared<crew>(ex_, options);
    auto moves_in = std::make_shared<lodger>(made);
    made->home = at_.home;
    made->tenant = at_.tenant = moves_in;
    at_.home->add(std::move(moves_in));
}

/// Posted, as with a consumer: nothing of anybody else's runs on the stack of the caller.
template <class Call>
void consumers::post(place const& to, Call call)
{
    lodgers::visit const at(*to.home, to.tenant);
    if (!at.who) return;
    auto const& who = static_cast<lodger&>(*at.who).who();
    asio::post(who->strand, [who, call = std::move(call)]() mutable { call(*who); });
}

consumers::~consumers()
{
    if (at_.home) post(at_, [](crew& all) { all.abandon(); });
}

consumers& consumers::operator=(consumers&& from) noexcept
{
    consumers moved(std::move(from));
    std::swap(ex_, moved.ex_);
    std::swap(at_, moved.at_);
    std::swap(members_, moved.members_);
    std::swap(max_in_flight_, moved.max_in_flight_);
    std::swap(begun_, moved.begun_);
    return *this;
}

consumer& consumers::add(
    sqs::api* api, std::string queue_url, handlers handle, consumer_options options, std::size_t weight)
{
    auto const refuse = [](std::string what) {
        throw_exception_from_error(failure(errc::invalid_option, std::move(what)), BOOST_CURRENT_LOCATION);
    };
    if (*begun_) refuse("add() comes before start(): the queues are shared out by then");
    if (weight == 0 || weight > 1'000) refuse("weight must be from 1 to 1000");
    if (std::ranges::find(members_, queue_url, &member::queue_url) != members_.end())
        refuse(queue_url + " is there already: a greater weight gives it more");
    if (members_.size() == max_in_flight_)
        refuse("max_in_flight " + std::to_string(max_in_flight_) + " is less than one for each queue: raise it");

    auto const most = options.limits.max_in_flight;
    std::unique_ptr<consumer> made(new consumer(ex_, api, queue_url, std::move(handle), std::move(options)));
    auto& out = *made;
    lodgers::visit const at(*at_.home, at_.tenant);
    if (!at.who) refuse("the context has ended");
    static_cast<lodger&>(*at.who).who()->add(std::move(made), weight, most);
    members_.push_back({std::move(queue_url), weight, out});
    return out;
}

std::vector<consumers::member> consumers::members() const
{
    return members_;
}

void consumers::start()
{
    *begun_ = true;
    post(at_, [](crew& all) { all.start(); });
}

void consumers::stop(std::optional<std::chrono::milliseconds> limit)
{
    *begun_ = true;
    post(at_, [limit](crew& all) { all.stop(limit); });
}

/// Does `first`, and completes when all have drained: the one of the waiter's two askers that `as` names is told.
template <class As, class First>
auto consumers::wait_for_end(place at, As as, First first)
{
    using asker_type = std::remove_reference_t<decltype(std::declval<detail::end_waiter&>().*as)>;
    auto const waiter = std::make_shared<detail::end_waiter>();
    auto begin = [at, waiter, as, first](asker_type who) {
        (*waiter).*as = std::move(who);
        post(at, [waiter, first](crew& all) {
            first(all);
            all.join(waiter);
        });
    };
    auto cancel = [at, who = std::weak_ptr(waiter)] { post(at, [who](crew& all) { all.leave(who.lock()); }); };
    return ask<typename asker_type::value_type>(std::move(begin), std::move(cancel));
}

asio::awaitable<result<drain_report>> consumers::run_to_end()
{
    return wait_for_end(at_, &detail::end_waiter::of_run, [begun = begun_](crew& all) {
        *begun = true;
        all.start();
    });
}

asio::awaitable<drain_report> consumers::drain_within(std::chrono::milliseconds limit)
{
    return wait_for_end(at_, &detail::end_waiter::of_drain, [begun = begun_, limit](crew& all) {
        *begun = true;
        all.stop(limit);
    });
}

asio::awaitable<drain_report> consumers::end_of_drain()
{
    return wait_for_end(at_, &detail::end_waiter::of_drain, [](crew&) {});
}

void consumers::drain_on(std::initializer_list<int> signals, std::optional<std::chrono::milliseconds> limit)
{
    for (auto const& one : members_)
        one.it.get().drain_on(signals, limit);
}

asio::awaitable<result<void>> consumers::share(std::size_t n)
{
    return ask<result<void>>([at = at_, n](asker<result<void>> who) {
        post(at, [who = std::move(who), n](crew& all) { who.tell(all.share(n)); });
    });
}

} // namespace quern
