#pragma once

#include <quern/sqs/detail/json_form.hpp>
#include <quern/sqs/types.hpp>

#include <cstddef>
#include <string>

namespace quern::sqs::detail {

/// Bytes of those texts that may be long. A body has room for escapes: JSON in JSON grows by its quotes, about an
/// eighth.
template <class T>
std::size_t long_text(T const& of)
{
    if constexpr (requires { of.entries; }) {
        constexpr std::size_t names = 128;
        std::size_t size = 0;
        for (auto const& entry : of.entries)
            size += names + long_text(entry);
        return size;
    } else if constexpr (requires { of.body; }) {
        return of.body.size() + of.body.size() / 8;
    } else if constexpr (requires { of.receipt_handle; }) {
        return of.receipt_handle.size();
    } else {
        return 0;
    }
}

/// The JSON body of a request. What is absent or empty and not required is left out. Text must be UTF-8: limits.hpp
/// checks bodies and attributes.
template <request Request>
std::string encode(Request const& request)
{
    constexpr std::size_t names_and_url = 512;
    std::string text;
    text.reserve(names_and_url + long_text(request)); // grows once
    json_form(text).write(request);
    return text;
}

} // namespace quern::sqs::detail
