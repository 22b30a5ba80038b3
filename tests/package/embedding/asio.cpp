// A program that compiles Asio itself, and not its TLS.

#include <boost/asio/impl/src.hpp>
