#include <quern/core/detail/printable.hpp>
#include <quern/core/error.hpp>

#include <boost/system/system_error.hpp>

namespace quern {

using namespace detail;

namespace {

class quern_category final : public boost::system::error_category {
public:
    char const* name() const noexcept override { return "quern"; }

    std::string message(int value) const override
    {
        switch (static_cast<errc>(value)) {
        case errc::timed_out: return "timed out";
        case errc::connect_failed: return "cannot connect";
        case errc::tls_failed: return "TLS failed";
        case errc::connection_lost: return "connection lost";
        case errc::bad_reply: return "the answer is malformed";
        case errc::reply_too_large: return "the answer is too large";
        case errc::invalid_request: return "invalid request";
        case errc::invalid_option: return "invalid option";
        case errc::no_credentials: return "no credentials";
        case errc::service_error: return "the service refused";
        case errc::throttled: return "throttled";
        case errc::checksum_mismatch: return "checksum mismatch";
        case errc::receipt_expired: return "the receipt handle has expired";
        case errc::not_confirmed: return "not confirmed";
        case errc::stopped: return "stopped";
        }
        return "unknown error";
    }

    boost::system::error_condition default_error_condition(int value) const noexcept override
    {
        namespace generic = boost::system::errc;
        switch (static_cast<errc>(value)) {
        case errc::timed_out: return generic::make_error_condition(generic::timed_out);
        case errc::connection_lost: return generic::make_error_condition(generic::connection_reset);
        case errc::bad_reply: return generic::make_error_condition(generic::bad_message);
        case errc::reply_too_large: return generic::make_error_condition(generic::message_size);
        case errc::invalid_request:
        case errc::invalid_option: return generic::make_error_condition(generic::invalid_argument);
        case errc::no_credentials: return generic::make_error_condition(generic::permission_denied);
        case errc::stopped: return generic::make_error_condition(generic::operation_canceled);
        default: return {value, *this};
        }
    }
};

} // namespace

boost::system::error_category const& category() noexcept
{
    static quern_category const instance;
    return instance;
}

boost::system::error_code make_error_code(errc value) noexcept
{
    return {static_cast<int>(value), category()};
}

std::string describe(failure const& why)
{
    std::string text = why.code.message();
    if (!why.service_code.empty()) text += ": " + why.service_code;
    if (!why.message.empty()) text += (why.service_code.empty() ? ": " : ", ") + why.message;
    if (why.http_status != 0) {
        text += " (HTTP " + std::to_string(why.http_status);
        if (!why.request_id.empty()) text += ", request " + why.request_id;
        text += ')';
    }
    return printable(std::move(text));
}

void throw_exception_from_error(failure const& why, boost::source_location const& where)
{
    boost::throw_with_location(boost::system::system_error(why.code, describe(why)), where);
}

} // namespace quern
