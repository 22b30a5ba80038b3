// quern-conformance SUITE PATH: runs AWS's own test cases against Quern's implementation.

#include "suites.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <exception>

namespace {

namespace conformance = quern::conformance;

struct suite {
    std::string_view name;
    std::string_view what;
    void (*run)(conformance::fs::path const&, conformance::report&);
};

constexpr suite suites[] = {
    {"sigv4", "signatures: folders with context.json, request.txt and the expected steps", conformance::run_sigv4},
    {"md5", "digests of messages and their attributes: vectors.json", conformance::run_md5},
    {"retry", "when to try again: scenarios, hints of the service, classes of errors", conformance::run_retry},
    {"protocol", "awsJson 1.0: empty requests and error answers", conformance::run_protocol},
    {"profile", "shared config and credentials files", conformance::run_profile},
    {"file-location", "where those files are looked for", conformance::run_file_location},
    {"assume-role", "what a profile says about its credentials", conformance::run_assume_role},
    {"default-chain", "where credentials are found: folders with files and recorded HTTP",
        conformance::run_default_chain},
    {"profile-provider", "the same, in a profile alone", conformance::run_profile_provider},
    {"ecs", "where a container's credentials are", conformance::run_ecs},
    {"imds", "where an instance's credentials are", conformance::run_imds},
    {"endpoints", "endpoint rules: <service>-endpoint-tests.json of SQS, STS, SSO", conformance::run_endpoints},
    {"endpoint-url", "which of several configured endpoint URLs counts", conformance::run_endpoint_url},
};

std::string listed()
{
    std::string text = "Suites:\n";
    for (auto const& s : suites)
        text += fmt::format("  {:<18}{}\n", s.name, s.what);
    return text;
}

int complain(std::string const& what)
{
    std::fputs(("quern-conformance: " + what + '\n' + listed()).c_str(), stderr); // fmt::print() would throw
    return 2;
}

} // namespace

int main(int argc, char* argv[])
{
    std::string name, path;
    CLI::App app("Runs AWS's own test cases. Exit status: 0 all passed, 1 some failed, none was found "
                 "or the output could not be written, 2 wrong usage.");
    app.add_option("SUITE", name, "which cases")->required();
    app.add_option("PATH", path, "a folder or a file with cases")->required();
    app.footer(listed());
    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const& e) {
        return app.exit(e) == 0 ? 0 : 2;
    }

    auto const* const chosen = std::ranges::find_if(suites, [&](auto const& s) { return s.name == name; });
    if (chosen == std::ranges::end(suites)) return complain("there is no suite \"" + name + "\"");
    std::error_code ec;
    if (!conformance::fs::exists(path, ec)) return complain("\"" + path + "\" does not exist");

    conformance::report results;
    try {
        chosen->run(path, results);
        fmt::print("{} passed, {} failed, {} skipped\n", results.passed(), results.failed(), results.skipped());
    } catch (std::exception const& e) {
        return complain(e.what());
    }
    bool const flushed = std::fflush(stdout) == 0;
    if (!flushed || std::ferror(stdout) != 0) {
        std::fputs("quern-conformance: standard output could not be written\n", stderr);
        return 1;
    }
    return results.failed() == 0 && results.passed() > 0 ? 0 : 1;
}
