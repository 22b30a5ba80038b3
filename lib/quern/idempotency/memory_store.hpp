#pragma once

#include <quern/idempotency/store.hpp>

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

namespace quern::idempotency {

/// Records in the memory of this process: for one process, and gone with it. What has expired is dropped as others
/// come.
class memory_store final : public store {
public:
    answer<store_answer> claim(claim_request) override;
    answer<store_answer> extend(std::string key, record claim) override;
    answer<store_answer> complete(std::string key, record done) override;
    answer<store_answer> abandon(std::string key, std::string owner) override;

    bool forget(std::string const& key); ///< whoever has it; false: there was none
    void replace(std::string const& key, record);
    std::optional<record> find(std::string const& key) const;
    std::size_t size() const;

private:
    void sweep(wall_time now);
    store_answer refused(std::string const& key) const;

    mutable std::mutex mutex_;
    std::map<std::string, record, std::less<>> rows_;
    std::size_t sweep_at_ = 1'024;
};

} // namespace quern::idempotency
