#include <quern/consumer/json.hpp>
#include <quern/consumer/s3_pointer.hpp>

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

} // namespace

std::optional<s3_pointer> read_s3_pointer(std::string_view text, delivery const& of)
{
    if (!of.attribute("ExtendedPayloadSize") && !of.attribute("SQSLargePayloadSize")) return {};
    return read_json(text, decode_pointer);
}

} // namespace quern
