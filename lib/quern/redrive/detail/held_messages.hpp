#pragma once

#include <quern/core/clock.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace quern::redrive::detail {

/// Leases of messages that are held and will be given back, by a command that looks at them or a run that passes them
/// over. Pure.
///
/// A lease is short, because a process that is killed can give nothing back, and is extended when a third of it is
/// left.
class held_messages {
public:
    static constexpr std::chrono::seconds shortest{30}, longest{900};

    /// Leases grow with the time since `began`: a message is extended once more whenever that time has grown by two
    /// thirds, and not every twenty seconds. So ten messages cost one receive and about two extensions, however many
    /// are held: 10,000 receives for 100,000 messages, which take minutes, and some 20,000 extensions.
    explicit held_messages(tick began) : began_(began) {}

    /// Leases grow with the number held, beyond 2,000: so ten requests a second extend them all, for weeks.
    held_messages() = default;

    /// The next lease: as long as the command has taken, or by the number held, but within `shortest` and `longest`.
    std::chrono::seconds lease(tick now) const;

    /// A message was received with such a lease, which counts from when it was asked for. One that was held before
    /// has a newer handle.
    void received(std::string id, std::string handle, tick asked_at, std::chrono::seconds lease);

    struct held {
        std::string id, handle;
    };

    /// The ten whose turn comes first, if the first one's has come.
    std::vector<held> due(tick now) const;

    void extended(std::string const& id, tick asked_at, std::chrono::seconds lease);
    void not_extended(std::string const& id); ///< it comes to light by itself

    void forget(std::string const& id); ///< it is deleted

    /// Handles of all whose lease has not ended.
    std::vector<std::string> handles(tick now) const;

private:
    struct entry {
        std::string handle;
        tick until, extend_at;
    };
    void set(std::string const& id, entry&, tick asked_at, std::chrono::seconds lease);

    std::optional<tick> const began_;
    std::map<std::string, entry> all_;
    std::set<std::pair<tick, std::string>> turns_; // when to extend which
};

} // namespace quern::redrive::detail
