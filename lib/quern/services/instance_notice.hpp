#pragma once

#include <quern/aws/config/environment.hpp>
#include <quern/aws/credentials/instance_metadata.hpp>
#include <quern/aws/web.hpp>
#include <quern/core/clock.hpp>
#include <quern/core/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::services {

/// The end of an EC2 instance, as far as that knows it.
struct instance_notice {
    enum class kind {
        spot,      ///< a spot instance is about to be stopped, terminated or hibernated, in two minutes at most
        rebalance, ///< it is more likely than usual that this spot instance will be
        scale_in,  ///< its Auto Scaling group is about to terminate it
    };
    kind what;
    std::optional<wall_time> at{}; ///< when it ends; of a rebalance, when that was told
    bool operator==(instance_notice const&) const = default;
};

/// "spot", "rebalance", "scale-in".
std::string_view name_of(instance_notice::kind);
std::optional<instance_notice::kind> notice_kind(std::string_view name);

/// The path that tells it, below the metadata service.
std::string_view path_of(instance_notice::kind);

/// Notice in such an answer; nothing when it says that there is no such notice, or cannot be read.
///
/// Source  EC2 user guide, "Spot Instance interruption notices", "EC2 instance rebalance recommendations"; Auto
///         Scaling user guide, "Retrieve the target lifecycle state through instance metadata".
std::optional<instance_notice> notice_in(instance_notice::kind, int status, std::string_view body);

/// Whether a program that began at `began` should end for that. A rebalance that was told before it began is none of
/// its business: it was started there all the same, and would end again and again.
bool is_for(instance_notice const&, wall_time began);

/// The longest drain that ends five seconds before the instance does: `usual`, or less; a second at least.
std::chrono::milliseconds drain_within(instance_notice const&, std::chrono::milliseconds usual, wall_time now);

struct notice_watch_options {
    std::vector<instance_notice::kind> kinds{instance_notice::kind::spot};
    aws::instance_service service{};                   ///< see aws::find_instance_service()
    std::chrono::milliseconds every{5'000};            ///< AWS advises as much
    std::function<void(std::string const&)> trouble{}; ///< told once that nobody answers; or null
    std::shared_ptr<aws::web> http{};                  ///< the network where null
    clock* time = nullptr;                             ///< the real one where null
};

/// Asks the instance for notices, by IMDSv2, until there is one, which is told once. Where nobody answers, it asks
/// once a minute.
///
/// Threads   one strand: the executor given. Lifetime  ends its work when it goes.
class notice_watch {
public:
    notice_watch(
        boost::asio::any_io_executor, notice_watch_options, std::function<void(instance_notice const&)> told);
    ~notice_watch();
    notice_watch(notice_watch const&) = delete;
    notice_watch& operator=(notice_watch const&) = delete;

    void begin();

private:
    struct state;
    std::shared_ptr<state> state_;
};

} // namespace quern::services
