#include "gpu/driver_sets.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "gpu/node_marks.h"

namespace gpu_operator {
namespace {

using examples::DriverDaemonSet;
using examples::DriverImage;

// Label of the driver's pods, which NVIDIA's operator sets, too.
constexpr char kComponentLabel[] = "app.kubernetes.io/component";
constexpr char kDriverComponent[] = "nvidia-driver";

// Adds defaults for settings that the policy does not contain: the driver manager evicts pods if no operator does, and
// does not drain nodes.
DriverImage WithDefaults(DriverImage manager) {
  for (const auto& [name, value] :
       {std::pair("ENABLE_GPU_POD_EVICTION", "true"), std::pair("ENABLE_AUTO_DRAIN", "false")}) {
    const bool is_set = std::any_of(manager.env.begin(), manager.env.end(),
                                    [&, &wanted = name](const auto& variable) { return variable.name == wanted; });
    if (!is_set) manager.env.push_back({.name = name, .value = value});
  }
  return manager;
}

// Allows twenty minutes, as NVIDIA's operator does, because a driver may be compiled on the node.
examples::DriverProbe StartupProbe() {
  return {
      .kind = "startupProbe",
      .command = "test -f /sys/module/nvidia/refcnt && nvidia-smi",
      .times = {{"initialDelaySeconds", 60}, {"timeoutSeconds", 60}, {"periodSeconds", 10}, {"failureThreshold", 120}}};
}

// NVIDIA publishes a single image for all minor versions of Rocky Linux, and of RHEL from version 10 on.
std::string TagOf(const examples::NodeSystem& system) {
  const std::string major = system.version.substr(0, system.version.find('.'));
  int number = 0;
  const bool is_major_only =
      system.id == "rocky" || (system.id == "rhel" && absl::SimpleAtoi(major, &number) && number >= 10);
  return system.id + (is_major_only ? major : system.version);
}

template <typename Resource>
DriverDaemonSet SetOf(const std::string& ns, const std::string& name, const Resource& resource) {
  DriverDaemonSet set{.ns = ns,
                      .name = name,
                      .made_of = resource.name,
                      .labels = {{"app", name}, {kComponentLabel, kDriverComponent}},
                      .node_selector = {{"nvidia.com/gpu.deploy.driver", "true"}},
                      .service_account = "nvidia-driver",
                      .container = "nvidia-driver-ctr",
                      .image = *resource.driver,
                      .args = {"init"},
                      .probes = {StartupProbe()},
                      .pods = resource.pods,
                      .host_paths = {"/run/nvidia", "/run/mellanox/drivers", "/", "/sys"}};
  // Some releases of NVIDIA's validation pods wait for this file even if another operator has created the DaemonSet.
  set.ready_file = "/run/nvidia/validations/.driver-ctr-ready";
  set.apart_from = {.key = kComponentLabel, .value = kDriverComponent};
  if (resource.manager) {
    set.init = {.name = "k8s-driver-manager", .image = WithDefaults(*resource.manager), .args = {"uninstall_driver"}};
  }
  return set;
}

}  // namespace

std::vector<DriverDaemonSet> DriverSets(const ClusterPolicy& policy, const std::string& ns) {
  if (!policy.driver) return {};
  return {SetOf(ns, "nvidia-driver-daemonset", policy)};
}

std::vector<DriverDaemonSet> DriverSets(const std::vector<NvidiaDriver>& drivers, const std::string& ns) {
  std::vector<DriverDaemonSet> sets;
  for (const NvidiaDriver& driver : drivers) {
    if (!driver.driver || driver.deleting) continue;
    sets.push_back(SetOf(ns, "nvidia-driver-" + driver.name, driver));
    sets.back().node_selector[kOwnerLabel] = driver.name;
  }
  return sets;
}

std::vector<DriverDaemonSet> OnSystems(DriverDaemonSet set, const std::optional<examples::NodeSystems>& systems) {
  if (!set.pods.refusal.ok() || examples::NamesSystem(set.image.reference)) return {std::move(set)};
  if (!systems) return {};
  std::set<std::string> tags;
  for (const examples::NodeSystem& system : systems->known) tags.insert(TagOf(system));
  if (tags.empty()) {
    set.pods.refusal = examples::SystemUnknown(set.image.reference, set.node_selector);
  } else if (tags.size() > 1) {
    set.pods.refusal = absl::FailedPreconditionError(fmt::format(
        "its nodes have several operating systems ({}), but {} is a single image: create an NVIDIADriver with a "
        "nodeSelector for each of them",
        fmt::join(tags, ", "), set.image.reference));
  } else {
    set.system = *tags.begin();
    set.unlabelled_node = systems->unlabelled_node;
    set.image.reference += "-" + set.system;
  }
  return {std::move(set)};
}

}  // namespace gpu_operator
