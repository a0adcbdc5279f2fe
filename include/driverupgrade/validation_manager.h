/// Decides whether the validation pods have confirmed that a new driver works.
///
/// Defines ValidationManager, Validation, EarlyValidation and its string form.
///
///     ValidationManager validation(*LabelSelector::Parse("app=nvidia-operator-validator"));
///     if (validation.Evaluate(*view.pods, driver_ready_since).passed) { /* the node is done */ }
///
/// Makes decisions for Step, without side effects: evaluates all pods first, and then returns one result. Thread-safe.
#ifndef DRIVERUPGRADE_VALIDATION_MANAGER_H_
#define DRIVERUPGRADE_VALIDATION_MANAGER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/cluster_types.h"

namespace driverupgrade {

/// Treatment of a validation pod that became ready before the new driver pod, and has therefore validated only the old
/// driver.
enum class EarlyValidation : std::uint8_t {
  kAsk,      ///< The node waits until the pod is ready again; the node's gate asks an administrator to restart it.
  kRestart,  ///< The engine deletes the pod if a controller will replace it; otherwise same as kAsk.
  kCount,    ///< The pod counts as ready. Same as in the Go library.
};

/// Returns `Ask`, `Restart` or `Count`.
std::string_view ToString(EarlyValidation early);
/// Returns nullopt for any other string.
std::optional<EarlyValidation> ParseEarlyValidation(std::string_view text);

struct Validation {
  /// True if there is at least one validation pod, all validation pods are ready, and none of them is early.
  bool passed = false;
  /// The reason why the node has not passed, for the gate; empty if it has passed.
  std::string missing = {};
  /// Validation pods that became ready before the new driver pod, and are not terminating.
  std::vector<const Pod*> early = {};
  friend bool operator==(const Validation&, const Validation&) = default;
};

class ValidationManager {
 public:
  explicit ValidationManager(LabelSelector selector, EarlyValidation early = EarlyValidation::kAsk)
      : selector_(std::move(selector)), early_(early) {}
  /// `pods`: all pods of one node, of any namespace; they must outlive the result. `driver_ready_since`: time at which
  /// the newest of the node's driver pods became ready. A validation pod does not count as early if this time is
  /// unknown (nullopt), or if the time at which the pod became ready is unknown.
  Validation Evaluate(const std::vector<Pod>& pods,
                      std::optional<absl::Time> driver_ready_since = std::nullopt) const;

 private:
  LabelSelector selector_;
  EarlyValidation early_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_VALIDATION_MANAGER_H_
