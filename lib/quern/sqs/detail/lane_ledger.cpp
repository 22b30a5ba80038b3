#include <quern/sqs/detail/lane_ledger.hpp>

namespace quern::sqs::detail {

lane_claim lane_ledger::claim(lane_places wanted)
{
    struct held {
        std::shared_ptr<lane_ledger> const from;
        lane_places const what;
        held(std::shared_ptr<lane_ledger> f, lane_places w) : from(std::move(f)), what(w) {}
        ~held() { from->give_back(what); }
    };
    lane_claim out;
    std::lock_guard const own(lock_);
    if (wanted.data > free_.data || wanted.control > free_.control) {
        out.refused = free_;
        return out;
    }
    out.places = std::make_shared<held const>(shared_from_this(), wanted);
    free_.data -= wanted.data;
    free_.control -= wanted.control;
    return out;
}

lane_places lane_ledger::free() const
{
    std::lock_guard const own(lock_);
    return free_;
}

void lane_ledger::give_back(lane_places what)
{
    std::lock_guard const own(lock_);
    free_.data += what.data;
    free_.control += what.control;
}

} // namespace quern::sqs::detail
