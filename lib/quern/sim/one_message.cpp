#include <quern/sim/one_message.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <cstring>
#include <optional>
#include <stdexcept>

namespace quern::sim {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

/// Texts that one block of storage holds.
class shelf {
public:
    std::string_view put(std::string const& text)
    {
        std::memcpy(at_, text.data(), text.size());
        std::string_view const out(reinterpret_cast<char const*>(at_), text.size());
        at_ += text.size();
        return out;
    }

    explicit shelf(std::size_t size) : all(new std::byte[size]), at_(all.get()) {}

    std::shared_ptr<std::byte[]> const all;

private:
    std::byte* at_;
};

constexpr std::string_view id = "one-message";

asio::awaitable<outcome> outcome_of(handlers const& handle, delivery& d)
{
    if (handle.call) co_return handle.call(d);
    if (handle.plain) {
        co_await handle.plain(d);
        co_return ack();
    }
    if (handle.one) {
        auto const said = co_await handle.one(d);
        co_return said;
    }
    std::reference_wrapper<delivery> const all[] = {d};
    auto const said = co_await handle.many(deliveries(all));
    co_return said.at(0);
}

} // namespace

std::unique_ptr<delivery> make_delivery(one_message from)
{
    auto const receives = std::to_string(from.receive_count);
    std::size_t size = id.size() + from.body.size() + from.group.size() + receives.size();
    for (auto const& [name, value] : from.attributes)
        size += name.size() + value.size();
    shelf keeps(size);
    sqs::message made;
    made.id = keeps.put(std::string(id));
    made.body = keeps.put(from.body);
    made.system_attributes.push_back({"ApproximateReceiveCount", keeps.put(receives)});
    if (!from.group.empty()) made.system_attributes.push_back({"MessageGroupId", keeps.put(from.group)});
    for (auto const& [name, value] : from.attributes)
        made.attributes.push_back({keeps.put(name), "String", keeps.put(value)});
    return std::make_unique<delivery>(std::move(made), keeps.all, real_clock());
}

outcome run_to_outcome(handlers const& handle, delivery& d, virtual_clock* time)
{
    if (handle.is_empty()) throw std::logic_error("the handler is an empty function");
    asio::io_context io;
    std::optional<outcome> out;
    std::exception_ptr thrown;
    asio::co_spawn(io, outcome_of(handle, d), [&](std::exception_ptr e, outcome said) {
        thrown = std::move(e);
        out = std::move(said);
    });
    if (time)
        time->run_until_done(io, 24h * 365, [&] { return out.has_value(); });
    else
        io.run();
    if (thrown) std::rethrow_exception(thrown);
    if (!out) throw std::logic_error("the handler waits for something that never comes");
    return *out;
}

} // namespace quern::sim
