// The durations of past upgrades in compact form: counts by duration, in steps of 20 %.
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
  // Fewer samples are not meaningful.
  static constexpr int kSamplesMin = 5;
  // With more samples than this, old samples count half, so that the sketch adapts if a driver becomes slower.
  static constexpr int kSamplesMax = 1000;

  void Add(absl::Duration took);
  // Returns a duration that `percent` of the nodes have not exceeded. The result can be up to 20 % too long. It is too
  // short only if nodes take more than a week. nullopt: there are too few samples.
  std::optional<absl::Duration> Quantile(int percent) const;

  // The counts by the number of the step, for storage.
  const std::map<int, int>& counts() const { return counts_; }
  // Ignores invalid entries.
  static DurationSketch FromCounts(const std::map<int, int>& counts);

  friend bool operator==(const DurationSketch&, const DurationSketch&) = default;

 private:
  int Samples() const;
  void Age();

  std::map<int, int> counts_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_DURATION_SKETCH_H_
