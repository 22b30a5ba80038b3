#pragma once

#include "queue_model.hpp"
#include "scene.hpp"
#include "still_clock.hpp"

#include <quern/consumer/detail/pipeline.hpp>
#include <quern/sqs/forwarding_api.hpp>

#include <boost/asio/io_context.hpp>

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quern::test {

/// State that the processes of a search share.
struct surroundings {
    explicit surroundings(scene const& s) : plan(s), left(s) { queue.messages.resize(std::size_t(s.messages)); }

    scene const& plan;
    scene left; ///< of the budgets
    tick now{std::chrono::hours(1)};
    queue_model queue;
    std::unique_ptr<boost::asio::io_context> io = std::make_unique<boost::asio::io_context>(1);
    unsigned happened = 0; ///< grows with whatever could make a difference to somebody
    std::vector<std::string> broken;
    std::vector<std::string>* story = nullptr; ///< where what happens is told, if anywhere

    void breaks(std::string promise)
    {
        tell(-1, "BROKEN: " + promise);
        broken.push_back(std::move(promise));
    }
    void tell(int process, std::string const& what);
};

/// A whole consumer as it is shipped, over an api whose calls end when the search says so, with handlers of which the
/// same holds. Watches over what it has promised.
class process final : public sqs::forwarding_api<process> {
public:
    process(surroundings&, int number);

    /// Begins, in the context of the surroundings.
    void start();

    /// Lets go of what lives in the context, which ends next.
    void forget() { pipe_.reset(); }

    std::vector<event> possible() const;
    void apply(event const&);

    /// Begins whatever is due at this moment; false when nothing is. A receive that has waited for
    /// long enough ends empty.
    bool fire();
    std::optional<tick> next() const;

    /// When a call has to be answered: the client does not wait for longer.
    std::optional<tick> first_limit() const;

    bool has_calls() const { return !calls_.empty(); }
    bool has_ended() const;
    bool is_draining() const;
    bool is_done() const; ///< nothing is held, and nothing is on the way
    bool polls() const { return static_cast<bool>(receive_); }

    /// Next event of those that go well; absent when only time is left.
    std::optional<event> fair() const;

    /// Notes what is broken between two events.
    void check();

    /// A lease of this life is over.
    bool note_loss(detail::message_life const*, bool notes_lost, bool in_time);

    /// Appends all that matters to what may come; `order`: of the messages.
    void describe(std::string& to, std::vector<int> const& order) const;

    template <class Request>
    sqs::answer<typename Request::response> carry(Request)
    {
        surroundings_.breaks("asks for " + std::string(Request::operation));
        co_return failure(errc::service_error, "not expected");
    }
    sqs::answer<sqs::receive_message_response> carry(sqs::receive_message_request);
    sqs::answer<sqs::delete_message_batch_response> carry(sqs::delete_message_batch_request);
    sqs::answer<sqs::change_message_visibility_batch_response> carry(sqs::change_message_visibility_batch_request);
    sqs::answer<sqs::send_message_batch_response> carry(sqs::send_message_batch_request);

    bool asleep = false, slept = false;

private:
    struct reply {
        std::vector<std::string> codes; ///< by entry; empty: done
        std::optional<failure> failed;  ///< all of it
    };
    struct call {
        enum class kind { remove, change, copy };
        struct entry {
            int message = 0, receive = 0;
            std::chrono::seconds timeout{};
            bool postpones = false;
            std::string code; ///< once it has been carried out
        };

        kind what = kind::remove;
        tick sent_at{};
        std::vector<entry> entries;
        bool carried_out = false;
        detail::asker<reply> tell;
    };
    struct arrival {
        std::vector<int> messages;
        std::optional<failure> failed;
    };
    struct run {
        int number = 0;
        std::vector<delivery*> all;
        detail::asker<event::kind> waits;
        bool told = false;  ///< to end
        bool asks = false;  ///< and waits for the answer
        bool asked = false; ///< before
    };
    /// Knowledge of a message, to hold this process to it.
    struct ward {
        bool may_delete = false;  ///< a handler has succeeded under its lease since it began, or it was rejected
        bool lost = false;        ///< its lease, since it was received
        bool lost_in_run = false; ///< since its handler began
        bool unheard = false;     ///< the answer that brought it is lost
        tick put_off_until{};
        tick extended_at{};
        bool extension_failed = false;
    };
    class being_run;

    consumer_options options();
    boost::asio::awaitable<outcome> play(std::vector<delivery*>);
    boost::asio::awaitable<std::vector<outcome>> play_all(deliveries);
    void check_start(run const&);
    outcome conclude(run const&, event::kind);
    void note_success(run const&);
    bool is_on_its_way(detail::held const&) const;

    detail::asker<reply>* begin(call);
    sqs::answer<reply> answer_to(call);
    void note_sent(call&);
    void carry_out(call&);
    call take_call(std::size_t which);
    static std::string text_of(call const&);
    void bring(event const&);
    void end_call(event const&);
    template <class Response>
    static Response response_of(std::vector<std::string> const& codes);

    detail::held_ptr entry_of(int message) const;
    int hidden_for_nothing() const;
    void check_entry(detail::held const&);
    void describe_entry(std::string& to, int message) const;
    void describe_calls(std::string& to, std::vector<int> const& order) const;
    void describe_queue(std::string& to, std::vector<int> const& order) const;
    void describe_ward(std::string& to, int message) const;

    detail::stage_context& context() const;
    int since(tick at, int most = 400) const;

    surroundings& surroundings_;
    int const number_;
    still_clock time_;
    std::shared_ptr<detail::pipeline> pipe_;
    std::shared_ptr<consumer_numbers<counter> const> counters_;
    std::list<std::string> texts_; // of the messages
    std::vector<call> calls_;
    detail::asker<arrival> receive_;
    tick receive_ends_at_{};
    std::chrono::seconds lease_{};
    std::list<run> runs_;
    std::vector<ward> wards_;
    int begun_ = 0;     // handlers
    int deletions_ = 0; // that SQS has confirmed, or would have
    bool paused_ = false, end_is_checked_ = false, hurried_ = false;
};

} // namespace quern::test
