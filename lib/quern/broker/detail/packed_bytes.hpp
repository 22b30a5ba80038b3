#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace quern::broker {

/// Bytes that never change, in exactly the memory that they need. A std::string takes twice as much beside them.
class packed_bytes {
public:
    packed_bytes() = default;
    packed_bytes(std::string_view from) // implicit: it is a text in another place
        : bytes_(std::make_unique_for_overwrite<char[]>(from.size())), size_(static_cast<std::uint32_t>(from.size()))
    {
        if (!from.empty()) std::memcpy(bytes_.get(), from.data(), from.size());
    }

    operator std::string_view() const { return {bytes_.get(), size_}; }
    std::size_t size() const { return size_; }

private:
    std::unique_ptr<char[]> bytes_;
    std::uint32_t size_ = 0; ///< a message has at most 1 MiB
};

} // namespace quern::broker
