#include <quern/aws/credentials.hpp>

#include <algorithm>

namespace quern::aws {
namespace {

class fixed_provider final : public credentials_provider {
public:
    explicit fixed_provider(credentials keys) : keys_(std::make_shared<credentials const>(std::move(keys))) {}

    boost::asio::awaitable<result<shared_credentials>> get() override { co_return keys_; }

private:
    shared_credentials keys_;
};

/// A line break or any other control character would end a header early.
bool has_control_character(std::string const& value)
{
    return std::any_of(value.begin(), value.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

} // namespace

std::shared_ptr<credentials_provider> static_credentials(credentials keys)
{
    return std::make_shared<fixed_provider>(std::move(keys));
}

result<credentials> credentials_from(environment const& variable)
{
    credentials keys{variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"), variable("AWS_SESSION_TOKEN")};
    if (keys.access_key_id.empty()) {
        return failure(errc::no_credentials,
            "AWS_ACCESS_KEY_ID is not set: set it and AWS_SECRET_ACCESS_KEY (for a local broker that checks "
            "no signatures any values will do)");
    }
    if (keys.secret_access_key.empty()) {
        return failure(errc::no_credentials,
            "AWS_ACCESS_KEY_ID is set but AWS_SECRET_ACCESS_KEY is not: set both, or "
            "unset both to take credentials from elsewhere");
    }
    for (auto const* const name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}) {
        if (!has_control_character(variable(name))) continue;
        return failure(errc::no_credentials,
            std::string(name) +
                " contains a line break or another control character: "
                "set it again without");
    }
    return keys;
}

} // namespace quern::aws
