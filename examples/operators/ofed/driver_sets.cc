#include "ofed/driver_sets.h"

#include <utility>

#include "fmt/format.h"
#include "ofed/driver_wait.h"
#include "ofed/init_config.h"
#include "ofed/migration.h"

namespace ofed_operator {
namespace {

using examples::DriverDaemonSet;
using examples::NodeSystem;

// Returns the probes that NVIDIA's operator uses: the container itself reports that it has loaded the driver, and is
// restarted if the module is no longer loaded.
std::vector<examples::DriverProbe> Probes() {
  const std::string is_loaded = "lsmod | grep mlx5_core";
  return {{.kind = "startupProbe",
           .command = "ls /.driver-ready",
           .times = {{"initialDelaySeconds", 10}, {"periodSeconds", 20}, {"failureThreshold", 60}}},
          {.kind = "readinessProbe",
           .command = is_loaded,
           .times = {{"initialDelaySeconds", 10}, {"periodSeconds", 30}, {"failureThreshold", 1}}},
          {.kind = "livenessProbe",
           .command = is_loaded,
           .times = {{"initialDelaySeconds", 30}, {"periodSeconds", 30}, {"failureThreshold", 1}}}};
}

template <typename Resource>
DriverDaemonSet SetOf(const std::string& ns, const std::string& name, const std::string& owner,
                      const Resource& resource, const std::string& init_image) {
  DriverDaemonSet set{.ns = ns,
                      .name = name,
                      .made_of = resource.name,
                      .labels = {{kOfedDriverLabel, ""}, {kOwnerLabel, owner}},
                      .own_labels = {{kFormatLabel, "1"}},
                      .node_selector = {{kNicLabel, "true"}},
                      .service_account = "ofed-driver",
                      .container = kDriverContainer,
                      .image = *resource.driver,
                      .probes = Probes(),
                      .pods = resource.pods,
                      .host_paths = {"/run/mellanox/drivers", "/", "/sys"},
                      .grace_period_seconds = resource.grace_period_seconds};
  set.driver_labels = driverupgrade::LabelSelector::FromMatchLabels(set.labels);
  set.apart_from = {.key = kOfedDriverLabel};
  if (!init_image.empty()) {
    set.init = {.name = "network-operator-init-container",
                .image = {.reference = init_image},
                // The image contains several programs, and none of them is its entry point.
                .command = {"/usr/bin/safe_load_init"},
                .args = {"--in-cluster", "--node-name=$(NODE_NAME)", "--configmap-namespace=$(OPERATOR_NAMESPACE)",
                         std::string("--configmap-name=") + kInitConfigMap}};
  }
  return set;
}

DriverDaemonSet OnSystem(DriverDaemonSet set, const NodeSystem& system) {
  const std::string architecture = system.architecture.empty() ? "" : "-" + system.architecture;
  if (!examples::NamesSystem(set.image.reference)) set.image.reference += "-" + system.Name() + architecture;
  set.name += "-" + system.Name() + architecture;
  set.labels["app"] = "mofed-" + system.Name();
  set.node_selector[examples::kSystemIdLabel] = system.id;
  set.node_selector[examples::kSystemVersionLabel] = system.version;
  if (architecture.empty()) return set;
  set.labels[examples::kArchitectureLabel] = system.architecture;
  set.node_selector[examples::kArchitectureLabel] = system.architecture;
  return set;
}

// Returns true unless the image tag ends in another operating system.
bool IsFor(const std::string& image, const NodeSystem& system) {
  if (!examples::NamesSystem(image) || image.find("@sha256:") != std::string::npos) return true;
  const std::string ending = "-" + system.Name();
  return image.ends_with(ending) || image.ends_with(ending + "-" + system.architecture);
}

}  // namespace

std::vector<DriverDaemonSet> DriverSets(const NicClusterPolicy& cluster, const std::vector<NicNodePolicy>& nodes,
                                        const std::string& ns, const std::string& init_image) {
  if (cluster.has_driver) {
    if (!cluster.driver) return {};
    return {SetOf(ns, "mofed", kOwner, cluster, init_image)};
  }
  std::vector<DriverDaemonSet> sets;
  for (const NicNodePolicy& node : nodes) {
    if (!node.driver) continue;
    sets.push_back(SetOf(ns, "mofed-nnp-" + node.name, "nnp-" + node.name, node, init_image));
    sets.back().node_selector.insert(node.node_labels.begin(), node.node_labels.end());
  }
  return sets;
}

std::vector<DriverDaemonSet> OnSystems(const DriverDaemonSet& set,
                                       const std::optional<examples::NodeSystems>& systems) {
  if (!set.pods.refusal.ok()) return {set};
  if (!systems) return {};
  std::vector<DriverDaemonSet> sets;
  for (const NodeSystem& system : systems->known) {
    if (IsFor(set.image.reference, system)) sets.push_back(OnSystem(set, system));
  }
  if (!sets.empty()) return sets;
  DriverDaemonSet refused = set;
  refused.pods.refusal =
      systems->known.empty()
          ? examples::SystemUnknown(set.image.reference, set.node_selector)
          : absl::FailedPreconditionError(fmt::format("{} is not an image for {}, which its nodes run",
                                                      set.image.reference, systems->known.begin()->Name()));
  return {std::move(refused)};
}

}  // namespace ofed_operator
