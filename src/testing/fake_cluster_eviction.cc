// Eviction and other writes of the API server, and the disruption controller.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "testing/fake_cluster_model.h"

namespace driverupgrade::testing::internal {
namespace {

// Validates taints as the API server does.
absl::Status CheckTaints(const std::string& node, const std::vector<Taint>& taints) {
  static const std::set<std::string>& kEffects =
      *new std::set<std::string>{"NoSchedule", "PreferNoSchedule", "NoExecute"};
  std::set<std::pair<std::string, std::string>> unique;
  for (const Taint& taint : taints) {
    const auto invalid = [&](std::string_view why) {
      return absl::InvalidArgumentError(
          fmt::format("Node \"{}\" is invalid: taint {}:{}: {}", node, taint.key, taint.effect, why));
    };
    if (taint.key.empty()) return invalid("a key is required");
    if (!kEffects.contains(taint.effect)) return invalid("unsupported effect");
    if (!unique.emplace(taint.key, taint.effect).second) return invalid("taints must be unique by key and effect pair");
  }
  return absl::OkStatus();
}

// Returns the response for a pod that no longer exists. `pod` is the pod that now has the name, or nullptr.
EvictionAnswer GoneAnswer(const PodRef& ref, const Pod* pod) {
  if (pod == nullptr) return {.gone = true, .message = fmt::format("pods \"{}\" not found", ref.name)};
  // E16: another pod now has this name.
  return {.gone = true,
          .message = fmt::format("Operation cannot be fulfilled on Pod \"{}\": the UID in the precondition ({}) does "
                                 "not match the UID in record ({}). The object might have been deleted and then "
                                 "recreated",
                                 ref.name, ref.uid, pod->ref.uid)};
}

// Returns the budget's refusal to evict one of its pods, or nullopt if the budget allows the eviction.
std::optional<EvictionAnswer> RefusalBy(const DisruptionBudgetSpec& budget, const PodDisruptionBudget& status,
                                        bool pod_is_healthy) {
  // E8: an unhealthy pod may be evicted if the budget always allows it, or if enough other pods are healthy.
  const bool needs_none =
      !pod_is_healthy && (budget.always_allow_unhealthy ||
                          (status.current_healthy >= status.desired_healthy && status.desired_healthy > 0));
  if (needs_none) return std::nullopt;
  const std::string refusal = "Cannot evict pod as it would violate the pod's disruption budget.";
  if (!budget.processed) {
    // E9: the disruption controller has not processed the budget yet.
    return EvictionAnswer{.refusal = Refusal::kDisruptionBudget,
                          .budget = budget.name,
                          .message = fmt::format("{} The disruption budget {} is still being processed by the server.",
                                                 refusal, budget.name),
                          .retry_after = absl::Seconds(10)};
  }
  if (status.disruptions_allowed > 0) return std::nullopt;
  // E10: the budget allows no disruption.
  return EvictionAnswer{.refusal = Refusal::kDisruptionBudget,
                        .budget = budget.name,
                        .message = fmt::format("{} The disruption budget {} needs {} healthy pods and has {} currently",
                                               refusal, budget.name, status.desired_healthy, status.current_healthy)};
}

}  // namespace

absl::StatusOr<Node> Model::PatchNode(const PatchNodeParams& params) {
  if (params.name.empty() || params.uid.empty() || params.resource_version.empty()) {
    return absl::InvalidArgumentError("patch node: name, uid and resourceVersion are required");
  }
  auto found = nodes_.find(params.name);
  if (found == nodes_.end()) return absl::NotFoundError(fmt::format("nodes \"{}\" not found", params.name));
  Node node = *found->second;
  if (node.resource_version != params.resource_version) {
    // api-A24: the version is a precondition.
    return absl::AbortedError(
        fmt::format("Operation cannot be fulfilled on nodes \"{}\": the object has been modified; please apply "
                    "your changes to the latest version and try again",
                    params.name));
  }
  if (node.uid != params.uid) {
    return absl::AbortedError(
        fmt::format("Operation cannot be fulfilled on nodes \"{}\": Precondition failed: UID in precondition: "
                    "{}, UID in object meta: {}",
                    params.name, params.uid, node.uid));
  }
  auto merge = [](StringMap& map, const std::map<std::string, std::optional<std::string>>& patch) {
    for (const auto& [key, value] : patch) {
      if (value.has_value()) {
        map[key] = *value;
      } else {
        map.erase(key);
      }
    }
  };
  merge(node.labels, params.labels);
  merge(node.annotations, params.annotations);
  if (params.unschedulable.has_value()) node.unschedulable = *params.unschedulable;
  if (params.taints.has_value()) {
    if (absl::Status status = CheckTaints(node.name, *params.taints); !status.ok()) return status;
    node.taints = *params.taints;
  }
  PutNode(Actor::kClient, std::move(node));
  return *found->second;
}

absl::StatusOr<EvictionAnswer> Model::EvictPod(Actor actor, const PodRef& ref) {
  if (ref.ns.empty() || ref.name.empty() || ref.uid.empty()) {
    return absl::InvalidArgumentError("evict pod: namespace, name and uid are required");
  }
  // The API server runs admission before it looks up the pod (E4, E19).
  if (IsTerminating(ref.ns)) {
    return EvictionAnswer{.refusal = Refusal::kNamespaceTerminating,
                          .message = fmt::format("pods \"{}\" is forbidden: unable to create new content in "
                                                 "namespace {} because it is being terminated",
                                                 ref.name, ref.ns)};
  }
  const Key key(ref.ns, ref.name);
  const Pod* pod = FindPod(key);
  if (pod == nullptr || pod->ref.uid != ref.uid) return GoneAnswer(ref, pod);
  // E5: the server evicts these pods without checking disruption budgets.
  const bool is_exempt = !IsActive(*pod) || pod->phase == PodPhase::kPending;
  const std::vector<Key> budgets = is_exempt ? std::vector<Key>() : BudgetsOf(*pod);
  if (budgets.size() > 1) {
    // E7: the server does not evict pods that match several budgets.
    return EvictionAnswer{.refusal = Refusal::kSeveralBudgets,
                          .message =
                              "This pod has more than one PodDisruptionBudget, which the eviction subresource "
                              "does not support."};
  }
  if (!budgets.empty()) {
    const BudgetRecord& budget = budgets_.at(budgets.front());
    const bool is_healthy = IsReady(*pod) && NodeReady(pod->node_name);
    if (auto refusal = RefusalBy(budget.spec, StatusOf(budget), is_healthy)) return *std::move(refusal);
  }
  StartDeletion(actor, key);
  return EvictionAnswer{};
}

absl::Status Model::DeletePod(const DeletePodParams& params) {
  const PodRef& ref = params.pod;
  if (ref.ns.empty() || ref.name.empty() || ref.uid.empty()) {
    return absl::InvalidArgumentError("delete pod: namespace, name and uid are required");
  }
  const Key key(ref.ns, ref.name);
  const Pod* pod = FindPod(key);
  if (pod == nullptr || pod->ref.uid != ref.uid) return absl::OkStatus();
  if (params.force && pod->finalizers.empty()) {
    ErasePod(Actor::kClient, key);
  } else {
    StartDeletion(Actor::kClient, key);
  }
  return absl::OkStatus();
}

void Model::StartDeletion(Actor actor, const Key& key) {
  const PodRecord& record = pods_.at(key);
  if (record.pod->deletion_timestamp.has_value()) return;
  absl::Duration grace = record.behavior.grace_period;
  // E20, E21: without a grace period, and for a pod that is unbound or finished, the deletion is immediate.
  if (record.pod->node_name.empty() || IsFinished(*record.pod)) grace = absl::ZeroDuration();
  if (grace <= absl::ZeroDuration() && record.pod->finalizers.empty()) {
    ErasePod(actor, Key(key));
    return;
  }
  Pod pod = *record.pod;
  pod.deletion_timestamp = now_ + grace;
  pod.released = grace <= absl::ZeroDuration();
  PutPod(actor, std::move(pod));
}

void Model::AddDisruptionBudget(DisruptionBudgetSpec spec) {
  const Key key(spec.ns, spec.name);
  RemoveDisruptionBudget(key);
  IndexBudget(spec, /*add=*/true);
  BudgetRecord budget{.spec = std::move(spec), .uid = NewUid()};
  for (auto it = pods_.lower_bound({key.first, ""}); it != pods_.end() && it->first.first == key.first; ++it) {
    const Pod& pod = *it->second.pod;
    CountPod(budget, pod, NodeReady(pod.node_name), +1);
  }
  budgets_.insert_or_assign(key, std::move(budget));
}

bool Model::RemoveDisruptionBudget(const Key& key) {
  const auto found = budgets_.find(key);
  if (found == budgets_.end()) return false;
  IndexBudget(found->second.spec, /*add=*/false);
  budgets_.erase(found);
  return true;
}

void Model::IndexBudget(const DisruptionBudgetSpec& spec, bool add) {
  const auto index = [&](const std::string& key, const std::string& value) {
    std::set<Key>& budgets = budgets_by_label_[{spec.ns, key, value}];
    if (add) {
      budgets.insert({spec.ns, spec.name});
    } else {
      budgets.erase({spec.ns, spec.name});
    }
  };
  const auto& requirements = spec.selector.requirements();
  const auto wanted = std::find_if(requirements.begin(), requirements.end(),
                                   [](const auto& one) { return one.op == LabelSelector::Operator::kIn; });
  if (wanted == requirements.end()) return index("", "");
  for (const std::string& value : wanted->values) index(wanted->key, value);
}

// Uses an index, because a namespace can have as many budgets as workloads, and matching all budgets would be slow.
std::vector<Key> Model::BudgetsOf(const Pod& pod) const {
  std::vector<Key> selecting;
  const auto add = [&](const std::string& key, const std::string& value) {
    const auto found = budgets_by_label_.find({pod.ref.ns, key, value});
    if (found == budgets_by_label_.end()) return;
    for (const Key& budget : found->second) {
      if (budgets_.at(budget).spec.selector.Matches(pod.labels)) selecting.push_back(budget);
    }
  };
  if (budgets_.empty()) return selecting;
  add("", "");
  for (const auto& [key, value] : pod.labels) add(key, value);
  std::sort(selecting.begin(), selecting.end());
  return selecting;
}

void Model::CountPod(const Pod& pod, bool node_ready, int sign) {
  for (const Key& budget : BudgetsOf(pod)) CountPod(budgets_.at(budget), pod, node_ready, sign);
}

void Model::CountPod(BudgetRecord& budget, const Pod& pod, bool node_ready, int sign) {
  if (!budget.spec.selector.Matches(pod.labels)) return;
  if (node_ready && IsActive(pod) && IsReady(pod)) budget.healthy += sign;
  const OwnerReference* owner = ControllerOf(pod);
  auto count = budget.pods_by_owner.try_emplace(owner != nullptr ? owner->uid : "").first;
  count->second += sign;
  if (count->second == 0) budget.pods_by_owner.erase(count);
}

int Model::ExpectedPods(const BudgetRecord& budget) const {
  int expected = 0;
  for (const auto& [owner_uid, pod_count] : budget.pods_by_owner) {
    auto workload = workloads_.find(owner_uid);
    if (budget.spec.min_available.has_value()) {
      expected += pod_count;
    } else if (workload != workloads_.end()) {
      expected += workload->second.spec.replicas;
    } else if (!owner_uid.empty()) {
      // The disruption controller reads the expected number of pods from the owner. An owner without a scale
      // subresource makes the whole budget fail; pods without an owner do not count.
      return 0;
    }
  }
  return expected;
}

PodDisruptionBudget Model::StatusOf(const BudgetRecord& budget) const {
  PodDisruptionBudget status{.ns = budget.spec.ns,
                             .name = budget.spec.name,
                             .uid = budget.uid,
                             .selector = budget.spec.selector,
                             .current_healthy = budget.healthy};
  const int expected = ExpectedPods(budget);
  if (budget.spec.min_available.has_value()) {
    status.desired_healthy = *budget.spec.min_available;
  } else {
    status.desired_healthy = std::max(0, expected - budget.spec.max_unavailable.value_or(0));
  }
  if (expected > 0) status.disruptions_allowed = std::max(0, status.current_healthy - status.desired_healthy);
  return status;
}

std::vector<PodDisruptionBudget> Model::ListDisruptionBudgets(const std::string& ns) const {
  std::vector<PodDisruptionBudget> result;
  for (auto it = budgets_.lower_bound({ns, ""}); it != budgets_.end(); ++it) {
    if (!ns.empty() && it->first.first != ns) break;
    result.push_back(StatusOf(it->second));
  }
  return result;
}

}  // namespace driverupgrade::testing::internal
