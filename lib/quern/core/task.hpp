#pragma once

#include <boost/asio/recycling_allocator.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace quern::detail {

/// A function to be called once, or never: then it is only destroyed. What fits into two pointers needs no memory of
/// its own, the rest takes it from Asio's recycled blocks.
class task {
public:
    template <class F>
        requires(!std::is_same_v<F, task>)
    explicit task(F f)
    {
        if constexpr (fits<F>) {
            ::new (static_cast<void*>(place_)) F(std::move(f));
            how_ = &here<F>;
        } else {
            std::unique_ptr<F, give_back> block(boost::asio::recycling_allocator<F>().allocate(1));
            ::new (static_cast<void*>(block.get())) F(std::move(f));
            ::new (static_cast<void*>(place_)) F*(block.release());
            how_ = &elsewhere<F>;
        }
    }
    task(task&& other) noexcept : how_(std::exchange(other.how_, nullptr))
    {
        if (how_) how_(step::move, other.place_, place_);
    }
    task& operator=(task&&) = delete;
    ~task()
    {
        if (how_) how_(step::destroy, place_, nullptr);
    }

    void operator()() { std::exchange(how_, nullptr)(step::call, place_, nullptr); }

private:
    enum class step { call, move, destroy };
    static constexpr std::size_t size = 2 * sizeof(void*);

    struct give_back {
        template <class F>
        void operator()(F* block) const
        {
            boost::asio::recycling_allocator<F>().deallocate(block, 1);
        }
    };

    template <class F>
    static constexpr bool fits = sizeof(F) <= size &&
        alignof(F) <= alignof(void*) && std::is_nothrow_move_constructible_v<F>;

    // After each step nothing is left at `place`.

    template <class F>
    static void here(step what, std::byte* place, std::byte* to)
    {
        struct end {
            F& f;
            ~end() { f.~F(); }
        } const at_last{*std::launder(reinterpret_cast<F*>(place))};
        if (what == step::move) ::new (static_cast<void*>(to)) F(std::move(at_last.f));
        if (what == step::call) at_last.f();
    }

    template <class F>
    static void elsewhere(step what, std::byte* place, std::byte* to)
    {
        auto* const block = *std::launder(reinterpret_cast<F**>(place));
        if (what == step::move) {
            ::new (static_cast<void*>(to)) F*(block);
            return;
        }
        struct end {
            F* f;
            ~end()
            {
                f->~F();
                give_back()(f);
            }
        } const at_last{block};
        if (what == step::call) (*block)();
    }

    void (*how_)(step, std::byte* place, std::byte* to) = nullptr;
    alignas(void*) std::byte place_[size];
};

} // namespace quern::detail
