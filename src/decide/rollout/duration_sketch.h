// Stores the durations of past upgrades in compact form: a histogram in which each bucket bound is about 20 % higher
// than the previous one.
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
  // Minimum number of samples for a meaningful quantile.
  static constexpr int kSamplesMin = 5;
  // If there are more samples than this, all counts are halved, so that the sketch adapts when the durations change.
  static constexpr int kSamplesMax = 1000;

  void Add(absl::Duration took);
  // Returns a duration that `percent` % of the upgrades did not exceed; nullopt if there are too few samples. The
  // result can be too long by up to 20 % plus one second, but is too short only if upgrades take more than a week.
  std::optional<absl::Duration> Quantile(int percent) const;

  // The counts by bucket number, for storage.
  const std::map<int, int>& counts() const { return counts_; }
  // Restores a sketch from stored counts. Ignores invalid entries.
  static DurationSketch FromCounts(const std::map<int, int>& counts);

  friend bool operator==(const DurationSketch&, const DurationSketch&) = default;

 private:
  int Samples() const;
  void Age();

  std::map<int, int> counts_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_DURATION_SKETCH_H_
