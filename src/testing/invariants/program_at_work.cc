#include "testing/invariants/program_at_work.h"

#include <string_view>

#include "model/node_service.h"

namespace driverupgrade::testing::internal {

std::string ProgramAtWork(const Node& node) {
  if (!node.unschedulable) return "";
  const auto value = [&](const char* key) {
    const auto found = node.annotations.find(key);
    return found == node.annotations.end() ? std::string_view() : std::string_view(found->second);
  };
  const auto has = [&](const char* key) { return node.annotations.contains(key); };
  if (has("quarantineHealthEventIsCordoned") && !has("quarantinedNodeUncordonedManually") &&
      !has("quarantineHealthEventDryRun")) {
    return "NVSentinel";
  }
  const std::string_view config = value("machineconfiguration.openshift.io/state");
  if (config == "Working" || config == "Rebooting" ||
      value("machineconfiguration.openshift.io/desiredDrain").starts_with("drain-")) {
    return "the Machine Config Operator";
  }
  if (::driverupgrade::internal::IsConfiguredBySriov(node)) return "the SR-IOV network operator";
  const auto label = node.labels.find("network.nvidia.com/operator.nic-configuration.wait");
  return label != node.labels.end() && label->second == "true" ? "the NIC configuration operator" : "";
}

}  // namespace driverupgrade::testing::internal
