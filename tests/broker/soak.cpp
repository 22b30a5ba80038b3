#include "service.hpp"

#include <random>
#include <set>

// Long random runs against what must hold whatever happens.

using namespace quern::test;

namespace {

struct run : service {
    std::mt19937_64 random;
    std::string url;
    bool fifo;
    int sent = 0;
    std::map<std::string, std::string> held; ///< handle -> body
    std::multiset<std::string> deleted;

    run(std::uint64_t seed, bool is_fifo) : random(seed), fifo(is_fifo)
    {
        url = fifo ? create_fifo("q") : create("q");
    }

    int below(int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); }

    void send_one()
    {
        if (fifo) {
            auto const group = "g" + std::to_string(below(5));
            send(url, std::to_string(sent), group);
        } else {
            send(url, std::to_string(sent), below(4) == 0 ? 1 + below(20) : 0);
        }
        ++sent;
    }

    void note(sqs::receive_message_response const& got)
    {
        std::map<std::string, int> last;
        for (auto const& m : got.messages) {
            BOOST_TEST(held.emplace(m.receipt_handle, m.body).second); // a handle is never given twice
            if (!fifo) continue;
            auto const group = std::string(m.group_id());
            auto const number = std::stoi(std::string(m.body));
            if (auto const before = last.find(group); before != last.end()) BOOST_TEST(before->second < number);
            last[group] = number;
        }
    }

    void delete_one()
    {
        if (held.empty()) return;
        auto const at = std::next(held.begin(), below(static_cast<int>(held.size())));
        auto const before = total();
        if (remove(url, at->first) && total() < before) deleted.insert(at->second);
        held.erase(at);
    }

    void change_one()
    {
        if (held.empty()) return;
        auto const at = std::next(held.begin(), below(static_cast<int>(held.size())));
        (void)change(url, at->first, below(3) * 7);
    }

    std::size_t total()
    {
        auto const all = attributes(url);
        return std::stoul(all.at("ApproximateNumberOfMessages")) +
            std::stoul(all.at("ApproximateNumberOfMessagesDelayed")) +
            std::stoul(all.at("ApproximateNumberOfMessagesNotVisible"));
    }

    void take_polls()
    {
        while (auto ready = engine.take_ready()) {
            BOOST_REQUIRE(ready->answer);
            note(*ready->answer);
        }
    }

    void step()
    {
        switch (below(8)) {
        case 0:
        case 1: send_one(); break;
        case 2: note(receive(url, 1 + below(10), below(3) * 10)); break;
        case 3:
        case 4: delete_one(); break;
        case 5: change_one(); break;
        case 6: pass(std::chrono::milliseconds(below(9000))); break;
        case 7: {
            sqs::receive_message_request request(url);
            request.wait_time = std::chrono::seconds(1 + below(20));
            request.system_attribute_names = {"All"};
            auto got = engine.receive_message(request, now).value();
            if (!got.parked) note(got.answer);
            break;
        }
        }
        take_polls();
        BOOST_TEST(total() + deleted.size() == static_cast<std::size_t>(sent));
    }

    void drain()
    {
        for (int i = 0; i != 10'000 && total() != 0; ++i) {
            pass(1s);
            take_polls();
            for (auto const& m : receive(url, 10, 30).messages) {
                BOOST_TEST(remove(url, m.receipt_handle).has_value());
                deleted.insert(std::string(m.body));
            }
        }
        pass(60s);
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(soak)

BOOST_AUTO_TEST_CASE(no_message_is_lost_or_deleted_twice)
{
    for (std::uint64_t seed = 1; seed != 31; ++seed) {
        for (bool const fifo : {false, true}) {
            BOOST_TEST_CONTEXT("seed " << seed << (fifo ? ", FIFO" : ", standard"))
            {
                run r(seed, fifo);
                for (int i = 0; i != 300; ++i)
                    r.step();
                r.drain();
                BOOST_TEST(r.deleted.size() == static_cast<std::size_t>(r.sent));
                for (int i = 0; i != r.sent; ++i)
                    BOOST_TEST(r.deleted.count(std::to_string(i)) == 1u);
                BOOST_TEST(r.counts(r.url) == "0/0/0");
                r.pass(6min); // deduplication ids are forgotten
                BOOST_TEST(!r.engine.next_event().has_value());
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_fifo_group_is_deleted_in_order_by_a_consumer_that_keeps_its_rules)
{
    for (std::uint64_t seed = 1; seed != 31; ++seed) {
        run r(seed, true);
        std::map<std::string, int> last;
        for (int i = 0; i != 400; ++i) {
            for (int sends = r.below(4); sends-- != 0;)
                r.send_one();
            auto const got = r.receive(r.url, 1 + r.below(10), 10);
            std::set<std::string> failed; // groups whose head failed in this answer: their tail is released
            for (auto const& m : got.messages) {
                std::string const group(m.group_id());
                if (failed.contains(group) || r.below(5) == 0) {
                    failed.insert(group);
                    r.change(r.url, m.receipt_handle, r.below(2) * 3).value();
                    continue;
                }
                r.remove(r.url, m.receipt_handle).value();
                auto const number = std::stoi(std::string(m.body));
                auto const [at, fresh] = last.try_emplace(group, number);
                if (!fresh)
                    BOOST_TEST(at->second < number, "seed " << seed << ": " << number << " after " << at->second);
                at->second = number;
            }
            r.pass(std::chrono::milliseconds(r.below(2000)));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
