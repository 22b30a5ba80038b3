#include <quern/idempotency/memory_store.hpp>

#include <algorithm>
#include <utility>

namespace quern::idempotency {

namespace asio = boost::asio;

store_answer memory_store::refused(std::string const& key) const
{
    store_answer out;
    out.applied = false;
    if (auto const at = rows_.find(key); at != rows_.end()) out.found = at->second;
    return out;
}

void memory_store::sweep(wall_time now)
{
    if (rows_.size() < sweep_at_) return;
    std::erase_if(rows_, [&](auto const& row) { return is_free(&row.second, now); });
    sweep_at_ = std::max<std::size_t>(1'024, 2 * rows_.size());
}

store::answer<store_answer> memory_store::claim(claim_request r)
{
    std::lock_guard const lock(mutex_);
    sweep(r.now);
    auto const at = rows_.find(r.key);
    if (!is_free(at == rows_.end() ? nullptr : &at->second, r.now)) co_return refused(r.key);
    rows_.insert_or_assign(std::move(r.key), std::move(r.row));
    co_return store_answer();
}

store::answer<store_answer> memory_store::extend(std::string key, record claim)
{
    std::lock_guard const lock(mutex_);
    auto const at = rows_.find(key);
    if (at == rows_.end() || !is_mine(&at->second, claim.owner)) co_return refused(key);
    at->second.in_progress_until = claim.in_progress_until;
    at->second.expires = claim.expires;
    co_return store_answer();
}

store::answer<store_answer> memory_store::complete(std::string key, record done)
{
    std::lock_guard const lock(mutex_);
    auto const at = rows_.find(key);
    if (at == rows_.end() || !is_mine(&at->second, done.owner)) co_return refused(key);
    at->second = std::move(done);
    co_return store_answer();
}

store::answer<store_answer> memory_store::abandon(std::string key, std::string owner)
{
    std::lock_guard const lock(mutex_);
    auto const at = rows_.find(key);
    if (at == rows_.end() || !is_mine(&at->second, owner)) co_return refused(key);
    rows_.erase(at);
    co_return store_answer();
}

bool memory_store::forget(std::string const& key)
{
    std::lock_guard const lock(mutex_);
    return rows_.erase(key) != 0;
}

void memory_store::replace(std::string const& key, record row)
{
    std::lock_guard const lock(mutex_);
    rows_.insert_or_assign(key, std::move(row));
}

std::optional<record> memory_store::find(std::string const& key) const
{
    std::lock_guard const lock(mutex_);
    auto const at = rows_.find(key);
    if (at == rows_.end()) return {};
    return at->second;
}

std::size_t memory_store::size() const
{
    std::lock_guard const lock(mutex_);
    return rows_.size();
}

} // namespace quern::idempotency
