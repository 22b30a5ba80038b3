#pragma once

#include <quern/relay/letter.hpp>

#include <string>
#include <vector>

namespace quern::test {

inline relay::queue_name const orders_queue{"orders", "arn:aws:sqs:eu-west-1:000000000000:orders", "eu-west-1"};

/// A message with everything that SQS can say of one; change what a test is about.
inline sqs::message some_message()
{
    sqs::message out;
    out.id = "8b2c-1";
    out.receipt_handle = "handle";
    out.body = R"({"kind":"new","shop":{"id":7},"path/odd":"a b","list":[1],"none":null})";
    out.md5_of_body = "0123";
    out.system_attributes = {{"ApproximateReceiveCount", "3"}, {"ApproximateFirstReceiveTimestamp", "1772366400750"},
        {"SentTimestamp", "1772366399000"}, {"AWSTraceHeader", "Root=1-2-3"}, {"MessageGroupId", "g 1"},
        {"SequenceNumber", "42"}, {"MessageDeduplicationId", "d1"}};
    out.attributes = {{"tenant", "String", "acme"}, {"count", "Number", "5"}, {"blob", "Binary", {"\0\1\2", 3}}};
    return out;
}

} // namespace quern::test
