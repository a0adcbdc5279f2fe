// Normalizes the output of upgradectl about a rollout to a text that is the same in each run.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_UPGRADECTL_PICTURE_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_UPGRADECTL_PICTURE_H_

#include <string>
#include <vector>

#include "world.h"

namespace driverupgrade::e2e {

// Returns the options that select the driver and the cluster of a verb.
std::vector<std::string> UpgradectlOptions(const World& world, const std::string& kubeconfig);

// Returns each command after a `$`, its output, and its exit code if it is not 0. Times, ages, and names that
// Kubernetes generates, such as those of pods, are replaced by words in capitals; the world's name becomes `world`.
std::string PictureOf(const World& world, const std::vector<std::vector<std::string>>& commands,
                      const std::vector<std::string>& options);

// Compares `text` with troubles/`name`.txt in the directory of the test. Writes the file instead if
// DRIVERUPGRADE_REWRITE is set.
void CheckPicture(const std::string& name, const std::string& text);

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_UPGRADECTL_PICTURE_H_
