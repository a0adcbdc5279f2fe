#include "support/node_system.h"

#include <memory>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using examples::NamesSystem;
using examples::NodeSystem;
using examples::SystemOf;

TEST_CASE("W29: a node's operating system is read from the labels of Node Feature Discovery") {
  CHECK(SystemOf({{examples::kSystemIdLabel, "ubuntu"},
                  {examples::kSystemVersionLabel, "22.04"},
                  {examples::kArchitectureLabel, "arm64"}}) == NodeSystem{"ubuntu", "22.04", "arm64"});
  CHECK_FALSE(SystemOf({{examples::kSystemIdLabel, "ubuntu"}}));
  CHECK_FALSE(SystemOf({{examples::kSystemVersionLabel, "22.04"}}));
}

TEST_CASE("W29: an image that names its operating system, or its digest, is complete") {
  CHECK(NamesSystem("driver:550.54.15-ubuntu22.04"));
  CHECK(NamesSystem("driver:550.54.15-rhcos4.15"));
  CHECK(NamesSystem("driver:550.54.15-rocky9"));
  CHECK(NamesSystem("doca-driver:24.01-0.3.3.1.3-sl-micro6.0-arm64"));
  CHECK(NamesSystem("driver@sha256:1f0c"));
  CHECK_FALSE(NamesSystem("driver:550.54.15"));
  CHECK_FALSE(NamesSystem("driver:550.54.15-rc1"));
  CHECK_FALSE(NamesSystem("doca-driver:24.01-0.3.3.1.3"));
  CHECK_FALSE(NamesSystem("doca-driver:ubuntu22.04-24.10"));
}

TEST_CASE("W29: the operating systems of the nodes that a DaemonSet selects are known once the nodes have been read") {
  const auto clock = std::make_shared<testing::FakeClock>();
  const auto cluster =
      std::make_shared<testing::FakeCluster>(clock, testing::FakeClusterOptions{.watches_follow = false});
  const auto add = [&](const std::string& name, const std::string& gpu, const std::string& id) {
    cluster->AddNode(testing::NodeBuilder(name)
                         .WithLabel("gpu", gpu)
                         .WithLabel(id.empty() ? "none" : examples::kSystemIdLabel, id)
                         .WithLabel(examples::kSystemVersionLabel, "9")
                         .Build());
  };
  add("a", "true", "rhel");
  add("b", "true", "rhel");
  add("c", "false", "ubuntu");
  add("d", "true", "");
  const auto cache = *WatchCache::Create(
      cluster, {.drivers = {{.ns = "gpu", .driver_labels = LabelSelector::FromMatchLabels({{"app", "driver"}})}},
                .clock = clock});
  const std::set<std::string> names = {"a", "b", "c", "d", "gone"};
  CHECK_FALSE(examples::SystemsOf(nullptr, names, {{"gpu", "true"}}));
  CHECK_FALSE(examples::SystemsOf(cache.get(), names, {{"gpu", "true"}}));
  cache->Turn({});
  const auto systems = examples::SystemsOf(cache.get(), names, {{"gpu", "true"}});
  CHECK(systems->known == std::set<NodeSystem>{{"rhel", "9", ""}});
  CHECK(systems->unlabelled_node == "d");
  CHECK(examples::SystemsOf(cache.get(), names, {{"gpu", "maybe"}})->known.empty());
  CHECK(examples::SystemsOf(cache.get(), names, {{"gpu", "false"}})->unlabelled_node.empty());
}

}  // namespace
}  // namespace driverupgrade::tests
