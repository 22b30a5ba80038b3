#pragma once

#include <quern/core/completion.hpp>
#include <quern/sqs/api.hpp>

#include <utility>

namespace quern::sqs {

// Every operation, once.
#define QUERN_SQS_OPERATIONS(each)                                                                                   \
    each(send_message) each(send_message_batch) each(receive_message) each(delete_message)                           \
        each(delete_message_batch) each(change_message_visibility) each(change_message_visibility_batch)             \
            each(create_queue) each(delete_queue) each(purge_queue) each(get_queue_url) each(list_queues)            \
                each(get_queue_attributes) each(set_queue_attributes) each(list_dead_letter_source_queues)           \
                    each(tag_queue) each(untag_queue) each(list_queue_tags) each(add_permission)                     \
                        each(remove_permission) each(start_message_move_task) each(cancel_message_move_task)         \
                            each(list_message_move_tasks)

/// `on.send_message(request, more...)` for a send_message_request, and so on. On an api it is the operation; anything
/// else that names its functions so will do.
#define QUERN_SQS_PERFORM(name)                                                                                      \
    template <class On, class... More>                                                                               \
    auto perform(On& on, name##_request request, More... more)                                                       \
    {                                                                                                                \
        return on.name(std::move(request), more...);                                                                 \
    }
QUERN_SQS_OPERATIONS(QUERN_SQS_PERFORM)
#undef QUERN_SQS_PERFORM

/// An api whose operations are all one: `Derived` has a template that carries any request, and where it wants to
/// treat an operation differently it overrides that, or overloads the template. A mock is such a template:
///
///     struct busy : sqs::forwarding_api<busy> {
///         template <class Request>
///         sqs::answer<typename Request::response> carry(Request)
///         {
///             co_return failure(errc::throttled, "too busy", true);
///         }
///     };
///
/// `Request::response` is what answers it, `Request::operation` its name: "SendMessage".
///
/// Where Derived has get_executor(), each operation takes a completion token as well; it completes with
/// void(result<Request::response>) on the executor of the token's handler, or on get_executor().
template <class Derived>
class forwarding_api : public api {
public:
#define QUERN_SQS_OVERRIDE(name)                                                                                     \
    answer<name##_request::response> name(name##_request) override;                                                  \
    template <class Token>                                                                                           \
    auto name(name##_request request, Token&& token)                                                                 \
    {                                                                                                                \
        auto& derived = static_cast<Derived&>(*this);                                                                \
        auto operation = [&derived, request = std::move(request)] { return derived.name(request); };                 \
        return quern::detail::complete(derived, std::move(operation), std::forward<Token>(token));                   \
    }
    QUERN_SQS_OPERATIONS(QUERN_SQS_OVERRIDE)
#undef QUERN_SQS_OVERRIDE
};

#define QUERN_SQS_FORWARD(name)                                                                                      \
    template <class Derived>                                                                                         \
    answer<name##_request::response> forwarding_api<Derived>::name(name##_request request)                           \
    {                                                                                                                \
        return static_cast<Derived&>(*this).carry(std::move(request));                                               \
    }
QUERN_SQS_OPERATIONS(QUERN_SQS_FORWARD)
#undef QUERN_SQS_FORWARD
#undef QUERN_SQS_OPERATIONS

} // namespace quern::sqs
