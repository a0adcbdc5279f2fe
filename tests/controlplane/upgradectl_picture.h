// What upgradectl says of a rollout, as a text that is the same in each run.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_UPGRADECTL_PICTURE_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_UPGRADECTL_PICTURE_H_

#include <string>
#include <vector>

#include "world.h"

namespace driverupgrade::e2e {

// The options that say which driver of which cluster a verb is about.
std::vector<std::string> UpgradectlOptions(const World& world, const std::string& kubeconfig);

// Each command behind a `$`, what it says, and its exit code if that is another than 0. Times, ages, and what
// Kubernetes makes up, as the names of pods, are words in capitals; the world's name is `world`.
std::string PictureOf(const World& world, const std::vector<std::vector<std::string>>& commands,
                      const std::vector<std::string>& options);

// Compares `text` with troubles/`name`.txt beside the test. Writes it instead if DRIVERUPGRADE_REWRITE is set.
void CheckPicture(const std::string& name, const std::string& text);

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_UPGRADECTL_PICTURE_H_
