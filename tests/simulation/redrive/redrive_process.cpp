#include "simulation/redrive/redrive_process.hpp"

#include <quern/sim/detail/weather.hpp>

#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <utility>

namespace quern::sim {

using namespace detail;
namespace asio = boost::asio;
using namespace std::chrono_literals;

redrive_process::redrive_process(surroundings const& around)
    : day_(around.day), id_(around.id), end_{around.dies_at}, network_(around.service, 5s),
      mortal_(network_, end_, around.time, io_.get_executor())
{}

result<std::unique_ptr<redrive_process>> redrive_process::begin(surroundings around)
{
    std::unique_ptr<redrive_process> out(new redrive_process(around));
    auto const ex = out->io_.get_executor();
    sqs::api* through = &out->mortal_;
    if (around.seams.api) {
        out->flawed_ = around.seams.api(*through, ex);
        through = out->flawed_.get();
    }
    if (around.on) {
        std::unique_ptr<redrive::journal_file> file = std::make_unique<mortal_file>(*around.on, out->end_);
        if (around.seams.file) file = around.seams.file(std::move(file));
        auto opened = redrive::journal::open(std::move(file));
        if (!opened) return opened.error();
        out->record_.emplace(std::move(*opened));
        around.options.record = &*out->record_;
    }
    out->driver_.emplace(ex, *through, std::move(around.options));
    asio::co_spawn(out->io_, out->driver_->run(), [it = out.get()](std::exception_ptr bug, auto said) {
        if (bug) std::rethrow_exception(bug);
        it->report_ = std::move(said);
    });
    return out;
}

redrive_process::~redrive_process()
{
    io_.shutdown();
}

std::size_t redrive_process::run()
{
    io_.restart();
    return io_.poll();
}

void redrive_process::set_weather(spell const& now)
{
    network_.set_faults(delayed(now.faults, day_.latency, id_));
    network_.expire_credentials(now.credentials_expired);
}

} // namespace quern::sim
