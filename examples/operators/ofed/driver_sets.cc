#include "ofed/driver_sets.h"

#include <utility>

#include "ofed/driver_wait.h"
#include "ofed/init_config.h"
#include "ofed/migration.h"

namespace ofed_operator {
namespace {

using examples::DriverDaemonSet;

// As NVIDIA's operator has them: the container says itself that it has loaded the driver, and is started anew if the
// module is no longer there.
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
                      .labels = {{"app", name}, {kOfedDriverLabel, ""}, {kOwnerLabel, owner}},
                      .own_labels = {{kFormatLabel, "1"}},
                      .node_selector = {{kNicLabel, "true"}},
                      .service_account = "ofed-driver",
                      .container = kDriverContainer,
                      .image = *resource.driver,
                      .probes = Probes(),
                      .pods = resource.pods,
                      .host_paths = {"/run/mellanox/drivers", "/", "/sys"},
                      .grace_period_seconds = resource.grace_period_seconds};
  if (!init_image.empty()) {
    set.init = {.name = "network-operator-init-container",
                .image = {.reference = init_image},
                // An image of several programs, of which none is its entry point.
                .command = {"/usr/bin/safe_load_init"},
                .args = {"--in-cluster", "--node-name=$(NODE_NAME)", "--configmap-namespace=$(OPERATOR_NAMESPACE)",
                         std::string("--configmap-name=") + kInitConfigMap}};
  }
  return set;
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

}  // namespace ofed_operator
