#include <quern/core/detail/text/xml.hpp>

#include <quern/core/detail/text/utf8.hpp>

#include <charconv>
#include <cstdint>
#include <vector>

namespace quern::detail::text {
namespace {

constexpr std::string_view blanks = " \t\r\n";

bool is_blank(std::string_view text)
{
    return text.find_first_not_of(blanks) == text.npos;
}

bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
        c == '.' || c == ':';
}

bool is_character(std::uint32_t point)
{
    return point == 0x9 || point == 0xA || point == 0xD || (point >= 0x20 && point <= 0xD7FF) ||
        (point >= 0xE000 && point <= 0xFFFD) || (point >= 0x10000 && point <= 0x10FFFF);
}

/// Appends the character of a name between '&' and ';'. Returns false when there is none.
bool append_entity(std::string& to, std::string_view name)
{
    constexpr std::pair<std::string_view, char> named[] = {
        {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    for (auto const& [known, character] : named) {
        if (name != known) continue;
        to.push_back(character);
        return true;
    }
    if (!name.starts_with('#')) return false;
    name.remove_prefix(1);
    int const base = name.starts_with('x') ? 16 : 10;
    if (base == 16) name.remove_prefix(1);
    std::uint32_t point = 0;
    auto const [end, ec] = std::from_chars(name.data(), name.data() + name.size(), point, base);
    if (ec != std::errc() || end != name.data() + name.size() || !is_character(point)) return false;
    append_utf8(to, point);
    return true;
}

class xml_reader {
public:
    explicit xml_reader(std::string_view text) : rest_(text) {}

    std::optional<xml_texts> read()
    {
        take("\xEF\xBB\xBF");
        if (take("<?xml") && !skip_past("?>")) return {};
        while (!rest_.empty()) {
            bool const good = rest_.front() == '<' ? markup() : text();
            if (!good) return {};
        }
        if (!open_.empty() || out_.root.empty()) return {};
        return std::move(out_);
    }

private:
    struct element {
        std::string name;
        std::string text;
        bool has_children = false;
    };

    bool take(std::string_view expected)
    {
        bool const there = rest_.starts_with(expected);
        if (there) rest_.remove_prefix(expected.size());
        return there;
    }

    bool skip_past(std::string_view mark)
    {
        auto const at = rest_.find(mark);
        if (at == rest_.npos) return false;
        rest_.remove_prefix(at + mark.size());
        return true;
    }

    void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(blanks), rest_.size())); }

    /// Empty when there is none, or no end of it.
    std::string name()
    {
        constexpr std::size_t longest = 100; // the paths of all elements are made of them
        std::size_t size = 0;
        while (size < rest_.size() && is_name_character(rest_[size]))
            ++size;
        if (size > longest) return {};
        std::string found(rest_.substr(0, size));
        rest_.remove_prefix(size);
        return found;
    }

    bool markup()
    {
        if (take("<!--")) return skip_past("-->");
        if (take("</")) return end_tag();
        take("<");
        return start_tag();
    }

    bool start_tag()
    {
        constexpr std::size_t most_open = 16;
        auto found = name();
        if (found.empty() || open_.size() == most_open || (open_.empty() && !out_.root.empty())) return false;
        for (;;) {
            auto const before = rest_.size();
            skip_blanks();
            if (take("/>")) return open(std::move(found)) && close();
            if (take(">")) return open(std::move(found));
            if (rest_.size() == before || !attribute()) return false;
        }
    }

    bool attribute()
    {
        if (name().empty()) return false;
        skip_blanks();
        if (!take("=")) return false;
        skip_blanks();
        if (rest_.empty() || (rest_.front() != '"' && rest_.front() != '\'')) return false;
        auto const end = rest_.find(rest_.front(), 1);
        if (end == rest_.npos || rest_.substr(0, end).find('<') != rest_.npos) return false;
        rest_.remove_prefix(end + 1);
        return true;
    }

    bool open(std::string name)
    {
        if (open_.empty()) {
            out_.root = name;
        } else {
            auto& parent = open_.back();
            if (!is_blank(parent.text)) return false;
            parent.has_children = true;
        }
        open_.push_back({std::move(name), {}, false});
        return true;
    }

    bool end_tag()
    {
        auto const found = name();
        skip_blanks();
        return take(">") && !open_.empty() && open_.back().name == found && close();
    }

    bool close()
    {
        std::string path;
        for (std::size_t i = 1; i < open_.size(); ++i)
            path += (i == 1 ? "" : "/") + open_[i].name;
        auto last = std::move(open_.back());
        open_.pop_back();
        if (last.has_children) return is_blank(last.text);
        out_.texts[path] = std::move(last.text);
        return true;
    }

    bool text()
    {
        auto const size = std::min(rest_.find_first_of("<&"), rest_.size());
        auto const plain = rest_.substr(0, size);
        rest_.remove_prefix(size);
        if (open_.empty()) return is_blank(plain) && !rest_.starts_with('&');
        open_.back().text += plain;
        if (!take("&")) return true;
        auto const end = rest_.find(';');
        constexpr std::size_t longest = 8;
        if (end == rest_.npos || end > longest) return false;
        auto const entity = rest_.substr(0, end);
        rest_.remove_prefix(end + 1);
        return append_entity(open_.back().text, entity);
    }

    std::string_view rest_;
    std::vector<element> open_;
    xml_texts out_;
};

} // namespace

std::optional<xml_texts> read_xml(std::string_view text)
{
    return xml_reader(text).read();
}

} // namespace quern::detail::text
