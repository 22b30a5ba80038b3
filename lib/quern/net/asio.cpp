// The one unit that holds Asio's code, TLS included. Everybody else sees declarations only
// (BOOST_ASIO_SEPARATE_COMPILATION, set on quern::sqs).

#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
