// main() of every test program. Written out, because the usual BOOST_TEST_MODULE must come before Boost.Test's headers, and
// those are in the precompiled header.

#include <boost/test/unit_test.hpp>

int main(int argc, char* argv[])
{
    return boost::unit_test::unit_test_main([] { return true; }, argc, argv);
}
