#pragma once

#include <quern/policy/flag.hpp>

#include <functional>
#include <string>
#include <utility>

namespace quern::flags::detail {

/// A flag whose whole text is read each time, by the function.
class text_flag final : public policy::flag_source {
public:
    using reader = std::function<boost::asio::awaitable<result<std::string>>()>;
    using writer = std::function<boost::asio::awaitable<result<void>>(std::string)>;

    text_flag(std::string name, reader read, writer write = {})
        : name_(std::move(name)), read_(std::move(read)), write_(std::move(write))
    {}

    std::string name() const override { return name_; }

    boost::asio::awaitable<result<policy::flag_reading>> read() override
    {
        auto got = co_await read_();
        if (!got) co_return got.error();
        policy::flag_reading out;
        out.text = std::move(*got);
        co_return out;
    }

    boost::asio::awaitable<result<void>> write(std::string text) override
    {
        return write_ ? write_(std::move(text)) : flag_source::write(std::move(text));
    }

private:
    std::string const name_;
    reader const read_;
    writer const write_;
};

} // namespace quern::flags::detail
