#pragma once

#include <quern/net/message.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace quern::net::detail {

/// A request as it came over the wire. Its buffers serve one request after another.
struct http_request {
    std::string method; ///< "POST"
    std::string target; ///< "/000000000000/orders?x=1"
    headers fields;
    std::string body; ///< capacity exceeds size by at least `padding`, as SIMD parsers want it

    std::string_view path() const { return std::string_view(target).substr(0, target.find('?')); }
    std::string_view query() const ///< behind the question mark
    {
        return std::string_view(target).substr(std::min(path().size() + 1, target.size()));
    }

    void clear()
    {
        method.clear();
        target.clear();
        fields.clear();
        body.clear();
        if (body.capacity() > kept) body.shrink_to_fit();
    }

    static constexpr std::size_t padding = 64;
    static constexpr std::size_t kept = 256 * 1024; ///< an idle connection keeps no larger buffer
};

} // namespace quern::net::detail
