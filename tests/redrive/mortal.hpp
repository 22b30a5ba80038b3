#pragma once

#include "redrive/yard.hpp"
#include "simulation/redrive/mortal.hpp"

#include <quern/redrive/journal.hpp>

#include <memory>
#include <string>
#include <utility>

namespace quern::test {

using sim::disk, sim::doom, sim::mortal_api, sim::mortal_file;

struct mortal_context : asio::io_context {
    using asio::execution_context::shutdown;
};

/// A process: all that a kill takes.
struct life {
    mortal_context io;
    sim::local_api local;
    doom end;
    mortal_api api;
    redrive::journal record;
    redrive::redriver driver;
    std::optional<result<redrive::report>> report;

    static redrive::options with(redrive::options o, redrive::journal& j)
    {
        o.record = &j;
        return o;
    }

    life(broker::engine& engine, sim::virtual_clock& time, disk& d, redrive::options const& o, int dies_at)
        : local(engine, time, io.get_executor()), end{dies_at}, api(local, end, time, io.get_executor()),
          record(redrive::journal::open(std::make_unique<mortal_file>(d, end)).value()),
          driver(io.get_executor(), api, with(o, record))
    {
        asio::co_spawn(io, driver.run(), [this](std::exception_ptr bug, result<redrive::report> said) {
            if (bug) std::rethrow_exception(bug);
            report = std::move(said);
        });
    }
    ~life() { io.shutdown(); }
};

} // namespace quern::test
