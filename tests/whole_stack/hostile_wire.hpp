#pragma once

#include <quern/sim/dice.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>

namespace quern::test {

/// The chances of what befalls connections that go through a wire: of each new one, or of each piece of bytes.
struct wire_faults {
    double refused = 0;                   ///< a new one is reset
    double ignored = 0;                   ///< a new one is never answered
    double reset = 0;                     ///< at a piece, which does not arrive
    double closed = 0;                    ///< as that, in order: the peers see the end of a stream
    double halved = 0;                    ///< at a piece: nothing more comes this way, and nobody is told
    double slow = 0;                      ///< a piece takes seconds
    double torn = 0;                      ///< a piece arrives in many small ones
    std::chrono::milliseconds latency{0}; ///< of a piece, at most
};

/// A network between clients and a server on this machine: it takes connections on a port of its own, and carries
/// bytes both ways, or does not.
///
/// Lifetime  outlives the run of its context.
class hostile_wire {
public:
    hostile_wire(boost::asio::io_context&, std::uint16_t to, std::uint64_t seed);

    std::uint16_t port() const { return door_.local_endpoint().port(); }
    void set(wire_faults const& f) { faults_ = f; }
    void break_all(bool silently); ///< all connections: reset, or nothing comes through any more
    std::size_t connections() const { return links_.size(); }
    std::size_t accepted() const { return accepted_; }

private:
    using socket = boost::asio::ip::tcp::socket;
    struct link {
        std::array<socket, 2> ends;
        std::array<bool, 2> is_dead{}; ///< nothing more goes from that end to the other
        int pumps = 2;
    };
    using links = std::list<std::shared_ptr<link>>;

    boost::asio::awaitable<void> accept();
    boost::asio::awaitable<void> carry(std::shared_ptr<link>, std::size_t from);
    boost::asio::awaitable<bool> pass(link&, std::size_t from, std::string);
    boost::asio::awaitable<void> wait(std::chrono::milliseconds);
    bool happens(double chance) { return chance > 0 && dice_.up_to(1) < chance; }

    boost::asio::io_context& io_;
    boost::asio::ip::tcp::acceptor door_;
    boost::asio::ip::tcp::endpoint const to_;
    sim::dice dice_;
    wire_faults faults_;
    links links_;
    std::size_t accepted_ = 0;
};

} // namespace quern::test
