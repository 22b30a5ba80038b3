#include <quern/relay/signature.hpp>

#include <quern/core/detail/text/base64.hpp>
#include <quern/core/detail/text/digest.hpp>

#include <algorithm>
#include <chrono>

namespace quern::relay {

result<std::string> signing_key(std::string_view secret)
{
    constexpr std::string_view prefix = "whsec_";
    constexpr std::string_view blank = " \t\r\n";
    auto const first = std::min(secret.find_first_not_of(blank), secret.size());
    secret.remove_prefix(first);
    secret = secret.substr(0, secret.find_last_not_of(blank) + 1);
    if (!secret.starts_with(prefix)) return failure(errc::invalid_option, "the secret does not begin with whsec_");
    auto const key = text::base64_decode(secret.substr(prefix.size()));
    if (!key) return failure(errc::invalid_option, "what follows whsec_ is no base64");
    if (key->size() < 24 || key->size() > 64)
        return failure(errc::invalid_option, "the secret has to have 24 to 64 bytes");
    return *key;
}

std::string webhook_signature(
    std::span<std::string const> keys, std::string_view id, wall_time at, std::string_view body)
{
    auto const seconds = std::to_string(std::chrono::floor<std::chrono::seconds>(at.time_since_epoch()).count());
    std::string_view const parts[] = {id, ".", seconds, ".", body};
    std::string out;
    for (auto const& key : keys) {
        if (!out.empty()) out += ' ';
        out += "v1,";
        text::append_base64(out, text::bytes_of(text::hmac_sha256(key, parts)));
    }
    return out;
}

} // namespace quern::relay
