#include <md5_lanes.hpp>

#include <quern/sqs/detail/md5.hpp>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(md5_lanes)

// The padding of MD5 changes where a text ends a block, and eight bytes before.
BOOST_AUTO_TEST_CASE(every_lane_agrees_with_the_digest_of_its_text_at_every_length)
{
    for (std::size_t const tail_size : {0, 1, 54, 55, 56, 63, 64, 119, 120, 192, 4032}) {
        std::string const tail(tail_size, 'y');
        std::array<yardstick::md5_lane, yardstick::md5_lanes> lanes;
        for (std::size_t i = 0; i < lanes.size(); ++i)
            for (std::size_t at = 0; at < 64; ++at)
                lanes[i].head[at] = static_cast<std::uint8_t>('a' + (i + at) % 26);
        yardstick::md5(lanes, tail);
        for (auto const& lane : lanes) {
            std::string hex;
            for (auto const byte : lane.digest) {
                hex += "0123456789abcdef"[byte >> 4];
                hex += "0123456789abcdef"[byte & 15];
            }
            BOOST_TEST(
                hex == quern::sqs::detail::md5_of_body(std::string(lane.head.begin(), lane.head.end()) + tail));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
