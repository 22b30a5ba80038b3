#include <quern/flags/file.hpp>

#include <utility>

namespace quern::flags {

namespace {

class file_flag final : public policy::flag_source {
public:
    file_flag(std::string path, aws::file_system& files) : path_(std::move(path)), files_(files) {}

    std::string name() const override { return "file:" + path_; }

    boost::asio::awaitable<result<policy::flag_reading>> read() override
    {
        auto text = files_.read(path_);
        if (!text) co_return text.error();
        policy::flag_reading out;
        out.text = std::move(*text);
        co_return out;
    }

private:
    std::string const path_;
    aws::file_system& files_;
};

} // namespace

std::shared_ptr<policy::flag_source> in_file(std::string path, aws::file_system& files)
{
    return std::make_shared<file_flag>(std::move(path), files);
}

} // namespace quern::flags
