#include "gpu/decide.h"

#include <algorithm>
#include <tuple>

#include "fmt/format.h"

namespace gpu_operator {
namespace {

using driverupgrade::EngineSpec;
using driverupgrade::LabelSelector;

Decision ByDrivers(std::vector<NvidiaDriver> drivers, const DriverLabels& labels) {
  std::sort(drivers.begin(), drivers.end(),
            [](const NvidiaDriver& a, const NvidiaDriver& b) { return a.name < b.name; });
  Decision decision{.reason = drivers.empty() ? "there is no NVIDIADriver, and no ClusterPolicy that decides"
                                              : fmt::format("{} NVIDIADriver(s)", drivers.size())};
  for (const NvidiaDriver& driver : drivers) {
    decision.engines.push_back({.name = driver.name,
                                .driver_labels = labels.nvidia_driver,
                                .node_selector = LabelSelector::FromMatchLabels({{kOwnerLabel, driver.name}}),
                                .policy = driver.upgrade});
  }
  return decision;
}

}  // namespace

const ClusterPolicy* ActivePolicy(const std::vector<ClusterPolicy>& policies) {
  const auto active = std::min_element(policies.begin(), policies.end(), [](const auto& a, const auto& b) {
    return std::tie(a.created, a.name) < std::tie(b.created, b.name);
  });
  return active == policies.end() ? nullptr : &*active;
}

Decision Decide(const std::vector<ClusterPolicy>& policies, const std::vector<NvidiaDriver>& drivers,
                const DriverLabels& labels) {
  const ClusterPolicy* active = ActivePolicy(policies);
  // Before the sandbox, as the Go operator has it since 26.7.
  if (active == nullptr || active->use_nvidia_drivers) return ByDrivers(drivers, labels);
  if (active->sandbox) {
    return {.reason = fmt::format("ClusterPolicy {} has sandboxWorkloads.enabled", active->name)};
  }
  return {.engines = {{.driver_labels = labels.cluster_policy, .policy = active->upgrade}},
          .reason = fmt::format("ClusterPolicy {}", active->name)};
}

}  // namespace gpu_operator
