/// Runs a property over many seeds.
///
/// Defines ForEachSeed. A property takes a random cluster and returns a description of what is broken, or an empty
/// string:
///
///     TEST_CASE("...") {
///       ForEachSeed([](const RandomCluster& cluster) { return cluster.Step() == cluster.Step() ? "" : "not pure"; });
///     }
///
/// To replay a failed seed, set kOnlySeed.
#ifndef DRIVERUPGRADE_TESTS_PROPERTY_SEEDS_H_
#define DRIVERUPGRADE_TESTS_PROPERTY_SEEDS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "fmt/format.h"
#include "property/random_cluster.h"
#include "support/catch.h"

namespace driverupgrade::tests {

inline constexpr std::optional<std::uint64_t> kOnlySeed = std::nullopt;
inline constexpr std::uint64_t kSeeds = 2'000;
/// Number of failures to print, enough to show a pattern.
inline constexpr int kFailuresShown = 5;

template <typename Property>
void ForEachSeed(Property&& property, std::uint64_t seeds = kSeeds) {
  std::string report;
  int failures = 0;
  for (std::uint64_t seed = kOnlySeed.value_or(1); seed <= kOnlySeed.value_or(seeds); ++seed) {
    const std::string broken = property(MakeRandomCluster(seed));
    if (broken.empty()) continue;
    if (++failures <= kFailuresShown) report += fmt::format("seed {}: {}\n", seed, broken);
  }
  INFO(report);
  CHECK(failures == 0);
}

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_PROPERTY_SEEDS_H_
