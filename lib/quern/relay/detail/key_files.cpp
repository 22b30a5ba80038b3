#include <quern/relay/detail/key_files.hpp>

#include <quern/core/detail/text/base64.hpp>
#include <quern/relay/relay.hpp>
#include <quern/relay/signature.hpp>

#include <utility>

namespace quern::relay::detail {

using namespace quern::detail;

namespace {

std::optional<failure> read_each(
    std::vector<watched_file>& files, result<std::string> (*key_in)(std::string_view), std::vector<std::string>& to)
{
    for (auto& file : files) {
        auto const text = file.read();
        if (!text) return text.error();
        auto key = key_in(*text);
        if (!key) return failure(errc::invalid_option, file.path() + ": " + key.error().message);
        to.push_back(std::move(*key));
    }
    return {};
}

} // namespace

key_files::key_files(relay_options const& o)
{
    for (auto const& path : o.secret_files)
        secrets_.emplace_back(path);
    for (auto const& path : o.ed25519_files)
        ed25519_.emplace_back(path);
    if (o.oauth2 && !o.oauth2->secret_file.empty()) client_secret_.emplace(o.oauth2->secret_file);
    if (!o.bearer_file.empty()) bearer_.emplace(o.bearer_file);
    if (!o.basic_file.empty()) basic_.emplace(o.basic_file);
}

result<request_keys> key_files::read()
{
    request_keys out;
    if (auto wrong = read_each(secrets_, signing_key, out.signing)) return *wrong;
    if (auto wrong = read_each(ed25519_, ed25519_key, out.ed25519)) return *wrong;
    if (client_secret_) {
        auto const secret = client_secret_->read();
        if (!secret) return secret.error();
        out.client_secret = *secret;
    }
    if (bearer_) {
        auto const token = bearer_->read();
        if (!token) return token.error();
        out.authorization = "Bearer " + *token;
    }
    if (basic_) {
        auto const pair = basic_->read();
        if (!pair) return pair.error();
        out.authorization = "Basic " + text::base64_encode(*pair);
    }
    return out;
}

} // namespace quern::relay::detail
