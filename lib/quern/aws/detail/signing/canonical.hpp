#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::aws::detail {

struct header_view {
    std::string_view name, value;
};

/// A request as seen by whoever signs it or checks its signature. Views: valid as long as what they point into.
struct request_view {
    std::string_view method;
    std::string_view target;          ///< path, and after a '?' the query, as they go over the wire
    std::vector<header_view> headers; ///< in order; a name may come more than once
    std::string_view body;

    std::string_view path() const { return target.substr(0, target.find('?')); }
    std::string_view query() const
    {
        auto const mark = target.find('?');
        return mark == target.npos ? std::string_view() : target.substr(mark + 1);
    }

    /// Value of the first header of that name, compared without case; empty when absent.
    std::string_view header(std::string_view name) const;
};

// The parts of SigV4's canonical request (IAM user guide, "Create a signed AWS API request").

/// Every byte but the unreserved ones of RFC 3986 as %XX.
std::string uri_encode(std::string_view);

/// Encoded again even where it is encoded already, as every service but S3 wants it. `normalize` takes "." and ".."
/// segments and doubled slashes out first.
std::string canonical_path(std::string_view path, bool normalize);

using query_parameters = std::vector<std::pair<std::string, std::string>>;

/// Names and values, decoded, in the order of the query.
query_parameters parse_query(std::string_view query);

/// The first of that name; empty where there is none.
std::string value_of(query_parameters const&, std::string_view name);

/// Encoded, sorted by name and then value.
std::string canonical_query(query_parameters const&);

struct canonical_headers {
    std::string lines; ///< "name:value\n" each, sorted, names in lower case, values of one name joined by commas
    std::string names; ///< "name;name"
};
canonical_headers canonicalize(std::vector<header_view> const&);

/// A line break or any other control character: it would end a header early.
bool has_control_character(std::string_view);

} // namespace quern::aws::detail
