#pragma once

#include <quern/core/clock.hpp>
#include <quern/services/client_options.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace quern::services {

// Not an aggregate: g++ 12.2 destroys those twice in a `co_await` expression (GCC PR107288).

struct get_parameter_request {
    struct response {
        std::string name{};
        std::string type{}; ///< "String", "StringList", "SecureString"
        std::string value{};
        std::int64_t version = 0;
    };
    std::string name;             ///< "/orders/halt"; with ":3" or ":label" one version of it
    bool with_decryption = false; ///< of a SecureString, which takes kms:Decrypt; of the others it changes nothing

    explicit get_parameter_request(std::string n, bool decrypt = false) : name(std::move(n)), with_decryption(decrypt)
    {}
};

/// Systems Manager, as far as parameters need it.
///
/// Fails with  as aws::json_service::call(), and errc::bad_reply for an answer that cannot be read.
/// Lifetime    any order: destroying the object ends the operations under way with errc::stopped.
/// Threads     any, for every call and for destruction. It works on a strand of its own.
/// Cancellation  terminal, of each call.
/// Source      AWS Systems Manager API reference, "GetParameter".
class ssm {
public:
    /// Throws boost::system::system_error when an option is invalid, no region is found, or the CA bundle or the
    /// config file cannot be read. `time` outlives the client and its operations.
    explicit ssm(boost::asio::any_io_executor, client_options = client_options(), clock& time = real_clock());
    ~ssm();
    ssm(ssm const&) = delete;
    ssm& operator=(ssm const&) = delete;

    /// Fails with  ParameterNotFound, ParameterVersionNotFound, InvalidKeyId, ThrottlingException: 40 a second are
    ///             allowed of all parameters of an account and region together, unless it pays for more.
    boost::asio::awaitable<result<get_parameter_request::response>> get_parameter(get_parameter_request);

    /// Ends every operation under way with errc::stopped and closes all connections.
    void close();

    /// Its strand; none once its context has ended.
    boost::asio::any_io_executor get_executor() const;

    net::endpoint const& endpoint() const;
    std::string const& region() const;

private:
    struct inside;
    std::unique_ptr<inside const> const inside_;
};

} // namespace quern::services
