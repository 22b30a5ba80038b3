#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace quern::net::detail {

class http_connection;

/// Memory for the bodies that are under way from clients that have proved nothing yet: who has to wait with the
/// next piece, and who is the first to go. Those who send slowly to keep others out are the oldest, whatever they
/// hold; who holds most may just have sent it.
class body_budget {
public:
    /// Part of one connection.
    class share {
    public:
        explicit share(http_connection* whose = nullptr) : whose_(whose) {}
        share(share const&) = delete;
        share& operator=(share const&) = delete;

        http_connection* whose() const { return whose_; }
        std::size_t bytes() const { return bytes_; }

    private:
        friend class body_budget;
        http_connection* whose_;
        std::size_t bytes_ = 0;
        std::uint64_t place_ = 0; ///< by age
    };

    explicit body_budget(std::size_t most) : most_(most) {}

    /// Notes that it holds so many bytes from now on; the first ones begin its age. True when it held more before.
    bool hold(share& one, std::size_t bytes)
    {
        bool const less = bytes < one.bytes_;
        if (one.bytes_ == 0) one.place_ = ++last_place_;
        if (is_large(one)) large_.erase(one.place_);
        total_ = total_ - one.bytes_ + bytes;
        one.bytes_ = bytes;
        if (is_large(one)) large_.emplace(one.place_, &one);
        return less;
    }

    /// Whether it has to wait: the budget is spent, and not for the most part by itself. A large request may take
    /// more than all the budget, since its signature counts its whole body. The oldest goes on, so that one at least
    /// is done, and so do those that hold next to nothing.
    bool crowded(share const& one) const
    {
        if (!is_large(one) || total_ <= most_ || total_ - one.bytes_ <= most_ / 4) return false;
        return oldest() != &one;
    }

    /// The oldest of those that hold more than next to nothing; null: there is none.
    share* oldest() const { return large_.empty() ? nullptr : large_.begin()->second; }

    /// Calls `use` with each large one that need not wait, or no longer.
    template <class Use>
    void each_with_room(Use use) const
    {
        for (auto const& [place, one] : large_)
            if (!crowded(*one)) use(*one);
    }

    std::size_t total() const { return total_; }

private:
    static bool is_large(share const& one) { return one.bytes_ >= 16 * 1024; }

    std::size_t const most_;
    std::size_t total_ = 0;
    std::uint64_t last_place_ = 0;
    std::map<std::uint64_t, share*> large_;
};

} // namespace quern::net::detail
