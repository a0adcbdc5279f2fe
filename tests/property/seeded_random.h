/// Random choices that are the same on every platform.
///
/// Defines SeededRandom. The standard library's distributions differ between implementations, so this class has its own
/// distributions. Not thread-safe.
#ifndef DRIVERUPGRADE_TESTS_PROPERTY_SEEDED_RANDOM_H_
#define DRIVERUPGRADE_TESTS_PROPERTY_SEEDED_RANDOM_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <utility>
#include <vector>

namespace driverupgrade::tests {

class SeededRandom {
 public:
  explicit SeededRandom(std::uint64_t seed) : engine_(seed) {}

  /// Returns a number from 0 to bound - 1. The bias of the remainder does not matter for small bounds.
  int Below(int bound) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(bound)); }
  int Between(int min, int max) { return min + Below(max - min + 1); }
  bool Chance(int percent) { return Below(100) < percent; }

  template <typename T>
  T Pick(std::initializer_list<T> values) {
    return values.begin()[Below(static_cast<int>(values.size()))];
  }
  template <typename T>
  void Shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) {
      std::swap(values[i - 1], values[static_cast<std::size_t>(Below(static_cast<int>(i)))]);
    }
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_PROPERTY_SEEDED_RANDOM_H_
