// The yardstick: a queue that speaks the JSON protocol of SQS, much faster than anything that is measured on it.
#include "server.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>

namespace {

constexpr char const* footer =
    R"(Prints `listening on URL` once it does. Any credentials will do, and any queue's name.

  GET /bench/stats     what was counted, as JSON
  POST /bench/reset    counts start anew; from now on bodies carry the time at which they were due

A body is 16 digits, the microseconds since the epoch at which it was due (zeros before the first reset), a space,
12 digits, its number, a space, padding.)";

int run(int argc, char* argv[])
{
    yardstick::options what;
    double visibility = 30, delay = 0;
    bool forget = false;
    CLI::App app("A queue to measure consumers with.", "yardstick");
    app.add_option("--port", what.port, "Port on 127.0.0.1; 0 takes a free one")->capture_default_str();
    app.add_option("--body", what.body, "Bytes of a body")->check(CLI::Range(64, 1024 * 1024))->capture_default_str();
    app.add_flag("--json", what.json, "Bodies of JSON: an answer escapes every sixth byte of them");
    app.add_option(
           "--rate", what.rate, "Messages that become due each second, whoever receives them; 0: an endless backlog")
        ->check(CLI::Range(0.0, 1e6))
        ->capture_default_str();
    app.add_flag("--rehearse", what.rehearse,
        "An endless backlog until a first reset, to warm up with; then the --rate, to be measured after another one");
    app.add_flag("--poisson", what.poisson, "They come at random, not evenly");
    app.add_option("--seed", what.seed, "Of the random ones")->capture_default_str();
    app.add_option("--limit", what.limit, "There are no more messages than these");
    app.add_option("--groups", what.groups, "A FIFO queue with so many groups, and a backlog in each");
    app.add_option("--visibility", visibility, "Seconds, for those who don't say")
        ->check(CLI::Range(0.1, 43'200.0))
        ->capture_default_str();
    app.add_option("--delay", delay, "Milliseconds that an answer waits before it is sent")
        ->check(CLI::Range(0.0, 10'000.0))
        ->capture_default_str();
    app.add_flag("--forget", forget,
        "Take every well-formed handle for a message that is there: for load generators, which repeat their "
        "requests");
    auto* certificate = app.add_option("--certificate", what.certificate, "PEM file with the chain: TLS only");
    auto* key = app.add_option("--key", what.key, "PEM file with its key");
    certificate->needs(key);
    key->needs(certificate);
    app.footer(footer);
    try {
        app.parse(argc, argv);
        if (what.groups > 0 && what.rate > 0) throw CLI::ValidationError("--groups", "takes a backlog, not a --rate");
    } catch (CLI::ParseError const& e) {
        return app.exit(e) == 0 ? 0 : 2;
    }
    what.visibility = static_cast<yardstick::micros>(visibility * 1e6);
    what.delay = static_cast<yardstick::micros>(delay * 1e3);
    what.remember = !forget;

    yardstick::server server(what);
    std::printf("listening on %s://127.0.0.1:%d\n", what.certificate.empty() ? "http" : "https", server.port());
    std::fflush(stdout);
    server.run();
    return 0;
}

} // namespace

int main(int argc, char* argv[])
{
    try {
        return run(argc, argv);
    } catch (std::exception const& e) {
        std::fprintf(stderr, "yardstick: %s\n", e.what());
        return 1;
    }
}
