#include <quern/broker/detail/server_tls.hpp>

#include <openssl/ssl.h>

namespace quern::broker::detail {

namespace ssl = boost::asio::ssl;

result<std::shared_ptr<ssl::context>> server_tls(server_options const& options)
{
    if (options.tls_certificate.empty() && options.tls_key.empty()) return std::shared_ptr<ssl::context>();
    auto const refuse = [](std::string const& name, std::string const& why) {
        return failure(errc::invalid_option, "server_options." + name + ": " + why);
    };
    if (options.tls_certificate.empty()) return refuse("tls_certificate", "tls_key alone does not make a TLS server");
    if (options.tls_key.empty()) return refuse("tls_key", "the certificate's key is needed as well");

    auto tls = std::make_shared<ssl::context>(ssl::context::tls_server);
    SSL_CTX_set_min_proto_version(tls->native_handle(), TLS1_2_VERSION);
    boost::system::error_code ec;
    tls->use_certificate_chain_file(options.tls_certificate, ec);
    if (ec) return refuse("tls_certificate", "\"" + options.tls_certificate + "\": " + ec.message());
    auto const has_phrase = std::make_shared<bool>(false); // or OpenSSL asks for it on the terminal, and waits
    tls->set_password_callback([has_phrase](std::size_t, ssl::context::password_purpose) {
        *has_phrase = true;
        return std::string();
    });
    tls->use_private_key_file(options.tls_key, ssl::context::pem, ec);
    if (ec && *has_phrase)
        return refuse("tls_key",
            "\"" + options.tls_key + "\" has a pass phrase: `openssl pkey -in " + options.tls_key +
                " -out FILE` writes one without");
    if (ec) return refuse("tls_key", "\"" + options.tls_key + "\": " + ec.message());
    return tls;
}

} // namespace quern::broker::detail
