#pragma once

#include <quern/core/clock.hpp>
#include <quern/redrive/journal.hpp>
#include <quern/sqs/forwarding_api.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace quern::sim {

/// The point at which a process is killed: a request before it leaves or as its answer arrives, or a write.
struct doom {
    int at = 0; ///< counted from 1; 0: never
    int seen = 0;
    bool is_dead = false;

    /// Whether this is the point; dead is dead.
    bool strikes()
    {
        is_dead = is_dead || ++seen == at;
        return is_dead;
    }
};

/// Calls of a process that may die before the request has left, or when it was carried out. Of the dead no call
/// comes back.
class mortal_api final : public sqs::forwarding_api<mortal_api> {
public:
    mortal_api(sqs::api& real, doom& end, clock& time, boost::asio::any_io_executor ex);

    template <class Request>
    sqs::answer<typename Request::response> carry(Request);

private:
    sqs::api& real_;
    doom& end_;
    clock& time_;
    boost::asio::any_io_executor ex_;
};

/// A disk that outlives its processes.
struct disk {
    std::string text;
    std::size_t appends = 0;
    std::size_t kept = 0; ///< size after the last write that came to its end, beside the journal
};

/// A journal on it; a kill may leave none of a write, half of it or all.
class mortal_file final : public redrive::journal_file {
public:
    mortal_file(disk& on, doom& end) : on_(on), end_(end) {}

    [[nodiscard]] result<void> read(piece_reader const& take) override { return take(on_.text); }
    [[nodiscard]] result<void> append(std::string_view) override;
    [[nodiscard]] result<void> cut(std::size_t) override;
    std::size_t least_size() override { return on_.kept; }
    bool is_cancelled() override { return false; }
    void forget_cancel() override {}

private:
    disk& on_;
    doom& end_;
};

} // namespace quern::sim

extern template class quern::sqs::forwarding_api<quern::sim::mortal_api>;
