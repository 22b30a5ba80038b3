#include <quern/consumer/detail/settle/poison_copy.hpp>
#include <quern/sqs/detail/copy.hpp>
#include <quern/sqs/detail/split_and_join.hpp>
#include <quern/sqs/limits.hpp>
#include <quern/sqs/queue_reference.hpp>

#include <cstddef>
#include <iterator>

namespace quern::detail {

namespace mark = sqs::detail::mark;
using sqs::detail::set_if_it_fits;

poison_copies::poison_copies(std::string_view queue_url, std::string_view poison_queue_url)
    : source_(sqs::queue_name_in(queue_url)), fifo_(poison_queue_url.ends_with(".fifo"))
{}

void poison_copies::add(held const& h)
{
    auto const& m = h.message.message();
    auto& copy = copies_.emplace_back(sqs::detail::copy_of(m));
    for (auto const of_an_earlier_rejection : {mark::reason, mark::source, mark::receive_count})
        copy.attributes.erase(std::string(of_an_earlier_rejection));
    set_if_it_fits(copy, mark::reason, {"String", h.rare ? h.rare->reason : std::string()}, true);
    set_if_it_fits(copy, mark::original_id, {"String", std::string(m.id)}, false);
    set_if_it_fits(copy, mark::source, {"String", source_}, true);
    set_if_it_fits(copy, mark::receive_count, {"Number", std::to_string(h.receive_count)}, true);
    if (auto const first = h.message.first_received_at())
        set_if_it_fits(copy, mark::first_received, {"String", sqs::detail::rfc3339_ms(*first)}, false);
    if (!fifo_) return;
    copy.group_id = h.message.group().empty() ? "rejected" : std::string(h.message.group());
    copy.deduplication_id = std::string(m.id);
}

std::vector<std::vector<sqs::send_message_entry>> poison_copies::take()
{
    std::vector<std::size_t> sizes;
    for (auto const& copy : copies_)
        sizes.push_back(sqs::message_size(copy.body, copy.attributes));
    std::vector<std::vector<sqs::send_message_entry>> out;
    auto copy = std::make_move_iterator(copies_.begin());
    for (auto const count : sqs::detail::split(sizes)) {
        auto const end = copy + static_cast<std::ptrdiff_t>(count);
        out.emplace_back(copy, end);
        copy = end;
    }
    return out;
}

} // namespace quern::detail
