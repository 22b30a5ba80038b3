// The client alone: makes a queue, sends three messages in one request, receives and deletes them.
#include <quern/quern.hpp>

#include <boost/asio/co_spawn.hpp>

#include <iostream>

namespace asio = boost::asio;
namespace sqs = quern::sqs;

asio::awaitable<void> send_and_receive(sqs::client& client)
{
    sqs::create_queue_request wanted("letters");
    auto const queue = co_await client.create_queue(std::move(wanted));
    auto const url = queue.value().queue_url; // value() throws when the call failed; `if (!queue)` looks instead

    std::vector<sqs::send_message_entry> letters;
    for (auto const* const text : {"alpha", "beta", "gamma"})
        letters.emplace_back(text);
    auto const sent = co_await sqs::send_batch(client, url, std::move(letters));
    for (auto const& each : sent) // one outcome an entry, by position: the others may have succeeded
        std::cout << "sent " << each.value().message_id.size() << " characters of message id\n";

    std::size_t left = sent.size();
    while (left != 0) {
        sqs::receive_message_request request(url);
        request.wait_time = std::chrono::seconds(5);
        auto const got = co_await client.receive_message(std::move(request));
        std::vector<std::string> handles;
        for (auto const& message : got.value().messages) { // views, good for as long as `got` lives
            std::cout << "received " << message.body << '\n';
            handles.emplace_back(message.receipt_handle);
        }
        auto const deleted = co_await sqs::delete_batch(client, url, std::move(handles));
        for (auto const& each : deleted) {
            each.value();
            --left;
        }
    }
    std::cout << "all deleted\n";
}

int main()
try {
    asio::io_context io;
    sqs::client client(io.get_executor()); // region, endpoint and keys: from the environment
    asio::co_spawn(io, send_and_receive(client), [](std::exception_ptr failed) {
        if (failed) std::rethrow_exception(failed);
    });
    io.run();
} catch (std::exception const& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
