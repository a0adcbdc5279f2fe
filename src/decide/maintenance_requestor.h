// Requestor mode: NVIDIA's maintenance operator evacuates nodes and returns them to service at the engine's request,
// and the engine waits.
//
//     MaintenanceRequestor requestor({.id = "nvidia.gpu-operator", .ns = "maintenance"});
//     MaintenanceStatus status = requestor.Assess(view);
//     if (status.phase == MaintenancePhase::kAbsent) call = requestor.Request(view.node, rules, std::nullopt);
//
// Each node has one NodeMaintenance, `<prefix>-<node>`, which requestors with the same prefix share: the first creates
// it, the others add themselves to it, and each withdraws its own claim. A pure decider that Step consults; the calls
// it returns are made by PlanExecutor. Thread-safe.
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

// The phase of a node's maintenance from the point of view of this requestor.
enum class MaintenancePhase : std::uint8_t {
  kUnread,   // The objects could not be read; there may be some.
  kAbsent,   // No object: to be created.
  kStale,    // It is being deleted or belongs to an earlier node of the name: we must not use it.
  kForeign,  // Another requestor created it, and we are not on it: to be joined.
  kFailed,   // It has our failure condition from an earlier attempt: to be withdrawn.
  kPending,  // The operator is working on the node.
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
  // `options` are valid.
  explicit MaintenanceRequestor(RequestorOptions options);

  std::string ObjectName(std::string_view node) const;
  MaintenanceStatus Assess(const NodeView& view) const;

  // Creates the object. The spec follows the policy: no drain unless it has one, no wait without a selector.
  // `deletion`: the policy for pods that use the driver, if that is on.
  MaintenanceCall Request(const Node& node, const NodeRules& rules,
                          const std::optional<PodDeletionPolicy>& deletion) const;
  // Adds us to the object of another requestor.
  MaintenanceCall Join(const NodeMaintenance& object) const;
  // Sets or withdraws the condition RequestorFailed; nullopt if nothing has to change, or if the condition belongs to
  // another requestor.
  std::optional<MaintenanceCall> ReportFailure(const NodeMaintenance& object, absl::Time now) const;
  std::optional<MaintenanceCall> WithdrawFailure(const NodeMaintenance& object, absl::Time now) const;
  // Returns the next step of withdrawing our claim: deletes our own object, or removes us from another requestor's
  // object. nullopt: there is nothing to do, or the object is already being deleted.
  std::optional<MaintenanceCall> Release(const NodeMaintenance& object, absl::Time now) const;

  // Returns true if we created the object or are on it, under any name.
  bool Claims(const NodeMaintenance& object) const;
  // Returns the node's objects that we claim.
  std::vector<const NodeMaintenance*> ClaimsOn(const NodeView& view) const;

 private:
  bool FailedByUs(const Condition& condition) const;

  RequestorOptions options_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_MAINTENANCE_REQUESTOR_H_
