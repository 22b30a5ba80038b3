#pragma once

#include "common/toml.hpp"

#include <quern/core/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace quern::app {

/// Reads a TOML document. Every complaint names the place of the node that it is about: "shop.toml:7:3: queues.orders
/// must be a table". Thrown, and caught by whoever reads the document as a whole.
class toml_reader {
public:
    struct complaint {
        std::string text;
    };

protected:
    explicit toml_reader(std::string_view file) : file_(file) {}

    toml::table parse(std::string_view document) const;

    std::string spot(toml::source_region const& at) const;
    std::string place(toml::source_region const& at, std::string_view key) const;
    [[noreturn]] void refuse(toml::source_region const& at, std::string_view key, std::string_view why) const;

    toml::table const& table(toml::node const& node, std::string_view key, std::string_view form) const;
    std::string text(toml::node const& node, std::string_view key) const;
    std::int64_t number(toml::node const& node, std::string_view key, std::int64_t least, std::int64_t most) const;

    /// A text, or what stands for one.
    std::string simple(toml::node const& node, std::string_view key) const;

    std::string_view const file_;
};

/// Calls `read`, which reads a document that an option names; its complaint becomes a failure that names the option.
template <class Read>
auto read_toml(std::string_view option, Read read) -> result<decltype(read())>
try {
    if constexpr (std::is_void_v<decltype(read())>)
        return read(), result<void>();
    else
        return read();
} catch (toml_reader::complaint const& c) {
    return failure(errc::invalid_option, std::string(option) + ' ' + c.text);
}

/// The text of a file that an option names.
result<std::string> text_of_file(std::string_view option, std::string const& path);

} // namespace quern::app
