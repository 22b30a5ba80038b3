#pragma once

#include <quern/core/error.hpp>
#include <quern/net/detail/tls.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <string>

namespace quern::net::detail {

/// The files that a TLS client is made of, read again when they have changed.
///
/// Threads  one strand.
class tls_files {
public:
    /// `like`: names the files, and has the rest of the settings. Reads nothing.
    explicit tls_files(tls_material like);

    /// Reads all files, if any is named, and tries them on each other.
    ///
    /// Fails with  errc::invalid_option  one cannot be read or used, and is named; what was read before stays
    [[nodiscard]] result<void> load();

    /// Loads when a file has changed since it was read. A failure is passed over: the next one to ask tries again.
    void refresh();

    /// The texts that were read last; another pointer whenever they have changed.
    std::shared_ptr<tls_material const> const& current() const { return current_; }

    /// How often changed files were taken up.
    std::size_t reloads() const { return reloads_; }

private:
    struct sight {
        std::array<std::string, 3> stamps; ///< of the files; each another once its file is
        bool is_young = false; ///< one was written so lately that the next time to be written might look the same

        bool operator==(sight const&) const = default;
    };
    sight look() const;

    tls_material like_;
    sight seen_;
    std::shared_ptr<tls_material const> current_;
    std::size_t reloads_ = 0;
};

/// TLS of one host: none, always the same, or made of files that may change.
///
/// Threads  one strand.
class tls_source {
public:
    tls_source() = default;
    explicit tls_source(std::shared_ptr<tls_client> always) : made_(std::move(always)) {}
    explicit tls_source(std::shared_ptr<tls_files> of) : files_(std::move(of)) {}

    /// For a new connection: of the files as they are now. Null for none.
    [[nodiscard]] result<std::shared_ptr<tls_client>> newest();

    /// True for the last that was made, while nothing else has been read since.
    bool is_newest(std::shared_ptr<tls_client> const& one) const
    {
        return one == made_ && (!files_ || of_ == files_->current());
    }

private:
    std::shared_ptr<tls_files> files_;
    std::shared_ptr<tls_client> made_;
    std::shared_ptr<tls_material const> of_; ///< the files' texts when that was made
};

} // namespace quern::net::detail
