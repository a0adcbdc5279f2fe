#include "ofed/driver_owners.h"

#include <algorithm>

#include "fmt/format.h"
#include "ofed/migration.h"

namespace ofed_operator {

using driverupgrade::Node;
using driverupgrade::Pod;

std::optional<std::string> WhyOwnerless(const Node& node, const std::vector<Pod>& driver_pods,
                                        const std::vector<DriverOwner>& owners) {
  const Pod* ownerless = nullptr;
  for (const Pod& pod : driver_pods) {
    if (pod.deletion_timestamp) continue;
    const bool owned = std::any_of(owners.begin(), owners.end(), [&](const DriverOwner& owner) {
      return owner.driver_labels.Matches(pod.labels) && owner.node_selector.Matches(node.labels);
    });
    if (owned) return std::nullopt;
    ownerless = &pod;
  }
  if (ownerless == nullptr) return std::nullopt;
  const auto label = ownerless->labels.find(kOwnerLabel);
  return fmt::format(
      "node {} has a driver pod {}, but no policy with a driver applies to the node, so the driver is not upgraded",
      node.name,
      label == ownerless->labels.end() ? fmt::format("without the label {}", kOwnerLabel)
                                       : fmt::format("labeled {}={}", kOwnerLabel, label->second));
}

}  // namespace ofed_operator
