// Tests that images of the GPU driver have the same names as in NVIDIA's operator: see getNodePools and getOSTag in
// internal/state/nodepool.go of github.com/NVIDIA/gpu-operator. The anti-affinity is the same as in
// assets/state-driver/0500_daemonset.yaml and manifests/state-driver/0500_daemonset.yaml of that repository.
#include "gpu/driver_sets.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using examples::DriverDaemonSet;
using examples::NodeSystem;

DriverDaemonSet Wish(const std::string& image) {
  return {.name = "nvidia-driver-daemonset", .node_selector = {{"gpu", "true"}}, .image = {.reference = image}};
}

// Returns the image, or the reason why there is no DaemonSet.
std::string On(const std::set<NodeSystem>& systems, const std::string& image) {
  const auto sets = gpu_operator::OnSystems(Wish(image), examples::NodeSystems{.known = systems});
  REQUIRE(sets.size() == 1);
  return sets.front().pods.refusal.ok() ? sets.front().image.reference
                                        : std::string(sets.front().pods.refusal.message());
}

TEST_CASE("W29: the operating system of the nodes is appended to driver.version") {
  CHECK(On({{"ubuntu", "22.04", "amd64"}}, "driver:510.85.02") == "driver:510.85.02-ubuntu22.04");
  CHECK(On({{"rhcos", "4.15", ""}}, "driver:510.85.02") == "driver:510.85.02-rhcos4.15");
  CHECK(On({{"rhel", "9.4", ""}}, "driver:510.85.02") == "driver:510.85.02-rhel9.4");
  CHECK(On({{"rhel", "10.1", ""}}, "driver:510.85.02") == "driver:510.85.02-rhel10");
  CHECK(On({{"rocky", "9.3", ""}, {"rocky", "9.4", ""}}, "driver:510.85.02") == "driver:510.85.02-rocky9");
  CHECK(On({{"ubuntu", "22.04", "amd64"}, {"ubuntu", "22.04", "arm64"}}, "driver:1") == "driver:1-ubuntu22.04");
}

TEST_CASE("W29: a digest, and a version with an operating system, are used unchanged, whatever system the nodes run") {
  for (const char* image : {"driver@sha256:1f0c", "driver:510.85.02-ubuntu20.04"}) {
    CHECK(On({{"ubuntu", "22.04", ""}}, image) == image);
    CHECK(On({}, image) == image);
    CHECK(gpu_operator::OnSystems(Wish(image), std::nullopt).size() == 1);
  }
}

TEST_CASE("W29: no DaemonSet is created if the nodes' operating system is unknown or not the same on all nodes") {
  CHECK(absl::StrContains(On({}, "driver:510"), "no node with the labels gpu=true has the labels feature.node"));
  CHECK(absl::StrContains(On({{"rhel", "9.4", ""}, {"ubuntu", "22.04", ""}}, "driver:510"), "(rhel9.4, ubuntu22.04)"));
  CHECK(gpu_operator::OnSystems(Wish("driver:510"), std::nullopt).empty());
}

TEST_CASE("W29: unsupported settings of the policy are refused, whatever system the nodes run") {
  DriverDaemonSet wish = Wish("driver:510");
  wish.pods.refusal = absl::UnimplementedError("spec.driver.repoConfig is set");
  CHECK(gpu_operator::OnSystems(wish, std::nullopt) == std::vector{wish});
  CHECK(gpu_operator::OnSystems(wish, examples::NodeSystems{}) == std::vector{wish});
}

gpu_operator::ClusterPolicy PolicyWithDriver() {
  gpu_operator::ClusterPolicy policy{.name = "p"};
  policy.driver = examples::DriverImage{.reference = "nvcr.io/nvidia/driver:550.54.15"};
  policy.manager = examples::DriverImage{.reference = "driver-manager:0.8"};
  return policy;
}

TEST_CASE("GPU driver pods stay off nodes with a driver pod of any DaemonSet, also of NVIDIA's operator") {
  gpu_operator::NvidiaDriver driver{.name = "a"};
  driver.driver = PolicyWithDriver().driver;
  for (const DriverDaemonSet& set : {gpu_operator::DriverSets(PolicyWithDriver(), "gpu").front(),
                                     gpu_operator::DriverSets(std::vector{driver}, "gpu").front()}) {
    CAPTURE(set.name);
    CHECK(set.apart_from == DriverDaemonSet::PodLabel{"app.kubernetes.io/component", "nvidia-driver"});
    CHECK(set.labels.at("app.kubernetes.io/component") == "nvidia-driver");
  }
}

// assertDriverContainerReady in cmd/nvidia-validator/main.go of github.com/NVIDIA/gpu-operator waits for this file.
TEST_CASE("GPU driver pods write the file for which validation pods wait, in a directory of the host") {
  const DriverDaemonSet set = gpu_operator::DriverSets(PolicyWithDriver(), "gpu").front();
  CHECK(set.ready_file == "/run/nvidia/validations/.driver-ctr-ready");
  CHECK(std::find(set.host_paths.begin(), set.host_paths.end(), "/run/nvidia") != set.host_paths.end());
}

// An operator that is upgraded to this version must not roll out the drivers again.
TEST_CASE(
    "the digest of a GPU driver's DaemonSet is the same as before its pods had an anti-affinity and a ready file") {
  const auto sets = gpu_operator::OnSystems(gpu_operator::DriverSets(PolicyWithDriver(), "gpu").front(),
                                            examples::NodeSystems{.known = {NodeSystem{"ubuntu", "22.04", "amd64"}}});
  REQUIRE(sets.size() == 1);
  CHECK(examples::SpecDigest(sets.front()) == "e2d06bc8cbb69fd1");
}

}  // namespace
}  // namespace driverupgrade::tests
