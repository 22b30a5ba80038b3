#pragma once

#include <quern/broker/server.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace quern::broker::detail {

/// One line of JSON, as docs/guide/local-broker.md tells it:
/// {"program":…,"traffic":{…},"queues":[{"name":…,"visible":…}]}
std::string picture_of(server&, bool admin, tick began_at, clock&);

/// {"messages":[{"id":…,"body":…,"state":…}]}. Of longer bodies no more than `most_of_body` bytes, and "bytes"
/// beside.
void write_messages(std::vector<message_look> const&, std::size_t most_of_body, std::string& to);

} // namespace quern::broker::detail
