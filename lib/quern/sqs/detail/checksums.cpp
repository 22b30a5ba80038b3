#include <quern/sqs/detail/checksums.hpp>

#include <quern/core/detail/md5.hpp>
#include <quern/core/detail/text/digest.hpp>
#include <quern/sqs/detail/failures.hpp>
#include <quern/sqs/detail/md5.hpp>

#include <algorithm>

namespace quern::sqs::detail {

using namespace quern::detail;

namespace {

bool matches(std::string_view digest, md5_digest const& body)
{
    return digest.empty() || digest == text::hex_text(body);
}

template <class Attributes>
bool matches_attributes(std::string_view digest, Attributes const& attributes)
{
    return digest.empty() || attributes.empty() || digest == md5_of_attributes(attributes);
}

/// The name of the digest that does not match; empty when all do.
template <class Sent>
std::string_view mismatch(Sent const& sent, send_message_response const& answer)
{
    if (!matches(answer.md5_of_body, md5(sent.body))) return "MD5OfMessageBody";
    if (!matches_attributes(answer.md5_of_attributes, sent.attributes)) return "MD5OfMessageAttributes";
    if (!matches_attributes(answer.md5_of_system_attributes, sent.system_attributes)) {
        return "MD5OfMessageSystemAttributes";
    }
    return {};
}

std::string stored_otherwise(std::string_view digest, send_message_response const& answer)
{
    return std::string(digest) + " does not match what was sent; the service stored message " + answer.message_id;
}

std::vector<md5_digest> digests_of_bodies(std::vector<message> const& messages)
{
    std::vector<std::string_view> bodies(messages.size());
    std::ranges::transform(messages, bodies.begin(), &message::body);
    std::vector<md5_digest> out(messages.size());
    md5(bodies, out);
    return out;
}

} // namespace

std::optional<failure> verify(send_message_request const& sent, send_message_response const& answer)
{
    auto const wrong = mismatch(sent, answer);
    if (wrong.empty()) return {};
    return failure(errc::checksum_mismatch, stored_otherwise(wrong, answer));
}

void verify(send_message_batch_request const& sent, send_message_batch_response& answer)
{
    auto const stored_wrongly = [&](sent_message const& done) {
        auto const entry = std::ranges::find(sent.entries, done.id, &send_message_entry::id);
        if (entry == sent.entries.end()) return false;
        auto const wrong = mismatch(*entry, done);
        if (wrong.empty()) return false;
        answer.failed.push_back({done.id, std::string(checksum_mismatch_code), stored_otherwise(wrong, done), false});
        return true;
    };
    std::erase_if(answer.successful, stored_wrongly);
}

void verify(receive_message_response& answer)
{
    auto const digests = digests_of_bodies(answer.messages);
    auto of_body = digests.begin();
    std::size_t position = 0;
    auto const is_taken = [&](damaged_message const& other) { return other.position == position; };
    auto const arrived_otherwise = [&](message const& m) {
        while (std::ranges::any_of(answer.damaged, is_taken))
            ++position;
        bool const body = matches(m.md5_of_body, *of_body++);
        bool const whole = body && matches_attributes(m.md5_of_attributes, m.attributes);
        if (!whole) {
            std::string const digest = body ? "MD5OfMessageAttributes" : "MD5OfBody";
            failure why(errc::checksum_mismatch, digest + " does not match what arrived", true);
            answer.damaged.push_back({position, m, std::move(why)});
        }
        ++position;
        return !whole;
    };
    std::erase_if(answer.messages, arrived_otherwise);
    std::ranges::sort(answer.damaged, {}, &damaged_message::position);
}

} // namespace quern::sqs::detail
