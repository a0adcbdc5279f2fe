#include "support/node_system.h"

#include <memory>
#include <regex>

#include "fmt/format.h"

namespace examples {
namespace {

using driverupgrade::LabelSelector;
using driverupgrade::StringMap;

std::string ValueOf(const StringMap& labels, const char* key) {
  const auto found = labels.find(key);
  return found == labels.end() ? std::string() : found->second;
}

}  // namespace

std::optional<NodeSystem> SystemOf(const StringMap& labels) {
  NodeSystem system{.id = ValueOf(labels, kSystemIdLabel),
                    .version = ValueOf(labels, kSystemVersionLabel),
                    .architecture = ValueOf(labels, kArchitectureLabel)};
  if (system.id.empty() || system.version.empty()) return std::nullopt;
  return system;
}

std::optional<NodeSystems> SystemsOf(const driverupgrade::WatchCache* cache, const std::set<std::string>& nodes,
                                     const StringMap& labels) {
  if (cache == nullptr || !cache->Synced()) return std::nullopt;
  const LabelSelector selector = LabelSelector::FromMatchLabels(labels);
  NodeSystems systems;
  for (const std::string& name : nodes) {
    const std::shared_ptr<const driverupgrade::Node> node = cache->FindNode(name);
    if (!node || !selector.Matches(node->labels)) continue;
    if (auto system = SystemOf(node->labels)) {
      systems.known.insert(*std::move(system));
    } else {
      systems.unlabelled_node = name;
    }
  }
  return systems;
}

bool NamesSystem(const std::string& image) {
  if (image.find("@sha256:") != std::string::npos) return true;
  // Matches only values that ID has in /etc/os-release, because a version can also end in other words, such as `-rc1`.
  static const std::regex kEnding(
      "-(almalinux|amzn|azurelinux|centos|cos|debian|fedora|flatcar|ol|photon|rhcos|rhel|rocky|sl-micro|sle-micro|sles|"
      "ubuntu)[0-9][0-9.]*(-(amd64|arm64|x86_64|aarch64))?$");
  return std::regex_search(image, kEnding);
}

absl::Status SystemUnknown(const std::string& image, const StringMap& labels) {
  return absl::FailedPreconditionError(fmt::format(
      "the tag of {} must end in the operating system of the nodes, and no node with the labels {} has the labels {} "
      "and {}: install Node Feature Discovery, or write the whole tag as the version, such as 550.54.15-ubuntu22.04",
      image, LabelSelector::FromMatchLabels(labels).ToString(), kSystemIdLabel, kSystemVersionLabel));
}

}  // namespace examples
