#include <quern/consumer/delivery.hpp>
#include <quern/consumer/tenant.hpp>
#include <quern/core/detail/text/json_find.hpp>

namespace quern {

using namespace detail;

tenant_rule by_group()
{
    tenant_rule out([](delivery const& d) { return std::string(d.group()); });
    out.system_attribute_ = "MessageGroupId";
    return out;
}

tenant_rule by_attribute(std::string name)
{
    tenant_rule out([name](delivery const& d) {
        auto const* const found = d.attribute(name);
        return found && !found->is_binary() ? std::string(found->value) : std::string();
    });
    out.attribute_ = std::move(name);
    return out;
}

tenant_rule by_body(std::string pointer)
{
    return tenant_rule([pointer = std::move(pointer)](delivery const& d) {
        return text::find_json_word(d.body(), pointer).value_or(std::string());
    });
}

result<tenant_rule> tenant_rule::parse(std::string_view text)
{
    constexpr std::string_view attribute = "attribute:", body = "body:";
    if (text == "group") return by_group();
    if (text.starts_with(attribute) && text.size() > attribute.size())
        return by_attribute(std::string(text.substr(attribute.size())));
    if (text.starts_with(body) && text.substr(body.size()).starts_with('/'))
        return by_body(std::string(text.substr(body.size())));
    return failure(errc::invalid_option,
        "a tenant is named by group, attribute:NAME or body:/json/pointer, not by '" + std::string(text) + "'");
}

} // namespace quern
