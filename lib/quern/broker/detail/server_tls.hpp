#pragma once

#include <quern/broker/server_options.hpp>
#include <quern/core/error.hpp>

#include <boost/asio/ssl/context.hpp>

#include <memory>

namespace quern::broker::detail {

/// TLS context (1.2 or newer) with the certificate that a server shows its clients; null when the options name no
/// certificate.
///
/// Fails with  errc::invalid_option  one of the two files without the other, one that cannot be read, a key that does
///                                   not belong to the certificate
[[nodiscard]] result<std::shared_ptr<boost::asio::ssl::context>> server_tls(server_options const&);

} // namespace quern::broker::detail
