// Defines facts about a cluster that do not affect upgrade decisions, but help to explain and predict an upgrade.
#ifndef DRIVERUPGRADE_SRC_WHATIF_CLUSTER_FACTS_H_
#define DRIVERUPGRADE_SRC_WHATIF_CLUSTER_FACTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/driver_identity.h"
#include "whatif/json_view.h"

namespace driverupgrade::whatif {

// An Event about the driver's upgrade on a node.
struct EventFact {
  std::string node = {};
  bool warning = false;
  std::string message = {};
  absl::Time last = absl::InfinitePast();
  // Resource version of the last write. Orders Events with the same `last`. Such Events are common, because a node can
  // pass through several states in one second.
  std::int64_t version = 0;
  int count = 1;
};

// A pod that the scheduler has assigned to a node, according to an Event.
struct AssignedPod {
  std::string ns = {};
  std::string name = {};
  std::string node = {};
  absl::Time at = absl::InfinitePast();
};

// A container that has not started, according to its status.
struct WaitingContainer {
  std::string container = {};
  std::string reason = {};
  std::string message = {};
};

// Amounts by resource: CPU in cores, and other resources in their own units.
using Quantities = std::map<std::string, double>;

struct PodFacts {
  std::int64_t grace_seconds = 30;
  std::vector<std::string> finalizers = {};
  std::vector<WaitingContainer> waiting = {};
  // Conditions whose status is not True. Each pair contains the type, and the reason together with the message.
  std::vector<std::pair<std::string, std::string>> false_conditions = {};
  Quantities requests = {};
  absl::Time created = absl::InfinitePast();
  // Time since which the pod has been Ready; InfinitePast if the pod is not Ready.
  absl::Time ready = absl::InfinitePast();
};

// An admission webhook that the API server calls for evictions.
struct EvictionWebhook {
  std::string configuration = {};
  std::string name = {};
  // True if the eviction is refused while the webhook does not respond.
  bool fails_closed = true;
};

struct ClusterFacts {
  // Oldest first.
  std::vector<EventFact> events = {};
  // Oldest first. Contains only pods whose Events Kubernetes still keeps.
  std::vector<AssignedPod> assigned_pods = {};
  // By `namespace/name`.
  std::map<std::string, PodFacts, std::less<>> pods = {};
  // Allocatable resources, by node.
  std::map<std::string, Quantities, std::less<>> allocatable = {};
  // Number of pods that a budget expects, by the budget's `namespace/name`.
  std::map<std::string, std::int64_t, std::less<>> expected_pods = {};
  // True if unhealthyPodEvictionPolicy is AlwaysAllow, by the budget's `namespace/name`.
  std::map<std::string, bool, std::less<>> always_allow_unhealthy = {};
  // Number of devices that are allocated exclusively to a claim, by the claim's `namespace/name`, and then by driver
  // and pool.
  std::map<std::string, std::map<std::pair<std::string, std::string>, int>, std::less<>> claimed_devices = {};
  // Records of rollouts, by their key in the ledger's ConfigMap.
  std::map<std::string, std::string, std::less<>> rollout_records = {};
  std::vector<EvictionWebhook> webhooks = {};
  // Permissions that the operator needs but lacks. A dump does not contain them; see tools/upgradectl/rights.h.
  std::vector<std::string> missing_rights = {};
};

// Parses a dump. Errors: InvalidArgument with the position of the error.
[[nodiscard]] absl::StatusOr<json::Document> ParseDump(std::string_view dump);

// `dump` must be a List. `event_reason` is DriverIdentity::EventReason.
ClusterFacts FactsOf(const json::Value& dump, std::string_view event_reason);

// Returns `namespace/name`, or `/name` for an object without a namespace.
std::string KeyOf(const json::Value& object);

// Returns the key under which the ledger stores the record of the rollout.
std::string RecordKey(const DriverIdentity& identity);
// Returns the record of the driver's rollout; nullopt if the dump contains no ledger with a record.
std::optional<std::string> RecordOf(const ClusterFacts& facts, const DriverIdentity& identity);

// Parses a Kubernetes quantity: returns 0.5 for "500m" and 2147483648 for "2Gi". Returns 0 for any string that is not a
// quantity.
double ParseQuantity(std::string_view text);

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_CLUSTER_FACTS_H_
