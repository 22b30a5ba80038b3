#pragma once

#include <quern/sim/network.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::sim {

/// The fate of a message in a day of redrives: how its body begins. The number of its queue follows.
enum class fate : char { never = 'n', once_redriven = 'r', once_mended = 'm', at_once = 'g' };

/// Sees what the service has carried out for redrivers and consumers, and judges it.
class redrive_witness final : public service_observer {
public:
    /// Settings by which it judges.
    struct rules {
        bool fifo = false;
        int max_attempts = 1;
    };

    void begin(rules r, std::string dead_url, std::string poison_url, std::vector<std::string> source_urls);

    static std::string body_of(fate, std::size_t source, int number);
    static fate fate_of(std::string_view body) { return static_cast<fate>(body.front()); }

    void born(std::string body) { born_.insert(std::move(body)); }
    void handled(std::string const& body, std::size_t by_source);
    void poisoned(sqs::message const&); ///< is in the poison queue at the end
    void complain(std::string what);

    /// Judges the end of the day. `marked`: messages that may be there twice, as far as anybody was told; negative:
    /// nobody promises it.
    void finish(bool is_empty, long marked);

    std::vector<std::string> violations;
    std::function<void(std::string const&)> tell; ///< of each, at its moment; empty: nobody

    // At the service.
    void received(sqs::receive_message_request const&, sqs::receive_message_response const&) override;
    void deleted(sqs::delete_message_batch_request const&, sqs::delete_message_batch_response const&) override;
    void sent(sqs::send_message_batch_request const&, sqs::send_message_batch_response const&) override;

    // Not its business.
    void changed(sqs::change_message_visibility_batch_request const&,
        sqs::change_message_visibility_batch_response const&, tick) override
    {}
    void asks(sqs::receive_message_request const&) override {}
    void names(std::string_view, std::string const&) override {}
    void delivered(sqs::receive_message_request const&, sqs::receive_message_response const&, tick) override {}
    void confirmed(sqs::change_message_visibility_batch_request const&,
        sqs::change_message_visibility_batch_response const&, tick) override
    {}
    void receive_failed(sqs::receive_message_request const&, failure const&) override {}
    void copies_refused(sqs::send_message_batch_request const&) override {}
    void received_for_nobody(sqs::receive_message_response const&) override {}

private:
    /// A body, and how often it was redriven. Nothing else tells of which dead message a copy is, where there are
    /// several of a body.
    using likeness = std::pair<std::string, int>;

    struct dead_message {
        likeness is;
        std::string group;
    };

    struct tally {
        std::set<std::string> deleted; ///< ids
        std::size_t copied = 0;        ///< other queues have so many
    };

    void accepted(sqs::send_message_entry const&, std::string const& url);
    void judge_order(std::string const& id);

    rules rules_;
    std::string dead_url_, poison_url_;
    std::vector<std::string> source_urls_;
    std::set<std::string> born_;
    std::map<std::string, std::size_t> handled_, poisoned_;
    std::map<std::string, std::string> handles_; // -> id
    std::map<std::string, dead_message> dead_;   // by id
    std::map<likeness, tally> tallies_;
    std::map<std::string, std::vector<std::string>> groups_; // ids, in the order of their receives
    std::set<std::string> copied_;                           // ids, of FIFO queues
};

} // namespace quern::sim
