#pragma once

#include <string>
#include <string_view>

namespace quern::broker {

/// How many bytes at the front are a character that XML cannot have, not even escaped: controls, U+FFFE and U+FFFF.
inline std::size_t unfit_for_xml(std::string_view text)
{
    auto const c = static_cast<unsigned char>(text.front());
    if (c < 0x20) return c != '\t' && c != '\n' && c != '\r' ? 1 : 0;
    if (c != 0xEF) return 0;
    return text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF") ? 3 : 0;
}

inline void append_xml(std::string& to, std::string_view text)
{
    for (std::size_t i = 0; i != text.size(); ++i) {
        if (auto const size = unfit_for_xml(text.substr(i)); size != 0) {
            to += "\xEF\xBF\xBD"; // U+FFFD
            i += size - 1;
            continue;
        }
        char const c = text[i];
        switch (c) {
        case '&': to += "&amp;"; break;
        case '<': to += "&lt;"; break;
        case '>': to += "&gt;"; break;
        case '"': to += "&quot;"; break;
        case '\r': to += "&#xD;"; break; // by itself a reader would make a line feed of it
        default: to += c;
        }
    }
}

/// <name>…</name> around whatever `inside` appends.
template <class Inside>
void xml_element(std::string& to, std::string_view name, Inside inside)
{
    to.append(1, '<').append(name).append(1, '>');
    inside();
    to.append("</").append(name).append(1, '>');
}

inline void xml_leaf(std::string& to, std::string_view name, std::string_view text)
{
    xml_element(to, name, [&] { append_xml(to, text); });
}

/// An answer of SQS whose root has this name.
template <class Inside>
void xml_document(std::string& to, std::string_view root, Inside inside)
{
    to.append("<?xml version=\"1.0\"?><").append(root);
    to.append(" xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\">");
    inside();
    to.append("</").append(root).append(1, '>');
}

} // namespace quern::broker
