#include "simulation/opinion/scene.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"

namespace driverupgrade::testing::internal {
namespace {

constexpr int kRestartsMax = 10;

std::string LabelOf(const StringMap& labels, const std::string& key) {
  const auto label = labels.find(key);
  return label == labels.end() ? "" : label->second;
}

bool Selects(const LabelSelector::Requirement& requirement, const StringMap& labels) {
  using Operator = LabelSelector::Operator;
  const auto label = labels.find(requirement.key);
  const bool present = label != labels.end();
  const auto& values = requirement.values;
  const bool listed = present && std::find(values.begin(), values.end(), label->second) != values.end();
  switch (requirement.op) {
    case Operator::kIn: return listed;
    case Operator::kNotIn: return !listed;
    case Operator::kExists: return present;
    case Operator::kDoesNotExist: return !present;
    case Operator::kGreaterThan:
    case Operator::kLessThan: break;
  }
  std::int64_t number = 0;
  std::int64_t bound = 0;
  if (!present || !absl::SimpleAtoi(label->second, &number) || !absl::SimpleAtoi(values.front(), &bound)) return false;
  return requirement.op == Operator::kGreaterThan ? number > bound : number < bound;
}

bool HasEnded(const Pod& pod) { return pod.phase == PodPhase::kSucceeded || pod.phase == PodPhase::kFailed; }

const OwnerReference* Controller(const Pod& pod) {
  for (const OwnerReference& owner : pod.owners) {
    if (owner.controller) return &owner;
  }
  return nullptr;
}

bool AnyKeepsRestarting(const std::vector<ContainerStatus>& containers) {
  return std::any_of(containers.begin(), containers.end(), [](const ContainerStatus& container) {
    return !container.ready && container.restart_count > kRestartsMax;
  });
}

// The maintenance operator is not evacuated where it works for us.
bool IsOfMaintenanceOperator(const Pod* pod) {
  return LabelOf(pod->labels, "app.kubernetes.io/component") == "maintenance-operator-controller-manager";
}

}  // namespace

OperatorFacts FactsOf(const DriverIdentity& identity) {
  return {.keys = Keys(identity),
          .upgrade_requested = identity.UpgradeRequestedAnnotation(),
          .pod_completion_start = identity.PodCompletionStartAnnotation(),
          .validation_start = identity.Name() + "-driver-upgrade-validation-start-time",
          .failures = identity.FailuresAnnotation(),
          .failed_revision = identity.FailedRevisionAnnotation()};
}

bool Selects(const LabelSelector& selector, const StringMap& labels) {
  if (selector.requirements().empty()) return selector.empty();
  return std::all_of(selector.requirements().begin(), selector.requirements().end(),
                     [&](const LabelSelector::Requirement& one) { return Selects(one, labels); });
}

bool IsReadyPod(const Pod& pod) {
  const auto& containers = pod.container_statuses;
  return pod.phase == PodPhase::kRunning && !containers.empty() &&
         std::all_of(containers.begin(), containers.end(), [](const ContainerStatus& one) { return one.ready; });
}

WantedRevisions WantedIn(const FakeCluster& cluster, const OperatorFacts& facts) {
  WantedRevisions wanted;
  const std::vector<ControllerRevision> revisions = cluster.controller_revisions();
  for (const DaemonSet& daemon_set : cluster.daemon_sets()) {
    if (daemon_set.ns != facts.ns || !Selects(facts.driver_labels, daemon_set.labels)) continue;
    std::string& hash = wanted[daemon_set.uid];
    if (daemon_set.observed_generation < daemon_set.generation) continue;
    std::int64_t newest = -1;
    for (const ControllerRevision& revision : revisions) {
      if (revision.owner_uid != daemon_set.uid || revision.revision <= newest) continue;
      newest = revision.revision;
      hash = LabelOf(revision.labels, "controller-revision-hash");
    }
  }
  return wanted;
}

Scene::Scene(const OperatorFacts& the_facts, const FakeCluster& cluster, Node the_node,
             const WantedRevisions& the_wanted, const UpgradePolicy& the_policy, absl::Time the_now)
    : facts(the_facts), wanted(the_wanted), policy(the_policy), now(the_now), node(std::move(the_node)) {
  for (Pod& pod : cluster.pods_on(node.name)) {
    const bool driver = pod.ref.ns == facts.ns && Selects(facts.driver_labels, pod.labels);
    (driver ? driver_pods : pods).push_back(std::move(pod));
  }
  const auto by_name = [](const Pod& a, const Pod& b) { return a.ref < b.ref; };
  std::sort(driver_pods.begin(), driver_pods.end(), by_name);
  if (facts.requestor.empty()) return;
  for (NodeMaintenance& object : cluster.node_maintenances()) {
    if (object.node_name == node.name && object.ns == facts.maintenance_ns) maintenances.push_back(std::move(object));
  }
}

DriverSeen Scene::Driver(const std::string& restart_pod) const {
  DriverSeen seen;
  for (const Pod& pod : driver_pods) {
    seen.none = false;
    seen.all_ready &= IsReadyPod(pod);
    const OwnerReference* owner = Controller(pod);
    const auto of_owner = owner == nullptr ? wanted.end() : wanted.find(owner->uid);
    const std::string hash = LabelOf(pod.labels, "controller-revision-hash");
    const bool orphan = pod.owners.empty();
    const bool told = of_owner != wanted.end() && !of_owner->second.empty();
    if (told) seen.wanted = of_owner->second;
    const bool unknown = !orphan && (!told || hash.empty());
    const bool old = !orphan && !unknown && hash != of_owner->second;
    seen.unknown |= unknown;
    seen.old |= old;
    seen.orphaned |= orphan;
    if (pod.deletion_timestamp) {
      seen.terminating = true;
    } else if (orphan || old || (!unknown && pod.ref.uid == restart_pod)) {
      seen.to_restart.push_back(&pod);
    } else if (!unknown && !IsReadyPod(pod) &&
               (AnyKeepsRestarting(pod.init_container_statuses) || AnyKeepsRestarting(pod.container_statuses))) {
      seen.failing = &pod;
    }
  }
  return seen;
}

std::optional<PodDeletionPolicy> Scene::Deletion() const {
  const bool selects = policy.pod_deletion && policy.pod_deletion->pod_selector != LabelSelector();
  if (!facts.filters && !selects) return std::nullopt;
  return policy.pod_deletion.value_or(PodDeletionPolicy{});
}

void Scene::Sort(const Pod& pod, bool force, bool delete_empty_dir, PodsToGo& to_go) const {
  const OwnerReference* owner = Controller(pod);
  const bool of_daemon_set = owner != nullptr && owner->kind == "DaemonSet" && owner->api_version == "apps/v1";
  const bool own = facts.own_pod && facts.own_pod->ns == pod.ref.ns && facts.own_pod->name == pod.ref.name;
  const bool ended = HasEnded(pod);
  if (own || pod.mirror || (of_daemon_set && !ended)) return;
  const bool leaves_anyway = ended || pod.deletion_timestamp.has_value();
  const bool refused = !leaves_anyway && ((pod.has_empty_dir && !delete_empty_dir) || (owner == nullptr && !force));
  (refused ? to_go.blocked : to_go.go).push_back(&pod);
}

PodsToGo Scene::ToDelete(const PodDeletionPolicy& deletion) const {
  PodsToGo to_go;
  for (const Pod& pod : pods) {
    const bool selected = deletion.pod_selector != LabelSelector() && Selects(deletion.pod_selector, pod.labels);
    const bool uses = facts.filters && pod.labels.contains("uses");
    if (selected || uses) Sort(pod, deletion.force, deletion.delete_empty_dir, to_go);
  }
  return to_go;
}

PodsToGo Scene::ToDrain() const {
  PodsToGo to_go;
  for (const Pod& pod : pods) {
    if (!Selects(policy.drain->pod_selector, pod.labels)) continue;
    Sort(pod, policy.drain->force, policy.drain->delete_empty_dir, to_go);
  }
  return to_go;
}

PodsToGo Scene::ToEvacuate(bool requestor_mode) const {
  const auto deletion = Deletion();
  PodsToGo to_go;
  if (deletion) to_go = ToDelete(*deletion);
  if (policy.drain && (!deletion || !to_go.blocked.empty())) to_go = ToDrain();
  if (requestor_mode) {
    std::erase_if(to_go.go, IsOfMaintenanceOperator);
    std::erase_if(to_go.blocked, IsOfMaintenanceOperator);
  }
  return to_go;
}

// Of a node that is not ready nobody hears any more when a pod has ended: once its grace period is over, in whole
// seconds, it counts as gone.
bool Scene::AnyLeft(const std::vector<const Pod*>& to_go, absl::Duration late) const {
  return std::any_of(to_go.begin(), to_go.end(), [&](const Pod* pod) {
    if (node.ready || !pod->deletion_timestamp) return true;
    return absl::FromUnixSeconds(absl::ToUnixSeconds(*pod->deletion_timestamp)) + absl::Seconds(1) + late > now;
  });
}

// A deleted pod that outlasts its grace period by a minute on a ready node keeps the node from being drained.
bool Scene::MayBeStuck(const std::vector<const Pod*>& to_go) const {
  return std::any_of(to_go.begin(), to_go.end(), [&](const Pod* pod) {
    return pod->deletion_timestamp && *pod->deletion_timestamp + absl::Minutes(1) <= now;
  });
}

Evacuation Scene::Evacuated(bool requestor_mode) const {
  if (!Evacuates()) return Evacuation::kDone;
  if (!node.unschedulable) return Evacuation::kUnread;
  const PodsToGo to_go = ToEvacuate(requestor_mode);
  if (!to_go.blocked.empty()) return Evacuation::kBlocked;
  return AnyLeft(to_go.go) ? Evacuation::kPods : Evacuation::kDone;
}

absl::Duration Scene::EvacuationTimeout() const {
  if (const auto deletion = Deletion()) return deletion->timeout;
  return policy.drain ? policy.drain->timeout : absl::InfiniteDuration();
}

bool Scene::AnyAwaited() const {
  return std::any_of(pods.begin(), pods.end(), [&](const Pod& pod) {
    const bool at_work = pod.phase == PodPhase::kRunning || pod.phase == PodPhase::kPending;
    const bool ends = !IsDaemonSetPod(pod) && !pod.mirror;
    return at_work && ends && Selects(policy.wait_for_completion->pod_selector, pod.labels);
  });
}

bool Scene::IsValidated() const {
  int found = 0;
  int ready = 0;
  for (const Pod& pod : pods) {
    if (!Selects(*facts.validation, pod.labels)) continue;
    ++found;
    ready += IsReadyPod(pod);
  }
  return found > 0 && ready == found;
}

bool Scene::IsAdministrators() const {
  const bool an_upgrades = UnnamedDriverMadeCordon(node, facts.keys) || UnnamedDriverIsMaintained(node, facts.keys) ||
                           AnUpgradesNameIsOn(node, facts.keys);
  return node.unschedulable && !an_upgrades;
}

bool Scene::Claims(const NodeMaintenance& object) const {
  const auto& others = object.additional_requestors;
  return object.requestor_id == facts.requestor ||
         std::find(others.begin(), others.end(), facts.requestor) != others.end();
}

bool Scene::AnyClaim() const {
  return std::any_of(maintenances.begin(), maintenances.end(), [&](const auto& object) { return Claims(object); });
}

bool Scene::IsMaintained() const {
  return std::any_of(maintenances.begin(), maintenances.end(), [&](const NodeMaintenance& object) {
    const bool of_this_node = object.node_uid.empty() || object.node_uid == node.uid;
    const auto is_ready = [](const Condition& one) {
      return one.type == "Ready" && one.reason == "Ready" && one.status != "False";
    };
    const auto failed_by_us = [&](const Condition& one) {
      return one.type == "RequestorFailed" && one.status == "True" && one.message.starts_with(facts.requestor + ":");
    };
    const auto& conditions = object.conditions;
    return object.name == "nvidia-operator-" + node.name && Claims(object) && of_this_node &&
           !object.deletion_timestamp && std::any_of(conditions.begin(), conditions.end(), is_ready) &&
           std::none_of(conditions.begin(), conditions.end(), failed_by_us);
  });
}

}  // namespace driverupgrade::testing::internal
