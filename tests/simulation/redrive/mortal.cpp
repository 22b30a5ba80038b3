#include "simulation/redrive/mortal.hpp"

#include <quern/core/alarm.hpp>

#include <utility>

namespace quern::sim {

mortal_api::mortal_api(sqs::api& real, doom& end, clock& time, boost::asio::any_io_executor ex)
    : real_(real), end_(end), time_(time), ex_(std::move(ex))
{}

template <class Request>
sqs::answer<typename Request::response> mortal_api::carry(Request request)
{
    alarm never(time_, ex_);
    constexpr bool counts = Request::operation != std::string_view("GetQueueAttributes"); // which changes nothing
    if (end_.is_dead || (counts && end_.strikes())) co_await never.wait();
    auto said = co_await sqs::perform(real_, std::move(request));
    if (end_.is_dead || (counts && end_.strikes())) co_await never.wait();
    co_return said;
}

result<void> mortal_file::append(std::string_view text)
{
    failure const dead(errc::stopped, "dead");
    ++on_.appends;
    if (end_.strikes()) return dead;
    if (end_.strikes()) {
        on_.text += text.substr(0, text.size() / 2);
        return dead;
    }
    on_.text += text;
    if (end_.strikes()) return dead;
    on_.kept = on_.text.size();
    return {};
}

result<void> mortal_file::cut(std::size_t size)
{
    on_.text.resize(size);
    on_.kept = size;
    return {};
}

} // namespace quern::sim

template class quern::sqs::forwarding_api<quern::sim::mortal_api>;
