#pragma once

#include <quern/consumer/delivery.hpp>

#include <string>

namespace quern::app {

/// {"message_id": …, "body": …, "receive_count": 1, "sent_at": "2026-02-01T12:00:00.250Z", "first_received_at": …,
///  "group": …, "attributes": {"kind": {"type": "String", "value": …}}}, and a line feed. What the message lacks is
/// left out, but for `attributes`. The value of a binary attribute is base64. `queue_url`: a member of that name;
/// empty: none.
std::string json_line(delivery const&, std::string const& queue_url = {});

/// The user attributes alone, as above, on one line.
std::string attributes_json(delivery const&);

/// "2026-02-01T12:00:00.250Z"
std::string iso_time(wall_time);

} // namespace quern::app
