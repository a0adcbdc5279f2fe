// docs/upgrade-notes.md
#include <memory>
#include <string>

#include "driverupgrade/policy_codec.h"
#include "driverupgrade/upgrade_engine.h"

using namespace driverupgrade;

absl::StatusOr<bool> UsesGpu(const CallContext& context, const Pod& pod);

absl::Status Start(std::shared_ptr<ClusterFacade> cluster, const std::string& ns, const LabelSelector& driver_labels,
                   const std::string& section) {
  // BLOCK
  if (!policy.ok()) return policy.status();
  return engine.status();
}
