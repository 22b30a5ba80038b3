#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

#include <malloc.h>

namespace quern::broker::detail {

/// Whether so many buckets are far too many: less than an eighth of them is used. A table that is then cut to twice
/// its use has to grow, or to shrink, by as much again before it is cut anew, so each removal stays O(1).
constexpr bool has_shrunk(std::size_t size, std::size_t buckets)
{
    constexpr std::size_t least = 64;
    return buckets > least && size < buckets / 8;
}

/// To be called after a removal: a hash table of the standard library by itself keeps the buckets of its fullest day.
template <class Table>
void give_back_buckets(Table& of)
{
    if (!has_shrunk(of.size(), of.bucket_count())) return;
    try {
        of.rehash(2 * of.size());
    } catch (std::bad_alloc const&) {
        // It stays as it is: whoever removes something must not fail for that.
    }
}

/// Knows how many there were, and when so few of many are left that give_back_pages() is worth its milliseconds.
class high_water {
public:
    void rose_to(std::size_t now) { most_ = std::max(most_, now); }

    /// True when an eighth of many is left, and again when none is.
    bool fell_to(std::size_t now)
    {
        constexpr std::size_t many = 10'000;
        bool const were_many = most_ >= many;
        if (now == 0) {
            most_ = 0;
            return std::exchange(some_are_left_, false) || were_many;
        }
        if (!were_many || now > most_ / 8) return false;
        most_ = now;
        some_are_left_ = true;
        return true;
    }

private:
    std::size_t most_ = 0;
    bool some_are_left_ = false;
};

/// Gives freed memory back to the system: the allocator by itself keeps what lies between other blocks.
inline void give_back_pages()
{
#ifdef __GLIBC__
    ::malloc_trim(0);
#endif
}

} // namespace quern::broker::detail
