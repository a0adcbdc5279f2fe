#include "ofed/driver_sets.h"

#include <utility>

#include "ofed/driver_wait.h"
#include "ofed/init_config.h"
#include "ofed/migration.h"

namespace ofed_operator {
namespace {

using examples::DriverDaemonSet;

constexpr int kGracePeriodSeconds = 300;

DriverDaemonSet SetOf(const std::string& ns, const std::string& name, const std::string& owner,
                      const examples::DriverImage& image, const std::string& init_image) {
  DriverDaemonSet set{.ns = ns,
                      .name = name,
                      .labels = {{"app", name}, {kOfedDriverLabel, ""}, {kOwnerLabel, owner}},
                      .own_labels = {{kFormatLabel, "1"}},
                      .node_selector = {{kNicLabel, "true"}},
                      .service_account = "ofed-driver",
                      .container = kDriverContainer,
                      .image = image,
                      .host_paths = {"/run/mellanox/drivers", "/", "/sys"},
                      .grace_period_seconds = kGracePeriodSeconds};
  if (!init_image.empty()) {
    set.init = {.name = "network-operator-init-container",
                .image = {.reference = init_image},
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
    return {SetOf(ns, "mofed", kOwner, *cluster.driver, init_image)};
  }
  std::vector<DriverDaemonSet> sets;
  for (const NicNodePolicy& node : nodes) {
    if (!node.driver) continue;
    sets.push_back(SetOf(ns, "mofed-nnp-" + node.name, "nnp-" + node.name, *node.driver, init_image));
    sets.back().node_selector.insert(node.node_labels.begin(), node.node_labels.end());
  }
  return sets;
}

}  // namespace ofed_operator
