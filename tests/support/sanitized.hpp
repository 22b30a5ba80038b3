#pragma once

namespace quern::test {

/// Whether the address or the thread sanitizer watches this program: what it measures of its memory is mostly theirs.
/// GCC 12 says so by macros, Clang 14 by features only.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
constexpr bool sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool sanitized = false;
#endif

} // namespace quern::test
