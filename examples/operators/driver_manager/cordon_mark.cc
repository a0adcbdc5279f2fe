#include "driver_manager/cordon_mark.h"

#include "driverupgrade/drain_manager.h"

namespace driver_manager {
namespace {

using driverupgrade::DriverIdentity;
using driverupgrade::Node;
using driverupgrade::PatchNodeParams;

// Returns our name as an identity. Create cannot fail here, because the name is valid.
DriverIdentity Us() { return *DriverIdentity::Create("nvidia.com", "gpu-manager"); }

}  // namespace

PatchNodeParams CordonPatch(const Node& node) { return driverupgrade::CordonPatch(node, Us()); }

PatchNodeParams UncordonPatch(const Node& node) { return driverupgrade::UncordonPatch(node, Us()); }

}  // namespace driver_manager
