#include <quern/net/message.hpp>

#include <boost/beast/core/string.hpp>

namespace quern::net {

void headers::add(std::string_view name, std::string_view value)
{
    fields_.push_back({static_cast<std::uint32_t>(text_.size()), static_cast<std::uint32_t>(name.size()),
        static_cast<std::uint32_t>(value.size())});
    text_.append(name).append(value);
}

std::string_view headers::find(std::string_view name) const
{
    std::string_view const text = text_;
    for (auto const& f : fields_) {
        if (boost::beast::iequals(text.substr(f.name_at, f.name_size), name)) {
            return text.substr(f.name_at + f.name_size, f.value_size);
        }
    }
    return {};
}

std::pair<std::string_view, std::string_view> headers::operator[](std::size_t index) const
{
    auto const& f = fields_[index];
    std::string_view const name_and_value = std::string_view(text_).substr(f.name_at, f.name_size + f.value_size);
    return {name_and_value.substr(0, f.name_size), name_and_value.substr(f.name_size)};
}

void headers::reserve_usual()
{
    text_.reserve(384);
    fields_.reserve(12);
}

void headers::clear()
{
    text_.clear();
    fields_.clear();
}

} // namespace quern::net
