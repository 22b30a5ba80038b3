#pragma once

#include <quern/broker/detail/server_core.hpp>
#include <quern/net/detail/http_connection.hpp>

#include <optional>
#include <string>

namespace quern::broker {

/// Talk with one client: has its requests carried out, counts and logs their answers.
class session final : public net::http_session {
public:
    session(server_core&, net::http_connection&);

    gate look(net::http_request const&) override;
    net::http_turn serve(net::http_request const&) override;
    void refuse(net::http_request const&, int status, std::string const& why) override;
    void conclude(net::http_request const&) override;
    void gone(bool hung_up) override;
    net::http_answer& answer() override { return answer_; }

    /// The long poll that the client waits for has ended.
    void deliver(result<sqs::receive_message_response> const&);

private:
    void begin();

    server_core& core_;
    net::http_connection& at_;
    std::string peer_; ///< for the access log
    http_answer answer_;
    std::string_view operation_;
    std::optional<poll_id> parked_;
    tick began_{};
};

} // namespace quern::broker
