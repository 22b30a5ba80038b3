// Days of the whole stack in virtual time: whole_stack [--seeds A..B] [--trace] [--twice]
#include "day.hpp"
#include "virtual_libc.hpp"

#include "support/certificate.hpp"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

using namespace quern::test;

namespace {

struct asked {
    std::uint64_t first = 1, last = 30;
    bool traces = false, twice = false;

    asked(int count, char** words)
    {
        for (int i = 1; i < count; ++i) {
            std::string const word = words[i];
            if (word == "--trace")
                traces = true;
            else if (word == "--twice")
                twice = true;
            else if (word == "--seeds" && i + 1 < count)
                take_seeds(words[++i]);
            else
                throw std::invalid_argument("usage: whole_stack [--seeds A..B] [--trace] [--twice]");
        }
    }

private:
    void take_seeds(std::string const& text)
    {
        auto const dots = text.find("..");
        first = std::stoull(text.substr(0, dots));
        last = dots == std::string::npos ? first : std::stoull(text.substr(dots + 2));
    }
};

struct folder {
    folder()
    {
        char name[] = "/tmp/whole-stack-XXXXXX";
        if (!::mkdtemp(name)) throw std::runtime_error("mkdtemp");
        path = name;
        virtual_time::begin(); // for the dates of the certificates
        certificate const authority("Authority", {-86'400, 30 * 86'400});
        certificate const server("127.0.0.1", authority, {-86'400, 30 * 86'400});
        authority.save(path + "/authority.pem");
        server.save(path + "/server.pem");
        server.save_key(path + "/server-key.pem");
    }
    ~folder() { std::filesystem::remove_all(path); }

    std::string path;
};

/// Report of a day.
struct told {
    std::size_t violations = 0, requests = 0, connections = 0, trace = 0; ///< the trace as a hash
    double hours = 0;
    char first[400] = {};
};

told run(std::uint64_t seed, std::string const& certificates, bool traces)
{
    auto const said = run_stack_day(draw_stack_day(seed), certificates);
    told out{said.violations.size(), said.requests, said.connections, 0,
        std::chrono::duration<double>(said.lasted).count() / 3'600};
    for (auto const& line : said.trace) {
        if (traces) std::puts(line.c_str());
        out.trace = out.trace * 31 + std::hash<std::string>()(line);
    }
    if (!said.violations.empty()) std::snprintf(out.first, sizeof out.first, "%s", said.violations.front().c_str());
    return out;
}

/// In a process of its own, where nothing is left of another day.
told run_apart(std::uint64_t seed, std::string const& certificates, bool traces)
{
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("pipe");
    auto const child = ::fork();
    if (child < 0) throw std::runtime_error("fork");
    if (child == 0) {
        told out;
        try {
            out = run(seed, certificates, traces);
        } catch (std::exception const& e) {
            out.violations = 1;
            std::snprintf(out.first, sizeof out.first, "%s", e.what());
        }
        std::fflush(stdout);
        ::_exit(::write(ends[1], &out, sizeof out) == sizeof out ? 0 : 1);
    }
    ::close(ends[1]);
    told out;
    if (::read(ends[0], &out, sizeof out) != sizeof out) {
        out.violations = 1;
        std::snprintf(out.first, sizeof out.first, "the process of the day fell over");
    }
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return out;
}

} // namespace

int main(int count, char** words)
try {
    asked const what(count, words);
    folder const certificates;
    std::size_t failed = 0, requests = 0, connections = 0, others = 0;
    double hours = 0;
    for (auto seed = what.first; seed <= what.last; ++seed) {
        auto const said = run_apart(seed, certificates.path, what.traces);
        if (what.twice) others += run_apart(seed, certificates.path, false).trace != said.trace;
        requests += said.requests;
        connections += said.connections;
        hours += said.hours;
        if (said.violations == 0) continue;
        ++failed;
        std::printf("FAILED seed %llu: %s (and %zu more)\n", static_cast<unsigned long long>(seed), said.first,
            said.violations - 1);
        std::fflush(stdout);
    }
    std::printf("%llu days, %zu failed; %.1f simulated hours, %zu requests over %zu connections\n",
        static_cast<unsigned long long>(what.last - what.first + 1), failed, hours, requests, connections);
    if (what.twice) std::printf("%zu were another when run again\n", others);
    return failed == 0 ? 0 : 1;
} catch (std::exception const& e) {
    std::fprintf(stderr, "whole_stack: %s\n", e.what());
    return 2;
}
