#pragma once

#include <boost/asio/ssl/context.hpp>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>

namespace quern::test {

/// A key and a certificate for one name: signed by itself, or by the authority given.
class certificate {
public:
    /// In seconds from now.
    struct validity {
        long from = -60, until = 3'600;
    };

    explicit certificate(std::string const& name) : certificate(name, nullptr, validity()) {}
    certificate(std::string const& name, validity when) : certificate(name, nullptr, when) {}
    certificate(std::string const& name, certificate const& authority) : certificate(name, &authority, validity()) {}
    certificate(std::string const& name, certificate const& authority, validity when)
        : certificate(name, &authority, when)
    {}

    /// One whose subject alone says whose it is.
    static certificate without_names(std::string const& subject)
    {
        return certificate(subject, nullptr, validity(), false);
    }

    /// A context for a server that shows this certificate.
    boost::asio::ssl::context server() const
    {
        boost::asio::ssl::context tls(boost::asio::ssl::context::tls_server);
        SSL_CTX_use_certificate(tls.native_handle(), cert_.get());
        SSL_CTX_use_PrivateKey(tls.native_handle(), key_.get());
        return tls;
    }

    /// Writes the certificate where a client can be told to trust it, and a server to show it.
    std::string save(std::filesystem::path const& file) const
    {
        return written(file, [&](BIO* to) { PEM_write_bio_X509(to, cert_.get()); });
    }

    std::string save_key(std::filesystem::path const& file) const
    {
        return written(
            file, [&](BIO* to) { PEM_write_bio_PrivateKey(to, key_.get(), nullptr, nullptr, 0, nullptr, nullptr); });
    }

private:
    certificate(std::string const& name, certificate const* authority, validity when, bool is_named = true)
        : key_(EVP_EC_gen("P-256"), EVP_PKEY_free), cert_(X509_new(), X509_free)
    {
        static long serial = 0;
        X509_set_version(cert_.get(), 2);
        ASN1_INTEGER_set(X509_get_serialNumber(cert_.get()), ++serial);
        X509_gmtime_adj(X509_getm_notBefore(cert_.get()), when.from);
        X509_gmtime_adj(X509_getm_notAfter(cert_.get()), when.until);
        X509_set_pubkey(cert_.get(), key_.get());
        auto* const subject = X509_get_subject_name(cert_.get());
        X509_NAME_add_entry_by_txt(
            subject, "CN", MBSTRING_UTF8, reinterpret_cast<unsigned char const*>(name.c_str()), -1, -1, 0);
        X509_set_issuer_name(cert_.get(), authority ? X509_get_subject_name(authority->cert_.get()) : subject);
        auto const is_address = name.find_first_not_of("0123456789.") == std::string::npos;
        if (is_named) extend(NID_subject_alt_name, (is_address ? "IP:" : "DNS:") + name);
        if (!authority) extend(NID_basic_constraints, "critical,CA:TRUE");
        auto* const signer = authority ? authority->key_.get() : key_.get();
        if (X509_sign(cert_.get(), signer, EVP_sha256()) == 0) throw std::runtime_error("X509_sign");
    }

    void extend(int what, std::string const& value)
    {
        std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> extension(
            X509V3_EXT_conf_nid(nullptr, nullptr, what, value.c_str()), X509_EXTENSION_free);
        if (!extension || X509_add_ext(cert_.get(), extension.get(), -1) == 0)
            throw std::runtime_error("X509_add_ext");
    }

    template <class Writer>
    static std::string written(std::filesystem::path const& file, Writer writer)
    {
        std::unique_ptr<BIO, decltype(&BIO_free)> memory(BIO_new(BIO_s_mem()), BIO_free);
        writer(memory.get());
        char* text = nullptr;
        auto const size = BIO_get_mem_data(memory.get(), &text);
        std::ofstream(file).write(text, size);
        return file.string();
    }

    std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
    std::unique_ptr<X509, decltype(&X509_free)> cert_;
};

} // namespace quern::test
