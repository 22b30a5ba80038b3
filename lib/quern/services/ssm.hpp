#pragma once

#include <quern/aws/client_options.hpp>
#include <quern/core/clock.hpp>
#include <quern/services/service_client.hpp>

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

/// Puts a String in the place of what was there, or makes one.
struct put_parameter_request {
    std::string name;
    std::string value;

    put_parameter_request(std::string n, std::string v) : name(std::move(n)), value(std::move(v)) {}
};

/// Systems Manager, as far as parameters need it.
///
/// Fails with  as service_client says.
/// Cancellation  terminal, of each call.
/// Source      AWS Systems Manager API reference, "GetParameter", "PutParameter".
class ssm final : public service_client {
public:
    /// Throws boost::system::system_error when an option is invalid, no region is found, or the CA bundle or the
    /// config file cannot be read. `time` outlives the client and its operations.
    explicit ssm(
        boost::asio::any_io_executor, aws::client_options = aws::client_options(), clock& time = real_clock());

    /// Fails with  ParameterNotFound, ParameterVersionNotFound, InvalidKeyId, ThrottlingException: 40 a second are
    ///             allowed of all parameters of an account and region together, unless it pays for more.
    boost::asio::awaitable<result<get_parameter_request::response>> get_parameter(get_parameter_request);

    /// Fails with  ParameterLimitExceeded, TooManyUpdates, HierarchyTypeMismatch, ThrottlingException: three writes a
    ///             second are allowed.
    boost::asio::awaitable<result<void>> put_parameter(put_parameter_request);
};

} // namespace quern::services
