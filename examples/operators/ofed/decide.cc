#include "ofed/decide.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "fmt/format.h"
#include "ofed/migration.h"
#include "ofed/stray_claims.h"
#include "support/custom_policy.h"

namespace ofed_operator {
namespace {

using driverupgrade::EngineSpec;
using driverupgrade::LabelSelector;
using driverupgrade::StringMap;
using driverupgrade::UpgradePolicy;
// Maximum length of a policy name: a label value has at most 63 characters, and `nnp-` takes four.
constexpr std::size_t kNameMax = 59;
constexpr std::size_t kChoicesMax = 64;
constexpr char kSection[] = "spec.ofedDriver.upgradePolicy";
constexpr char kNotUnderstood[] = "the policy is not valid: its condition UpgradePolicyValid shows the reason";

using Requirements = std::vector<LabelSelector::Requirement>;

Requirements WithoutOwner(const LabelSelector& labels) {
  Requirements requirements = labels.requirements();
  std::erase_if(requirements, [](const auto& requirement) { return requirement.key == kOwnerLabel; });
  return requirements;
}

// FromRequirements cannot fail, because the requirements come from the library or from a parsed selector.
LabelSelector Selector(Requirements requirements) {
  return LabelSelector::FromRequirements(std::move(requirements)).value_or(LabelSelector::Nothing());
}

LabelSelector OfOwner(const LabelSelector& labels, const std::string& owner) {
  Requirements requirements = WithoutOwner(labels);
  requirements.push_back({.key = kOwnerLabel, .op = LabelSelector::Operator::kIn, .values = {owner}});
  return Selector(std::move(requirements));
}

// Returns true if a node could have all labels of both maps.
bool MayMeet(const StringMap& a, const StringMap& b) {
  return std::none_of(a.begin(), a.end(), [&](const auto& label) {
    const auto other = b.find(label.first);
    return other != b.end() && other->second != label.second;
  });
}

// Returns selectors for the nodes that none of the policies in `nodes` selects. Such a node lacks at least one label of
// each policy, so there is a selector, possibly overlapping others, for each choice of labels. Beyond kChoicesMax
// choices, only the first label of each further policy is considered: the selectors then miss some of these nodes, but
// still select no owned node.
std::vector<LabelSelector> OfNobody(const std::vector<NicNodePolicy>& nodes) {
  std::vector<Requirements> choices = {{}};
  for (const NicNodePolicy& node : nodes) {
    if (node.node_labels.empty()) return {};
    const bool all = choices.size() * node.node_labels.size() <= kChoicesMax;
    std::vector<Requirements> more;
    for (const auto& [key, value] : node.node_labels) {
      for (Requirements choice : choices) {
        choice.push_back({.key = key, .op = LabelSelector::Operator::kNotIn, .values = {value}});
        more.push_back(std::move(choice));
      }
      if (!all) break;
    }
    choices = std::move(more);
  }
  std::vector<LabelSelector> selectors;
  for (Requirements& choice : choices) selectors.push_back(Selector(std::move(choice)));
  return selectors;
}

std::vector<EngineSpec> GoneOf(const std::vector<NicNodePolicy>& nodes, const LabelSelector& driver_labels) {
  std::vector<EngineSpec> gone;
  for (LabelSelector& selector : OfNobody(nodes)) {
    gone.push_back({.driver_labels = OfAnyOwner(driver_labels), .node_selector = std::move(selector)});
  }
  return gone;
}

bool IsAmong(const std::vector<NicNodePolicy>& nodes, const std::string& name) {
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](const NicNodePolicy& node) { return node.name == name && node.has_driver; });
}

EngineSpec EngineOf(const NicNodePolicy& node, const LabelSelector& driver_labels) {
  return {.name = node.name,
          .driver_labels = OfOwner(driver_labels, "nnp-" + node.name),
          .node_selector = LabelSelector::FromMatchLabels(node.node_labels),
          .requestor_suffix = RequestorSuffix(node.name),
          .policy = node.upgrade,
          .policy_resource = examples::PolicyResource(kNicNodePolicies, node.name, kSection)};
}

std::vector<DriverOwner> OwnersOf(const std::vector<EngineSpec>& engines) {
  std::vector<DriverOwner> owners;
  for (const EngineSpec& engine : engines) owners.push_back({engine.driver_labels, engine.node_selector});
  return owners;
}

Decision ByNodes(const std::vector<NicNodePolicy>& nodes, const LabelSelector& driver_labels) {
  Decision decision;
  std::vector<const NicNodePolicy*> taken;
  UpgradePolicy all{.auto_upgrade = true, .safe_load = true};
  for (const NicNodePolicy& node : nodes) {
    if (node.name.size() > kNameMax) {
      decision.refused[node.name] = absl::InvalidArgumentError(
          fmt::format("metadata.name: the label {} of the DaemonSet can contain at most {} characters of the name",
                      kOwnerLabel, kNameMax));
      continue;
    }
    const auto other = std::find_if(taken.begin(), taken.end(),
                                    [&](const auto* one) { return MayMeet(one->node_labels, node.node_labels); });
    if (other != taken.end()) {
      decision.refused[node.name] = absl::InvalidArgumentError(
          fmt::format("spec.nodeSelector: could select the same nodes as NicNodePolicy {}", (*other)->name));
      continue;
    }
    taken.push_back(&node);
    all.auto_upgrade = all.auto_upgrade && node.upgrade.auto_upgrade;
    all.safe_load = all.safe_load && node.upgrade.safe_load;
    decision.engines.push_back(EngineOf(node, driver_labels));
  }
  decision.init_config = all;
  return decision;
}

}  // namespace

Decision Decide(const NicClusterPolicy& cluster, std::vector<NicNodePolicy> nodes, const LabelSelector& driver_labels) {
  const bool all_understood =
      cluster.understood && std::all_of(nodes.begin(), nodes.end(), [](const auto& node) { return node.understood; });
  std::erase_if(nodes, [](const NicNodePolicy& node) { return !node.has_driver; });
  std::sort(nodes.begin(), nodes.end(), [](const NicNodePolicy& a, const NicNodePolicy& b) {
    return std::tie(a.created, a.name) < std::tie(b.created, b.name);
  });
  const std::vector<EngineSpec> gone = GoneOf(nodes, driver_labels);
  if (!cluster.has_driver && !nodes.empty()) {
    Decision decision = ByNodes(nodes, driver_labels);
    if (all_understood) decision.gone = gone;
    if (all_understood) decision.owners = OwnersOf(decision.engines);
    return decision;
  }
  // If no policy has a driver, a frozen engine runs, because the wait label must stay correct (dep-F9).
  Decision decision{.engines = {{.driver_labels = driver_labels, .policy = cluster.upgrade}}};
  if (!cluster.understood) {
    decision.engines.front().policy.frozen_because = kNotUnderstood;
  } else if (!cluster.has_driver) {
    decision.engines.front().policy.frozen_because = "there is no policy with a driver";
  }
  if (cluster.has_driver) decision.init_config = cluster.upgrade;
  // A policy from a file has no name.
  if (cluster.has_driver && !cluster.name.empty()) {
    decision.engines.front().policy_resource = examples::PolicyResource(kNicClusterPolicies, cluster.name, kSection);
  }
  if (!cluster.has_driver && all_understood) decision.gone = gone;
  if (all_understood) decision.owners = OwnersOf(cluster.has_driver ? decision.engines : std::vector<EngineSpec>());
  for (const NicNodePolicy& node : nodes) {
    decision.refused[node.name] = absl::InvalidArgumentError(
        fmt::format("spec.ofedDriver: NicClusterPolicy {} already has a driver for all nodes", kPolicyName));
  }
  return decision;
}

void AddDeparted(const NicClusterPolicy& cluster, const std::vector<NicNodePolicy>& nodes,
                 const LabelSelector& driver_labels, std::vector<NicNodePolicy>& seen, Decision& decision) {
  const auto takes_over = [](const NicNodePolicy& node, const NicNodePolicy& one) {
    return !node.understood || (node.has_driver && MayMeet(node.node_labels, one.node_labels));
  };
  for (const NicNodePolicy& one : seen) {
    const bool taken_over =
        cluster.has_driver || !cluster.understood ||
        std::any_of(nodes.begin(), nodes.end(), [&](const NicNodePolicy& node) { return takes_over(node, one); });
    if (taken_over || IsAmong(nodes, one.name)) continue;
    decision.gone.push_back(EngineOf(one, driver_labels));
    decision.gone.back().policy = {};
  }
  std::erase_if(seen, [&](const NicNodePolicy& one) { return IsAmong(nodes, one.name); });
  for (const NicNodePolicy& node : nodes) {
    if (node.has_driver) seen.push_back(node);
  }
}

LabelSelector OfAnyOwner(const LabelSelector& driver_labels) {
  Requirements requirements = WithoutOwner(driver_labels);
  return requirements.empty() ? driver_labels : Selector(std::move(requirements));
}

}  // namespace ofed_operator
