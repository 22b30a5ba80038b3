#include <quern/services/ssm.hpp>

#include <quern/core/detail/text/json_writer.hpp>
#include <quern/core/simdjson.hpp>
#include <quern/services/detail/call.hpp>

#include <utility>

namespace quern::services {

using namespace quern::detail;
namespace asio = boost::asio;
namespace dom = simdjson::dom;

namespace {

using parameter = get_parameter_request::response;

aws::detail::json_target target_of_ssm()
{
    aws::detail::json_target target;
    target.target_prefix = "AmazonSSM";
    target.version = aws::detail::json_version::v1_1;
    target.query_compatible = false;
    return target;
}

std::string encode(get_parameter_request const& r)
{
    std::string out = "{\"Name\":";
    text::append_json_string(out, r.name);
    return out.append(r.with_decryption ? ",\"WithDecryption\":true}" : "}");
}

result<parameter> decode(net::response const& from)
{
    dom::parser parser;
    dom::element all, found;
    std::string_view value, plain;
    bool const is_one = parser.parse(from.body.data(), from.body.size()).get(all) == simdjson::SUCCESS &&
        all["Parameter"].get(found) == simdjson::SUCCESS && found["Value"].get(value) == simdjson::SUCCESS;
    if (!is_one) return failure(errc::bad_reply, "Parameter: missing, or without a value");
    parameter out;
    out.value = value;
    if (found["Name"].get(plain) == simdjson::SUCCESS) out.name = plain;
    if (found["Type"].get(plain) == simdjson::SUCCESS) out.type = plain;
    [[maybe_unused]] auto const no_version = found["Version"].get(out.version);
    return out;
}

std::string encode(put_parameter_request const& r)
{
    std::string out;
    text::json_writer to(out);
    to.begin_object().member("Name", r.name).member("Value", r.value).member("Type", "String");
    to.member("Overwrite", true).end_object();
    return out;
}

result<void> nothing(net::response const&)
{
    return {};
}

} // namespace

ssm::ssm(asio::any_io_executor ex, aws::client_options options, clock& time)
    : service_client(detail::make_host(std::move(ex), aws::ssm_service, std::move(options), target_of_ssm(), time))
{}

asio::awaitable<result<parameter>> ssm::get_parameter(get_parameter_request r)
{
    auto const read = [](detail::reply const& end) { return detail::read(end, decode); };
    return detail::call(host_, "GetParameter", encode(r), read);
}

asio::awaitable<result<void>> ssm::put_parameter(put_parameter_request r)
{
    auto const read = [](detail::reply const& end) { return detail::read(end, nothing); };
    return detail::call(host_, "PutParameter", encode(r), read);
}

} // namespace quern::services
