#pragma once

#include <quern/core/error.hpp>
#include <quern/relay/letter.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::relay {

/// Text with places that each message fills: "tenants/{{attr.tenant}}". There are
///
///     {{id}} {{body}} {{group}} {{receive_count}} {{queue}} {{sent_at}} {{first_received_at}} (Unix seconds)
///     {{sequence_number}} {{deduplication_id}}
///     {{attr.NAME}}      a user attribute; a binary one in base64
///     {{body:/a/0/b}}    what a JSON Pointer (RFC 6901) finds in the body: a text, a number, true, false
///
/// Spaces within the braces do not count. "{{" that begins none of these is an error of the template.
class text_template {
public:
    text_template() = default;

    /// Fails with  errc::invalid_option  a sentence with the place that is wrong
    [[nodiscard]] static result<text_template> parse(std::string_view);

    /// Appends a value to what is there already; may refuse it.
    using writer = std::function<result<void>(std::string& out, std::string_view value)>;

    /// The text for a message, its values as they are, or as `write` puts them.
    ///
    /// Fails with  errc::invalid_request  the message lacks what a place names
    [[nodiscard]] result<std::string> fill(letter const&, writer const& write = {}) const;

    /// All text outside of the places.
    std::string fixed_text() const;

    bool is_empty() const { return parts_.empty(); }
    bool is_fixed() const { return parts_.empty() || (parts_.size() == 1 && parts_.front().place.empty()); }

private:
    struct piece {
        std::string text;  ///< as it is
        std::string place; ///< after it; empty for none
    };
    std::vector<piece> parts_;
};

/// The URL of a web service: scheme and host fixed, path and query from templates. Values are percent-encoded, all
/// but letters, digits and "-._~", so that none of them ends its segment, its parameter or the path.
class url_template {
public:
    url_template() = default;

    /// "https://host:8443/hook/{{attr.tenant}}?kind={{body:/kind}}". Refuses a place before the path, user info and a
    /// fragment.
    ///
    /// Fails with  errc::invalid_option
    [[nodiscard]] static result<url_template> parse(std::string_view url);

    /// Scheme, host and port, without a path: "https://host:8443".
    std::string const& origin() const { return origin_; }

    /// The path and query of a request: "/hook/a%2Fb?kind=new".
    ///
    /// Fails with  errc::invalid_request  the message lacks what a place names, or the value would leave its segment:
    ///                                    it is empty, "." or ".."
    [[nodiscard]] result<std::string> target(letter const&) const;

    bool is_fixed() const { return path_.is_fixed() && query_.is_fixed(); }

private:
    std::string origin_;
    text_template path_, query_;
    bool has_query_ = false;
};

/// A path that the sender of a message has chosen, percent-encoded but for its slashes.
///
/// Fails with  errc::invalid_request  it does not begin with a slash, has a part "." or "..", or is longer than 8 KiB
[[nodiscard]] result<std::string> path_of_sender(std::string_view path);

} // namespace quern::relay
