#include <quern/consumer/json.hpp>
#include <quern/consumer/s3_pointer.hpp>
#include <quern/consumer/sns.hpp>

#include <algorithm>

namespace quern {

namespace {

s3_pointer decode_pointer(json_document& document)
{
    s3_pointer out;
    std::size_t at = 0;
    for (auto part : document.get_array()) {
        if (at == 0) {
            std::string_view const kind = part.get_string();
            if (kind != "software.amazon.payloadoffloading.PayloadS3Pointer" &&
                kind != "com.amazon.sqs.javamessaging.MessageS3Pointer") { // its old name
                throw parse_error("S3 pointer, element 0: not the name of a pointer's class");
            }
        } else if (at == 1) {
            simdjson::ondemand::object where = part.get_object();
            out.bucket = json_member<std::string>(where, "s3BucketName");
            out.key = json_member<std::string>(where, "s3Key");
        }
        ++at;
    }
    if (at != 2) throw parse_error("S3 pointer, element " + std::to_string(at) + ": there should be two");
    if (out.bucket.empty()) throw parse_error("S3 pointer, member \"s3BucketName\": empty");
    if (out.key.empty()) throw parse_error("S3 pointer, member \"s3Key\": empty");
    return out;
}

constexpr char const* marks[] = {"ExtendedPayloadSize", "SQSLargePayloadSize"};

bool is_marked(delivery const& d)
{
    return std::ranges::any_of(marks, [&](auto const* mark) { return d.attribute(mark) != nullptr; });
}

bool is_envelope_marked(std::string_view body)
{
    try {
        auto const envelope = read_sns(body);
        return std::ranges::any_of(marks, [&](auto const* mark) { return envelope.find(mark) != nullptr; });
    } catch (parse_error const&) {
        return false;
    }
}

} // namespace

std::optional<s3_pointer> read_s3_pointer(std::string_view text, delivery const& of)
{
    bool const is_inner = text.data() != of.body().data(); // published through a topic, whose envelope has the marks
    if (!is_marked(of) && !(is_inner && is_envelope_marked(of.body()))) return {};
    return read_json(text, decode_pointer);
}

} // namespace quern
