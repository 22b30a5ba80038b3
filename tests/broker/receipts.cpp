#include "service.hpp"

#include <quern/broker/detail/ids.hpp>
#include <quern/broker/detail/receipt.hpp>
#include <quern/core/detail/text/base64.hpp>

using namespace quern::test;
using quern::broker::detail::mixed;
using quern::broker::detail::receipt;
using quern::broker::detail::receipt_codec;
using quern::broker::detail::receipt_key_of;

namespace {

std::string written(receipt_codec const& codec, receipt const& r)
{
    std::string out(receipt_codec::size, ' ');
    codec.write(r, out.data());
    return out;
}

/// Undoes mixed(), by the inverses of its multipliers.
constexpr std::uint64_t unmixed(std::uint64_t x)
{
    x ^= x >> 31 ^ x >> 62;
    x *= 0x319642b2d24d8ec3;
    x ^= x >> 27 ^ x >> 54;
    x *= 0x96de1b173f119089;
    x ^= x >> 30 ^ x >> 60;
    return x - 0x9e3779b97f4a7c15;
}

} // namespace

BOOST_AUTO_TEST_SUITE(receipts)

BOOST_AUTO_TEST_CASE(what_was_written_is_read_back)
{
    receipt_codec const codec(receipt_key_of(42));
    for (receipt const& r : {receipt{}, receipt{1, 2, 3}, receipt{~0ull, ~0ull, ~0ull}, receipt{7, 1ull << 40, 99}}) {
        auto const text = written(codec, r);
        BOOST_TEST(text.starts_with("AQEB"));
        BOOST_REQUIRE(codec.read(text).has_value());
        BOOST_TEST(*codec.read(text) == r);
    }
}

BOOST_AUTO_TEST_CASE(any_changed_character_is_noticed)
{
    receipt_codec const codec(receipt_key_of(42));
    auto const text = written(codec, {1, 2, 3});
    for (std::size_t i = 0; i != text.size(); ++i) {
        for (char const c : {'A', 'B', '9', '%'}) {
            auto other = text;
            if (other[i] == c) continue;
            other[i] = c;
            BOOST_TEST(!codec.read(other).has_value(), "character " << i << " as " << c);
        }
    }
    BOOST_TEST(!codec.read(text + "A").has_value());
    BOOST_TEST(!codec.read(std::string_view(text).substr(1)).has_value());
    BOOST_TEST(!codec.read("").has_value());
}

BOOST_AUTO_TEST_CASE(another_key_reads_nothing)
{
    receipt_codec const one(receipt_key_of(1)), other(receipt_key_of(2));
    BOOST_TEST(!other.read(written(one, {1, 2, 3})).has_value());
    receipt_codec const drawn(quern::broker::detail::drawn_receipt_key()),
        again(quern::broker::detail::drawn_receipt_key());
    BOOST_TEST(!again.read(written(drawn, {1, 2, 3})).has_value());
}

// One seed was for both, and 62 of its 64 bits stood in each message id.
BOOST_AUTO_TEST_CASE(the_seed_of_message_ids_reads_no_handle)
{
    constexpr std::uint64_t any = 0x123456789abcdef0;
    BOOST_TEST(unmixed(mixed(any)) == any);

    service s;
    auto const url = s.create("q");
    auto const id = s.send(url, "m");
    auto const handle = s.handle(url);
    std::uint64_t known_bits = 0;
    int digits = 0;
    for (std::size_t i = 0; digits != 15; ++i) {
        if (id[i] == '-' || i == 14) continue; // 14: the version
        known_bits |= std::stoull(id.substr(i, 1), nullptr, 16) << (4 * digits++);
    }
    known_bits |= (std::stoull(id.substr(19, 1), nullptr, 16) & 3) << 60;
    for (std::uint64_t unknown = 0; unknown != 4; ++unknown) {
        auto const seed = unmixed(unmixed(known_bits | unknown << 62) - 1); // of the first id
        BOOST_TEST(!receipt_codec(receipt_key_of(seed)).read(handle).has_value());
    }
}

// Numbers of receives are small. The first word of a handle was made of one and of the key by steps that can be
// undone, so whoever had a handle had the key to all others.
BOOST_AUTO_TEST_CASE(nobody_gets_the_key_by_guessing_the_number_of_a_receive)
{
    service s;
    auto const url = s.create("q");
    s.send(url, "m");
    auto const handle = s.handle(url);
    auto const word = [&](std::size_t number) {
        constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        std::uint64_t out = 0;
        for (std::size_t i = 11; i-- != 0;)
            out = out << 6 | letters.find(handle[4 + number * 11 + i]);
        return out;
    };
    for (std::uint64_t receive = 1; receive != 1000; ++receive) {
        auto const key = unmixed(word(0)) ^ mixed(receive);
        BOOST_TEST((word(1) ^ mixed(word(0) ^ key)) != receive);
    }
}

BOOST_AUTO_TEST_CASE(no_handle_can_be_put_together_from_others)
{
    receipt_codec const codec(receipt_key_of(42));
    auto const a = written(codec, {1, 2, 3}), b = written(codec, {4, 5, 6});
    auto const bytes_of = [](std::string const& handle) {
        return *quern::detail::text::base64_decode(handle.substr(4));
    };
    auto const reads = [&](std::string const& bytes) {
        return codec.read("AQEB" + quern::detail::text::base64_encode(bytes)).has_value();
    };
    auto const x = bytes_of(a), y = bytes_of(b);
    BOOST_TEST(reads(x));
    BOOST_TEST(reads(y));
    for (std::size_t const cut : {16u, 32u}) {
        BOOST_TEST(!reads(x.substr(0, cut) + y.substr(cut)));
        BOOST_TEST(!reads(y.substr(0, cut) + x.substr(cut)));
    }
    for (std::size_t i = 0; i != x.size(); ++i) { // what a bit does to the block behind it can be foreseen
        auto changed = x;
        changed[i] = static_cast<char>(changed[i] ^ 1);
        BOOST_TEST(!reads(changed), "byte " << i);
    }
    BOOST_TEST(!reads(x.substr(16) + x.substr(0, 16)));
}

BOOST_AUTO_TEST_CASE(garbage_and_handles_of_other_queues_are_invalid)
{
    service s;
    auto const url = s.create("q");
    auto const other = s.create("other");
    s.send(other, "m");
    auto const foreign = s.handle(other);
    for (std::string const& handle : {std::string("garbage"), foreign, foreign.substr(0, foreign.size() - 1) + '='}) {
        auto const refused = s.remove(url, handle);
        BOOST_TEST(why(refused) ==
            "ReceiptHandleIsInvalid: The input receipt handle \"" + handle + "\" is not a valid receipt handle.");
        BOOST_TEST(refused.error().http_status == 404);
        BOOST_TEST(s.change(url, handle, 1).error().service_code == "ReceiptHandleIsInvalid");
    }
    BOOST_TEST(why(s.remove(url, "")) == "MissingParameter: The request must contain the parameter ReceiptHandle.");
}

BOOST_AUTO_TEST_CASE(deleting_twice_is_fine)
{
    service s;
    auto const url = s.create("q");
    s.send(url, "m");
    auto const handle = s.handle(url);
    for (int i = 0; i != 3; ++i)
        BOOST_TEST(s.remove(url, handle).has_value());
    BOOST_TEST(s.counts(url) == "0/0/0");
}

BOOST_AUTO_TEST_CASE(a_standard_message_is_deleted_by_its_expired_handle_until_it_is_received_again)
{
    service s;
    auto const url = s.create("q");
    s.send(url, "m");
    auto const first = s.handle(url, 1);
    s.pass(1s);
    auto const second = s.handle(url, 1);
    BOOST_TEST(s.remove(url, first).has_value()); // accepted, without effect
    BOOST_TEST(s.counts(url) == "0/0/1");
    s.pass(1s);
    BOOST_TEST(s.remove(url, first).has_value());
    BOOST_TEST(s.counts(url) == "1/0/0");
    BOOST_TEST(s.remove(url, second).has_value());
    BOOST_TEST(s.counts(url) == "0/0/0");
}

BOOST_AUTO_TEST_CASE(a_batch_of_deletes_reports_each_entry)
{
    service s;
    auto const url = s.create("q");
    s.send(url, "m");
    auto const handle = s.handle(url);
    std::vector<sqs::delete_message_entry> entries{{"a", "garbage"}, {"b", handle}, {"c", handle}};
    auto const answer = s.engine.delete_message_batch({url, entries}, s.now).value();
    BOOST_REQUIRE(answer.failed.size() == 1u);
    BOOST_TEST(answer.failed[0].id == "a");
    BOOST_REQUIRE(answer.successful.size() == 2u);
    BOOST_TEST(answer.successful[0].id == "b");
    BOOST_TEST(s.counts(url) == "0/0/0");
}

// A handle of the run before deleted a message of this one.
BOOST_AUTO_TEST_CASE(a_handle_of_another_run_is_invalid)
{
    service before, now;
    auto const url = before.create("q");
    BOOST_TEST(now.create("q") == url);
    before.send(url, "m");
    now.send(url, "m");
    auto const stale = before.handle(url);
    now.handle(url);
    BOOST_TEST(now.remove(url, stale).error().service_code == "ReceiptHandleIsInvalid");
    BOOST_TEST(now.counts(url) == "0/0/1");
}

BOOST_AUTO_TEST_SUITE_END()
