#pragma once

#include <quern/core/error.hpp>

#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace quern {

class delivery;

/// Says whom a message belongs to: a tenant, a customer, a partner. See consumer_options::tenant.
class tenant_rule {
public:
    /// None: messages belong to nobody.
    tenant_rule() = default;

    /// A function that returns the tenant's name, the empty one for a message of nobody. The consumer calls it on its
    /// strand, once for each message received. Where it throws the message belongs to nobody, and the log says so.
    template <class Function>
        requires(!std::same_as<std::remove_cvref_t<Function>, tenant_rule> &&
            std::is_invocable_r_v<std::string, Function&, delivery const&>)
    tenant_rule(Function name) : name_(std::move(name)) {}

    /// The rule that "group", "attribute:NAME" or "body:/json/pointer" stands for, as `--tenant` takes it.
    ///
    /// Fails with  errc::invalid_option  names the form that the text should have
    static result<tenant_rule> parse(std::string_view text);

    explicit operator bool() const { return name_ != nullptr; }
    std::string operator()(delivery const& d) const { return name_(d); }

    /// Names of the system attribute and of the user attribute that have to be received for it. Empty: none.
    std::string const& system_attribute() const { return system_attribute_; }
    std::string const& attribute() const { return attribute_; }

private:
    friend tenant_rule by_group();
    friend tenant_rule by_attribute(std::string name);

    std::function<std::string(delivery const&)> name_;
    std::string system_attribute_, attribute_;
};

/// The message group, which standard queues may have as well: there SQS takes it for the tenant of fair queues.
/// Source: "Amazon SQS fair queues", Amazon SQS Developer Guide.
tenant_rule by_group();

/// A user attribute of the message. It is received also where consumer_options::attributes does not name it.
tenant_rule by_attribute(std::string name);

/// The place in the body to which a JSON pointer (RFC 6901) leads, where that is a text, a number, true or false.
tenant_rule by_body(std::string pointer);

} // namespace quern
