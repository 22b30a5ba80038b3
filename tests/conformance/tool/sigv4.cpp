#include "suites.hpp"

#include "support/presign.hpp"

#include <quern/aws/detail/signing/sigv4.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <optional>
#include <stdexcept>

namespace quern::conformance {

using namespace quern::detail;
using namespace quern::aws::detail;
using quern::test::presign;

namespace {

/// request.txt, or one of the signed requests.
struct http_text {
    std::string method, target, body;
    std::vector<std::pair<std::string, std::string>> headers;
};

http_text parse(std::string_view text)
{
    http_text out;
    auto const next_line = [&] {
        auto const end = std::min(text.find('\n'), text.size());
        auto const line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        return line;
    };
    // The target may contain spaces: it is what stands between the first and the last.
    auto const first = next_line();
    auto const begin = first.find(' ');
    auto const end = first.rfind(' ');
    if (begin == first.npos || begin == end) throw std::runtime_error("no request line");
    out.method = first.substr(0, begin);
    out.target = first.substr(begin + 1, end - begin - 1);
    while (!text.empty()) {
        auto const line = next_line();
        if (line.empty()) break;
        bool const is_continued = line.front() == ' ' || line.front() == '\t';
        if (is_continued && !out.headers.empty()) { // one value: a fold is white space (RFC 9112, 5.2)
            out.headers.back().second.append(" ").append(line);
            continue;
        }
        auto const colon = std::min(line.find(':'), line.size());
        out.headers.emplace_back(line.substr(0, colon), line.substr(std::min(colon + 1, line.size())));
    }
    out.body = text;
    return out;
}

/// The request in one form, whatever the order of its headers and parameters.
std::string ordered(http_text const& request)
{
    auto const mark = std::min(request.target.find('?'), request.target.size());
    std::vector<std::string> parts;
    auto const query = std::string_view(request.target).substr(std::min(mark + 1, request.target.size()));
    for (auto const& [name, value] : parse_query(query))
        parts.push_back(name + " = " + value);
    std::vector<std::string> headers;
    for (auto const& [name, value] : request.headers) {
        headers.push_back(canonicalize({{name, value}}).lines);
    }
    std::sort(parts.begin(), parts.end());
    std::sort(headers.begin(), headers.end());
    std::string out = request.method + ' ' + request.target.substr(0, mark) + '\n';
    for (auto const& p : parts)
        out += "? " + p + '\n';
    for (auto const& h : headers)
        out += h;
    return out + '\n' + request.body;
}

std::string without_last_newline(std::string text)
{
    if (text.ends_with('\n')) text.pop_back();
    return text;
}

wall_time signing_time(json::value const& context)
{
    auto text = text_at(context, "timestamp");
    std::erase_if(text, [](char c) { return c == '-' || c == ':'; });
    auto const time = text::parse_timestamp(text);
    if (!time) throw std::runtime_error("context.json: no timestamp");
    return *time;
}

/// The files of one case, and its verdict.
class signing_case {
public:
    signing_case(fs::path folder, report& results) : folder_(std::move(folder)), verdict_(results, folder_.filename())
    {}

    void run()
    try {
        auto const context = read_json(folder_ / "context.json");
        auto const given = parse(read_text(folder_ / "request.txt"));
        request_view request{given.method, given.target, {}, given.body};
        for (auto const& [name, value] : given.headers)
            request.headers.push_back({name, value});

        auto const secret = context.at("credentials");
        aws::credentials const keys{
            text_at(secret, "access_key_id"), text_at(secret, "secret_access_key"), text_at(secret, "token")};
        auto const region = text_at(context, "region");
        auto const service = text_at(context, "service");
        signing_scope const scope{text::timestamp(signing_time(context)), region, service};
        signing_options options;
        options.normalize_path = flag_at(context, "normalize", true);
        options.sign_body = flag_at(context, "sign_body");
        options.omit_session_token = flag_at(context, "omit_session_token");
        options.payload_hash = text_at(context, "signed_body_value");

        signing_keys cache;
        auto const in_headers = sign(request, keys, scope, options, cache);
        auto with_headers = given;
        for (auto const& added : in_headers.added)
            with_headers.headers.push_back(added);
        compare("header", in_headers, with_headers);

        std::chrono::seconds const lifetime(static_cast<int>(number_at(context, "expiration_in_seconds", 3600)));
        auto const in_query = presign(request, keys, scope, options, lifetime, cache);
        auto with_query = given;
        with_query.target = in_query.target;
        compare("query", in_query, with_query);

        if (compared_ == 0) verdict_.fail("there is nothing to compare with: no header-*.txt and no query-*.txt");
    } catch (std::exception const& e) {
        verdict_.fail(e.what());
    }

private:
    std::optional<std::string> expected(std::string const& name)
    {
        if (!fs::exists(folder_ / name)) return {};
        ++compared_;
        return without_last_newline(read_text(folder_ / name));
    }

    void compare(std::string const& form, signature_steps const& steps, http_text const& signed_request)
    {
        auto const step = [&](std::string const& name, std::string const& actual) {
            if (auto const wanted = expected(form + '-' + name + ".txt")) {
                verdict_.equal(form + ' ' + name, *wanted, without_last_newline(actual));
            }
        };
        step("canonical-request", steps.canonical_request);
        step("string-to-sign", steps.string_to_sign);
        step("signature", steps.signature);
        auto const file = form + "-signed-request.txt";
        if (!fs::exists(folder_ / file)) return;
        ++compared_;
        verdict_.equal(form + " signed-request", ordered(parse(read_text(folder_ / file))), ordered(signed_request));
    }

    fs::path folder_;
    checked_case verdict_;
    int compared_ = 0;
};

} // namespace

void run_sigv4(fs::path const& path, report& results)
{
    std::vector<fs::path> folders;
    auto const consider = [&](fs::path const& folder) {
        if (fs::exists(folder / "request.txt")) folders.push_back(folder);
    };
    auto const root = fs::canonical(fs::is_directory(path) ? path : fs::absolute(path).parent_path());
    consider(root);
    for (auto const& entry : fs::recursive_directory_iterator(root)) {
        if (entry.is_directory()) consider(entry.path());
    }
    std::sort(folders.begin(), folders.end());
    for (auto const& folder : folders) {
        if (fs::exists(folder / "public-key.json")) {
            results.skip(folder.filename().string(), "an asymmetric signature (SigV4a)");
            continue;
        }
        signing_case(folder, results).run();
    }
}

} // namespace quern::conformance
