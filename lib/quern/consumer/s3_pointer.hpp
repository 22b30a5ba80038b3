#pragma once

#include <quern/consumer/typed.hpp>

#include <boost/asio/awaitable.hpp>

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace quern {

/// Where the Amazon SQS Extended Client Library has put a body that was too large for a message.
struct s3_pointer {
    std::string bucket, key;
};

/// Nothing when the body is in the message: `of` bears neither of the attributes with which the library marks the
/// others, ExtendedPayloadSize and SQSLargePayloadSize (consumer_options::attributes asks for all by default). `text`
/// is the body, or what from_sns() has taken out of it: then the envelope may bear them.
///
/// Throws parse_error, which names the place, when a marked message holds no pointer.
std::optional<s3_pointer> read_s3_pointer(std::string_view text, delivery const& of);

/// A handler of messages whose bodies may lie in S3; see from_s3().
template <class Download, class Next>
class s3_handler {
public:
    using returned = std::invoke_result_t<Next&, std::string_view, delivery&>;
    static constexpr bool awaits = std::same_as<returned, boost::asio::awaitable<void>> ||
        std::same_as<returned, boost::asio::awaitable<outcome>>;
    static constexpr bool speaks =
        std::same_as<returned, outcome> || std::same_as<returned, boost::asio::awaitable<outcome>>;
    using result = boost::asio::awaitable<std::conditional_t<speaks, outcome, void>>;

    s3_handler(Download download, Next next) : download_(std::move(download)), next_(std::move(next)) {}

    result operator()(delivery& d) { return (*this)(d.body(), d); }
    result operator()(std::string_view text, delivery& d)
    {
        auto const at = read_s3_pointer(text, d);
        auto const body = co_await fetched(at);
        if (at) text = body;
        if constexpr (awaits)
            co_return co_await next_(text, d);
        else
            co_return next_(text, d);
    }

private:
    boost::asio::awaitable<std::string> fetched(std::optional<s3_pointer> const& at)
    {
        std::string out;
        if (at) out = co_await download_(*at);
        co_return out;
    }

    Download download_;
    Next next_;
};

/// A handler of messages whose bodies may lie in S3: `next` is a handler of text, as json() and from_sns() are, and
/// is given what `awaitable<std::string> download(s3_pointer const&)` brings, or the body where that is in the
/// message. The download is yours, and so is the object's end: a lifecycle rule of the bucket, best.
///
/// An exception of `download` is a failure of the handler; the lease is extended meanwhile.
template <class Download, text_handler Next>
auto from_s3(Download download, Next next)
{
    return s3_handler<Download, Next>(std::move(download), std::move(next));
}

} // namespace quern
