#pragma once

#include "idempotency/once_mill.hpp"

#include <set>

namespace quern::test {

using outcomes = std::vector<outcome>;

/// The same with a handler of batches.
struct batch_mill : once_mill {
    std::vector<std::multiset<std::string>> calls; // bodies

    template <class F>
    void work_on_batches(F handle)
    {
        guard = std::make_shared<once>(store, how);
        once::batch_worker const own = [this, handle](deliveries all,
                                           std::span<receipt> left) mutable -> asio::awaitable<outcomes> {
            std::multiset<std::string> bodies;
            for (delivery& d : all)
                bodies.emplace(d.body());
            calls.push_back(std::move(bodies));
            outcomes said = co_await handle(all, left);
            for (std::size_t i = 0; i < all.size() && i < said.size(); ++i)
                if (said[i].what() == outcome::kind::ack) ++effects[std::string(all[i].body())];
            co_return said;
        };
        it.emplace(io.get_executor(), api, url, guard->around(own), options);
        it->start();
    }

    void work_on_batches()
    {
        work_on_batches([](deliveries all, std::span<receipt>) -> asio::awaitable<outcomes> {
            co_return outcomes(all.size(), ack());
        });
    }

    void put_all(std::initializer_list<char const*> bodies)
    {
        for (auto const* body : bodies)
            put(body);
    }

    bool all_done() { return empty() && it->in_flight() == 0; }

    void test_calls(std::vector<std::multiset<std::string>> const& wanted)
    {
        BOOST_REQUIRE(calls.size() == wanted.size());
        for (std::size_t i = 0; i < calls.size(); ++i)
            BOOST_TEST(calls[i] == wanted[i], boost::test_tools::per_element());
    }
};

} // namespace quern::test
