#include <quern/core/detail/strand_home.hpp>

#include <quern/core/detail/ask.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <exception>

namespace quern::detail {

namespace asio = boost::asio;

asio::awaitable<bool> visit_strand(find_strand find, std::function<asio::awaitable<void>()> work)
{
    auto const stop = std::make_shared<asio::cancellation_signal>(); // on the strand
    auto begin = [find, stop, work = std::move(work)](question_ptr who) {
        find([&](compact_strand const& strand) {
            asio::post(strand, [strand, work, stop, who = std::move(who)]() mutable {
                auto done = [stop, who = std::move(who)](std::exception_ptr thrown) {
                    if (who->take()) who->finish(std::move(thrown));
                };
                asio::co_spawn(strand, work(), asio::bind_cancellation_slot(stop->slot(), std::move(done)));
            });
        });
    };
    auto cancel = [find = std::move(find), stop] {
        find([&](compact_strand const& strand) {
            asio::post(strand, [stop] { stop->emit(asio::cancellation_type::terminal); });
        });
    };
    return put_question(std::move(begin), std::move(cancel));
}

} // namespace quern::detail
