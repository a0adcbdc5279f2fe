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
  kUpgrade,        // An upgrade of our driver or of another driver set the cordon. Our upgrade may share the cordon.
  kAdministrator,  // An administrator set the cordon. We never lift it.
};

// The cordon that a node has before an upgrade of `identity` starts.
struct Cordon {
  CordonKind kind = CordonKind::kNone;
  // Name of a driver for which our upgrade waits: a driver that is past cordon-required and has set the cordon without
  // an entry in the cordon set, as the Go library does. nullopt if there is no such driver.
  std::optional<std::string> rival = std::nullopt;
  // True if a rival is still being evacuated, or is about to lift the cordon.
  bool rival_evacuates = false;
  // True if the rival or its maintenance operator must lift the cordon. A maintenance operator does not lift a cordon
  // that already existed, so it does not lift a cordon with our name (dep-F13).
  bool rival_lifts = false;
  // True if the cordon set is not empty, but contains only names of drivers that are done, or strings that are not
  // valid driver names.
  bool stale_names_only = false;
};
Cordon ReadCordon(const Node& node, const DriverIdentity& identity);

// Returns true if the upgrade of a driver that is not named on the cordon failed, and its engine then gave up the
// cordon because an administrator uncordoned the node or the policy returns such nodes to service. Such a driver does
// not lift the cordon. The Go library does not write the failed revision.
bool HasLeftCordon(const NodeMarks& marks);

// Returns the name of a driver that is not in the cordon set, but whose upgrade needs the node to stay evacuated. The
// node may have been evacuated by the driver's engine or by a maintenance operator. Returns nullopt if there is no such
// driver.
std::optional<std::string> DriverThatNeedsCordon(const Node& node, const DriverIdentity& identity);

// Returns the name of a driver or another program that needs the cordon. Our upgrade must then leave the cordon in
// place. Returns nullopt if no other driver or program needs the cordon.
std::optional<std::string> WhoElseNeedsCordon(const Node& node, const DriverIdentity& identity);

// Writes `names` to the cordon set, or removes the cordon set if there are no names.
void SetCordonNames(std::set<std::string> names, NodeMarks& marks);

// Returns true if the marks record that the node was already cordoned when the upgrade started.
inline bool WasInitiallyUnschedulable(const NodeMarks& marks) { return marks.initially_unschedulable.present(); }

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_MODEL_CORDON_H_
