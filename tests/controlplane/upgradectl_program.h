// Runs `upgradectl` on a test cluster, as a user would.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_UPGRADECTL_PROGRAM_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_UPGRADECTL_PROGRAM_H_

#include <string>
#include <vector>

#include "control_plane.h"
#include "kubectl.h"

namespace driverupgrade::e2e {

// Runs upgradectl until it exits. If upgradectl does not exit within a minute, it is killed, and the exit code is 137.
KubectlResult RunUpgradectl(const ControlPlane& control_plane, const std::vector<std::string>& arguments);

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_UPGRADECTL_PROGRAM_H_
