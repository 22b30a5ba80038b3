#include "virtual_libc.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>

#include <poll.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t steady_start = 3'600 * second;
constexpr std::int64_t calendar_start = 1'772'000'000 * second; // 25 February 2026

bool is_virtual = false;
std::int64_t passed = 0;
std::map<int, std::int64_t> due; // descriptor -> when it goes off
std::mt19937 chance;

timespec as_timespec(std::int64_t ns)
{
    return {static_cast<time_t>(ns / second), static_cast<long>(ns % second)};
}

void go_off(int descriptor)
{
    itimerspec const at_once{{}, {0, 1}};
    if (::syscall(SYS_timerfd_settime, descriptor, 0, &at_once, nullptr) != 0) return; // it is something else by now
    pollfd it{descriptor, POLLIN, 0};
    ::poll(&it, 1, 100); // the kernel takes its time, and nobody may see that
}

} // namespace

extern "C" {

int clock_gettime(clockid_t which, timespec* out) noexcept
{
    bool const is_of_cpu = which == CLOCK_PROCESS_CPUTIME_ID || which == CLOCK_THREAD_CPUTIME_ID;
    if (!is_virtual || is_of_cpu) return static_cast<int>(::syscall(SYS_clock_gettime, which, out));
    bool const is_calendar = which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE;
    *out = as_timespec((is_calendar ? calendar_start : steady_start) + passed);
    return 0;
}

int gettimeofday(timeval* out, void*) noexcept
{
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *out = {now.tv_sec, now.tv_nsec / 1'000};
    return 0;
}

time_t time(time_t* out) noexcept
{
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}

int timerfd_settime(int descriptor, int flags, itimerspec const* wanted, itimerspec* old) noexcept
{
    if (!is_virtual) return static_cast<int>(::syscall(SYS_timerfd_settime, descriptor, flags, wanted, old));
    if (old) *old = {};
    due.erase(descriptor);
    itimerspec const none{};
    auto const said = ::syscall(SYS_timerfd_settime, descriptor, 0, &none, nullptr); // what has gone off is over
    auto const ns = wanted->it_value.tv_sec * second + wanted->it_value.tv_nsec;
    auto const at = (flags & TFD_TIMER_ABSTIME) != 0 ? ns : steady_start + passed + ns;
    if (ns != 0 && at <= steady_start + passed)
        go_off(descriptor);
    else if (ns != 0)
        due[descriptor] = at - steady_start;
    return static_cast<int>(said);
}

} // extern "C"

#ifdef __GLIBCXX__ // elsewhere days differ a little

// It seeds the jitter of clients: the same day is the same again.
std::random_device::result_type std::random_device::_M_getval()
{
    return static_cast<result_type>(chance());
}

#endif

namespace quern::test::virtual_time {

void begin()
{
    is_virtual = true;
    passed = 0;
    due.clear();
    chance.seed();
}

std::chrono::nanoseconds now()
{
    return std::chrono::nanoseconds(passed);
}

bool jump(std::chrono::nanoseconds end)
{
    auto const first = std::ranges::min_element(due, {}, [](auto const& one) { return one.second; });
    if (first == due.end() || first->second > end.count()) {
        passed = std::max(passed, static_cast<std::int64_t>(end.count()));
        return false;
    }
    passed = std::max(passed, first->second);
    auto const descriptor = first->first;
    due.erase(first);
    go_off(descriptor);
    return true;
}

} // namespace quern::test::virtual_time
