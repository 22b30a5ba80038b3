#pragma once

#include <quern/services/dynamodb_types.hpp>

#include <string>
#include <string_view>

namespace quern::services::detail {

std::string encode(get_item_request const&);
std::string encode(put_item_request const&);
std::string encode(update_item_request const&);
std::string encode(delete_item_request const&);
std::string encode(batch_execute_statement_request const&);
std::string encode(create_table_request const&);
std::string encode(describe_table_request const&);
std::string encode(update_time_to_live_request const&);
std::string encode(describe_time_to_live_request const&);

/// Reads the answer to a request, `{"a":{"S":"x"}}` in it as an item.
///
/// Fails with  errc::bad_reply  no JSON, or another shape
[[nodiscard]] result<get_item_request::response> decode(get_item_request const&, std::string_view body);
[[nodiscard]] result<write_response> decode_write(std::string_view body);
[[nodiscard]] result<batch_execute_statement_request::response> decode(
    batch_execute_statement_request const&, std::string_view body);
[[nodiscard]] result<create_table_request::response> decode(create_table_request const&, std::string_view body);
[[nodiscard]] result<describe_table_request::response> decode(describe_table_request const&, std::string_view body);
[[nodiscard]] result<update_time_to_live_request::response> decode(
    update_time_to_live_request const&, std::string_view body);
[[nodiscard]] result<describe_time_to_live_request::response> decode(
    describe_time_to_live_request const&, std::string_view body);

/// The item that stands in an error, where its condition did not hold.
std::optional<item> item_in(std::string_view refused);

/// Whether the condition of a write did not hold.
inline bool is_refusal(failure const& why)
{
    return why.service_code == "ConditionalCheckFailedException";
}

} // namespace quern::services::detail
