// A client whose keys come from somewhere of one's own: asked before the first call, and again before they end.
#include <quern/quern.hpp>

#include <boost/asio/co_spawn.hpp>

#include <iostream>

namespace asio = boost::asio;
namespace aws = quern::aws;
namespace sqs = quern::sqs;
using namespace std::chrono_literals;

class vault final : public aws::credentials_source {
public:
    asio::awaitable<quern::result<aws::credentials>> load() override
    {
        std::cout << "the vault is asked\n";
        aws::credentials keys{"test", "test", ""}; // yours come over the network, and may take their time
        keys.expires_at = std::chrono::system_clock::now() + 1h;
        co_return keys;
    }
};

asio::awaitable<void> use(sqs::client& client)
{
    for (auto const* const name : {"letters", "parcels"}) {
        sqs::create_queue_request wanted(name);
        auto const queue = co_await client.create_queue(std::move(wanted));
        std::cout << queue.value().queue_url << '\n';
    }
}

int main()
try {
    asio::io_context io;
    sqs::client_options options;
    options.credentials = aws::cached_credentials(io.get_executor(), std::make_unique<vault>());
    sqs::client client(io.get_executor(), options);
    asio::co_spawn(io, use(client), [](std::exception_ptr failed) {
        if (failed) std::rethrow_exception(failed);
    });
    io.run();
} catch (std::exception const& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
