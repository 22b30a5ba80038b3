// The page of all reasons names every one that the code gives.

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

namespace {

std::string contents(std::string const& file)
{
    std::ifstream in(file); // tests run at the root of the tree
    BOOST_TEST_REQUIRE(in.is_open(), file);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// A part of a file, from one text up to another; all of it where both are empty.
struct place {
    char const* file;
    char const* from;
    char const* to;
};

constexpr place places[] = {
    {"lib/quern/relay/rule.cpp", "", ""},
    {"lib/quern/relay/relay.cpp", "decision not_replied(", "left_since("},
    {"lib/quern/relay/relay.cpp", "outcome carry_out(", "void warn_of("},
    {"lib/quern/consumer/detail/conclude/verdict.cpp", "", ""},
    {"lib/quern/consumer/detail/conclude/conclude_stage.cpp", "", ""},
    {"lib/quern/idempotency/once.cpp", "auto const wrong = reject(", "unless_deleted()"},
    {"apps/quern/consume/consume_handlers.cpp", "bool is_our_want(", "handler print_messages("},
};

std::string text_of(place const& at)
{
    auto const all = contents(at.file);
    auto const from = all.find(at.from);
    auto const to = *at.to == '\0' ? all.size() : all.find(at.to, from);
    BOOST_TEST_REQUIRE((from != all.npos && to != all.npos), at.file << ": " << at.from);
    return all.substr(from, to - from);
}

/// Literals that are sentences, or parts of one; those of two lines are one. Comments quote others.
std::vector<std::string> sentences(std::string text)
{
    text = std::regex_replace(text, std::regex("//[^\n]*"), "");
    text = std::regex_replace(text, std::regex("\"\\s*\n\\s*\""), "");
    std::vector<std::string> out;
    std::regex const literal("\"([^\"\n]*)\""), word("[a-z]"), blank(" ");
    for (std::sregex_iterator at(text.begin(), text.end(), literal), end; at != end; ++at) {
        std::string const found = (*at)[1];
        if (std::regex_search(found, word) && std::regex_search(found, blank)) out.push_back(found);
    }
    return out;
}

/// Blanks and marks at its ends, and places for values, are not compared.
std::vector<std::string> words_of(std::string const& sentence)
{
    std::vector<std::string> out;
    std::regex const between("\\{\\}");
    for (std::sregex_token_iterator at(sentence.begin(), sentence.end(), between, -1), end; at != end; ++at) {
        std::string const piece = *at;
        auto const first = piece.find_first_not_of(" :;,");
        if (first == piece.npos) continue;
        out.push_back(piece.substr(first, piece.find_last_not_of(" :;,") + 1 - first));
    }
    return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_page_of_reasons_has_every_reason)
{
    auto const page = contents("docs/reference/reasons.md");
    auto const causes = contents("docs/guide/telling.md"); // of lines, which another test looks at
    std::size_t found = 0;
    for (auto const& at : places) {
        for (auto const& sentence : sentences(text_of(at))) {
            for (auto const& words : words_of(sentence)) {
                if (causes.find("`" + words + ":`") != causes.npos) continue;
                ++found;
                BOOST_TEST(page.find(words) != page.npos, at.file << ": \"" << words << "\"");
            }
        }
    }
    BOOST_TEST(found > 25u);
}
