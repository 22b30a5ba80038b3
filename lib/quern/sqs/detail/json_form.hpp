#pragma once

#include <quern/core/detail/text/json_writer.hpp>
#include <quern/sqs/detail/members.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace quern::sqs::detail {

/// Appends requests and answers as JSON.
class json_form {
public:
    explicit json_form(std::string& to) : out_(to) {}

    template <class T>
    void write(T const& value)
    {
        if constexpr (requires { value.has_value(); }) {
            write(*value);
        } else if constexpr (std::convertible_to<T const&, std::string_view>) {
            out_.string(value);
        } else if constexpr (std::same_as<T, bool>) {
            out_.boolean(value);
        } else if constexpr (std::integral<T>) {
            out_.integer(value);
        } else if constexpr (std::same_as<T, seconds>) {
            out_.integer(value.count());
        } else {
            out_.begin_object();
            members(value, [&](auto const&... each) { (write_member(each), ...); });
            out_.end_object();
        }
    }

private:
    template <class T>
    void write_member(member<T> const& one)
    {
        if (one.is_left_out()) return;
        out_.plain_key(one.name);
        write(one.value);
    }

    template <class T>
    void write(std::vector<T> const& values)
    {
        out_.begin_array();
        for (auto const& one : values)
            write(one);
        out_.end_array();
    }

    template <class T>
    void write(std::map<std::string, T> const& values)
    {
        out_.begin_object();
        for (auto const& [key, value] : values) {
            out_.key(key);
            write(value);
        }
        out_.end_object();
    }

    void write(attribute_value const& value)
    {
        out_.begin_object().plain_key("DataType").string(value.data_type);
        write_content(value);
        out_.end_object();
    }

    void write(std::vector<system_attribute> const& values)
    {
        out_.begin_object();
        for (auto const& one : values)
            out_.member(one.name, one.value);
        out_.end_object();
    }

    void write(std::vector<message_attribute> const& values)
    {
        out_.begin_object();
        for (auto const& one : values) {
            out_.key(one.name).begin_object();
            write_content(one);
            out_.plain_key("DataType").string(one.data_type).end_object();
        }
        out_.end_object();
    }

    template <class Attribute>
    void write_content(Attribute const& of)
    {
        if (of.is_binary())
            out_.plain_key("BinaryValue").base64(of.value);
        else
            out_.plain_key("StringValue").string(of.value);
    }

    quern::detail::text::json_writer out_;
};

} // namespace quern::sqs::detail
