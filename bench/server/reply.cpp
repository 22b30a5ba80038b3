#include "reply.hpp"

#include <charconv>
#include <cstring>
#include <ctime>

namespace yardstick {

namespace {

constexpr char digits[] = "0123456789abcdef";

void put_hex(char* at, std::uint64_t value, int width)
{
    for (int i = width - 1; i >= 0; --i, value >>= 4)
        at[i] = digits[value & 15];
}

void put_decimal(char* at, std::uint64_t value, int width)
{
    for (int i = width - 1; i >= 0; --i, value /= 10)
        at[i] = static_cast<char>('0' + value % 10);
}

void append(std::string& out, std::uint64_t value)
{
    char text[20];
    out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

template <class T>
bool get_hex(std::string_view from, T& to)
{
    auto const read = std::from_chars(from.data(), from.data() + from.size(), to, 16);
    return read.ec == std::errc() && read.ptr == from.data() + from.size();
}

// Where a handle has its ticket: number, slot, count of receives.
constexpr std::size_t number_at = 16, slot_at = 32, receives_at = 40, filler_at = 44;

} // namespace

receipt_handles::receipt_handles() : text_(size, 'A')
{
    constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::mt19937 dice(412);
    for (auto& letter : text_)
        letter = letters[dice() % 64];
    text_.replace(0, 4, "AQEB");
    text_[size - 1] = '=';
}

std::string_view receipt_handles::write(ticket const& what)
{
    put_hex(text_.data() + number_at, what.number, 16);
    put_hex(text_.data() + slot_at, what.slot, 8);
    put_hex(text_.data() + receives_at, what.receives, 4);
    return text_;
}

std::optional<ticket> receipt_handles::read(std::string_view handle) const
{
    ticket out;
    if (handle.size() != size || handle.substr(0, number_at) != std::string_view(text_).substr(0, number_at) ||
        handle.substr(filler_at) != std::string_view(text_).substr(filler_at) ||
        !get_hex(handle.substr(number_at, 16), out.number) || !get_hex(handle.substr(slot_at, 8), out.slot) ||
        !get_hex(handle.substr(receives_at, 4), out.receives))
        return {};
    return out;
}

wanted wanted::of(std::vector<std::string_view> const& names)
{
    wanted out;
    for (auto const name : names) {
        bool const all = name == "All";
        out.count |= all || name == "ApproximateReceiveCount";
        out.first |= all || name == "ApproximateFirstReceiveTimestamp";
        out.sent |= all || name == "SentTimestamp";
        out.group |= all || name == "MessageGroupId";
        out.sequence |= all || name == "SequenceNumber";
    }
    return out;
}

namespace {

std::string padding_of(options const& what)
{
    static constexpr std::string_view pattern = R"("amount":"12.50","note":"two")";
    std::string out(what.body - 64, 'x');
    for (std::size_t i = 0; what.json && i != out.size(); ++i)
        out[i] = pattern[i % pattern.size()];
    return out;
}

std::string escaped(std::string_view text)
{
    std::string out;
    for (char const c : text)
        out.append(c == '"' ? "\\" : "").push_back(c);
    return out;
}

} // namespace

renderer::renderer(options const& what) : padding_(padding_of(what)), written_(escaped(padding_))
{
    for (auto& lane : lanes_)
        lane.head.fill('x');
}

// A body: 16 digits of when it was due, 12 of the number, then padding.
void renderer::digest(std::span<handed const> what)
{
    for (std::size_t i = 0; i < what.size(); ++i) {
        auto* head = reinterpret_cast<char*>(lanes_[i].head.data());
        put_decimal(head, static_cast<std::uint64_t>(what[i].due), 16);
        head[16] = ' ';
        put_decimal(head + 17, what[i].handle.number, 12);
        head[29] = ' ';
    }
    md5(lanes_, padding_);
}

void renderer::messages(std::span<handed const> what, wanted const& which, std::string& out)
{
    if (what.empty()) {
        out += "{}";
        return;
    }
    digest(what);
    out += R"({"Messages":[)";
    for (std::size_t i = 0; i < what.size(); ++i) {
        auto const& one = what[i];
        char id[] = "00000000-5175-4e72-8000-000000000000";
        put_hex(id, one.handle.number >> 48, 8);
        put_hex(id + 24, one.handle.number, 12);
        char hash[32];
        for (std::size_t at = 0; at < 16; ++at)
            put_hex(hash + 2 * at, lanes_[i].digest[at], 2);

        out += i == 0 ? R"({"MessageId":")" : R"(,{"MessageId":")";
        out.append(id, 36);
        out += R"(","ReceiptHandle":")";
        out += handles.write(one.handle);
        out += R"(","MD5OfBody":")";
        out.append(hash, 32);
        out += R"(","Body":")";
        out.append(reinterpret_cast<char const*>(lanes_[i].head.data()), 64);
        out += written_;
        out += '"';
        attributes(one, which, out);
        out += '}';
    }
    out += "]}";
}

void renderer::attributes(handed const& one, wanted const& which, std::string& out)
{
    auto const before = out.size();
    auto const name = [&](std::string_view text) {
        out += out.size() == before ? R"(,"Attributes":{")" : R"(,")";
        out += text;
        out += R"(":")";
    };
    auto const number = [&](std::string_view text, std::uint64_t value) {
        name(text);
        append(out, value);
        out += '"';
    };
    if (which.count) number("ApproximateReceiveCount", one.handle.receives);
    if (which.first)
        number("ApproximateFirstReceiveTimestamp", static_cast<std::uint64_t>(one.first_received / 1000));
    if (which.sent)
        number("SentTimestamp", static_cast<std::uint64_t>((one.due ? one.due : one.first_received) / 1000));
    if (which.group) {
        name("MessageGroupId");
        out += "group-";
        append(out, one.group);
        out += '"';
    }
    if (which.sequence) number("SequenceNumber", 8'850'000'000'000'000'000ull + one.handle.number);
    if (out.size() != before) out += '}';
}

std::string& reply::reserve()
{
    bytes_.resize(room);
    return bytes_;
}

std::string_view reply::seal(int status, micros now)
{
    std::string head;
    head.reserve(room);
    head += status == 200 ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 400 Bad Request\r\n";
    head += "x-amzn-RequestId: 5a5a5a5a-0000-4000-8000-";
    char id[12];
    put_hex(id, ++count_, 12);
    head.append(id, 12);
    head += "\r\nDate: ";
    head += date(now);
    head += "\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: ";
    append(head, bytes_.size() - room);
    head += "\r\n\r\n";
    std::memcpy(bytes_.data() + room - head.size(), head.data(), head.size());
    return std::string_view(bytes_).substr(room - head.size());
}

std::string const& reply::date(micros now)
{
    if (now / second == dated_) return date_;
    dated_ = now / second;
    std::time_t const seconds = dated_;
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    char text[32];
    date_.assign(text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts));
    return date_;
}

} // namespace yardstick
