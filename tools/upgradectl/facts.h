// Defines facts about a driver's operator and policy that only the command line needs. whatif/cluster_facts.h defines
// all other facts about a cluster.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_FACTS_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_FACTS_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "whatif/cluster_facts.h"

namespace upgradectl {

using driverupgrade::whatif::AssignedPod;
using driverupgrade::whatif::EventFact;
using driverupgrade::whatif::PodFacts;
using driverupgrade::whatif::WaitingContainer;

struct LeaseFact {
  std::string ns = {};
  std::string name = {};
  std::string holder = {};
  absl::Time renewed = absl::InfinitePast();
  /// Time for which the Lease is valid without a renewal.
  absl::Duration duration = absl::ZeroDuration();
  std::map<std::string, std::string, std::less<>> annotations = {};
};

struct DeploymentFact {
  std::string ns = {};
  std::string name = {};
  /// Value of the Deployment's label app.kubernetes.io/version, or else the image tag of its first container. Empty if
  /// neither exists.
  std::string version = {};
};

/// Location of a driver's policy in the cluster.
struct PolicyResource {
  /// For example "nvidia.com/v1".
  std::string group_version = {};
  /// For example "clusterpolicies".
  std::string resource = {};
  std::string name = {};
  /// For example {"spec", "driver", "upgradePolicy"}.
  std::vector<std::string> path = {};
  /// Returns the name that kubectl uses, such as clusterpolicies.nvidia.com/cluster-policy.
  std::string ToString() const;
};

/// The custom resource that was read.
struct PolicyObject {
  std::string name = {};
  std::string uid = {};
  std::string resource_version = {};
  /// The policy section as JSON; empty if the section is missing.
  std::string section_json = {};
};

struct Facts : driverupgrade::whatif::ClusterFacts {
  std::vector<LeaseFact> leases = {};
  /// Resource versions of DaemonSets, by `namespace/name`.
  std::map<std::string, std::string, std::less<>> resource_versions = {};
  std::vector<DeploymentFact> deployments = {};
  /// True for ResourceClaims with an allocated GPU, by `namespace/name`.
  std::map<std::string, bool, std::less<>> gpu_claims = {};
  std::optional<PolicyObject> policy = std::nullopt;
};

/// `event_reason` is DriverIdentity::EventReason. `policy` is the custom resource to look for, if any. ParseMixedList,
/// which limits the nesting depth, must have accepted `dump`.
[[nodiscard]] absl::StatusOr<Facts> ReadFacts(std::string_view dump, std::string_view event_reason,
                                              const std::optional<PolicyResource>& policy);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_FACTS_H_
