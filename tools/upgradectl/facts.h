// What the objects of a cluster say beyond what an upgrade decides by: for people who want to know why.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_FACTS_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_FACTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace upgradectl {

/// An Event of the driver's upgrade on a node.
struct EventFact {
  std::string node = {};
  bool warning = false;
  std::string message = {};
  absl::Time last = absl::InfinitePast();
  /// Of its last write: `last` has whole seconds, in which a node goes through several states.
  std::int64_t version = 0;
  int count = 1;
};

/// A pod that was assigned to a node, by the scheduler's Event.
struct AssignedPod {
  std::string ns = {};
  std::string name = {};
  std::string node = {};
  absl::Time at = absl::InfinitePast();
};

/// A container that waits for something, as its status says.
struct WaitingContainer {
  std::string container = {};
  std::string reason = {};
  std::string message = {};
};

/// By resource; CPU in cores, the rest in the resource's own unit.
using Quantities = std::map<std::string, double>;

struct PodFacts {
  std::int64_t grace_seconds = 30;
  std::vector<std::string> finalizers = {};
  std::vector<WaitingContainer> waiting = {};
  /// Conditions that are not True: type, and reason with message.
  std::vector<std::pair<std::string, std::string>> false_conditions = {};
  Quantities requests = {};
  absl::Time created = absl::InfinitePast();
  /// When its condition Ready became True; InfinitePast if it is not.
  absl::Time ready = absl::InfinitePast();
};

struct LeaseFact {
  std::string ns = {};
  std::string name = {};
  std::string holder = {};
  absl::Time renewed = absl::InfinitePast();
  /// For how long it lasts without a renewal.
  absl::Duration duration = absl::ZeroDuration();
  std::map<std::string, std::string, std::less<>> annotations = {};
};

struct DeploymentFact {
  std::string ns = {};
  std::string name = {};
  /// Its label app.kubernetes.io/version, or the tag of its first container's image; empty if neither tells.
  std::string version = {};
};

/// An admission webhook that is asked about evictions.
struct EvictionWebhook {
  std::string configuration = {};
  std::string name = {};
  /// Without an answer the eviction is refused.
  bool fails_closed = true;
};

/// Where a driver's policy stands in the cluster.
struct PolicyResource {
  /// "nvidia.com/v1".
  std::string group_version = {};
  /// "clusterpolicies".
  std::string resource = {};
  std::string name = {};
  /// {"spec", "driver", "upgradePolicy"}.
  std::vector<std::string> path = {};
  /// `kubectl`'s word for it: clusterpolicies.nvidia.com/cluster-policy.
  std::string ToString() const;
};

/// The custom resource as it was read.
struct PolicyObject {
  std::string name = {};
  std::string uid = {};
  std::string resource_version = {};
  /// The section; empty if it is absent.
  std::string section_json = {};
};

struct Facts {
  /// Oldest first.
  std::vector<EventFact> events = {};
  /// Oldest first; only pods whose Events Kubernetes still keeps.
  std::vector<AssignedPod> assigned_pods = {};
  /// By `namespace/name`.
  std::map<std::string, PodFacts, std::less<>> pods = {};
  /// What a node can give to pods, by node.
  std::map<std::string, Quantities, std::less<>> allocatable = {};
  /// How many pods a budget expects, by `namespace/name`.
  std::map<std::string, std::int64_t, std::less<>> expected_pods = {};
  /// unhealthyPodEvictionPolicy is AlwaysAllow, by `namespace/name`.
  std::map<std::string, bool, std::less<>> always_allow_unhealthy = {};
  std::vector<LeaseFact> leases = {};
  /// Records of rollouts, by their key in the ledger's ConfigMap.
  std::map<std::string, std::string, std::less<>> rollout_records = {};
  /// Of DaemonSets, by `namespace/name`.
  std::map<std::string, std::string, std::less<>> resource_versions = {};
  std::vector<EvictionWebhook> webhooks = {};
  std::vector<DeploymentFact> deployments = {};
  /// Whether a GPU is allocated to a ResourceClaim, by `namespace/name`.
  std::map<std::string, bool, std::less<>> gpu_claims = {};
  /// What the operator may not do and has to; nobody's objects tell, see rights.h.
  std::vector<std::string> missing_rights = {};
  std::optional<PolicyObject> policy = std::nullopt;
};

/// `event_reason`: DriverIdentity::EventReason. `policy`: the custom resource to look for; nullopt: none. `dump` has
/// been read by ParseMixedList already, so its depth is bounded.
[[nodiscard]] absl::StatusOr<Facts> ReadFacts(std::string_view dump, std::string_view event_reason,
                                              const std::optional<PolicyResource>& policy);

/// "500m" is 0.5, "2Gi" 2147483648; 0 for what is no quantity.
double ParseQuantity(std::string_view text);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_FACTS_H_
