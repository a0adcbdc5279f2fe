// Tests that the images, labels and anti-affinity of the OFED driver are the same as in NVIDIA's operator: see
// mofedImageFormat in pkg/state/state_ofed.go and manifests/state-ofed-driver/0050_ofed-driver-ds.yaml of
// github.com/Mellanox/network-operator.
#include "ofed/driver_sets.h"

#include "absl/strings/match.h"
#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using examples::DriverDaemonSet;
using examples::NodeSystem;
using ofed_operator::OnSystems;

const NodeSystem kUbuntu{"ubuntu", "22.04", "amd64"};
const NodeSystem kRhel{"rhel", "9.4", "amd64"};

DriverDaemonSet Wish(const std::string& image) {
  const ofed_operator::NicClusterPolicy policy{.has_driver = true, .driver = examples::DriverImage{.reference = image}};
  return ofed_operator::DriverSets(policy, {}, "net", "").front();
}

TEST_CASE("W29: each operating system has a DaemonSet with the documented label and NVIDIA's image") {
  const auto sets = OnSystems(Wish("doca-driver:24.01"), examples::NodeSystems{.known = {kUbuntu, kRhel}});
  REQUIRE(sets.size() == 2);
  CHECK(sets[0].name == "mofed-rhel9.4-amd64");
  CHECK(sets[1].name == "mofed-ubuntu22.04-amd64");
  CHECK(sets[0].image.reference == "doca-driver:24.01-rhel9.4-amd64");
  CHECK(sets[1].image.reference == "doca-driver:24.01-ubuntu22.04-amd64");
  CHECK(sets[1].labels == StringMap{{"app", "mofed-ubuntu22.04"},
                                    {"ds-owner", "NicClusterPolicy"},
                                    {"kubernetes.io/arch", "amd64"},
                                    {"nvidia.com/ofed-driver", ""}});
  CHECK(sets[1].node_selector == StringMap{{"feature.node.kubernetes.io/pci-15b3.present", "true"},
                                           {"feature.node.kubernetes.io/system-os_release.ID", "ubuntu"},
                                           {"feature.node.kubernetes.io/system-os_release.VERSION_ID", "22.04"},
                                           {"kubernetes.io/arch", "amd64"}});
}

TEST_CASE("W29: two architectures of one operating system have two DaemonSets that select different pods") {
  const auto sets = OnSystems(Wish("doca-driver:24.01"),
                              examples::NodeSystems{.known = {kUbuntu, NodeSystem{"ubuntu", "22.04", "arm64"}}});
  REQUIRE(sets.size() == 2);
  CHECK(sets[0].name != sets[1].name);
  CHECK(sets[0].labels != sets[1].labels);
  const auto selector = [](const DriverDaemonSet& set) {
    return examples::TextMap(*examples::ParseJson(examples::DaemonSetJson(set)), {"spec", "selector", "matchLabels"});
  };
  CHECK(selector(sets[0]) == sets[0].labels);
  CHECK(selector(sets[1]) == sets[1].labels);
}

TEST_CASE(
    "W29: a version with an operating system applies only to nodes with this system, and a digest applies to all") {
  const auto whole =
      OnSystems(Wish("doca-driver:24.01-ubuntu22.04-amd64"), examples::NodeSystems{.known = {kUbuntu, kRhel}});
  REQUIRE(whole.size() == 1);
  CHECK(whole[0].name == "mofed-ubuntu22.04-amd64");
  CHECK(whole[0].image.reference == "doca-driver:24.01-ubuntu22.04-amd64");
  const auto digest = OnSystems(Wish("doca-driver@sha256:1f0c"), examples::NodeSystems{.known = {kUbuntu, kRhel}});
  REQUIRE(digest.size() == 2);
  CHECK(digest[0].image.reference == "doca-driver@sha256:1f0c");
  const auto other = OnSystems(Wish("doca-driver:24.01-ubuntu20.04"), examples::NodeSystems{.known = {kRhel}});
  REQUIRE(other.size() == 1);
  CHECK(absl::StrContains(other[0].pods.refusal.message(), "not an image for rhel9.4"));
}

TEST_CASE("W29: the OFED driver has no DaemonSet until the operating system of a node is known") {
  CHECK(OnSystems(Wish("doca-driver:24.01"), std::nullopt).empty());
  const auto unknown = OnSystems(Wish("doca-driver:24.01"), examples::NodeSystems{});
  REQUIRE(unknown.size() == 1);
  CHECK(absl::StrContains(unknown[0].pods.refusal.message(), "install Node Feature Discovery"));
}

TEST_CASE("OFED driver pods stay off nodes with a driver pod of any DaemonSet, also of NVIDIA's operator") {
  const DriverDaemonSet set = Wish("doca-driver:24.01");
  CHECK(set.apart_from == DriverDaemonSet::PodLabel{"nvidia.com/ofed-driver", ""});
  CHECK(set.labels.contains("nvidia.com/ofed-driver"));
}

// An operator that is upgraded to this version must not roll out the drivers again.
TEST_CASE("the digest of an OFED driver's DaemonSet is the same as before driver pods had an anti-affinity") {
  const ofed_operator::NicClusterPolicy policy{.has_driver = true,
                                               .driver = examples::DriverImage{.reference = "doca-driver:24.01"}};
  const auto sets = OnSystems(ofed_operator::DriverSets(policy, {}, "net", "init:1").front(),
                              examples::NodeSystems{.known = {kUbuntu}});
  REQUIRE(sets.size() == 1);
  CHECK(examples::SpecDigest(sets.front()) == "49e50771f4e552c5");
}

}  // namespace
}  // namespace driverupgrade::tests
