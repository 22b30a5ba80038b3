#include <quern/core/detail/text/exact_number.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using quern::detail::text::exact_number;

BOOST_AUTO_TEST_SUITE(exact_numbers)

BOOST_AUTO_TEST_CASE(each_way_to_write_a_number_has_the_same_text)
{
    struct row {
        std::string exact;
        std::vector<std::string> written;
    };
    std::string const zeros(1'000, '0');
    for (auto const& r : std::vector<row>{{"1e0", {"1", "1.0", "10e-1", "0.1e1", "0.1E+1", "+1", "001", "1.", "1e0"}},
             {"0", {"0", "-0", "0.0", "-0.000", "0e5", ".0", "0e99999999999999999999", "-0e-0"}},
             {"-15e-1", {"-1.5", "-15e-1", "-0.15e1", "-1.50"}}, {"12e3", {"12000", "1.2e4", "12e3", "120e2"}},
             {"5e-1", {".5", "0.5", "5e-1"}}, {"7e1", {"70", "0070"}},
             {"8202522731445525542e0", {"8202522731445525542", "8202522731445525542.0"}},
             {"1e1000", {"1" + zeros, "1e1000", "1" + zeros + ".0"}}, {"1e-1001", {"0." + zeros + "1", "1e-1001"}},
             {"1e400", {"1e400", "1E+400", "1e0000000000000000000000400"}}})
        for (auto const& one : r.written)
            BOOST_TEST(exact_number(one).value_or("none") == r.exact, one.substr(0, 40));
    BOOST_TEST(*exact_number("8202522731445525542") != *exact_number("8202522731445525543"));
    BOOST_TEST(*exact_number("0.1") != *exact_number("0.1000000000000000055511151231257827"));
}

BOOST_AUTO_TEST_CASE(what_is_no_number_or_too_far_has_none)
{
    for (auto const* text : {"", "-", "+", ".", "e5", "1e", "1e+", "1e5.0", "1.2.3", "--1", "+-1", " 1", "1 ", "0x10",
             "inf", "nan", "1,5", "12a", "1e1000000000000000000", "1e-1000000000000000000"})
        BOOST_TEST(!exact_number(text).has_value(), text);
}

BOOST_AUTO_TEST_SUITE_END()
