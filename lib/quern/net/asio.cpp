// The unit that holds Asio's code but for TLS. Others see declarations only (BOOST_ASIO_SEPARATE_COMPILATION, set on
// quern::sqs).

#include <boost/asio/impl/src.hpp>
