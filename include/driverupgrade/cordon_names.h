/// The drivers that rely on a node's cordon, by name: `driverupgrade/cordoned-by`.
///
/// Defines ParseDriverName, CordonNames, LiveCordonNames, DriversWithoutCordonName and FormatCordonNames. For a program
/// beside the engine that cordons nodes for work on a driver: whoever keeps to these names shares cordons with the
/// engines of other drivers, and nobody lifts a cordon that another still needs.
///
///     std::set<std::string> names = LiveCordonNames(node, "example.com/tuner");
///     names.insert("example.com/tuner");
///     patch.annotations[std::string(kCordonedByAnnotation)] = FormatCordonNames(names);
///
/// Pure and thread-safe.
#ifndef DRIVERUPGRADE_CORDON_NAMES_H_
#define DRIVERUPGRADE_CORDON_NAMES_H_

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/driver_identity.h"

namespace driverupgrade {

/// `<domain>/<driver>`, as DriverIdentity::Name gives it; nullopt for what cannot be a driver's name.
std::optional<DriverIdentity> ParseDriverName(std::string_view name);

/// What stands on the node, without white space around the names; they may be of no driver, or stale.
std::set<std::string> CordonNames(const Node& node);

/// Those whose upgrade is under way, by the state label of their driver; all others are stale, and whoever writes the
/// annotation next leaves them out. A label that is no state counts as under way. Without `except`.
std::set<std::string> LiveCordonNames(const Node& node, std::string_view except);

/// Drivers with a state label on the node whose names are not in the annotation, as those that the Go library upgrades:
/// it knows nothing of names. Without `except`.
std::vector<DriverIdentity> DriversWithoutCordonName(const Node& node, std::string_view except);

/// The annotation's value; nullopt for no names: it is removed then.
std::optional<std::string> FormatCordonNames(const std::set<std::string>& names);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_CORDON_NAMES_H_
