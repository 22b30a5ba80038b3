#include "recorded_web.hpp"
#include "suites.hpp"

#include <quern/aws/credentials/credential_chain.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>

#include <fmt/core.h>

namespace quern::conformance {

namespace asio = boost::asio;

namespace {

/// The time at which the cases play: 13 February 2009, 23:31:30. Nobody waits.
class still_clock final : public clock {
public:
    tick now() const override { return tick(); }
    wall_time wall() const override { return wall_time(std::chrono::seconds(1'234'567'890)); }
    std::unique_ptr<timer> make_timer(asio::any_io_executor) override { return std::make_unique<none>(); }

private:
    struct none final : timer {
        asio::awaitable<bool> wait_until(tick) override { co_return true; }
        void cancel() override {}
    };
};

/// The folder fs of a case in the place of the root.
class case_files final : public aws::file_system {
public:
    explicit case_files(fs::path root) : root_(std::move(root)) {}

    result<std::string> read(std::string const& path) override
    {
        return aws::real_files().read((root_ / fs::path(path).relative_path()).string());
    }
    result<void> replace(std::string const&, std::string_view) override { return {}; }

private:
    fs::path root_;
};

std::string shown(result<aws::credentials> const& found)
{
    if (!found) return "error: " + describe(found.error());
    std::string out = found->access_key_id + ' ' + found->secret_access_key + ' ' + found->session_token;
    if (found->expires_at) {
        auto const since = found->expires_at->time_since_epoch();
        out += fmt::format(" until {}", std::chrono::floor<std::chrono::seconds>(since).count());
    }
    return out;
}

std::string shown(json::value const& expected)
{
    auto out = text_at(expected, "access_key_id") + ' ' + text_at(expected, "secret_access_key") + ' ' +
        text_at(expected, "session_token");
    if (find(expected, "expiry")) out += fmt::format(" until {:.0f}", number_at(expected, "expiry", 0));
    return out;
}

void check(json::value const& expected, result<aws::credentials> const& found, checked_case& out)
{
    auto const* const good = find(expected, "Ok");
    if (!good) {
        if (found) out.fail("found credentials; expected the error \"" + text_at(expected, "ErrorContains") + '"');
        return;
    }
    out.equal("credentials", shown(*good), shown(found));
    if (found && find(*good, "account_id")) out.equal("account", text_at(*good, "account_id"), found->account_id);
}

json::value environment_of(fs::path const& folder)
{
    auto const file = folder / "env.json";
    return fs::exists(file) ? read_json(file) : json::value();
}

/// `profile`: what the program chooses; empty: nothing.
void run_case(fs::path const& folder, std::string profile, checked_case& out)
{
    auto const environment = environment_of(folder);
    auto const traffic = folder / "http-traffic.json";
    recorded_web web(fs::exists(traffic) ? read_json(traffic) : json::value(), out);
    case_files files(folder / "fs");
    still_clock time;
    auto const variable = [&](char const* name) { return text_at(environment, name); };
    aws::chain_options options;
    options.profile = std::move(profile);
    aws::credential_chain chain(aws::surroundings{web, variable, files, time}, options, [] { return 0.0; });

    asio::io_context io;
    result<aws::credentials> found = failure(errc::stopped, "it never ended");
    auto const ended = [&](std::exception_ptr thrown, result<aws::credentials> value) {
        if (thrown) std::rethrow_exception(thrown);
        found = std::move(value);
    };
    asio::co_spawn(io, chain.load(), ended);
    io.run();
    check(read_json(folder / "test-case.json").at("result"), found, out);
    if (web.left() != 0) out.fail(fmt::format("{} recorded requests were not made", web.left()));
}

void run_folders(fs::path const& path, bool is_profile, report& results)
{
    std::vector<fs::path> cases;
    if (fs::exists(path / "test-case.json")) cases.push_back(path);
    for (auto const& entry : fs::directory_iterator(path)) {
        if (fs::exists(entry.path() / "test-case.json")) cases.push_back(entry.path());
    }
    std::sort(cases.begin(), cases.end());
    for (auto const& folder : cases) {
        checked_case out(results, folder.filename().string());
        try {
            auto const named = is_profile ? text_at(environment_of(folder), "AWS_PROFILE", "default") : "";
            run_case(folder, named, out);
        } catch (std::exception const& e) {
            out.fail(e.what());
        }
    }
}

} // namespace

void run_default_chain(fs::path const& path, report& results)
{
    run_folders(path, false, results);
}

void run_profile_provider(fs::path const& path, report& results)
{
    run_folders(path, true, results);
}

} // namespace quern::conformance
