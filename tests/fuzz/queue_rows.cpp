#include "target.hpp"

#include "quern/broker/queue_rows.hpp"

namespace quern::fuzz {

namespace {

bool same(broker::message_record const& a, broker::message_record const& b)
{
    auto const attributes = [](broker::message_record const& m) {
        return m.attributes ? *m.attributes : sqs::attribute_map();
    };
    return a.trace_header == b.trace_header && a.group_id == b.group_id && a.deduplication_id == b.deduplication_id &&
        a.sequence_number == b.sequence_number && a.source_arn == b.source_arn && attributes(a) == attributes(b);
}

} // namespace

/// A list in a row of the broker's database, as pairs and as the rare parts of a message.
void queue_row(std::string_view bytes)
{
    auto const pairs = app::unpacked(bytes);
    must(app::unpacked(app::packed(pairs)) == pairs, "pairs are read as they were written");

    broker::message_record first, again;
    sqs::attribute_map its, others;
    app::unpack_rest(bytes, first, its);
    auto const text = app::packed_rest(first);
    app::unpack_rest(text, again, others);
    must(same(first, again), "a message is read as it was written");
}

} // namespace quern::fuzz
