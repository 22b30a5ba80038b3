#include <quern/sim/subject.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/system/system_error.hpp>

#include <stdexcept>

namespace quern::sim {

namespace asio = boost::asio;

namespace {

class real final : public subject {
public:
    template <class F>
    real(asio::io_context& io, sqs::api& api, std::string url, F handle, consumer_options options)
        : io_(io), consumer_(io.get_executor(), api, std::move(url), std::move(handle), std::move(options))
    {}

    void start(std::function<void(drain_report const&)> ended) override
    {
        consumer_.start();
        asio::co_spawn(io_, consumer_.drained(), [ended](std::exception_ptr bug, drain_report report) {
            if (bug) std::rethrow_exception(bug);
            ended(report);
        });
    }
    void drain(std::chrono::milliseconds limit) override
    {
        consumer_.drain(limit, [](boost::system::error_code ec, drain_report const&) {
            if (ec) throw boost::system::system_error(ec);
        });
    }
    std::size_t in_flight() const override { return consumer_.in_flight(); }
    void rest(bool on) override
    {
        if (on)
            consumer_.pause("as its user wishes");
        else
            consumer_.resume();
    }
    void set_limits(consumer_limits const& to) override
    {
        consumer_.set_limits(to, [](result<void> const& said) {
            if (said.has_error() && said.error().code != errc::stopped) throw std::logic_error(said.error().message);
        });
    }

private:
    asio::io_context& io_;
    consumer consumer_;
};

} // namespace

subject_factory real_consumer()
{
    return [](asio::io_context& io, sqs::api& api, std::string url, handlers handle, consumer_options options) {
        if (handle.many)
            return std::make_unique<real>(io, api, std::move(url), std::move(handle.many), std::move(options));
        if (handle.call)
            return std::make_unique<real>(io, api, std::move(url), std::move(handle.call), std::move(options));
        return std::make_unique<real>(io, api, std::move(url), std::move(handle.one), std::move(options));
    };
}

} // namespace quern::sim
