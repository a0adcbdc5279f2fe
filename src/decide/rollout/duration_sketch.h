// What nodes have taken so far, in little room: counts by duration, in steps of a fifth.
//
//     sketch.Add(absl::Minutes(7));
//     const absl::Duration takes = sketch.Quantile(95).value_or(expected);
#ifndef DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_DURATION_SKETCH_H_
#define DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_DURATION_SKETCH_H_

#include <map>
#include <optional>

#include "absl/time/time.h"

namespace driverupgrade::internal {

class DurationSketch {
 public:
  // Fewer say nothing.
  static constexpr int kSamplesMin = 5;
  // Beyond so many, what is old counts half, so that the sketch follows a driver that gets slower.
  static constexpr int kSamplesMax = 1000;

  void Add(absl::Duration took);
  // A duration that `percent` of the nodes have not exceeded; up to a fifth too long, and not too short unless
  // nodes take more than a week. nullopt: too few have been measured.
  std::optional<absl::Duration> Quantile(int percent) const;

  // By the number of the step; for whoever stores it.
  const std::map<int, int>& counts() const { return counts_; }
  // What makes no sense is left out.
  static DurationSketch FromCounts(const std::map<int, int>& counts);

  friend bool operator==(const DurationSketch&, const DurationSketch&) = default;

 private:
  int Samples() const;
  void Age();

  std::map<int, int> counts_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_DURATION_SKETCH_H_
