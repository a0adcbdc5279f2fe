#include "driver_manager/operand_labels.h"

#include <string>
#include <vector>

#include "driverupgrade/testing/builders.h"
#include "support/catch.h"

namespace driver_manager {
namespace {

using driverupgrade::Node;
using driverupgrade::testing::NodeBuilder;

TEST_CASE("pausing changes the value of a label") {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", ""},
      {"false", "false"},
      {"true", "paused-for-driver-upgrade"},
      {"paused-for-driver-upgrade", "paused-for-driver-upgrade"},
      {"custom_paused-for-driver-upgrade", "custom_paused-for-driver-upgrade"},
      {"custom", "custom_paused-for-driver-upgrade"},
      {"my_own_", "my_own__paused-for-driver-upgrade"},
  };
  for (const auto& [value, paused] : table) {
    INFO(value);
    CHECK(Pause(value) == paused);
    CHECK(Pause(paused) == paused);
  }
}

TEST_CASE("resuming changes the value of a label") {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", ""},
      {"false", "false"},
      {"true", "true"},
      {"paused-for-driver-upgrade", "true"},
      {"custom_paused-for-driver-upgrade", "custom"},
      {"my_own_paused-for-driver-upgrade", "my_own"},
      {"paused-for-driver-upgrade_custom", "custom"},
      {"a_paused-for-driver-upgrade_paused-for-driver-upgrade", "a"},
      {"paused-for-driver-upgrade_paused-for-driver-upgrade", "true"},
      {"_never_paused_", "_never_paused_"},
  };
  for (const auto& [value, resumed] : table) {
    INFO(value);
    CHECK(Resume(value) == resumed);
  }
}

TEST_CASE("resuming undoes pausing") {
  for (const char* value : {"", "false", "true", "custom", "my_own", "on.demand"}) {
    INFO(value);
    CHECK(Resume(Pause(value)) == value);
  }
}

TEST_CASE("the kubelet plugin is paused separately, and resumed with the other operands") {
  Node node = NodeBuilder("gpu-7")
                  .WithLabel("nvidia.com/gpu.deploy.dcgm", "true")
                  .WithLabel(kKubeletPluginLabel, "true")
                  .WithLabel("example.com/client", "true")
                  .WithLabel(kDriverLabel, "true")
                  .Build();
  const Node before = node;
  node = Patched(node, PauseOperands(node, "example.com/client"));
  CHECK(node.labels["nvidia.com/gpu.deploy.dcgm"] == "paused-for-driver-upgrade");
  CHECK(node.labels["example.com/client"] == "paused-for-driver-upgrade");
  CHECK(node.labels[kKubeletPluginLabel] == "true");
  CHECK(node.labels[kDriverLabel] == "true");
  CHECK(PauseOperands(node, "example.com/client").empty());
  node = Patched(node, PauseKubeletPlugin(node));
  CHECK(node.labels[kKubeletPluginLabel] == "paused-for-driver-upgrade");
  CHECK(Patched(node, ResumeAll(node, "example.com/client")).labels == before.labels);
}

TEST_CASE("some operands are awaited only if their label is set") {
  const Node plain = NodeBuilder("gpu-7").WithLabel("nvidia.com/gpu.deploy.mig-manager", "").Build();
  const Node mig = NodeBuilder("gpu-7").WithLabel("nvidia.com/gpu.deploy.mig-manager", "true").Build();
  CHECK(AwaitedApps(plain).size() == 8);
  CHECK(AwaitedApps(mig).size() == 9);
  CHECK(AwaitedApps(mig).back() == "nvidia-mig-manager");
}

}  // namespace
}  // namespace driver_manager
