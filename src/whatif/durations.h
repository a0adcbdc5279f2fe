// Determines the durations of upgrade steps: the caller provides a duration, or it is measured in the cluster, or
// its default applies.
#ifndef DRIVERUPGRADE_SRC_WHATIF_DURATIONS_H_
#define DRIVERUPGRADE_SRC_WHATIF_DURATIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/upgrade_state.h"
#include "whatif/situation.h"

namespace driverupgrade::whatif {

// Exclusive upper limit of a duration.
inline constexpr absl::Duration kDurationEnd = absl::Hours(24);

struct Durations {
  // Time until a new driver pod is ready and, if the upgrade has a validation, the driver is validated.
  absl::Duration driver_start = absl::Minutes(2);
  absl::Duration driver_stop = absl::Seconds(2);
  // Time until the replacement of an evicted pod is ready, and time until an evicted pod has stopped.
  absl::Duration pod_start = absl::Seconds(5);
  absl::Duration pod_stop = absl::Seconds(30);
  // Maximum relative deviation of these durations.
  double jitter = 0.2;
};

// A measured duration, and the number of pods or nodes on which the measurement is based.
struct Measured {
  absl::Duration took = {};
  int count = 0;
};
// Returns the median time that pods took from their creation until they were ready. If `of_driver` is true, measures
// driver pods; otherwise, pods that a controller would replace on other nodes. Returns nullopt if fewer than three pods
// can be measured.
std::optional<Measured> MeasureStart(const Situation& situation, bool of_driver);

// Returns the given percentile of the time that a node spent in one of these states, according to the upgrade's Events.
// If a node was in the states more than once, its longest stay counts. Returns nullopt if fewer than three nodes left
// one of the states.
std::optional<Measured> MeasureStates(const Situation& situation, const std::vector<UpgradeState>& states, int percent);

// Returns the median time that old driver pods took to stop, measured on each node from the Event for
// pod-restart-required until the creation of the current driver pod. Returns nullopt if fewer than three nodes can be
// measured.
std::optional<Measured> MeasureDriverStop(const Situation& situation);

// Durations that the caller provides. A duration that is nullopt is measured.
struct GivenDurations {
  std::optional<absl::Duration> driver_start = std::nullopt;
  std::optional<absl::Duration> driver_stop = std::nullopt;
  std::optional<absl::Duration> pod_start = std::nullopt;
  std::optional<absl::Duration> pod_stop = std::nullopt;
  std::optional<absl::Duration> validation = std::nullopt;
  double jitter = Durations().jitter;
};

// Measures the durations that are not given. For each measured duration, adds a message for users to `notes`, such as
// `driver-start 31s: the median of 3 pods`. Durations that cannot be measured keep their defaults.
Durations DurationsOf(const GivenDurations& given, const Situation& situation, std::vector<std::string>& notes);

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_DURATIONS_H_
