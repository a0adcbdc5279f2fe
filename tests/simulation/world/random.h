// Random choices that are the same on every platform. Each actor of a simulation has an independent stream.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_WORLD_RANDOM_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_WORLD_RANDOM_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace driverupgrade::testing::internal {

class Random {
 public:
  // Streams with different names are independent. If one actor draws more numbers, the choices of other actors do not
  // change.
  Random(std::uint64_t seed, std::string_view stream) : state_(seed * 0x9E3779B97F4A7C15ULL) {
    for (const char c : stream) state_ = (state_ ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    Next();
  }

  // Implements splitmix64.
  std::uint64_t Next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
  }
  // Returns a number from 0 to bound - 1; `bound` must be positive. The bias of the remainder does not matter for small
  // bounds.
  int Below(int bound) { return static_cast<int>(Next() % static_cast<std::uint64_t>(bound)); }
  int Between(int min, int max) { return min + Below(max - min + 1); }
  bool Percent(int percent) { return Below(100) < percent; }
  bool PerMille(int per_mille) { return Below(1000) < per_mille; }
  // Returns a duration in whole milliseconds.
  absl::Duration Between(absl::Duration min, absl::Duration max) {
    const std::int64_t range = absl::ToInt64Milliseconds(max - min);
    return min + absl::Milliseconds(static_cast<std::int64_t>(Next() % static_cast<std::uint64_t>(range + 1)));
  }

  template <typename T>
  T Pick(std::initializer_list<T> values) {
    return values.begin()[Below(static_cast<int>(values.size()))];
  }
  template <typename T>
  const T& Pick(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(Below(static_cast<int>(values.size())))];
  }

 private:
  std::uint64_t state_;
};

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WORLD_RANDOM_H_
