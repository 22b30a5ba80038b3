#include "common/sender.hpp"

#include <quern/sqs/batch.hpp>
#include <quern/sqs/limits.hpp>

#include <boost/asio/co_spawn.hpp>

namespace quern::app {

namespace asio = boost::asio;

namespace {

constexpr std::size_t most_calls = 8; // keeps a server busy across a round trip; 80 MiB of the longest messages

} // namespace

sender::sender(asio::any_io_executor ex, sqs::api& api, std::string queue_url, told tell)
    : executor_(ex), sqs_(api), queue_url_(std::move(queue_url)), tell_(std::move(tell)),
      max_calls_(queue_url_.ends_with(".fifo") ? 1 : most_calls), answered_(real_clock(), std::move(ex))
{}

asio::awaitable<void> sender::add(sqs::send_message_entry entry)
{
    auto const size = sqs::message_size(entry.body, entry.attributes);
    if (bytes_ + size > sqs::max_message_bytes) co_await flush();
    bytes_ += size;
    batch_.push_back(std::move(entry));
    if (batch_.size() == sqs::max_batch_entries) co_await flush();
}

asio::awaitable<void> sender::flush()
{
    if (batch_.empty()) co_return;
    while (calls_ == max_calls_)
        co_await answered_.wait();
    bytes_ = 0;
    auto const first = std::exchange(flushed_, flushed_ + batch_.size());
    if (given_up_) {
        batch_.clear();
        for (auto position = first; position != flushed_; ++position)
            tell_(position, *given_up_);
        co_return;
    }
    ++calls_;
    asio::co_spawn(executor_, call(std::exchange(batch_, {}), first), [](std::exception_ptr bug) {
        if (bug) std::rethrow_exception(bug);
    });
}

asio::awaitable<void> sender::finished()
{
    co_await flush();
    while (calls_ != 0)
        co_await answered_.wait();
}

asio::awaitable<void> sender::call(std::vector<sqs::send_message_entry> entries, std::size_t first)
{
    auto const answers = co_await sqs::send_batch(sqs_, queue_url_, std::move(entries));
    for (auto const& answer : answers)
        tell_(first++, answer);
    --calls_;
    answered_.ring();
}

} // namespace quern::app
