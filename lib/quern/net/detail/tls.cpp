#include <quern/net/detail/tls.hpp>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/verify_context.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <unistd.h>

namespace quern::net::detail {

namespace asio = boost::asio;

namespace {

bool is_address(std::string const& host)
{
    boost::system::error_code no;
    asio::ip::make_address(host, no);
    return !no;
}

/// "2026-11-21 14:05 UTC"
std::string day_of(ASN1_TIME const* when)
{
    std::tm t{};
    if (!when || ASN1_TIME_to_tm(when, &t) == 0) return "an unreadable date";
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &t);
    return text;
}

/// "sqs.eu-west-1.amazonaws.com, queue.amazonaws.com": the first few hosts that a certificate is for.
std::string hosts_of(X509* shown)
{
    constexpr int enough = 3;
    std::string text;
    auto* const names = static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(shown, NID_subject_alt_name, nullptr, nullptr));
    for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
        auto const* const name = sk_GENERAL_NAME_value(names, i);
        if (i == enough) text += ", ...";
        if (i == enough) break;
        if (!text.empty()) text += ", ";
        if (name->type == GEN_DNS) {
            text.append(reinterpret_cast<char const*>(ASN1_STRING_get0_data(name->d.dNSName)),
                static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName)));
        } else if (name->type == GEN_IPADD && ASN1_STRING_length(name->d.iPAddress) == 4) {
            asio::ip::address_v4::bytes_type address;
            std::copy_n(ASN1_STRING_get0_data(name->d.iPAddress), address.size(), address.begin());
            text += asio::ip::address_v4(address).to_string();
        } else {
            text += "a name of another kind";
        }
    }
    GENERAL_NAMES_free(names);
    for (char& c : text)
        c = c > ' ' && c < '\x7f' ? c : ' '; // a stranger wrote it, and it goes into a log
    return text;
}

std::string describe_fault(X509_STORE_CTX* check, std::string const& host, std::string_view remedy)
{
    auto* const shown = X509_STORE_CTX_get_current_cert(check);
    auto const error = X509_STORE_CTX_get_error(check);
    switch (error) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        if (auto const hosts = shown ? hosts_of(shown) : std::string(); !hosts.empty())
            return "its certificate is for " + hosts + ", not for " + host;
        return "its certificate names no host (subjectAltName), and a common name does not count; not for " + host;
    case X509_V_ERR_CERT_HAS_EXPIRED:
        return "its certificate expired on " + day_of(shown ? X509_get0_notAfter(shown) : nullptr);
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return "its certificate is not valid before " + day_of(shown ? X509_get0_notBefore(shown) : nullptr) +
            " (is the clock of this machine right?)";
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        return "its certificate is self-signed; to trust it, name its file in " + std::string(remedy);
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        return "no authority trusted here vouches for its certificate; name the file with yours in " +
            std::string(remedy);
    default: return std::string("its certificate is refused: ") + X509_verify_cert_error_string(error);
    }
}

/// Asio takes a text without a certificate for one with none to add.
void add_authorities(asio::ssl::context& context, std::string const& pem, boost::system::error_code& ec)
{
    context.add_certificate_authority(asio::buffer(pem), ec);
    auto* const store = SSL_CTX_get_cert_store(context.native_handle());
    bool const is_empty = sk_X509_OBJECT_num(X509_STORE_get0_objects(store)) == 0;
    if (!ec && is_empty) ec = boost::system::errc::make_error_code(boost::system::errc::invalid_argument);
}

/// OpenSSL's reason; 0 for an error of another kind.
int reason_of(boost::system::error_code ec)
{
    if (ec.category() != asio::error::get_ssl_category()) return 0;
    return ERR_GET_REASON(static_cast<unsigned long>(static_cast<unsigned>(ec.value())));
}

int own_index()
{
    static int const index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
    return index;
}

int asked_index()
{
    static int const index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
    return index;
}

bool is_there(char const* variable, char const* usual)
{
    auto const* const told = std::getenv(variable);
    return ::access(told ? told : usual, R_OK) == 0;
}

/// The authorities that the system trusts: in OpenSSL's own places; where nothing is there, as for a program that was
/// linked on another distribution, in the first of theirs. Source: crypto/x509/root_linux.go of Go 1.22.
void trust_the_systems(asio::ssl::context& context, boost::system::error_code& ec)
{
    context.set_default_verify_paths(ec);
    if (ec || is_there(X509_get_default_cert_file_env(), X509_get_default_cert_file()) ||
        is_there(X509_get_default_cert_dir_env(), X509_get_default_cert_dir()))
        return;
    for (auto const* const bundle : {"/etc/ssl/certs/ca-certificates.crt", // Debian, Ubuntu, Arch
             "/etc/pki/tls/certs/ca-bundle.crt",                           // Fedora, Red Hat
             "/etc/ssl/ca-bundle.pem",                                     // openSUSE
             "/etc/ssl/cert.pem"}) {                                       // Alpine
        if (::access(bundle, R_OK) == 0) {
            context.load_verify_file(bundle, ec);
            return;
        }
    }
}

} // namespace

tls_client::tls_client() : context_(asio::ssl::context::tls_client)
{
    auto* const native = context_.native_handle();
    context_.set_verify_mode(asio::ssl::verify_peer);
    SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
    SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_set_ex_data(native, own_index(), this);
    SSL_CTX_sess_set_new_cb(native, keep_session);
}

tls_client::tls_client(std::string const& ca_bundle) : tls_client()
{
    boost::system::error_code ec;
    if (ca_bundle.empty())
        trust_the_systems(context_, ec);
    else
        context_.load_verify_file(ca_bundle, ec);
    if (!ec) return;
    failure const wrong(errc::invalid_option, "ca_bundle \"" + ca_bundle + "\": " + ec.message());
    throw_exception_from_error(wrong, BOOST_CURRENT_LOCATION);
}

result<std::shared_ptr<tls_client>> tls_client::make(tls_material const& of)
{
    std::shared_ptr<tls_client> const out(new tls_client);
    auto& context = out->context_;
    out->remedy_ = "the option ca_file";
    out->is_checking_ = of.is_checking;
    if (of.oldest_version == TLS1_3_VERSION) out->oldest_ = "1.3";
    SSL_CTX_set_min_proto_version(context.native_handle(), of.oldest_version);
    if (!of.is_checking) context.set_verify_mode(asio::ssl::verify_none);
    // OpenSSL would ask for the passphrase of a key at the terminal.
    SSL_CTX_set_default_passwd_cb(context.native_handle(), [](char*, int, int, void*) { return 0; });

    boost::system::error_code ec;
    auto const wrong = [&](std::string const& option, pem_text const& from) {
        return failure(errc::invalid_option, option + " \"" + from.file + "\": " + ec.message());
    };
    if (of.is_checking && of.authorities.text.empty()) trust_the_systems(context, ec);
    if (of.is_checking && !of.authorities.text.empty()) add_authorities(context, of.authorities.text, ec);
    if (ec) return wrong("ca_file", of.authorities);
    if (of.certificate.text.empty()) {
        SSL_CTX_set_client_cert_cb(context.native_handle(), [](SSL* connection, X509**, EVP_PKEY**) {
            SSL_set_ex_data(connection, asked_index(), connection);
            return 0; // there is none
        });
        return out;
    }
    context.use_certificate_chain(asio::buffer(of.certificate.text), ec);
    if (ec) return wrong("certificate_file", of.certificate);
    auto const has_phrase = std::make_shared<bool>(false); // or OpenSSL asks for it on the terminal, and waits
    context.set_password_callback([has_phrase](std::size_t, asio::ssl::context::password_purpose) {
        *has_phrase = true;
        return std::string();
    });
    context.use_private_key(asio::buffer(of.key.text), asio::ssl::context::pem, ec);
    if (ec && *has_phrase)
        return failure(errc::invalid_option,
            "key_file \"" + of.key.file + "\" has a pass phrase: `openssl pkey -in " + of.key.file +
                " -out FILE` writes one without");
    if (ec) return wrong("key_file", of.key);
    return out;
}

tls_client::~tls_client() = default;

bool tls_client::was_asked(tls_stream& stream)
{
    return SSL_get_ex_data(stream.native_handle(), asked_index()) != nullptr;
}

/// OpenSSL has a session to keep: with TLS 1.3 some time after the handshake. Returns 1 as the new owner.
int tls_client::keep_session(SSL* connection, SSL_SESSION* session)
{
    auto* const self = static_cast<tls_client*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(connection), own_index()));
    self->session_.reset(session);
    return 1;
}

bool tls_client::prepare(tls_stream& stream, std::string const& host, std::string& fault)
{
    auto* const native = stream.native_handle();
    bool is_expected = false;
    if (!is_checking_) {
        is_expected = is_address(host) || SSL_set_tlsext_host_name(native, host.c_str()) == 1;
    } else if (is_address(host)) {
        is_expected = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(native), host.c_str()) == 1;
    } else {
        SSL_set_hostflags(native, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
        is_expected = SSL_set1_host(native, host.c_str()) == 1 && SSL_set_tlsext_host_name(native, host.c_str()) == 1;
    }
    if (!is_expected) return false;
    boost::system::error_code ignored;
    auto const note = [host, &fault, remedy = remedy_](bool good, asio::ssl::verify_context& check) {
        if (!good) fault = describe_fault(check.native_handle(), host, remedy);
        return good;
    };
    if (is_checking_) stream.set_verify_callback(note, ignored);
    if (session_ && SSL_SESSION_is_resumable(session_.get()) == 1) SSL_set_session(native, session_.get());
    return true;
}

void keep_resumable(tls_stream& stream)
{
    if (SSL_is_init_finished(stream.native_handle()) == 1)
        SSL_set_shutdown(stream.native_handle(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
}

failure why_refused(
    boost::system::error_code ec, std::string const& certificate_fault, std::string_view oldest_version)
{
    if (ec.category() != asio::error::get_ssl_category()) return {errc::tls_failed, ec.message(), true};

    switch (reason_of(ec)) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
        if (!certificate_fault.empty()) return {errc::tls_failed, certificate_fault};
        break;
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
        return {
            errc::tls_failed, "it offers no TLS " + std::string(oldest_version) + " or newer (" + ec.message() + ")"};
    case SSL_R_WRONG_VERSION_NUMBER: return {errc::tls_failed, "it does not speak TLS (" + ec.message() + ")"};
    case SSL_R_TLSV1_ALERT_INTERNAL_ERROR:
    case SSL_R_TLSV1_ALERT_USER_CANCELLED: return {errc::tls_failed, ec.message(), true};
    default: break;
    }
    if (refuses_ours(ec))
        return {errc::tls_failed, "it refuses our certificate, or wants one (" + ec.message() + ")"};
    return {errc::tls_failed, ec.message()};
}

bool is_handshake_failure(boost::system::error_code ec)
{
    return reason_of(ec) == SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE;
}

bool refuses_ours(boost::system::error_code ec)
{
    switch (reason_of(ec)) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_NO_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED: return true;
    default: return false;
    }
}

} // namespace quern::net::detail
