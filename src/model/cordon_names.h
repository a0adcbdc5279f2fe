// Reads the names of the drivers that rely on a node's cordon from the annotation `driverupgrade/cordoned-by`.
//
// These names allow the engines of several drivers, and other programs, to share a cordon: none of them lifts the
// cordon while another still needs it.
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

// Parses `<domain>/<driver>`, the form of DriverIdentity::Name. Returns nullopt if the text is not a valid driver name.
std::optional<DriverIdentity> ParseDriverName(std::string_view name);

// The mark of a program that needs the cordon but does not write its name to the annotation `cordoned-by`.
struct ForeignCordonMark {
  // Annotation of the node. Unless its value is `false`, the program needs the cordon.
  std::string_view key = {};
  // Name of the program, for use in messages.
  std::string_view owner = {};
};
// All known marks. Unless the annotation contains the name of a driver whose upgrade is in progress, the cordon of a
// node with such a mark is treated like an administrator's cordon. It is then never lifted.
inline constexpr std::array kForeignCordonMarks = {
    ForeignCordonMark{"nvidia.com/driver-manager.node-initial-state.unschedulable", "NVIDIA's driver manager"},
    // The driver manager of the GPU driver, in versions of the Go library that name their cordon (cordon_manager.go).
    ForeignCordonMark{"nvidia.com/gpu-driver-manager.node-cordoned", "NVIDIA's driver manager"},
};
// Returns the owner of the first foreign cordon mark on the node; nullopt if the node has no such mark or is
// schedulable.
std::optional<std::string_view> ForeignCordonOwner(const Node& node);

// Returns the name of a program that has taken the cordoned node out of service, because the node is faulty or because
// the program is about to change or reboot it; nullopt if there is no such program. The program may have found the node
// cordoned by our upgrade. It then relies on our cordon, and removes its mark when it no longer needs the cordon. To
// support another program, add a row to the table in cordon_names.cc.
std::optional<std::string_view> ProgramThatNeedsCordon(const Node& node);

// Returns the names in the annotation, without surrounding white space. A name might be stale, or might not be a valid
// driver name.
std::set<std::string> CordonNames(const Node& node);

// Returns the names of drivers whose upgrade is in progress, without `except`. All other names are stale, and the next
// writer of the annotation omits them. An upgrade is in progress if the driver's state label shows it, or if the label
// is invalid. If the label is missing and the node is cordoned, the driver's other marks decide, such as the timer or a
// pod to restart.
std::set<std::string> LiveCordonNames(const Node& node, std::string_view except);

// Returns the drivers, except for `except`, that have a state label on the node but no name in the annotation. The Go
// library, which does not use the annotation, upgrades such drivers.
std::vector<DriverIdentity> DriversWithoutCordonName(const Node& node, std::string_view except);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_MODEL_CORDON_NAMES_H_
