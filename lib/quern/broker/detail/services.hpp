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

namespace quern::broker {

/// State that all queues of an engine share.
struct services {
    /// Two seeds: who sees a message id could find the seed of ids, and with it make up receipt handles.
    explicit services(engine_options given) : services(std::move(given), drawn_seed(), drawn_seed()) {}

    engine_options options;
    caller asking; ///< whom the call under way comes from
    /// "arn:aws:sqs:us-east-1:000000000000:", with the account of the caller unless another is given.
    std::string arn_prefix(std::string_view account = {}) const
    {
        if (account.empty()) account = asking.account_id.empty() ? options.account_id : asking.account_id;
        auto const& region = asking.region.empty() ? options.region : asking.region;
        std::string out("arn:");
        out.append(aws::partition_of(region).name).append(":sqs:").append(region);
        return out.append(1, ':').append(account).append(1, ':');
    }

    agenda times;
    id_source ids;
    receipt_codec receipts;
    fault_plan faults;
    recorder record;
    std::uint64_t last_number = 0; ///< of queues, messages, receives, polls and places in an order

private:
    services(engine_options given, std::uint64_t of_ids, std::uint64_t of_receipts)
        : options(std::move(given)), ids(options.seed.value_or(of_ids)), receipts(options.seed.value_or(of_receipts)),
          faults(options.faults)
    {}

    static std::uint64_t drawn_seed()
    {
        std::random_device system;
        return std::uint64_t{system()} << 32 | system();
    }
};

} // namespace quern::broker
