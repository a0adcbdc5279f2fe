// Implements requestor mode: at the engine's request, NVIDIA's maintenance operator evacuates nodes and returns them to
// service, while the engine waits.
//
//     MaintenanceRequestor requestor({.id = "nvidia.gpu-operator", .ns = "maintenance"});
//     MaintenanceStatus status = requestor.Assess(view);
//     if (status.phase == MaintenancePhase::kAbsent) call = requestor.Request(view.node, rules, std::nullopt);
//
// Each node has one NodeMaintenance, `<prefix>-<node>`, which requestors with the same prefix share. The first
// requestor creates the object, the others add themselves, and each requestor withdraws its own claim.
// MaintenanceRequestor only makes decisions for Step; PlanExecutor makes the returned calls. Thread-safe.
#ifndef DRIVERUPGRADE_SRC_DECIDE_MAINTENANCE_REQUESTOR_H_
#define DRIVERUPGRADE_SRC_DECIDE_MAINTENANCE_REQUESTOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/engine_options.h"
#include "driverupgrade/upgrade_policy.h"

namespace driverupgrade::internal {

// The phase of a node's maintenance, as this requestor sees it.
enum class MaintenancePhase : std::uint8_t {
  kUnread,   // The objects could not be read, so it is unknown whether one exists for the node.
  kAbsent,   // No object exists; we must create it.
  kStale,    // The object is being deleted, or belongs to an earlier node with the same name; we must not use it.
  kForeign,  // Another requestor created the object; we must join it.
  kFailed,   // The object has our failure condition from an earlier attempt; we must withdraw it.
  kPending,  // The maintenance operator is working on the node.
  kReady,    // The node is evacuated.
};

struct MaintenanceStatus {
  MaintenancePhase phase = MaintenancePhase::kUnread;
  // Text for users.
  std::string detail = {};
  // The object in the view; nullptr if it does not exist.
  const NodeMaintenance* object = nullptr;
};

class MaintenanceRequestor {
 public:
  // Creates a requestor. `options` must be valid.
  explicit MaintenanceRequestor(RequestorOptions options);

  std::string ObjectName(std::string_view node) const;
  MaintenanceStatus Assess(const NodeView& view) const;

  // Returns the call that creates the object. The spec follows the policy: it contains a drain only if the policy
  // contains one, and waits only for pods that the policy selects. `deletion`: policy for pods that use the driver;
  // nullopt if the engine does not delete such pods.
  MaintenanceCall Request(const Node& node, const NodeRules& rules,
                          const std::optional<PodDeletionPolicy>& deletion) const;
  // Returns the call that adds us to the object of another requestor.
  MaintenanceCall Join(const NodeMaintenance& object) const;
  // Return the call that sets or withdraws the condition RequestorFailed; nullopt if no change is necessary, or if the
  // condition belongs to another requestor.
  std::optional<MaintenanceCall> ReportFailure(const NodeMaintenance& object, absl::Time now) const;
  std::optional<MaintenanceCall> WithdrawFailure(const NodeMaintenance& object, absl::Time now) const;
  // Returns the next call that withdraws our claim: it deletes our own object, or removes us from the object of another
  // requestor. Returns nullopt if no call is necessary, or if the object is already being deleted.
  std::optional<MaintenanceCall> Release(const NodeMaintenance& object, absl::Time now) const;

  // Returns true if we created the object or were added to it, regardless of the name of the object.
  bool Claims(const NodeMaintenance& object) const;
  // Returns the node's objects that we claim.
  std::vector<const NodeMaintenance*> ClaimsOn(const NodeView& view) const;

 private:
  bool FailedByUs(const Condition& condition) const;

  RequestorOptions options_;
};

// Returns true for a pod of the maintenance operator. The operator does not evict its own pod. In requestor mode, the
// engine does not evict that pod either, because the operator must still return the node to service (§4.1).
bool IsMaintenanceOperator(const Pod& pod);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_MAINTENANCE_REQUESTOR_H_
