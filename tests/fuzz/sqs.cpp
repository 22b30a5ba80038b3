#include "target.hpp"

#include <quern/aws/detail/error_reply.hpp>
#include <quern/aws/retry.hpp>
#include <quern/core/detail/printable.hpp>
#include <quern/net/message.hpp>
#include <quern/sqs/detail/checksums.hpp>
#include <quern/sqs/detail/decode.hpp>
#include <quern/sqs/detail/md5.hpp>
#include <quern/sqs/message.hpp>
#include <quern/sqs/types.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace quern::fuzz {

using namespace quern::detail;
using namespace quern::sqs::detail;

namespace {

template <class Response>
void read(std::string_view bytes)
{
    static sqs::detail::decoder decoder; // as a client has it: whatever one answer leaves behind meets the next
    std::string body(bytes);
    std::ignore = decoder.read<Response>(body);
}

} // namespace

void json_answer(std::string_view bytes)
{
    if (bytes.empty()) return;
    auto const which = static_cast<std::uint8_t>(bytes.front()) % 8;
    bytes.remove_prefix(1);
    switch (which) {
    case 0: return read<sqs::send_message_response>(bytes);
    case 1: return read<sqs::send_message_batch_response>(bytes);
    case 2: return read<sqs::delete_message_batch_response>(bytes);
    case 3: return read<sqs::queue_urls_response>(bytes);
    case 4: return read<sqs::attributes_response>(bytes);
    case 5: return read<sqs::list_message_move_tasks_response>(bytes);
    default: break;
    }
    static sqs::detail::decoder decoder;
    std::string body(bytes);
    auto answer = decoder.read<sqs::receive_message_response>(body);
    if (!answer) return;
    auto const all = answer->messages.size() + answer->damaged.size();
    must(all <= 10, "a receive brings ten messages at most");
    verify(*answer);
    must(answer->messages.size() + answer->damaged.size() == all, "a message with a wrong digest is still told");
}

void attribute_digests(std::string_view bytes)
{
    sqs::attribute_map attributes;
    while (bytes.size() > 2) {
        auto const name = 1 + static_cast<std::uint8_t>(bytes[0]) % 5;
        auto const value = static_cast<std::uint8_t>(bytes[1]) % 40;
        bytes.remove_prefix(2);
        auto const take = [&](std::size_t size) {
            auto const part = bytes.substr(0, size);
            bytes.remove_prefix(part.size());
            return std::string(part);
        };
        auto const key = take(name);
        attributes.insert_or_assign(key, sqs::attribute_value{value % 2 ? "Binary.x" : "String", take(value)});
    }
    std::vector<sqs::message_attribute> received;
    for (auto const& [name, value] : attributes)
        received.push_back({name, value.data_type, value.value});
    std::ranges::reverse(received);
    must(md5_of_attributes(received) == md5_of_attributes(attributes), "a digest does not know the order");
}

void error_answer(std::string_view bytes)
{
    net::response answer;
    answer.status = bytes.empty() ? 500 : 400 + static_cast<std::uint8_t>(bytes.front()) % 150;
    auto const line = bytes.find('\n');
    answer.fields.add("x-amzn-query-error", bytes.substr(0, line));
    if (line != bytes.npos) answer.body.assign(bytes.substr(line));
    auto const why = aws::detail::decode_error(answer);
    must(printable(why.message) == why.message, "an error can be shown");
}

void retry_after(std::string_view bytes)
{
    auto const told = aws::parse_retry_after(bytes);
    if (told) must(told->count() >= 0, "no hint is negative");
}

} // namespace quern::fuzz
