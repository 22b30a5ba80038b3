// Sound code that tools/check_coroutines.py must leave alone. Read by its self test, never compiled.

// if (co_await ready()) in a comment
#define AWAIT(x) if (co_await x)
/* co_await f({.a = 1}); asio::detached */

asio::awaitable<void> conditions()
{
    if (auto const ok = co_await ready(); ok)
        co_return;
    if (auto const ok = co_await ready())
        co_return;
    if (std::optional<int> const n = co_await count())
        co_return;
    if (auto [ec, n] = co_await read(); !ec)
        co_return;
    while (true) {
        auto const ok = co_await ready();
        if (!ok)
            break;
    }
    for (auto const& m : co_await receive())
        use(m);
    for (auto n = co_await count(); n > 0; --n)
        work();
    auto const ok = co_await ready() && co_await willing();
    BOOST_TEST(ok);
    if (text == "co_await ready()")
        co_return;
    if (text == R"(co_await "ready")")
        co_return;
    auto const million = 1'000'000; co_await wait(million);
}

asio::awaitable<reply> braces(api& sqs)
{
    request r{.url = "u", .body = "b"};
    auto const done = co_await sqs.send(std::move(r));
    co_await sqs.send(std::string{"x"}, std::chrono::seconds{1}, std::vector<int>{1});
    co_await sqs.send(request("u", "b"), std::size_t{1}, int{2});
    {
        co_await sqs.send(r);
    }
    if (done) {
        co_await sqs.send(r);
    } else {
        co_await sqs.send(r);
    }
    try {
        co_await sqs.send(r);
    } catch (std::exception const& e) {
        report(options{e.what()});
    }
    switch (done) {
    case 1: {
        co_await sqs.send(r);
        break;
    }
    default: co_await sqs.send(r);
    }
    co_return reply{.text = "plain"};
}

asio::awaitable<void> lambdas(std::string s)
{
    auto work = [s]() -> asio::awaitable<void> { co_await use(s); };
    co_await asio::co_spawn(ex, std::move(work), asio::use_awaitable);
    co_await invoke([&] { use(s); }, [this] { use(); }, [] { return 1; }, [&s, &n] { use(s, n); });
    std::function<void()> named = [s] { use(s); };
    co_await invoke(named, table[n], handles()[n]);
    asio::co_spawn(
        io, [s]() -> asio::awaitable<void> { co_await use(s); }, [n](std::exception_ptr e) { note(e, n ? 1 : 2); });
    int const m = n ? 1 : 2;
    co_await invoke(a, b); // after a choice
}

template <class T>
class holder : public base<T> {
public:
    explicit holder(T value) : base<T>{value}, value_{std::move(value)} {}
    asio::awaitable<void> run();

private:
    T value_{};
    int limits_[2] = {1, 2};
    enum class state { open, closed };
};

asio::awaitable<void> excused()
{
    co_await send(request{"u"}); // coroutine-ok: request has a constructor, and this is a sample
}

bool detached_is_only_a_word(connection const& c) { return c.detached && detached(c); }

void heard()
{
    asio::co_spawn(io, work(), [self](std::exception_ptr bug) { if (bug) std::rethrow_exception(bug); });
    asio::co_spawn(io, work(), [client](std::exception_ptr) { client->close(); }); // it ends as connections do
}

asio::awaitable<void> captures(std::string s)
{
    auto work = [&](int n) -> asio::awaitable<int> { co_return n + co_await take(s); };
    auto const n = co_await work(1);
    co_await asio::co_spawn(ex, work(2), asio::use_awaitable); // awaited here: `work` is there until then
    asio::co_spawn(ex, work, handler);
    asio::co_spawn(ex, [&, n]() -> asio::awaitable<void> { co_await work(n); }, handler);
    asio::co_spawn(ex, [](int m) -> asio::awaitable<void> { co_await take(m); }(n), handler);
    auto plain = [s] { return s.size(); };
    asio::co_spawn(ex, wait(plain()), handler);
}

asio::awaitable<int> every_branch(int n)
{
    co_await ready();
    if (n == 1) {
        co_return 1;
    } else if (n == 2)
        throw std::runtime_error("two");
    else
        co_return 3;
}

asio::awaitable<int> tried()
{
    try {
        co_return co_await count();
    } catch (int) {
        std::rethrow_exception(std::current_exception());
    } catch (...) {
        throw;
    }
}

asio::awaitable<int> endless()
{
    for (;;) {
        auto const n = co_await count();
        switch (n) {
        case 1: break;
        default: co_return n;
        }
        while (n > 2) break;
    }
}

asio::awaitable<int> cases(kind k)
{
    do {
        auto const f = [] { for (;;) break; };
        if (co_await_nothing(f)) continue;
    } while (true);
}

asio::awaitable<int> all_cases(kind k)
{
    switch (k) {
    case kind::one: note(); [[fallthrough]];
    case kind::two: co_return co_await one();
    default: std::abort();
    }
}

asio::awaitable<int> not_a_coroutine(int n); // and g++ warns of this one itself:
asio::awaitable<int> not_a_coroutine(int n)
{
    auto work = [n]() -> asio::awaitable<int> { co_return n; };
    if (n > 1) return other(work);
}
asio::awaitable<void> owes_nothing()
{
    if (auto const n = co_await count(); n > 1) co_return;
}
std::function<asio::awaitable<int>(int)> const table[] = {first, second};
std::map<int, asio::awaitable<int>> kept{};
