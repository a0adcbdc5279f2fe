// Tests that images of the GPU driver have the same names as in NVIDIA's operator: see getNodePools and getOSTag in
// internal/state/nodepool.go of github.com/NVIDIA/gpu-operator.
#include "gpu/driver_sets.h"

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
  const auto sets = gpu_operator::OnSystems(Wish(image), systems);
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
  CHECK(gpu_operator::OnSystems(wish, std::set<NodeSystem>{}) == std::vector{wish});
}

}  // namespace
}  // namespace driverupgrade::tests
