#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quern::policy {

/// A run of bad news without a good one in between, and whether chance alone explains it.
///
/// Some messages are bad news whatever happens, so a run is measured against ordinary times: where half of all news
/// is bad, it takes twenty in a row to mean something, and where none is, a few. And one message that is tried again
/// and again proves nothing about the others.
class streak {
public:
    /// Messages that one run tells apart; further ones are not counted.
    static constexpr std::size_t most_different = 64;

    /// Good news taken to have been before the first. Without them a good end of a long call, which began before the
    /// outage, would make its first two bad news the usual thing, and fifty more be waited for.
    static constexpr int assumed_good = 32;

    /// `who`: a number that stands for the message.
    void bad(std::uint64_t who);

    /// Ends the run, which so turns out to have been an ordinary one.
    void good();

    /// Ends the run and learns nothing from it: it was no ordinary one.
    void forget();

    /// A run of that length was forgotten, and turns out to have been an ordinary one after all.
    void recall(std::size_t length);

    std::size_t length() const { return length_; }
    std::size_t different() const { return who_.size(); }

    /// The part of bad news in ordinary times, of about the last 64 news. The run that lasts is not in it.
    double usual() const { return usual_; }

    /// How many bad news in a row chance alone brings about with this probability at most; at least one.
    std::size_t needed(double probability) const;

    /// At least `floor` messages are in the run, and it happens by chance once in a million.
    bool implausible(std::size_t floor) const { return different() >= floor && length_ >= needed(1e-6); }

private:
    void learn(double news);

    double usual_ = 0;
    int seen_ = assumed_good; // news in usual_; stops counting where older news begin to fade
    std::size_t length_ = 0;
    std::vector<std::uint64_t> who_; // of the run, each once
};

} // namespace quern::policy
