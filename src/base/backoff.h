// Computes retry delays that grow with the number of failures. A hash, rather than random numbers, spreads the delays
// of different objects.
#ifndef DRIVERUPGRADE_SRC_BASE_BACKOFF_H_
#define DRIVERUPGRADE_SRC_BASE_BACKOFF_H_

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "absl/time/time.h"

namespace driverupgrade::internal {

// Returns the FNV-1a hash, which, unlike std::hash, is the same on every platform.
inline std::uint64_t Hash(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = 14695981039346656037ULL ^ seed;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

// Returns the delay after `count` failures: `first` after the first failure, doubled after each further failure, up to
// `max`.
inline absl::Duration Doubled(absl::Duration first, absl::Duration max, int count) {
  const int doublings = std::clamp(count - 1, 0, 16);
  return std::min(first * (1 << doublings), max);
}

// Returns `delay`, increased or decreased by up to 10 % depending on `key` and `count`.
inline absl::Duration Spread(absl::Duration delay, std::string_view key, int count) {
  const auto thousandths = static_cast<int>(Hash(key, static_cast<std::uint64_t>(count)) % 201) - 100;
  return delay + delay * thousandths / 1000;
}

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_BASE_BACKOFF_H_
