// The unit that holds Beast's code (BOOST_BEAST_SEPARATE_COMPILATION, set on quern::sqs).

#include <boost/beast/src.hpp>
