#pragma once

#include <quern/consumer/typed.hpp>

#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern {

/// The envelope that SNS puts around a message that it hands to a queue, unless the subscription has
/// RawMessageDelivery. Who may write into the queue is for its policy to say: the signature is not looked at.
struct sns_envelope {
    struct attribute {
        std::string name, type, value; ///< of type Binary: base64
    };

    std::string message; ///< what was published
    std::string message_id;
    std::string topic_arn;
    std::string subject;         ///< empty: none
    std::string sequence_number; ///< of a FIFO topic
    std::string timestamp;       ///< "2026-11-22T10:00:00.000Z"
    std::vector<attribute> attributes;

    /// The attribute of that name, or nullptr.
    attribute const* find(std::string_view name) const;
};

/// Throws parse_error, which names the place, when the text is no notification of SNS.
sns_envelope read_sns(std::string_view text);

namespace detail {

template <class Next>
struct sns_opened {
    Next next;

    auto operator()(sns_envelope const& from, delivery& d)
    {
        if constexpr (std::invocable<Next&, sns_envelope const&, delivery&>) {
            return next(from, d);
        } else {
            static_assert(text_handler<Next>,
                "from_sns() hands on to (quern::sns_envelope const&, quern::delivery&), or to a handler of text as "
                "json() is");
            return next(std::string_view(from.message), d);
        }
    }
};

} // namespace detail

/// A handler of messages that came through SNS: `next(sns_envelope const&, delivery&)`, or a handler of text, for
/// what was published: `from_sns(json<order>(decode, handle))`.
template <class Next>
auto from_sns(Next next)
{
    return typed(read_sns, detail::sns_opened<Next>{std::move(next)});
}

} // namespace quern
