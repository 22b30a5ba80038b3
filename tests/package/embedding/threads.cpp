// A library of a company that knows nothing of Quern, compiled long ago: Asio header-only, without any definition or
// with BOOST_ASIO_NO_DEPRECATED.

#include <boost/asio.hpp>

#include <thread>
#include <vector>

void run_threads(boost::asio::io_context& io, int how_many)
{
    std::vector<std::thread> threads;
    for (int i = 0; i < how_many; ++i)
        threads.emplace_back([&] { io.run(); });
    for (auto& one : threads)
        one.join();
}
