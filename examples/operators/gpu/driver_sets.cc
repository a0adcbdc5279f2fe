#include "gpu/driver_sets.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "gpu/node_marks.h"

namespace gpu_operator {
namespace {

using examples::DriverDaemonSet;
using examples::DriverImage;

// What the author of the policy does not say: pods are evicted where no operator does, and nodes are not drained.
DriverImage WithDefaults(DriverImage manager) {
  for (const auto& [name, value] :
       {std::pair("ENABLE_GPU_POD_EVICTION", "true"), std::pair("ENABLE_AUTO_DRAIN", "false")}) {
    const bool is_set = std::any_of(manager.env.begin(), manager.env.end(),
                                    [&, &wanted = name](const auto& variable) { return variable.first == wanted; });
    if (!is_set) manager.env.emplace_back(name, value);
  }
  return manager;
}

DriverDaemonSet SetOf(const std::string& ns, const std::string& name, const DriverImage& image,
                      const std::optional<DriverImage>& manager) {
  DriverDaemonSet set{.ns = ns,
                      .name = name,
                      .labels = {{"app", name}, {"app.kubernetes.io/component", "nvidia-driver"}},
                      .node_selector = {{"nvidia.com/gpu.deploy.driver", "true"}},
                      .service_account = "nvidia-driver",
                      .container = "nvidia-driver-ctr",
                      .image = image,
                      .args = {"init"},
                      .host_paths = {"/run/nvidia", "/run/mellanox/drivers", "/", "/sys"}};
  if (manager) {
    set.init = {.name = "k8s-driver-manager", .image = WithDefaults(*manager), .args = {"uninstall_driver"}};
  }
  return set;
}

}  // namespace

std::vector<DriverDaemonSet> DriverSets(const ClusterPolicy& policy, const std::string& ns) {
  if (!policy.driver) return {};
  return {SetOf(ns, "nvidia-driver-daemonset", *policy.driver, policy.manager)};
}

std::vector<DriverDaemonSet> DriverSets(const std::vector<NvidiaDriver>& drivers, const std::string& ns) {
  std::vector<DriverDaemonSet> sets;
  for (const NvidiaDriver& driver : drivers) {
    if (!driver.driver || driver.deleting) continue;
    sets.push_back(SetOf(ns, "nvidia-driver-" + driver.name, *driver.driver, driver.manager));
    sets.back().node_selector[kOwnerLabel] = driver.name;
  }
  return sets;
}

}  // namespace gpu_operator
