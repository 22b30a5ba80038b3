#pragma once

#include <quern/core/clock.hpp>
#include <quern/idempotency/key.hpp>
#include <quern/idempotency/row_names.hpp>
#include <quern/idempotency/store.hpp>
#include <quern/services/dynamodb.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace quern::idempotency {

namespace detail {
class gatherer;
}

struct dynamodb_store_options {
    std::string table{};
    flavour as = flavour::quern; ///< as in once_options
    row_names names{};
    /// Writes that come within this time share a request, up to 25 of them: BatchExecuteStatement, which wants the
    /// permissions dynamodb:PartiQLInsert, PartiQLUpdate and PartiQLDelete; without them each is sent by itself after
    /// all. One that finds no company is sent by itself too. Zero: all are.
    std::chrono::milliseconds linger{5};

    std::string partition = "idempotency#"; ///< value of the hash key in a table with a sort key
};

/// Records in a table of DynamoDB, one row a key: shared by all processes, and with functions of Powertools in the
/// language chosen. A row of ours has the attribute quern_owner besides, by which every later write is fenced.
class dynamodb_store final : public store {
public:
    /// `time` outlives the store and its operations.
    dynamodb_store(std::shared_ptr<services::dynamodb>, dynamodb_store_options, clock& time = real_clock());

    answer<store_answer> claim(claim_request) override;
    answer<store_answer> extend(std::string key, record claim) override;
    answer<store_answer> complete(std::string key, record done) override;
    answer<store_answer> abandon(std::string key, std::string owner) override;
    std::chrono::milliseconds clock_offset() const override { return client_->clock_offset(); }

    /// The row as it stands; nothing where there is none.
    answer<std::optional<record>> get(std::string key);

    /// Takes the row away, whoever has it.
    answer<bool> forget(std::string key); ///< false: there was none

private:
    services::item key_item(std::string key) const;
    store_answer read(services::write_response) const;
    /// Tries to send the statement in one request with others. Returns nothing if it must be sent alone: then the
    /// caller sends the plain operation.
    answer<std::optional<store_answer>> try_in_batch(std::string const& key, services::statement);
    answer<store_answer> change(std::string key, services::item changes, std::string owner);
    answer<void> learn_the_time(std::string const& key);

    std::shared_ptr<services::dynamodb> const client_;
    dynamodb_store_options const options_;
    std::shared_ptr<detail::gatherer> const gathers_; ///< null: nothing is gathered
    std::atomic<bool> knows_the_time_{false};
};

} // namespace quern::idempotency
