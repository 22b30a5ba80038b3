#include <quern/flags/ssm.hpp>

#include <quern/flags/detail/text_flag.hpp>

namespace quern::flags {

using namespace detail;

std::shared_ptr<policy::flag_source> in_parameter(std::shared_ptr<services::ssm> client, std::string name)
{
    auto shown = "ssm:" + name;
    auto read = [client, name]() -> boost::asio::awaitable<result<std::string>> {
        services::get_parameter_request question(name, true);
        auto got = co_await client->get_parameter(std::move(question));
        if (!got) co_return got.error();
        co_return std::move(got->value);
    };
    auto write = [client = std::move(client), name = std::move(name)](
                     std::string text) -> boost::asio::awaitable<result<void>> {
        services::put_parameter_request change(name, std::move(text));
        co_return co_await client->put_parameter(std::move(change));
    };
    return std::make_shared<text_flag>(std::move(shown), std::move(read), std::move(write));
}

} // namespace quern::flags
