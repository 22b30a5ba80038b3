// main() of every test program. Written out, because the usual BOOST_TEST_MODULE must come before Boost.Test's headers, and
// those are in the precompiled header.

#include <boost/test/unit_test.hpp>

#ifdef __SANITIZE_THREAD__
// Asio counts the copies of an executor that does not fit into any_io_executor, and the thread that drops the last one
// frees it behind a fence (boost/asio/detail/atomic_count.hpp), which the sanitizer does not see.
extern "C" char const* __tsan_default_suppressions()
{
    return "race:boost::asio::execution::detail::shared_target_executor::~shared_target_executor\n";
}
#endif

int main(int argc, char* argv[])
{
    return boost::unit_test::unit_test_main([] { return true; }, argc, argv);
}
