/// Tracks the progress of a rollout, for occasional log lines.
///
/// Defines Progress.
///
///     Progress progress;
///     if (const auto fields = progress.Note(service.totals(), clock->Now())) {
///       log({.message = "rollout", .fields = *fields});
///     }
///
/// Not thread-safe.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_PROGRESS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_PROGRESS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/plan.h"

namespace examples {

class Progress {
 public:
  using Fields = std::vector<std::pair<std::string, std::string>>;

  /// Returns `progress="3 of 12" eta=18m` if more nodes are done than in the last report, at most every ten seconds.
  /// `eta` is based on the pace since the rollout was first seen. nullopt if there is nothing to report.
  std::optional<Fields> Note(const driverupgrade::Tally& totals, absl::Time now);

 private:
  struct Rollout {
    absl::Time began;
    int done_before = 0;
    absl::Time told;
    int done = 0;
  };
  std::optional<Rollout> rollout_;
};

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_PROGRESS_H_
