#pragma once

#include <quern/aws/credentials/credentials.hpp>

#include <boost/asio/awaitable.hpp>

#include <string>

namespace quern::aws::detail {

/// Credentials that a program prints (`credential_process` of a profile): a JSON object with Version 1, AccessKeyId,
/// SecretAccessKey and, if there are any, SessionToken, Expiration and AccountId. It is run by `/bin/sh -c`, as in
/// most of the AWS SDKs, with an empty standard input; it says on its standard error, which is this program's, what
/// went wrong, and has a minute.
///
/// `whose` names the source in errors: a command may hold secrets, and is not shown.
///
/// Fails with    errc::no_credentials  it failed, or printed something else
/// Cancellation  terminal: it is ended.
boost::asio::awaitable<result<credentials>> process_credentials(std::string command, std::string whose);

} // namespace quern::aws::detail
