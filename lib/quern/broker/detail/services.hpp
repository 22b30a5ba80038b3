#pragma once

#include <quern/aws/config/detail/partitions.hpp>
#include <quern/broker/detail/agenda.hpp>
#include <quern/broker/detail/ids.hpp>
#include <quern/broker/detail/receipt.hpp>
#include <quern/broker/detail/recorder.hpp>
#include <quern/broker/engine.hpp>

#include <random>
#include <string>
#include <string_view>

namespace quern::broker::detail {

/// State that all queues of an engine share.
struct services {
    /// Apart from each other: who sees a message id can find the seed of ids.
    explicit services(engine_options given)
        : options(std::move(given)), ids(options.seed ? *options.seed : drawn_seed()),
          receipts(options.seed ? receipt_key_of(*options.seed) : drawn_receipt_key()), faults(options.faults)
    {}

    engine_options options;
    caller asking; ///< whom the call under way comes from
    /// "arn:aws:sqs:us-east-1:000000000000:", with the account of the caller unless another is given.
    std::string arn_prefix(std::string_view account = {}) const
    {
        if (account.empty()) account = asking.account_id.empty() ? options.account_id : asking.account_id;
        auto const& region = asking.region.empty() ? options.region : asking.region;
        std::string out("arn:");
        out.append(aws::detail::partition_of(region).name).append(":sqs:").append(region);
        return out.append(1, ':').append(account).append(1, ':');
    }

    agenda times;
    id_source ids;
    receipt_codec receipts;
    fault_plan faults;
    recorder record;
    instant latest{};              ///< the last moment at which something happened
    std::uint64_t last_number = 0; ///< of queues, messages, receives, polls and places in an order

private:
    static std::uint64_t drawn_seed()
    {
        std::random_device system;
        return std::uint64_t{system()} << 32 | system();
    }
};

} // namespace quern::broker::detail
