#include <quern/flags/dynamodb.hpp>

#include <quern/flags/detail/text_flag.hpp>

namespace quern::flags {

using namespace detail;

std::shared_ptr<policy::flag_source> in_table(std::shared_ptr<services::dynamodb> client, flag_item where)
{
    auto const which = where.attribute == "data" ? std::string() : '#' + where.attribute;
    auto name = "ddb:" + where.table + '/' + where.name + which;
    auto read = [client, where]() -> boost::asio::awaitable<result<std::string>> {
        auto const id = where.prefix + where.name;
        services::item key;
        key[where.key_name] = services::attribute::text(id);
        services::get_item_request question(where.table, std::move(key));
        question.consistent = false;
        auto const got = co_await client->get_item(std::move(question));
        if (!got) co_return got.error();
        if (!got->found) co_return failure(errc::bad_reply, "the table has no item " + id);
        auto const found = got->found->find(where.attribute);
        if (found == got->found->end())
            co_return failure(errc::bad_reply, "the item " + id + " has no attribute " + where.attribute);
        auto const& type = found->second.type;
        if (type != "S" && type != "N" && type != "BOOL")
            co_return failure(errc::bad_reply, "the attribute " + where.attribute + " of " + id + " is a " + type);
        co_return found->second.value;
    };
    auto write = [client = std::move(client), where = std::move(where)](
                     std::string text) -> boost::asio::awaitable<result<void>> {
        services::item key;
        key[where.key_name] = services::attribute::text(where.prefix + where.name);
        services::condition values;
        values.names["#word"] = where.attribute;
        values.values[":word"] = services::attribute::text(std::move(text));
        services::update_item_request change(where.table, std::move(key), "SET #word = :word", std::move(values));
        auto const done = co_await client->update_item(std::move(change));
        if (!done) co_return done.error();
        co_return result<void>();
    };
    return std::make_shared<text_flag>(std::move(name), std::move(read), std::move(write));
}

} // namespace quern::flags
