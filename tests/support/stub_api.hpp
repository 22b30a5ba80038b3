#pragma once

#include <quern/sqs/forwarding_api.hpp>

namespace quern::test {

/// An SQS that fails every call as "not expected". Tests override the operations that they expect.
class stub_api : public sqs::forwarding_api<stub_api> {
public:
    template <class T>
    using answer = sqs::answer<T>;

    template <class Request>
    answer<typename Request::response> carry(Request)
    {
        co_return failure(errc::service_error, "this operation is not expected");
    }
};

} // namespace quern::test
