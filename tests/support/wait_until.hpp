#pragma once

#include <thread>

namespace quern::test {

/// Waits for the event itself; the test's time limit ends a wait in vain.
template <class Done>
void wait_until(Done done)
{
    while (!done())
        std::this_thread::yield();
}

} // namespace quern::test
