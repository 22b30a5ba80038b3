// Shapes that tools/check_coroutines.py must find. Read by its self test, never compiled.

asio::awaitable<void> conditions()
{
    if (co_await ready()) // expect: condition
        co_return;
    if (!co_await ready()) // expect: condition
        co_return;
    if (int n = 0; co_await take(n)) // expect: condition
        co_return;
    if (ok = co_await ready()) // expect: condition
        co_return;
    if (this->ok = co_await ready()) // expect: condition
        co_return;
    while (co_await ready()) // expect: condition
        work();
    while ((n = co_await count()) > 0) { // expect: condition
        work();
    }
    do {
        work();
    } while (co_await ready()); // expect: condition
    switch (co_await count()) { // expect: condition
    case 1: break;
    }
    for (int i = 0; co_await ready(); ++i) // expect: condition
        work();
    if constexpr (debug)
        if (auto const a = 1; a == co_await count()) // expect: condition
            work();
    BOOST_TEST(co_await ready()); // expect: condition
    BOOST_REQUIRE((co_await receive()).has_value()); // expect: condition
}

asio::awaitable<void> braces(api& sqs)
{
    co_await sqs.send({.url = "u", .body = "b"}); // expect: braces
    co_await sqs.send({}); // expect: braces
    co_await sqs.send("u", {}); // expect: braces
    co_await sqs.send(request{"u"}); // expect: braces
    co_await sqs.send(sqs::request{.url = "u"}); // expect: braces
    co_await sqs.send(size_of(options{}));   // expect: braces
    auto const a = co_await sqs.send(
        request{ // expect: braces
            "u",
            "b"});
    reply r{.text = co_await fetch()}; // expect: braces
    reply s{co_await fetch()}; // expect: braces
    store({.text = co_await fetch()}); // expect: braces
    co_return reply{.text = co_await fetch()}; // expect: braces
}

asio::awaitable<void> lambdas(std::string s)
{
    co_await asio::co_spawn(ex, [s]() -> asio::awaitable<void> { co_return; }, asio::use_awaitable); // expect: lambda
    co_await invoke([=] { use(s); }); // expect: lambda
    co_await invoke([&, s] { use(s); }); // expect: lambda
    co_await invoke([t = std::move(s)] { use(t); }); // expect: lambda
    co_await [s]() -> asio::awaitable<void> { co_return; }(); // expect: lambda
    co_await invoke([this, s] { use(s); }); // expect: lambda
    co_await invoke(std::function<void()>(f)); // expect: lambda
}

asio::awaitable<void> choices(bool c)
{
    auto const a = c ? co_await first() : co_await second(); // expect: choice
    co_await (c ? first() : second()); // expect: choice
    auto const b = c
        ? std::string() // expect: choice
        : co_await second();
}

// A coroutine within a lambda is looked into as well.
void nested()
{
    asio::co_spawn(
        io,
        [&]() -> asio::awaitable<void> {
            if (co_await ready()) // expect: condition
                co_await send({.n = 1}); // expect: braces
            auto inner = [](int n) -> asio::awaitable<int> {
                co_return n ? co_await first() : 0; // expect: choice
            };
        },
        handler);
}

struct in_class {
    asio::awaitable<void> run() const { co_await send({1, 2}); } // expect: braces
    asio::awaitable<void> test() override
    {
        while (co_await ready()) {} // expect: condition
    }
};

void forgotten()
{
    asio::co_spawn(io, work(), asio::detached); // expect: detached
    boost::asio::post(io, boost::asio::bind_executor(io, boost::asio::detached)); // expect: detached
    asio::co_spawn(io, work(), [self](std::exception_ptr) {}); // expect: unheard
    auto const gone = [self](std::exception_ptr, int) { /* nothing */ }; // expect: unheard
}

asio::awaitable<void> captures(std::string s)
{
    asio::co_spawn(io, [s]() -> asio::awaitable<void> { co_await use(s); }(), handler); // expect: captures
    auto work = [&](int n) -> asio::awaitable<int> { co_return co_await take(s, n); };
    asio::co_spawn(io, work(1), handler); // expect: captures
    if (s.empty()) asio::co_spawn(io, work(2), handler); // expect: captures
    return [this]() -> asio::awaitable<void> { co_await run(); }(); // expect: captures
}

asio::awaitable<quern::outcome> one_branch(quern::delivery& d)
{
    if (auto const ok = co_await done(d); ok) co_return ack();
} // expect: ends

asio::awaitable<int> chain(int n) const noexcept
{
    if (n == 1) {
        co_return 1;
    } else if (n == 2) {
        co_return 2;
    }
} // expect: ends

boost::asio::awaitable<std::vector<quern::outcome>> in_a_catch(quern::deliveries all)
{
    try {
        co_return co_await insert(all);
    } catch (std::exception const& e) {
        log(e.what());
    }
} // expect: ends

auto loops() -> asio::awaitable<int, asio::io_context::executor_type>
{
    while (true) {
        auto const n = co_await count();
        for (;;) {
            if (n == 1) co_return n;
            break;
        }
        if (n == 2) break;
    }
} // expect: ends

asio::awaitable<int> holder::cases(kind k)
{
    switch (k) {
    case kind::one: co_return co_await one();
    case kind::two: {
        co_return 2;
    }
    }
} // expect: ends

asio::awaitable<int> broken_case(kind k)
{
    switch (k) {
    case kind::one: note(); break;
    default: co_return co_await one();
    }
} // expect: ends

auto const handle = [&](quern::delivery& d) -> asio::awaitable<quern::outcome> {
    auto inner = [&]() -> asio::awaitable<int> { co_return 1; };
    co_await store(d);
}; // expect: ends
