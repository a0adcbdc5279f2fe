// Requestor mode: NVIDIA's maintenance operator evacuates the nodes and gives them back; we ask it to, and wait.
//
//     MaintenanceRequestor requestor({.id = "nvidia.gpu-operator", .ns = "maintenance"});
//     MaintenanceStatus status = requestor.Assess(view);
//     if (status.phase == MaintenancePhase::kAbsent) call = requestor.Request(view.node, rules, std::nullopt);
//
// Each node has one NodeMaintenance, `<prefix>-<node>`, which requestors of the same prefix share: the first creates
// it, the others add themselves to it, and each takes its own claim back. A pure
// decider that Step consults; the calls it returns are made by PlanExecutor. Thread-safe.
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

// Where the maintenance of a node stands for us.
enum class MaintenancePhase : std::uint8_t {
  kUnread,   // The objects could not be read, which is not the same as none.
  kAbsent,   // No object: to be created.
  kStale,    // It is being deleted or belongs to an earlier node of the name: not ours to use.
  kForeign,  // Another requestor made it, and we are not on it: to be joined.
  kFailed,   // It says that we failed, from an earlier try: to be withdrawn.
  kPending,  // The operator is at work.
  kReady,    // The node is evacuated.
};

struct MaintenanceStatus {
  MaintenancePhase phase = MaintenancePhase::kUnread;
  // For a person.
  std::string detail = {};
  // In the view; nullptr if there is none.
  const NodeMaintenance* object = nullptr;
};

class MaintenanceRequestor {
 public:
  // `options` are valid.
  explicit MaintenanceRequestor(RequestorOptions options);

  std::string ObjectName(std::string_view node) const;
  MaintenanceStatus Assess(const NodeView& view) const;

  // Creates the object. The spec is what the policy says: no drain unless it has one, no wait without a
  // selector. `deletion`: the policy for pods that use the driver, if that is on.
  MaintenanceCall Request(const Node& node, const NodeRules& rules,
                          const std::optional<PodDeletionPolicy>& deletion) const;
  // Adds us to the object of another requestor.
  MaintenanceCall Join(const NodeMaintenance& object) const;
  // Sets or withdraws the condition RequestorFailed; nullopt if it stands like that, or is another requestor's.
  std::optional<MaintenanceCall> ReportFailure(const NodeMaintenance& object, absl::Time now) const;
  std::optional<MaintenanceCall> WithdrawFailure(const NodeMaintenance& object, absl::Time now) const;
  // The next step of taking our claim back: deletes our own object, or leaves another's. nullopt: there is nothing to
  // do, or it is being deleted already.
  std::optional<MaintenanceCall> Release(const NodeMaintenance& object, absl::Time now) const;

  // Whether we made the object or are on it, by whatever name.
  bool Claims(const NodeMaintenance& object) const;
  // Those of the node's objects that we claim.
  std::vector<const NodeMaintenance*> ClaimsOn(const NodeView& view) const;

 private:
  bool FailedByUs(const Condition& condition) const;

  RequestorOptions options_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_MAINTENANCE_REQUESTOR_H_
