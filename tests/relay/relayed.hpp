#pragma once

#include "consumer/mill.hpp"
#include "relay/paper_service.hpp"

#include <quern/relay/relay.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace quern::test {

/// A mill whose handler is a relay.
struct relayed : mill {
    paper_service service{time, io.get_executor()};
    relay::relay_options how;
    std::vector<std::string> relay_log;
    std::vector<log_subject> about; ///< these lines; numbers alone, the views are gone
    std::optional<relay::relay> to;

    relayed()
    {
        how.request.url = relay::url_template::parse("http://service/hook").value();
        how.time = &time;
        how.log = [this](log_level, log_text const& text) {
            relay_log.emplace_back(text);
            about.push_back(text.about);
        };
        options.log = how.log; // what the relay's outcomes say is the consumer's to log
        options.system_attributes = relay::system_attributes_for(how.request);
    }

    /// Drains first: handlers that run refer to the service.
    ~relayed()
    {
        if (it && !report) drained(1s);
        it.reset();
    }

    void begin()
    {
        to.emplace(service, relay::queue_name::from_url(url, "us-east-1"), how);
        consume(to->handler());
    }

    void begin_batches()
    {
        how.request.format = relay::body_format::lambda;
        how.batches = true;
        options.system_attributes = relay::system_attributes_for(how.request);
        to.emplace(service, relay::queue_name::from_url(url, "us-east-1"), how);
        it.emplace(io.get_executor(), api, url, to->batch_handler(), options);
        it->start();
    }

    bool logged(std::string_view part) const
    {
        return std::ranges::any_of(relay_log, [&](auto const& line) { return line.find(part) != line.npos; });
    }
};

} // namespace quern::test
