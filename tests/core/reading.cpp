#include <quern/core/detail/text/reading.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>

using namespace quern;
using namespace quern::detail;

BOOST_AUTO_TEST_CASE(a_number_stands_alone)
{
    BOOST_TEST(text::number_in<int>("-12").value() == -12);
    BOOST_TEST(text::number_in<std::uint64_t>("18446744073709551615").value() == UINT64_MAX);
    BOOST_TEST(text::number_in<double>("0.5").value() == 0.5);
    for (auto const* none : {"", " 1", "1 ", "1.5", "+1", "0x10", "18446744073709551616"})
        BOOST_TEST(!text::number_in<std::uint64_t>(none), none);
}

BOOST_AUTO_TEST_CASE(a_list_comes_piece_by_piece)
{
    std::string_view rest = " a ,, b;c ,";
    std::string pieces;
    while (!rest.empty())
        pieces.append("<").append(text::take_piece(rest, ',')).append(">");
    BOOST_TEST(pieces == "<a><><b;c>");
}
