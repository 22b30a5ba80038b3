#include <quern/flags/ssm.hpp>

#include <utility>

namespace quern::flags {

namespace {

class parameter final : public policy::flag_source {
public:
    parameter(std::shared_ptr<services::ssm> client, std::string of)
        : client_(std::move(client)), name_(std::move(of))
    {}

    std::string name() const override { return "ssm:" + name_; }

    boost::asio::awaitable<result<policy::flag_reading>> read() override
    {
        services::get_parameter_request question(name_, true);
        auto got = co_await client_->get_parameter(std::move(question));
        if (!got) co_return got.error();
        policy::flag_reading out;
        out.text = std::move(got->value);
        co_return out;
    }

private:
    std::shared_ptr<services::ssm> const client_;
    std::string const name_;
};

} // namespace

std::shared_ptr<policy::flag_source> in_parameter(std::shared_ptr<services::ssm> client, std::string name)
{
    return std::make_shared<parameter>(std::move(client), std::move(name));
}

} // namespace quern::flags
