#pragma once

#include <quern/broker/detail/http_answer.hpp>
#include <quern/net/detail/http_request.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace quern::broker::detail {

/// "https://app.example:8443", or "*" for all.
bool is_origin(std::string_view);

/// Pages that may call the broker from a browser (the Fetch standard, CORS protocol).
class cors_rule {
public:
    explicit cors_rule(std::vector<std::string> origins) : origins_(std::move(origins)) {}

    /// The request comes from a page of such an origin.
    bool allows(net::detail::http_request const& request) const
    {
        return !listed(request.fields.find("origin")).empty();
    }

    /// Tells the browser so, in the headers of an answer to such a request. True when it asked for nothing else: the
    /// answer to a preflight is complete.
    bool answer(net::detail::http_request const&, http_answer&) const;

private:
    std::string_view listed(std::string_view origin) const;

    std::vector<std::string> origins_;
};

} // namespace quern::broker::detail
