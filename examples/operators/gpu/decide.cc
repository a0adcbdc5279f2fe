#include "gpu/decide.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "fmt/format.h"
#include "gpu/driver_sets.h"
#include "support/custom_policy.h"

namespace gpu_operator {
namespace {

using driverupgrade::EngineSpec;
using driverupgrade::LabelSelector;

constexpr char kNotUnderstood[] = "the policy is not valid: its condition UpgradePolicyValid shows the reason";

template <typename Resource>
driverupgrade::UpgradePolicy PolicyOf(const Resource& resource) {
  driverupgrade::UpgradePolicy policy = resource.upgrade;
  if (!resource.understood) policy.frozen_because = kNotUnderstood;
  return policy;
}

// Returns a selector for the nodes that none of `drivers` owns.
LabelSelector OfNobody(const std::vector<NvidiaDriver>& drivers) {
  if (drivers.empty()) return {};
  LabelSelector::Requirement others{.key = kOwnerLabel, .op = LabelSelector::Operator::kNotIn};
  for (const NvidiaDriver& driver : drivers) others.values.push_back(driver.name);
  // An NVIDIADriver whose name is not a valid label value cannot own a node. Such a name also makes the selector
  // invalid, so no node is released.
  return LabelSelector::FromRequirements({std::move(others)}).value_or(LabelSelector::Nothing());
}

Decision ByDrivers(std::vector<NvidiaDriver> drivers, const DriverLabels& labels) {
  std::sort(drivers.begin(), drivers.end(),
            [](const NvidiaDriver& a, const NvidiaDriver& b) { return a.name < b.name; });
  Decision decision{.reason = drivers.empty() ? "there is no NVIDIADriver, and no ClusterPolicy in effect"
                                              : fmt::format("{} NVIDIADriver(s)", drivers.size())};
  for (const NvidiaDriver& driver : drivers) {
    decision.engines.push_back(
        {.name = driver.name,
         .driver_labels = labels.nvidia_driver,
         .node_selector = LabelSelector::FromMatchLabels({{kOwnerLabel, driver.name}}),
         .policy = PolicyOf(driver),
         .policy_resource = examples::PolicyResource(kNvidiaDrivers, driver.name, "spec.upgradePolicy")});
  }
  // If an NVIDIADriver has never been valid, its nodes are unknown, and no node may be released.
  const bool all_understood =
      std::all_of(drivers.begin(), drivers.end(), [](const NvidiaDriver& driver) { return driver.understood; });
  if (all_understood) decision.gone = {{.driver_labels = labels.nvidia_driver, .node_selector = OfNobody(drivers)}};
  decision.daemon_sets = DriverSets(drivers, "");
  for (examples::DriverDaemonSet& set : decision.daemon_sets) set.driver_labels = labels.nvidia_driver;
  decision.nodes = {.by_owners = true, .owners = std::move(drivers)};
  return decision;
}

}  // namespace

const ClusterPolicy* ActivePolicy(const std::vector<ClusterPolicy>& policies) {
  const auto active = std::min_element(policies.begin(), policies.end(), [](const auto& a, const auto& b) {
    return std::tie(a.created, a.name) < std::tie(b.created, b.name);
  });
  return active == policies.end() ? nullptr : &*active;
}

namespace {

Decision DecideEngines(const ClusterPolicy* active, const std::vector<NvidiaDriver>& drivers,
                       const DriverLabels& labels) {
  // `use_nvidia_drivers` takes precedence over the sandbox, as in the Go operator since 26.7.
  if (active == nullptr || active->use_nvidia_drivers) return ByDrivers(drivers, labels);
  Decision decision{.reason = fmt::format("ClusterPolicy {}", active->name)};
  for (const NvidiaDriver& driver : drivers) {
    decision.idle_drivers[driver.name] =
        fmt::format("ClusterPolicy {} is in effect: its spec.driver.useNvidiaDriverCRD is off", active->name);
  }
  if (active->sandbox) {
    decision.reason += " has sandboxWorkloads.enabled";
    decision.idle_policies[active->name] = "spec.sandboxWorkloads.enabled: no driver is upgraded";
    return decision;
  }
  const bool toolkit = active->uses_toolkit && !labels.toolkit.empty();
  if (!active->has_driver) {
    decision.reason += " has driver.enabled: false";
    decision.gone = {{.driver_labels = toolkit ? labels.toolkit : labels.cluster_policy}};
    return decision;
  }
  decision.engines = {
      {.driver_labels = toolkit ? labels.toolkit : labels.cluster_policy,
       .policy = PolicyOf(*active),
       .policy_resource = examples::PolicyResource(kClusterPolicies, active->name, "spec.driver.upgradePolicy")}};
  decision.nodes.upgraded = active->upgrade.auto_upgrade;
  decision.daemon_sets = DriverSets(*active, "");
  for (examples::DriverDaemonSet& set : decision.daemon_sets) {
    set.driver_labels = decision.engines.front().driver_labels;
  }
  return decision;
}

}  // namespace

Decision Decide(const std::vector<ClusterPolicy>& policies, const std::vector<NvidiaDriver>& drivers,
                const DriverLabels& labels) {
  const ClusterPolicy* active = ActivePolicy(policies);
  Decision decision = DecideEngines(active, drivers, labels);
  if (active == nullptr) return decision;
  decision.active = active->name;
  for (const ClusterPolicy& policy : policies) {
    if (policy.name == active->name) continue;
    decision.idle_policies[policy.name] = fmt::format("ClusterPolicy {} is in effect", active->name);
  }
  if (active->use_nvidia_drivers) {
    decision.idle_policies[active->name] = "spec.driver.useNvidiaDriverCRD: the policies of the NVIDIADrivers apply";
  }
  return decision;
}

}  // namespace gpu_operator
