// Computes pauses that grow, and that differ between objects without a random number.
#ifndef DRIVERUPGRADE_SRC_BASE_BACKOFF_H_
#define DRIVERUPGRADE_SRC_BASE_BACKOFF_H_

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "absl/time/time.h"

namespace driverupgrade::internal {

// FNV-1a hash: the same on every platform, unlike std::hash.
inline std::uint64_t Hash(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = 14695981039346656037ULL ^ seed;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

// `first` after the first of `count` failures, twice that after the second, and so on up to `max`.
inline absl::Duration Doubled(absl::Duration first, absl::Duration max, int count) {
  const int doublings = std::clamp(count - 1, 0, 16);
  return std::min(first * (1 << doublings), max);
}

// `delay` varied by up to 10 % either way.
inline absl::Duration Spread(absl::Duration delay, std::string_view key, int count) {
  const auto thousandths = static_cast<int>(Hash(key, static_cast<std::uint64_t>(count)) % 201) - 100;
  return delay + delay * thousandths / 1000;
}

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_BASE_BACKOFF_H_
