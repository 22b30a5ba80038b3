#include <quern/aws/credentials/credentials.hpp>
#include <quern/aws/credentials/detail/credential_json.hpp>
#include <quern/aws/detail/signing/canonical.hpp>

namespace quern::aws {

using namespace detail;

namespace {

class fixed_provider final : public credentials_provider {
public:
    explicit fixed_provider(credentials keys) : keys_(std::make_shared<credentials const>(std::move(keys))) {}

    shared_credentials at_hand() override { return keys_; }
    boost::asio::awaitable<result<shared_credentials>> get() override { co_return keys_; }

private:
    shared_credentials keys_;
};

std::string unless_blank(std::string value)
{
    return value.find_first_not_of(" \t") == value.npos ? std::string() : value;
}

} // namespace

std::shared_ptr<credentials_provider> static_credentials(credentials keys)
{
    return std::make_shared<fixed_provider>(std::move(keys));
}

std::optional<std::string> flaw_of(credentials const& keys)
{
    if (keys.access_key_id.empty()) return "the access key is missing";
    if (keys.secret_access_key.empty()) return "the secret access key is missing";
    for (auto const* const part : {&keys.access_key_id, &keys.secret_access_key, &keys.session_token}) {
        if (has_control_character(*part)) return "a line break or another control character is in one of the values";
    }
    return {};
}

result<credentials> credentials_from(environment const& variable)
{
    credentials keys{unless_blank(variable("AWS_ACCESS_KEY_ID")), unless_blank(variable("AWS_SECRET_ACCESS_KEY")),
        unless_blank(variable("AWS_SESSION_TOKEN"))};
    keys.account_id = variable("AWS_ACCOUNT_ID");
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
    if (auto const end = variable("AWS_CREDENTIAL_EXPIRATION"); !end.empty()) {
        keys.expires_at = end_in(end);
        if (!keys.expires_at) {
            return failure(errc::no_credentials,
                "AWS_CREDENTIAL_EXPIRATION is not a time like 2026-01-02T03:04:05Z: correct it or unset it");
        }
    }
    return keys;
}

} // namespace quern::aws
