// The drivers that rely on a node's cordon, by name: `driverupgrade/cordoned-by`.
//
// With these names, engines of several drivers and other programs share cordons: none lifts a cordon that another one
// still needs.
//
//     std::set<std::string> names = LiveCordonNames(node, "example.com/tuner");
//     names.insert("example.com/tuner");
//     SetCordonNames(std::move(names), marks);  // cordon.h
//
// Pure and thread-safe.
#ifndef DRIVERUPGRADE_SRC_MODEL_CORDON_NAMES_H_
#define DRIVERUPGRADE_SRC_MODEL_CORDON_NAMES_H_

#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/driver_identity.h"

namespace driverupgrade::internal {

// Parses `<domain>/<driver>`, the form of DriverIdentity::Name; nullopt for a text that cannot be a driver's name.
std::optional<DriverIdentity> ParseDriverName(std::string_view name);

// The mark of a program that needs the cordon but does not write its name to that annotation.
struct ForeignCordonMark {
  // Annotation of the node; its presence means that the program needs the cordon.
  std::string_view key = {};
  // Name of that program for messages.
  std::string_view owner = {};
};
// All known marks. A cordon with one of them, and without names of upgrades in progress, is treated as an
// administrator's: it is never lifted.
inline constexpr std::array kForeignCordonMarks = {
    ForeignCordonMark{"nvidia.com/driver-manager.node-initial-state.unschedulable", "NVIDIA's driver manager"},
};
// Returns the owner of the first such mark on the node; nullopt without a mark, or if the node is schedulable.
std::optional<std::string_view> ForeignCordonOwner(const Node& node);

// Returns the names in the annotation, without white space around them; they may be stale, or may not be names of
// drivers.
std::set<std::string> CordonNames(const Node& node);

// Returns the names of drivers whose upgrade is in progress, without `except`. All others are stale, and the next
// writer of the annotation leaves them out. The state label of the driver decides; a label that is not a state counts
// as in progress. Without a label the driver's other marks on a cordoned node decide: its timer, or a pod to restart.
std::set<std::string> LiveCordonNames(const Node& node, std::string_view except);

// Returns the drivers, without `except`, that have a state label on the node but whose names are not in the annotation.
// Such drivers are upgraded by the Go library, which does not use the annotation.
std::vector<DriverIdentity> DriversWithoutCordonName(const Node& node, std::string_view except);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_MODEL_CORDON_NAMES_H_
