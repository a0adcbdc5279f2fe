// Normalizes upgradectl's output about a rollout, so that it is the same in each run.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_UPGRADECTL_PICTURE_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_UPGRADECTL_PICTURE_H_

#include <string>
#include <vector>

#include "world.h"

namespace driverupgrade::e2e {

// Returns the options that select the driver and the cluster for a verb.
std::vector<std::string> UpgradectlOptions(const World& world, const std::string& kubeconfig);

// Returns each command after a `$`, its output, and its exit code if the code is not 0. Words in capitals replace
// times, ages, and names that Kubernetes generates, such as pod names. The word `world` replaces the world's name.
std::string PictureOf(const World& world, const std::vector<std::vector<std::string>>& commands,
                      const std::vector<std::string>& options);

// Compares `text` with troubles/`name`.txt in the test's directory. Writes this file instead if DRIVERUPGRADE_REWRITE
// is set.
void CheckPicture(const std::string& name, const std::string& text);

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_UPGRADECTL_PICTURE_H_
