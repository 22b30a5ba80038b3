#include <quern/sqs/detail/next_tokens.hpp>

#include <boost/test/unit_test.hpp>

using quern::sqs::detail::next_tokens;

BOOST_AUTO_TEST_SUITE(next_tokens_)

BOOST_AUTO_TEST_CASE(pages_follow_each_other_to_the_last)
{
    next_tokens pages;
    for (auto const* token : {"a", "b", "c", ""})
        BOOST_TEST(pages.follow(token).has_value());
}

BOOST_AUTO_TEST_CASE(a_token_that_comes_again_is_no_list)
{
    next_tokens pages;
    BOOST_TEST(pages.follow("a").has_value());
    BOOST_TEST(pages.follow("b").has_value());
    auto const again = pages.follow("a");
    BOOST_REQUIRE(!again);
    BOOST_TEST(again.error().code == quern::errc::bad_reply);
    BOOST_TEST(again.error().message == "the list has no end: the service gave the same NextToken twice");
}

BOOST_AUTO_TEST_CASE(nor_are_ten_thousand_pages)
{
    next_tokens pages;
    for (std::size_t i = 1; i != next_tokens::most_pages; ++i)
        BOOST_TEST(pages.follow(std::to_string(i)).has_value());
    auto const one_more = pages.follow("more");
    BOOST_REQUIRE(!one_more);
    BOOST_TEST(one_more.error().message == "the list has no end: after 10000 pages another one follows");
}

BOOST_AUTO_TEST_SUITE_END()
