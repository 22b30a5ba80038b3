#include <quern/flags/dynamodb.hpp>

#include <utility>

namespace quern::flags {

namespace {

class table_flag final : public policy::flag_source {
public:
    table_flag(std::shared_ptr<services::dynamodb> client, flag_item where)
        : client_(std::move(client)), where_(std::move(where))
    {}

    std::string name() const override
    {
        auto const which = where_.attribute == "data" ? std::string() : '#' + where_.attribute;
        return "ddb:" + where_.table + '/' + where_.name + which;
    }

    boost::asio::awaitable<result<policy::flag_reading>> read() override
    {
        auto const id = where_.prefix + where_.name;
        services::item key;
        key[where_.key_name] = services::attribute::text(id);
        services::get_item_request question(where_.table, std::move(key));
        question.consistent = false;
        auto const got = co_await client_->get_item(std::move(question));
        if (!got) co_return got.error();
        if (!got->found) co_return failure(errc::bad_reply, "the table has no item " + id);
        auto const found = got->found->find(where_.attribute);
        if (found == got->found->end())
            co_return failure(errc::bad_reply, "the item " + id + " has no attribute " + where_.attribute);
        auto const& type = found->second.type;
        if (type != "S" && type != "N" && type != "BOOL")
            co_return failure(errc::bad_reply, "the attribute " + where_.attribute + " of " + id + " is a " + type);
        policy::flag_reading out;
        out.text = found->second.value;
        co_return out;
    }

private:
    std::shared_ptr<services::dynamodb> const client_;
    flag_item const where_;
};

} // namespace

std::shared_ptr<policy::flag_source> in_table(std::shared_ptr<services::dynamodb> client, flag_item where)
{
    return std::make_shared<table_flag>(std::move(client), std::move(where));
}

} // namespace quern::flags
