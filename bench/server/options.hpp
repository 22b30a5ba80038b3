#pragma once

#include <cstdint>
#include <string>

namespace yardstick {

/// Microseconds since the epoch: what bodies carry, so that client and server read the same clock.
using micros = std::int64_t;
constexpr micros second = 1'000'000;

/// Properties of the queue. One process serves one queue, whatever URL it is asked by.
struct options {
    std::size_t body = 256; ///< bytes of a body, at least 64
    bool json = false;      ///< it is JSON from there on, of which every sixth byte has to be escaped in an answer

    double rate = 0;                 ///< messages that become due each second; 0: there is always another one
    bool rehearse = false;           ///< until the first reset there is always another one all the same
    bool poisson = false;            ///< they come at random rather than evenly
    std::uint64_t seed = 1;          ///< of the random ones
    std::uint64_t limit = ~0ull;     ///< there are no more messages than these
    std::uint32_t groups = 0;        ///< of a FIFO queue; 0: a standard queue
    micros visibility = 30 * second; ///< for those who don't say
    micros delay = 0;                ///< from an answer's being ready to its being sent

    /// False: messages that are handed out are forgotten, and a delete counts when its handle is well formed. For a
    /// load generator that sends the same bytes again and again.
    bool remember = true;

    std::uint16_t port = 0;       ///< 0: any
    std::string certificate, key; ///< PEM files; TLS where both are set
};

} // namespace yardstick
