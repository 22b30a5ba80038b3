#include "relay/relay_changes.hpp"

#include "common/toml_reader.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace quern::app {

std::vector<std::string> need_restart(relay_texts const& before, relay_texts const& after)
{
    static constexpr std::string_view taken_up[] = {"url", "method", "header_sets", "header", "content_type",
        "timeout", "unix_socket", "bearer_file", "basic_file", "sign.secret_files", "sign.ed25519_files",
        "sign.scheme", "oauth2.token_url", "oauth2.client_id", "oauth2.secret_file", "oauth2.scope",
        "oauth2.audience", "oauth2.secret_in_body", "success", "retry", "reject", "unavailable", "carrier_time"};
    std::set<std::string> out;
    auto const look = [&](relay_texts const& at, relay_texts const& other) {
        for (auto const& [key, text] : at) {
            auto const there = other.find(key);
            bool const differs = there == other.end() || there->second != text;
            if (differs && std::ranges::count(taken_up, key) == 0) out.insert(key);
        }
    };
    look(before, after);
    look(after, before);
    return {out.begin(), out.end()};
}

result<void> check_files(relay_texts const& all)
{
    for (auto const* const key :
        {"tls.ca", "tls.cert", "tls.key", "bearer_file", "basic_file", "oauth2.secret_file"}) {
        auto const at = all.find(key);
        if (at == all.end()) continue;
        auto const text = text_of_file(std::string("relay.") + key, at->second);
        if (!text) return text.error();
    }
    return {};
}

} // namespace quern::app
