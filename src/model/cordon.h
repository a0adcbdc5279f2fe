// Determines the owner of a node's cordon (dep-F7, dep-F8).
#ifndef DRIVERUPGRADE_SRC_MODEL_CORDON_H_
#define DRIVERUPGRADE_SRC_MODEL_CORDON_H_

#include <optional>
#include <set>
#include <string>

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/driver_identity.h"
#include "model/node_marks.h"

namespace driverupgrade::internal {

enum class CordonKind {
  kNone,           // The node is schedulable.
  kUpgrade,        // An upgrade set it: our own, or another driver's that ours may join.
  kAdministrator,  // Never lifted by us.
};

// The cordon of a node as it was read, before an upgrade of `identity` starts.
struct Cordon {
  CordonKind kind = CordonKind::kNone;
  // Name of a driver without an entry in the cordon set (the Go library) that is past cordon-required and has set the
  // cordon: our upgrade waits for it. Otherwise nullopt.
  std::optional<std::string> rival = std::nullopt;
  // The rival or its maintenance operator must lift the cordon. A cordon with our name does not belong to that
  // operator, because the operator does not lift a cordon that already existed (dep-F13).
  bool rival_lifts = false;
  // The set contains only names of drivers that are done, or texts that cannot be names of drivers.
  bool stale_names_only = false;
};
Cordon ReadCordon(const Node& node, const DriverIdentity& identity);

// Returns the name of a driver outside the cordon set that still needs an evacuated node, evacuated by the driver or by
// a maintenance operator; otherwise nullopt. Our upgrade then leaves the cordon in place for that driver.
std::optional<std::string> DriverThatNeedsCordon(const Node& node, const DriverIdentity& identity);

// Writes the cordon set, or removes it if there are no names.
void SetCordonNames(std::set<std::string> names, NodeMarks& marks);

// Returns true if an administrator's cordon was noted when the upgrade started.
inline bool WasInitiallyUnschedulable(const NodeMarks& marks) { return marks.initially_unschedulable.present(); }

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_MODEL_CORDON_H_
