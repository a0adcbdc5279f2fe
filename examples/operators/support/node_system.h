/// Determines the operating systems of nodes from labels of Node Feature Discovery, and recognizes image tags that
/// contain operating systems.
///
/// Defines NodeSystem, SystemOf, SystemsOf, NamesSystem and SystemUnknown.
///
///     const auto systems = SystemsOf(cache, nodes, {{"nvidia.com/gpu.deploy.driver", "true"}});
///
/// NVIDIA's operators append the operating system to `driver.version`: 550.54.15 becomes 550.54.15-ubuntu22.04. All
/// functions except SystemsOf are pure.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_NODE_SYSTEM_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_NODE_SYSTEM_H_

#include <compare>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "driverupgrade/label_selector.h"
#include "driverupgrade/watch_cache.h"

namespace examples {

/// Node labels set by Node Feature Discovery, and the kubelet's label with the processor architecture.
inline constexpr char kSystemIdLabel[] = "feature.node.kubernetes.io/system-os_release.ID";
inline constexpr char kSystemVersionLabel[] = "feature.node.kubernetes.io/system-os_release.VERSION_ID";
inline constexpr char kArchitectureLabel[] = "kubernetes.io/arch";

struct NodeSystem {
  /// `ubuntu`
  std::string id = {};
  /// `22.04`
  std::string version = {};
  /// `amd64`; empty if the node has no such label.
  std::string architecture = {};
  /// `ubuntu22.04`
  std::string Name() const { return id + version; }
  friend auto operator<=>(const NodeSystem&, const NodeSystem&) = default;
};

/// Returns the operating system of a node with these labels, or nullopt if Node Feature Discovery has not labeled the
/// node.
std::optional<NodeSystem> SystemOf(const driverupgrade::StringMap& labels);

struct NodeSystems {
  std::set<NodeSystem> known = {};
  /// Name of a node whose operating system is unknown; empty if there is no such node.
  std::string unlabelled_node = {};
};

/// Returns the operating systems of the nodes in `nodes` that have all of `labels`. Returns nullopt if the nodes have
/// not been read yet, or `cache` is null.
std::optional<NodeSystems> SystemsOf(const driverupgrade::WatchCache* cache, const std::set<std::string>& nodes,
                                     const driverupgrade::StringMap& labels);

/// Returns true if the image is named by its digest, or its tag ends in an operating system, with or without an
/// architecture: `550.54.15-ubuntu22.04`, `24.01-0.3.3.1.3-ubuntu22.04-amd64`.
bool NamesSystem(const std::string& image);

/// Returns an error that explains that the tag of `image` cannot be completed, because no node with `labels` has a
/// known operating system.
absl::Status SystemUnknown(const std::string& image, const driverupgrade::StringMap& labels);

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_NODE_SYSTEM_H_
