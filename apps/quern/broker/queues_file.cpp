#include "broker/queues_file.hpp"

#include "common/toml_reader.hpp"

#include <quern/aws/config/detail/partitions.hpp>
#include <quern/broker/detail/settings.hpp>

#include <fmt/core.h>

#include <optional>
#include <set>
#include <string_view>
#include <type_traits>

namespace quern::app {
namespace {

constexpr std::string_view own_keys = "dead_letter_queue, max_receive_count, tags, messages";
constexpr int default_receives = 10; // that of SQS's console

struct bounds {
    std::string_view attribute;
    std::string_view are;
};
constexpr bounds numbers[] = {{"DelaySeconds", "0 to 900"}, {"KmsDataKeyReusePeriodSeconds", "60 to 86400"},
    {"MaximumMessageSize", "1024 to 1048576"}, {"MessageRetentionPeriod", "60 to 1209600"},
    {"ReceiveMessageWaitTimeSeconds", "0 to 20"}, {"VisibilityTimeout", "0 to 43200"}};

/// Reads one document.
class queues_file_reader : private toml_reader {
public:
    queues_file_reader(std::string_view file, std::string_view arn_prefix)
        : toml_reader(file), arn_prefix_(arn_prefix)
    {}

    std::vector<planned> read(std::string_view document)
    {
        auto const top = parse(document);
        for (auto const& [key, node] : top) {
            if (key != "queues")
                refuse(
                    key.source(), std::string(key), "is not known here; write a table [queues.NAME] for each queue");
        }
        auto const* const queues = top.get("queues");
        if (!queues) throw complaint{fmt::format("{}: has no queues; write a table [queues.NAME] for each", file_)};
        auto const& all = table(*queues, "queues", "[queues.NAME]");
        for (auto const& [name, node] : all)
            names_.insert(std::string(name));
        for (auto const& [name, node] : all)
            read_queue(name, table(node, fmt::format("queues.{}", name.str()), "[queues.NAME]"));

        std::vector<planned> plan = std::move(creates_);
        std::ranges::move(redrives_, std::back_inserter(plan));
        std::ranges::move(sends_, std::back_inserter(plan));
        return plan;
    }

private:
    void read_queue(toml::key const& name, toml::table const& from)
    {
        auto const path = fmt::format("queues.{}", name.str());
        auto const at = place(name.source(), path);
        sqs::create_queue_request create{std::string(name)};
        bool const fifo = create.queue_name.ends_with(".fifo");
        if (fifo) create.attributes["FifoQueue"] = "true";
        for (auto const& [key, node] : from) {
            auto const inner = fmt::format("{}.{}", path, key.str());
            if (key == "dead_letter_queue" || key == "max_receive_count" || key == "messages") continue;
            if (key == "tags") {
                for (auto const& [tag, value] : table(node, inner, "{ NAME = \"text\" }"))
                    create.tags[std::string(tag)] = text(value, fmt::format("{}.{}", inner, tag.str()));
            } else {
                create.attributes[std::string(key)] = attribute(key, node, inner, fifo);
            }
        }
        if (auto const* const dead = from.get("dead_letter_queue")) {
            read_redrive(create, from, *dead, path);
        } else if (auto const* const count = from.get("max_receive_count")) {
            refuse(count->source(), path + ".max_receive_count", "needs a dead_letter_queue beside it");
        }
        auto queue = create.queue_name;
        creates_.push_back({std::move(create), at});
        if (auto const* const messages = from.get("messages")) read_messages(queue, *messages, path + ".messages");
    }

    std::string attribute(toml::key const& key, toml::node const& node, std::string const& path, bool fifo) const
    {
        if (!broker::detail::is_queue_attribute(key)) {
            refuse(key.source(), path,
                fmt::format(
                    "is not known; there are {}, and the attributes of CreateQueue, such as VisibilityTimeout",
                    own_keys));
        }
        auto value = simple(node, path);
        broker::detail::queue_settings settings;
        settings.fifo = fifo;
        // These two are settled by each other.
        sqs::string_map given{{std::string(key), value}};
        if (key == "FifoThroughputLimit") given.emplace("DeduplicationScope", "messageGroup");
        auto const bad = broker::detail::apply(settings, given);
        if (!bad) return value;
        if (key == "FifoQueue")
            refuse(key.source(), path, "is said by the queue's name: it ends in \".fifo\", or not");
        auto const known = std::ranges::find(numbers, key.str(), &bounds::attribute);
        if (known != std::end(numbers))
            refuse(node.source(), path, fmt::format("must be a whole number from {}", known->are));
        refuse(node.source(), path, fmt::format("is refused by SQS: {}", bad->message));
    }

    void read_redrive(
        sqs::create_queue_request const& of, toml::table const& from, toml::node const& dead, std::string const& path)
    {
        auto const key = path + ".dead_letter_queue";
        if (of.attributes.contains("RedrivePolicy"))
            refuse(dead.source(), key, "and RedrivePolicy say the same; leave one of them out");
        auto target = text(dead, key);
        if (!target.starts_with("arn:")) {
            if (!names_.contains(target)) {
                refuse(dead.source(), key,
                    fmt::format("names \"{}\", which is no queue of this file; add [queues.{}]", target, target));
            }
            target.insert(0, arn_prefix_);
        }
        auto const* const count = from.get("max_receive_count");
        auto const most = count ? number(*count, path + ".max_receive_count", 1, 1000) : default_receives;
        sqs::set_queue_attributes_request set{of.queue_name,
            {{"RedrivePolicy", fmt::format(R"({{"deadLetterTargetArn":"{}","maxReceiveCount":{}}})", target, most)}}};
        redrives_.push_back({std::move(set), place(dead.source(), key)});
    }

    void read_messages(std::string const& queue, toml::node const& from, std::string const& path)
    {
        if (!from.is_array()) refuse(from.source(), path, "must be a list, [\"a body\", { body = \"another\" }]");
        std::size_t n = 0;
        for (auto const& node : *from.as_array()) {
            auto const key = fmt::format("{}[{}]", path, n++);
            sqs::send_message_request send(queue, "");
            if (node.is_string()) {
                send.body = node.as_string()->get();
            } else {
                read_message(send, table(node, key, "{ body = \"text\" }, or a text"), key);
            }
            sends_.push_back({std::move(send), place(node.source(), key)});
        }
    }

    void read_message(sqs::send_message_request& into, toml::table const& from, std::string const& path) const
    {
        if (!from.contains("body")) refuse(from.source(), path, "needs a body");
        for (auto const& [key, node] : from) {
            auto const inner = fmt::format("{}.{}", path, key.str());
            if (key == "body") {
                into.body = text(node, inner);
            } else if (key == "group") {
                into.group_id = text(node, inner);
            } else if (key == "deduplication_id") {
                into.deduplication_id = text(node, inner);
            } else if (key == "delay") {
                into.delay = std::chrono::seconds(number(node, inner, 0, 900));
            } else if (key == "attributes") {
                for (auto const& [name, value] : table(node, inner, "{ NAME = \"text\" }")) {
                    bool const number = value.is_integer();
                    into.attributes[std::string(name)] = {
                        number ? "Number" : "String", simple(value, fmt::format("{}.{}", inner, name.str()))};
                }
            } else {
                refuse(
                    key.source(), inner, "is not known; there are body, group, deduplication_id, delay, attributes");
            }
        }
    }

    std::string_view arn_prefix_;
    std::set<std::string, std::less<>> names_;
    std::vector<planned> creates_, redrives_, sends_;
};

} // namespace

result<std::vector<planned>> plan_queues(
    std::string_view document, std::string_view file, std::string_view arn_prefix)
{
    return read_toml("--queues", [&] { return queues_file_reader(file, arn_prefix).read(document); });
}

result<void> make_queues(std::vector<planned> plan, broker::engine& in, broker::instant now, log_sink const& log)
{
    std::set<std::string> old;
    std::string_view at; // of the file
    auto const carry_out = [&](auto& request) -> std::optional<failure> {
        using type = std::remove_reference_t<decltype(request)>;
        if constexpr (std::is_same_v<type, sqs::create_queue_request>) {
            sqs::get_queue_url_request known;
            known.queue_name = request.queue_name;
            auto const was_there = in.get_queue_url(known, now).has_value();
            if (was_there) old.insert(request.queue_name);
            auto const done = in.create_queue(request, now);
            if (!done && was_there) {
                auto const why =
                    fmt::format("--queues {}: it was kept and stays as it is: {}", at, done.error().message);
                if (log) log(log_level::warning, why);
                return {};
            }
            return done ? std::optional<failure>() : done.error();
        } else if constexpr (std::is_same_v<type, sqs::set_queue_attributes_request>) {
            auto const done = in.set_queue_attributes(request, now);
            return done ? std::optional<failure>() : done.error();
        } else {
            if (old.contains(request.queue_url)) return {};
            auto const done = in.send_message(std::move(request), now);
            return done ? std::optional<failure>() : done.error();
        }
    };
    for (auto& [request, place] : plan) {
        at = place;
        auto const refused = std::visit(carry_out, request);
        if (refused)
            return failure(errc::invalid_option, fmt::format("--queues {} is refused: {}", place, refused->message));
    }
    return {};
}

result<void> load_queues(std::string const& path, broker::engine& into, broker::instant now, log_sink const& log)
{
    auto const text = text_of_file("--queues", path);
    if (!text) return text.error();
    auto const& o = into.options();
    auto const prefix =
        fmt::format("arn:{}:sqs:{}:{}:", aws::detail::partition_of(o.region).name, o.region, o.account_id);
    auto plan = plan_queues(*text, path, prefix);
    if (!plan) return plan.error();
    return make_queues(std::move(*plan), into, now, log);
}

} // namespace quern::app
