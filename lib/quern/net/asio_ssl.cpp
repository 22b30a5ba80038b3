// The unit that holds the code of Asio's TLS.

#include <boost/asio/ssl/impl/src.hpp>
