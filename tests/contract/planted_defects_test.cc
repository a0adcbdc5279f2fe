// Tests which planted defects the contract finds. Thirty defects are in the seven operations that every engine needs;
// each of them is planted both in a facade with only these seven operations and in a facade with all operations. Seven
// more defects are in operations that the smaller facade lacks.
#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "contract/fake_world.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/testing/facade_contract.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"

namespace driverupgrade::testing {
namespace {

using tests::FakeWorld;
using enum ContractOutcome;

constexpr std::array kSeven = {
    Operation::kListNodes, Operation::kListPods, Operation::kListDaemonSets, Operation::kListControllerRevisions,
    Operation::kPatchNode, Operation::kEvictPod, Operation::kDeletePod};

// A decorator that can change requests and responses.
class BentFacade final : public ForwardingFacade {
 public:
  using ForwardingFacade::ForwardingFacade;

  absl::StatusOr<std::vector<Node>> ListNodes(const CallContext& context, const ListNodesParams& params) override {
    return Bend(ask_nodes, nodes, params,
                [&](const auto& asked) { return ForwardingFacade::ListNodes(context, asked); });
  }
  absl::StatusOr<std::vector<Pod>> ListPods(const CallContext& context, const ListPodsParams& params) override {
    return Bend(ask_pods, pods, params, [&](const auto& asked) { return ForwardingFacade::ListPods(context, asked); });
  }
  absl::StatusOr<std::vector<DaemonSet>> ListDaemonSets(const CallContext& context,
                                                        const ListDaemonSetsParams& params) override {
    return Bend({}, sets, params, [&](const auto& asked) { return ForwardingFacade::ListDaemonSets(context, asked); });
  }
  absl::StatusOr<std::vector<ControllerRevision>> ListControllerRevisions(
      const CallContext& context, const ListControllerRevisionsParams& params) override {
    return Bend(ask_revisions, revisions, params,
                [&](const auto& asked) { return ForwardingFacade::ListControllerRevisions(context, asked); });
  }
  absl::StatusOr<std::vector<PodDisruptionBudget>> ListPodDisruptionBudgets(
      const CallContext& context, const ListPodDisruptionBudgetsParams& params) override {
    return Bend({}, budgets, params,
                [&](const auto& asked) { return ForwardingFacade::ListPodDisruptionBudgets(context, asked); });
  }
  absl::StatusOr<Node> PatchNode(const CallContext& context, const PatchNodeParams& params) override {
    return patch ? patch(context, params) : ForwardingFacade::PatchNode(context, params);
  }
  absl::StatusOr<EvictionAnswer> EvictPod(const CallContext& context, const EvictPodParams& params) override {
    return evict ? evict(context, params) : ForwardingFacade::EvictPod(context, params);
  }
  absl::Status DeletePod(const CallContext& context, const DeletePodParams& params) override {
    return remove ? remove(context, params) : ForwardingFacade::DeletePod(context, params);
  }
  absl::StatusOr<Node> GetNode(const CallContext& context, const GetNodeParams& params) override {
    return get ? get(context, params) : ForwardingFacade::GetNode(context, params);
  }
  absl::StatusOr<Lease> UpdateLease(const CallContext& context, const Lease& lease) override {
    return update ? update(context, lease) : ForwardingFacade::UpdateLease(context, lease);
  }
  absl::StatusOr<ConfigMap> PatchConfigMap(const CallContext& context, const PatchConfigMapParams& params) override {
    return patch_map ? patch_map(context, params) : ForwardingFacade::PatchConfigMap(context, params);
  }
  absl::StatusOr<DeviceTaintRule> PatchDeviceTaintRule(const CallContext& context,
                                                       const PatchDeviceTaintRuleParams& params) override {
    return patch_rule ? patch_rule(context, params) : ForwardingFacade::PatchDeviceTaintRule(context, params);
  }
  absl::Status DeleteDeviceTaintRule(const CallContext& context, const DeleteDeviceTaintRuleParams& params) override {
    return remove_rule ? remove_rule(context, params) : ForwardingFacade::DeleteDeviceTaintRule(context, params);
  }
  absl::Status RecordEvent(const CallContext& context, const RecordEventParams& params) override {
    return record ? record(context, params) : ForwardingFacade::RecordEvent(context, params);
  }

  template <class Params>
  using Ask = std::function<void(Params&)>;
  template <class Params, class T>
  using Answer = std::function<void(const Params&, std::vector<T>&)>;
  template <class Params, class T>
  using Call = std::function<T(const CallContext&, Params)>;

  Ask<ListNodesParams> ask_nodes;
  Ask<ListPodsParams> ask_pods;
  Ask<ListControllerRevisionsParams> ask_revisions;
  Answer<ListNodesParams, Node> nodes;
  Answer<ListPodsParams, Pod> pods;
  Answer<ListDaemonSetsParams, DaemonSet> sets;
  Answer<ListControllerRevisionsParams, ControllerRevision> revisions;
  Answer<ListPodDisruptionBudgetsParams, PodDisruptionBudget> budgets;
  Call<PatchNodeParams, absl::StatusOr<Node>> patch;
  Call<EvictPodParams, absl::StatusOr<EvictionAnswer>> evict;
  Call<DeletePodParams, absl::Status> remove;
  Call<GetNodeParams, absl::StatusOr<Node>> get;
  Call<Lease, absl::StatusOr<Lease>> update;
  Call<PatchConfigMapParams, absl::StatusOr<ConfigMap>> patch_map;
  Call<PatchDeviceTaintRuleParams, absl::StatusOr<DeviceTaintRule>> patch_rule;
  Call<DeleteDeviceTaintRuleParams, absl::Status> remove_rule;
  Call<RecordEventParams, absl::Status> record;

 private:
  template <class Params, class T, class List>
  static absl::StatusOr<std::vector<T>> Bend(const Ask<Params>& ask, const Answer<Params, T>& answer, Params params,
                                             const List& list) {
    if (ask) ask(params);
    absl::StatusOr<std::vector<T>> objects = list(params);
    if (objects.ok() && answer) answer(params, *objects);
    return objects;
  }
};

// Replaces the response with an empty list.
constexpr auto kNothing = [](const auto&, auto& objects) { objects.clear(); };

std::string KeyOf(const ListNodesParams& params) { return params.label_selector.ToString(); }
std::string KeyOf(const ListPodsParams& params) {
  return params.ns + "/" + params.node_name + "/" + params.label_selector.ToString();
}

// Returns a function that replaces the result of each list request with the result of the previous list request that
// had the same parameters.
template <class Params, class T>
BentFacade::Answer<Params, T> OneListBehind() {
  return [last = std::map<std::string, std::vector<T>>()](const Params& params, std::vector<T>& objects) mutable {
    const auto [found, is_first] = last.try_emplace(KeyOf(params), objects);
    if (!is_first) found->second.swap(objects);
  };
}

// Returns the patch with the node's current resource version.
PatchNodeParams AtPresentVersion(const FakeCluster& cluster, PatchNodeParams params) {
  if (const auto node = cluster.node(params.name)) params.resource_version = node->resource_version;
  return params;
}

void Apply(const std::map<std::string, std::optional<std::string>>& changes, StringMap& values) {
  for (const auto& [key, value] : changes) {
    values.erase(key);
    if (value) values[key] = *value;
  }
}

PodRef AnyIncarnation(const FakeCluster& cluster, PodRef ref) {
  if (const auto pod = cluster.pod(ref.ns, ref.name)) ref.uid = pod->ref.uid;
  return ref;
}

bool IsRefusal(const absl::StatusOr<EvictionAnswer>& answer) {
  return answer.ok() && (answer->refusal == Refusal::kDisruptionBudget || answer->refusal == Refusal::kSeveralBudgets);
}

constexpr std::string_view kNodeIsRead = "a node is read as it is stored";
constexpr std::string_view kPodIsRead = "a pod is read as it is stored";
constexpr std::string_view kNodesAreSelected = "nodes are selected by labels";
constexpr std::string_view kPodsAreSelected = "pods are selected by namespace, labels and node";
constexpr std::string_view kNodesAreComplete = "lists of nodes are complete";
constexpr std::string_view kPodsAreComplete = "lists of pods are complete";
constexpr std::string_view kNodesNeverGoBack = "lists of nodes show every earlier write, and never go back";
constexpr std::string_view kPodsNeverGoBack = "lists of pods show every earlier deletion, and never go back";
constexpr std::string_view kSetsAreListed = "DaemonSets are listed";
constexpr std::string_view kRevisionsAreListed = "controller revisions are listed";
constexpr std::string_view kPatchChanges = "a patch changes only the fields that it contains";
constexpr std::string_view kPatchIsConditional =
    "a patch that names another version or UID fails with Aborted, and changes nothing";
constexpr std::string_view kEvictionDeletes = "an eviction deletes the pod";
constexpr std::string_view kEvictionOfAnother = "an eviction reports that its pod was deleted or replaced";
constexpr std::string_view kBudgetRefuses = "a budget refuses an eviction, and two refuse it permanently";
constexpr std::string_view kDeletionIsOfThatPod = "a deletion deletes only the pod with the given UID";

struct Defect {
  std::string_view what;
  /// Contract cases that find the defect: in a facade with only the seven operations, and in a facade with all
  /// operations.
  std::string_view found_by_seven;
  std::string_view found_by_all;
  void (*plant)(BentFacade&, FakeCluster&);
};

std::vector<Defect> Thirty() {
  return {
      {"lists of nodes are empty", kNodeIsRead, kNodeIsRead,
       [](BentFacade& facade, FakeCluster&) { facade.nodes = kNothing; }},
      {"lists of nodes ignore labels", kNodesAreSelected, kNodesAreSelected,
       [](BentFacade& facade, FakeCluster&) { facade.ask_nodes = [](auto& params) { params = {}; }; }},
      {"lists of nodes end with the first page", kNodesAreComplete, kNodesAreComplete,
       [](BentFacade& facade, FakeCluster&) {
         facade.nodes = [](const auto&, auto& nodes) { nodes.resize(std::min<std::size_t>(nodes.size(), 4)); };
       }},
      {"lists of nodes leave out those that are cordoned", kNodesAreComplete, kNodesAreComplete,
       [](BentFacade& facade, FakeCluster&) {
         facade.nodes = [](const auto&, auto& nodes) {
           std::erase_if(nodes, [](const Node& node) { return node.unschedulable; });
         };
       }},
      {"lists of nodes come from a cache that lags", kNodesNeverGoBack, kNodesNeverGoBack,
       [](BentFacade& facade, FakeCluster&) { facade.nodes = OneListBehind<ListNodesParams, Node>(); }},
      {"some lists of nodes come from a replica that lags (F8)", kNodesNeverGoBack, kNodesNeverGoBack,
       [](BentFacade& facade, FakeCluster&) {
         facade.nodes = [calls = 0, old = std::vector<Node>()](const ListNodesParams& params, auto& nodes) mutable {
           if (!params.label_selector.empty()) return;
           if (++calls % 10 == 1) old = nodes;
           if (calls % 3 == 0) nodes = old;
         };
       }},
      {"lists of nodes have no annotations", kNodeIsRead, kNodeIsRead,
       [](BentFacade& facade, FakeCluster&) {
         facade.nodes = [](const auto&, auto& nodes) {
           for (Node& node : nodes) node.annotations.clear();
         };
       }},
      {"lists of nodes have no versions", kNodeIsRead, kNodeIsRead,
       [](BentFacade& facade, FakeCluster&) {
         facade.nodes = [](const auto&, auto& nodes) {
           for (Node& node : nodes) node.resource_version.clear();
         };
       }},
      {"lists of pods are empty", kPodIsRead, kPodIsRead,
       [](BentFacade& facade, FakeCluster&) { facade.pods = kNothing; }},
      {"lists of pods ignore the namespace", kPodsAreSelected, kPodsAreSelected,
       [](BentFacade& facade, FakeCluster&) { facade.ask_pods = [](auto& params) { params.ns.clear(); }; }},
      {"lists of pods ignore labels", kPodsAreSelected, kPodsAreSelected,
       [](BentFacade& facade, FakeCluster&) { facade.ask_pods = [](auto& params) { params.label_selector = {}; }; }},
      {"lists of pods ignore the node", kPodsAreSelected, kPodsAreSelected,
       [](BentFacade& facade, FakeCluster&) { facade.ask_pods = [](auto& params) { params.node_name.clear(); }; }},
      {"lists of pods end with the first page", kPodsAreComplete, kPodsAreComplete,
       [](BentFacade& facade, FakeCluster&) {
         facade.pods = [](const auto&, auto& pods) { pods.resize(std::min<std::size_t>(pods.size(), 4)); };
       }},
      {"lists of pods leave out those that are being deleted",
       "a pod that is being deleted is listed until it no longer exists", kEvictionDeletes,
       [](BentFacade& facade, FakeCluster&) {
         facade.pods = [](const auto&, auto& pods) {
           std::erase_if(pods, [](const Pod& pod) { return pod.deletion_timestamp.has_value(); });
         };
       }},
      {"lists of pods come from a cache that lags", kPodsNeverGoBack, kPodsNeverGoBack,
       [](BentFacade& facade, FakeCluster&) { facade.pods = OneListBehind<ListPodsParams, Pod>(); }},
      {"lists of pods have no UIDs", kPodIsRead, kPodIsRead,
       [](BentFacade& facade, FakeCluster&) {
         facade.pods = [](const auto&, auto& pods) {
           for (Pod& pod : pods) pod.ref.uid.clear();
         };
       }},
      {"lists of DaemonSets are empty", kSetsAreListed, kSetsAreListed,
       [](BentFacade& facade, FakeCluster&) { facade.sets = kNothing; }},
      {"lists of ControllerRevisions are empty", kRevisionsAreListed, kRevisionsAreListed,
       [](BentFacade& facade, FakeCluster&) { facade.revisions = kNothing; }},
      {"lists of ControllerRevisions ignore the namespace", kRevisionsAreListed, kRevisionsAreListed,
       [](BentFacade& facade, FakeCluster&) { facade.ask_revisions = [](auto& params) { params.ns.clear(); }; }},
      {"patches ignore the version", kPatchIsConditional, kPatchIsConditional,
       [](BentFacade& facade, FakeCluster& cluster) {
         facade.patch = [&](const CallContext& context, PatchNodeParams params) {
           return cluster.PatchNode(context, AtPresentVersion(cluster, std::move(params)));
         };
       }},
      {"patches ignore the UID", kPatchIsConditional, kPatchIsConditional,
       [](BentFacade& facade, FakeCluster& cluster) {
         facade.patch = [&](const CallContext& context, PatchNodeParams params) {
           if (const auto node = cluster.node(params.name)) params.uid = node->uid;
           return cluster.PatchNode(context, params);
         };
       }},
      {"patches without a change are answered without the cluster", kPatchIsConditional, kPatchIsConditional,
       [](BentFacade& facade, FakeCluster& cluster) {
         facade.patch = [&](const CallContext& context, PatchNodeParams params) -> absl::StatusOr<Node> {
           const bool is_empty = params.labels.empty() && params.annotations.empty() && !params.unschedulable;
           const auto node = cluster.node(params.name);
           if (is_empty && node.has_value()) return *node;
           return cluster.PatchNode(context, params);
         };
       }},
      {"patches are answered with what they ask for, and change nothing", kPatchChanges, kPatchChanges,
       [](BentFacade& facade, FakeCluster& cluster) {
         facade.patch = [&](const CallContext& context, PatchNodeParams params) -> absl::StatusOr<Node> {
           absl::StatusOr<Node> unchanged = cluster.PatchNode(
               context, {.name = params.name, .uid = params.uid, .resource_version = params.resource_version});
           if (!unchanged.ok()) return unchanged;
           Apply(params.labels, unchanged->labels);
           Apply(params.annotations, unchanged->annotations);
           unchanged->unschedulable = params.unschedulable.value_or(unchanged->unschedulable);
           return unchanged;
         };
       }},
      {"patches remove no key", kPatchChanges, kPatchChanges,
       [](BentFacade& facade, FakeCluster& cluster) {
         facade.patch = [&](const CallContext& context, PatchNodeParams params) {
           std::erase_if(params.labels, [](const auto& entry) { return !entry.second; });
           std::erase_if(params.annotations, [](const auto& entry) { return !entry.second; });
           return cluster.PatchNode(context, params);
         };
       }},
      {"patches never lift a cordon", kPatchChanges, kPatchChanges,
       [](BentFacade& facade, FakeCluster& cluster) {
         facade.patch = [&](const CallContext& context, PatchNodeParams params) {
           if (params.unschedulable == false) params.unschedulable.reset();
           return cluster.PatchNode(context, params);
         };
       }},
      {"evictions go past budgets, by deletion", kBudgetRefuses, kBudgetRefuses,
       [](BentFacade& facade, FakeCluster& cluster) {
         facade.evict = [&](const CallContext& context, const EvictPodParams& params) {
           auto answer = cluster.EvictPod(context, params);
           if (!IsRefusal(answer)) return answer;
           CHECK(cluster.DeletePod(context, {.pod = params.pod}).ok());
           answer = EvictionAnswer{};
           return answer;
         };
       }},
      {"evictions that a budget refuses delete the pod all the same", kBudgetRefuses, kBudgetRefuses,
       [](BentFacade& facade, FakeCluster& cluster) {
         facade.evict = [&](const CallContext& context, const EvictPodParams& params) {
           const auto answer = cluster.EvictPod(context, params);
           if (IsRefusal(answer)) CHECK(cluster.DeletePod(context, {.pod = params.pod}).ok());
           return answer;
         };
       }},
      {"evictions are accepted, and nothing happens", kEvictionDeletes, kEvictionDeletes,
       [](BentFacade& facade, FakeCluster&) {
         facade.evict = [](const CallContext&, const EvictPodParams&) { return EvictionAnswer{}; };
       }},
      {"evictions are of any pod of the name", kEvictionOfAnother, kEvictionOfAnother,
       [](BentFacade& facade, FakeCluster& cluster) {
         facade.evict = [&](const CallContext& context, const EvictPodParams& params) {
           return cluster.EvictPod(context, {.pod = AnyIncarnation(cluster, params.pod)});
         };
       }},
      {"deletions are of any pod of the name", kDeletionIsOfThatPod, kDeletionIsOfThatPod,
       [](BentFacade& facade, FakeCluster& cluster) {
         facade.remove = [&](const CallContext& context, const DeletePodParams& params) {
           return cluster.DeletePod(context, {.pod = AnyIncarnation(cluster, params.pod)});
         };
       }},
  };
}

// Returns defects in operations that the facade with the seven operations lacks. For that facade, the contract skips
// the cases about these operations.
std::vector<Defect> Further() {
  return {
      {"a node that does not exist is an empty one", "", "objects that do not exist are NotFound",
       [](BentFacade& facade, FakeCluster& cluster) {
         facade.get = [&](const CallContext& context, const GetNodeParams& params) -> absl::StatusOr<Node> {
           const auto node = cluster.GetNode(context, params);
           if (absl::IsNotFound(node.status())) return Node{};
           return node;
         };
       }},
      {"lists of budgets are empty", "", "disruption budgets are listed",
       [](BentFacade& facade, FakeCluster&) { facade.budgets = kNothing; }},
      {"a lease is replaced whatever its version", "", "a lease is replaced only if its version matches",
       [](BentFacade& facade, FakeCluster& cluster) {
         facade.update = [&](const CallContext& context, Lease lease) {
           const auto stored = cluster.lease(lease.ns, lease.name);
           if (stored) lease.resource_version = stored->resource_version;
           return cluster.UpdateLease(context, lease);
         };
       }},
      {"a config map is patched whatever its version", "", "a config map is patched only if its version matches",
       [](BentFacade& facade, FakeCluster& cluster) {
         facade.patch_map = [&](const CallContext& context, PatchConfigMapParams params) {
           const auto stored = cluster.config_map(params.ns, params.name);
           if (stored) params.resource_version = stored->resource_version;
           return cluster.PatchConfigMap(context, params);
         };
       }},
      {"a device taint rule is patched whatever its version", "",
       "a patch that names another version or UID of a device taint rule is Aborted",
       [](BentFacade& facade, FakeCluster& cluster) {
         facade.patch_rule = [&](const CallContext& context, PatchDeviceTaintRuleParams params) {
           for (const DeviceTaintRule& rule : cluster.device_taint_rules()) {
             if (rule.name == params.name) params.resource_version = rule.resource_version;
           }
           return cluster.PatchDeviceTaintRule(context, params);
         };
       }},
      {"deletions are of any device taint rule of the name", "",
       "a deletion deletes only the device taint rule with the given UID",
       [](BentFacade& facade, FakeCluster& cluster) {
         facade.remove_rule = [&](const CallContext&, const DeleteDeviceTaintRuleParams& params) {
           cluster.RemoveDeviceTaintRule(params.name);
           return absl::OkStatus();
         };
       }},
      {"events that repeat are refused", "", "repeated events are stored as one event",
       [](BentFacade& facade, FakeCluster& cluster) {
         facade.record = [&](const CallContext& context, const RecordEventParams& params) {
           if (params.series) return absl::AlreadyExistsError("there is one already");
           return cluster.RecordEvent(context, params);
         };
       }},
  };
}

void KeepTheSeven(FakeCluster& cluster) {
  for (int i = 0; i <= static_cast<int>(Operation::kRecordEvent); ++i) {
    const auto operation = static_cast<Operation>(i);
    cluster.SetSupported(operation, std::find(kSeven.begin(), kSeven.end(), operation) != kSeven.end());
  }
}

enum class Facade : bool { kOfSeven, kOfAll };

ContractReport ReportOn(Facade facade, void (*plant)(BentFacade&, FakeCluster&)) {
  FakeWorld world([&](const FakeWorld::Cluster& cluster) {
    if (facade == Facade::kOfSeven) KeepTheSeven(*cluster);
    auto bent = std::make_shared<BentFacade>(cluster);
    plant(*bent, *cluster);
    return bent;
  });
  return RunFacadeContract(world);
}

void CheckOutcome(const ContractReport& report, std::string_view name, ContractOutcome expected) {
  INFO(name << "\n" << report.ToString());
  const auto found = std::find_if(report.results.begin(), report.results.end(),
                                  [&](const ContractResult& one) { return one.name == name; });
  REQUIRE(found != report.results.end());
  CHECK(found->outcome == expected);
}

void PlantNothing(BentFacade&, FakeCluster&) {}

TEST_CASE("a facade with the seven operations passes every case that applies to it") {
  const ContractReport report = ReportOn(Facade::kOfSeven, PlantNothing);
  INFO(report.ToString());
  CHECK(report.Verdict().ok());
  for (const Defect& defect : Thirty()) CheckOutcome(report, defect.found_by_seven, kKept);
  for (const ContractResult& one : report.results) {
    if (one.outcome == kSkipped) CHECK(one.reason.starts_with("the facade does not support: "));
  }
}

TEST_CASE("thirty defects in the seven operations are found in a facade with only these operations") {
  CHECK(Thirty().size() == 30);
  for (const Defect& defect : Thirty()) {
    INFO(defect.what);
    const ContractReport report = ReportOn(Facade::kOfSeven, defect.plant);
    CheckOutcome(report, defect.found_by_seven, kBroken);
    CHECK_FALSE(report.Verdict().ok());
  }
}

TEST_CASE("thirty defects in the seven operations are also found in a facade with all operations") {
  for (const Defect& defect : Thirty()) {
    INFO(defect.what);
    const ContractReport report = ReportOn(Facade::kOfAll, defect.plant);
    CheckOutcome(report, defect.found_by_all, kBroken);
    CHECK_FALSE(report.Verdict().ok());
  }
}

// docs/the-parts.md shows this report.
TEST_CASE("the report on a facade with the seven operations starts with the broken case") {
  const ContractReport report = ReportOn(Facade::kOfSeven, Thirty().back().plant);
  INFO(report.ToString());
  CHECK(report.ToString().starts_with(
      "facade contract: 20 cases kept, 1 broken, 35 skipped\n"
      "broken   a deletion deletes only the pod with the given UID: expected !pod.deletion_timestamp.has_value(), but "
      "found a pod that is being deleted\n"
      "skipped  objects that do not exist are NotFound: the facade does not support: get node, get pod\n"));
}

TEST_CASE(
    "a defect in another operation is found in a facade with all operations, and its case is skipped with only seven") {
  for (const Defect& defect : Further()) {
    INFO(defect.what);
    CheckOutcome(ReportOn(Facade::kOfAll, defect.plant), defect.found_by_all, kBroken);
    const ContractReport report = ReportOn(Facade::kOfSeven, defect.plant);
    CheckOutcome(report, defect.found_by_all, kSkipped);
    CHECK_FALSE(report.Verdict({std::string(defect.found_by_all)}).ok());
  }
}

}  // namespace
}  // namespace driverupgrade::testing
