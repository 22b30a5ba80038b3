#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace quern::detail::text {

/// Texts of the small XML documents of AWS' query protocol.
struct xml_texts {
    std::string root; ///< the name of the outermost element
    std::map<std::string, std::string, std::less<>>
        texts; ///< of the elements that hold text alone, by the path below the
               ///< root: "AssumeRoleResult/Credentials/AccessKeyId"

    /// Empty when there is no such element.
    std::string get(std::string_view path) const
    {
        auto const at = texts.find(path);
        return at == texts.end() ? std::string() : at->second;
    }
};

/// Reads elements, their text, the five named entities and numeric ones; attributes and comments are passed over. Of
/// elements with the same path the last counts. Nothing when the document is not well-formed, nests deeper than 16,
/// has a name of more than 100 characters, a document type, a CDATA section or an entity of its own: those services
/// send none.
std::optional<xml_texts> read_xml(std::string_view);

} // namespace quern::detail::text
