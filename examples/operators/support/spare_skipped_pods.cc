#include "support/spare_skipped_pods.h"

#include <utility>
#include <vector>

namespace examples {

using driverupgrade::LabelSelector;

absl::Status SpareSkippedPods(const driverupgrade::DriverIdentity& identity, driverupgrade::UpgradePolicy& policy) {
  if (!policy.drain) return absl::OkStatus();
  std::vector<LabelSelector::Requirement> requirements = policy.drain->pod_selector.requirements();
  requirements.push_back(
      {.key = identity.SkipDrainPodLabel(), .op = LabelSelector::Operator::kNotIn, .values = {"true"}});
  absl::StatusOr<LabelSelector> selector = LabelSelector::FromRequirements(std::move(requirements));
  if (!selector.ok()) return selector.status();
  policy.drain->pod_selector = *std::move(selector);
  return absl::OkStatus();
}

}  // namespace examples
