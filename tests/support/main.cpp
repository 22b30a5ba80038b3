// main() of every test program. Written out, because the usual BOOST_TEST_MODULE must come before Boost.Test's
// headers, and those are in the precompiled header.

#include <boost/test/unit_test.hpp>

#ifdef __SANITIZE_THREAD__
// Asio counts the copies of an executor that does not fit into any_io_executor, and the thread that drops the last
// one frees it behind a fence (boost/asio/detail/atomic_count.hpp), which the sanitizer does not see. Nor does it see
// how libstdc++ counts the holders of an exception: that happens in the shared library, which is not instrumented.
extern "C" char const* __tsan_default_suppressions()
{
    return "race:boost::asio::execution::detail::shared_target_executor::~shared_target_executor\n"
           "race:std::__exception_ptr::exception_ptr::_M_release\n";
}
#endif

int main(int argc, char* argv[])
{
    return boost::unit_test::unit_test_main([] { return true; }, argc, argv);
}
