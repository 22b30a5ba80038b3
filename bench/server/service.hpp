#pragma once

#include "counts.hpp"
#include "reply.hpp"
#include "request.hpp"

#include <deque>
#include <functional>
#include <list>

namespace yardstick {

/// The client that asked. The serial number tells a connection from an earlier one on the same descriptor.
struct peer {
    int fd = -1;
    std::uint32_t serial = 0;
    bool tls = false;
};

/// Answers requests: those of SQS, and the harness's own, `GET /bench/stats` and `POST /bench/reset`.
///
/// Reset begins a measurement: counts start anew, bodies carry the time at which they were due (0000000000000000
/// until then), and what a schedule had piled up is dropped. After a rehearsal it takes two: the first one ends that.
class service {
public:
    /// `send` gets each answer, when it is time.
    service(options const& what, std::function<void(peer, std::string_view)> send);

    /// A request; it is answered here, or by a later tick().
    void request(peer who, http_head const& head, std::string_view body, micros now);
    /// The connection is closed: nobody waits on it any more.
    void gone(peer who);

    /// When tick() has something to do.
    std::optional<micros> next(micros now) const;
    void tick(micros now);

    std::size_t connections = 0;

private:
    struct waiter {
        peer who;
        std::size_t max;
        micros visibility, until;
        wanted which;
    };
    struct delayed {
        micros at;
        peer who;
        std::string bytes;
    };

    enum class shape { single, batch };
    enum class intent { remove, change };

    void control(peer who, http_head const& head, micros now);
    void receive(peer who, call const& what, micros now);
    bool hand_out(waiter const& to, micros now);
    void serve_waiters(micros now);
    void settle(peer who, shape, intent, call const& what, micros now);
    fate settle(entry const& what, intent, micros now);
    void queue_url(peer who, http_head const& head, call const& what, micros now);
    void queue_attributes(peer who, micros now);
    void answer(peer who, int status, micros now);
    void refuse(peer who, std::string_view code, std::string_view why, micros now);

    options const what_;
    std::function<void(peer, std::string_view)> send_;
    queue queue_;
    renderer renderer_;
    reply reply_;
    call_reader reader_;
    std::vector<handed> taken_;
    std::list<waiter> waiters_; // in the order of their coming
    std::deque<delayed> delayed_;
    counts counts_;
};

} // namespace yardstick
