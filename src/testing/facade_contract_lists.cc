// Contract cases for lists and gets. The engine relies on complete lists, because it treats an object that is missing
// from a list as deleted.

#include <algorithm>

#include "base/status_macros.h"
#include "testing/facade_contract_cases.h"

namespace driverupgrade::testing::internal {

namespace {

using Names = std::set<std::string>;

// Number of objects that a case creates. In tests with small pages, a list of these objects has more than one page.
constexpr int kMany = 5;
// Number of reads after each step. One read is not enough, because a lagging replica serves only some of the reads.
constexpr int kLooks = 5;

absl::StatusOr<Names> PodNames(ContractWorld& world, const ListPodsParams& params) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<Pod> pods, world.facade().ListPods(world.context(), params));
  Names names;
  for (const Pod& pod : pods) names.insert(pod.ref.name);
  return names;
}

absl::StatusOr<std::vector<std::string>> SortedNodeNames(ContractWorld& world, const LabelSelector& selector) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<Node> nodes,
                                 world.facade().ListNodes(world.context(), {.label_selector = selector}));
  std::vector<std::string> names;
  for (const Node& node : nodes) names.push_back(node.name);
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status NodeIsReadAsStored(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node made, world.MakeNode({.name = world.prefix() + "a",
                                                                  .labels = {{"contract/x", "1"}},
                                                                  .annotations = {{"contract/note", "ü \"\n"}},
                                                                  .unschedulable = true}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node node, ReadNode(world, made.name));
  EXPECT_THAT(node.name == made.name, node.name);
  EXPECT_THAT(!node.uid.empty() && node.uid == made.uid, node.uid);
  EXPECT_THAT(!node.resource_version.empty(), "no resource version");
  EXPECT_THAT(Holds(node.labels, "contract/x", "1"), Describe(node.labels));
  EXPECT_THAT(Holds(node.annotations, "contract/note", "ü \"\n"), Describe(node.annotations));
  EXPECT_THAT(node.unschedulable, Describe(node.unschedulable));
  return absl::OkStatus();
}

absl::Status PodIsReadAsStored(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const ContractScene scene, MakeScene(world));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Pod pod, ReadPod(world, scene.pod.ref));
  EXPECT_THAT(pod.ref == scene.pod.ref && !pod.ref.uid.empty(), pod.ref.ToString() + " " + pod.ref.uid);
  EXPECT_THAT(pod.node_name == scene.node.name, pod.node_name);
  EXPECT_THAT(IsReady(pod), "a pod that is not ready");
  EXPECT_THAT(!pod.deletion_timestamp.has_value(), "a pod that is being deleted");
  EXPECT_THAT(Holds(pod.labels, "app", "web"), Describe(pod.labels));
  EXPECT_THAT(ControllerOf(pod) == nullptr, ControllerOf(pod)->name);
  return absl::OkStatus();
}

absl::Status MissingObjectsAreNotFound(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string ns, world.MakeNamespace());
  const absl::Status node = world.facade().GetNode(world.context(), {.name = world.prefix() + "a"}).status();
  EXPECT_THAT(absl::IsNotFound(node), Describe(node));
  const absl::Status pod = world.facade().GetPod(world.context(), {ns, "none"}).status();
  EXPECT_THAT(absl::IsNotFound(pod), Describe(pod));
  return absl::OkStatus();
}

absl::Status NodesAreSelectedByLabels(ContractWorld& world) {
  const std::string prefix = world.prefix();
  for (const char* name : {"a", "b", "c"}) {
    DRIVERUPGRADE_RETURN_IF_ERROR(
        world.MakeNode({.name = prefix + name, .labels = {{"contract", prefix + "all"}, {"letter", name}}}).status());
  }
  const absl::StatusOr<LabelSelector> selector =
      LabelSelector::Parse(fmt::format("contract={}all,letter notin (b)", prefix));
  DRIVERUPGRADE_RETURN_IF_ERROR(selector.status());
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<Node> nodes,
                                 world.facade().ListNodes(world.context(), {.label_selector = *selector}));
  std::set<std::string> names;
  for (const Node& node : nodes) names.insert(node.name);
  const std::set<std::string> expected = {prefix + "a", prefix + "c"};
  EXPECT_THAT(names == expected, Describe(names));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(
      const std::vector<Node> none,
      world.facade().ListNodes(world.context(), {.label_selector = LabelSelector::Nothing()}));
  EXPECT_THAT(none.empty(), none.size());
  return absl::OkStatus();
}

absl::Status PodsAreSelectedByNamespaceLabelsAndNode(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const ContractScene scene, MakeScene(world));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node other_node, world.MakeNode({.name = world.prefix() + "b"}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string other_ns, world.MakeNamespace());
  for (const Pod& pod :
       std::vector<Pod>{{.ref = {scene.ns, "far"}, .node_name = other_node.name, .labels = {{"app", "web"}}},
                        {.ref = {scene.ns, "db"}, .node_name = scene.node.name, .labels = {{"app", "db"}}},
                        {.ref = {other_ns, "foreign"}, .node_name = scene.node.name, .labels = {{"app", "web"}}}}) {
    DRIVERUPGRADE_RETURN_IF_ERROR(world.MakePod(pod).status());
  }
  const LabelSelector web = LabelSelector::FromMatchLabels({{"app", "web"}});
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Names in_ns, PodNames(world, {.ns = scene.ns}));
  EXPECT_THAT(in_ns == (Names{"db", "far", "web"}), Describe(in_ns));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Names on_node, PodNames(world, {.node_name = scene.node.name}));
  EXPECT_THAT(on_node == (Names{"db", "foreign", "web"}), Describe(on_node));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(
      const Names all, PodNames(world, {.ns = scene.ns, .label_selector = web, .node_name = scene.node.name}));
  EXPECT_THAT(all == (Names{"web"}), Describe(all));
  return absl::OkStatus();
}

absl::Status ListsOfNodesAreComplete(ContractWorld& world) {
  const std::string prefix = world.prefix();
  std::vector<std::string> expected;
  for (int i = 0; i < kMany; ++i) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node node, world.MakeNode({.name = prefix + std::to_string(i),
                                                                    .labels = {{"contract", prefix + "all"}},
                                                                    .unschedulable = i % 2 == 1}));
    expected.push_back(node.name);
  }
  DRIVERUPGRADE_ASSIGN_OR_RETURN(
      const std::vector<std::string> names,
      SortedNodeNames(world, LabelSelector::FromMatchLabels({{"contract", prefix + "all"}})));
  EXPECT_THAT(names == expected, Describe(names));
  for (const std::string& name : expected) DRIVERUPGRADE_RETURN_IF_ERROR(ListedNode(world, name).status());
  return absl::OkStatus();
}

absl::Status ListsOfPodsAreComplete(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const ContractScene scene, MakeScene(world));
  std::vector<std::string> expected;
  for (int i = 0; i < kMany; ++i) {
    const std::string name = "pod-" + std::to_string(i);
    DRIVERUPGRADE_RETURN_IF_ERROR(
        world.MakePod({.ref = {.ns = scene.ns, .name = name}, .node_name = scene.node.name}).status());
    expected.push_back(name);
  }
  expected.emplace_back("web");
  for (const ListPodsParams& params : {ListPodsParams{.ns = scene.ns}, ListPodsParams{.node_name = scene.node.name}}) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<Pod> pods, world.facade().ListPods(world.context(), params));
    std::vector<std::string> names;
    for (const Pod& pod : pods) names.push_back(pod.ref.name);
    std::sort(names.begin(), names.end());
    EXPECT_THAT(names == expected, Describe(names));
  }
  return absl::OkStatus();
}

// Detects lists served from a cache or by an arbitrary replica, which may show an earlier state.
absl::Status ListsOfNodesNeverGoBack(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node made, world.MakeNode({.name = world.prefix() + "a"}));
  DRIVERUPGRADE_RETURN_IF_ERROR(ListedNode(world, made.name).status());
  for (const char* step : {"1", "2", "3"}) {
    DRIVERUPGRADE_RETURN_IF_ERROR(
        PatchNow(world, {.name = made.name, .labels = {{"step", step}}, .unschedulable = *step != '2'}).status());
    for (int i = 0; i < kLooks; ++i) {
      DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node node, ListedNode(world, made.name));
      EXPECT_THAT(Holds(node.labels, "step", step), Describe(node.labels));
      EXPECT_THAT(node.unschedulable == (*step != '2'), Describe(node.unschedulable));
    }
  }
  return absl::OkStatus();
}

absl::Status ListsOfPodsNeverGoBack(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const ContractScene scene, MakeScene(world));
  DRIVERUPGRADE_RETURN_IF_ERROR(ListedPod(world, scene.pod.ref).status());
  DRIVERUPGRADE_ASSIGN_OR_RETURN(
      const Pod late, world.MakePod({.ref = {.ns = scene.ns, .name = "late"}, .node_name = scene.node.name}));
  for (int i = 0; i < kLooks; ++i) DRIVERUPGRADE_RETURN_IF_ERROR(ListedPod(world, late.ref).status());
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().DeletePod(world.context(), {.pod = scene.pod.ref}));
  for (int i = 0; i < kLooks; ++i) {
    const absl::StatusOr<Pod> pod = ListedPod(world, scene.pod.ref);
    if (!absl::IsNotFound(pod.status())) DRIVERUPGRADE_RETURN_IF_ERROR(pod.status());
    EXPECT_THAT(!pod.ok() || pod->deletion_timestamp.has_value(), "a pod that is not being deleted");
  }
  return absl::OkStatus();
}

// If the evictions before and after the list are both accepted, the pod still existed when the list was read.
absl::Status PodsThatAreBeingDeletedAreListed(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const ContractScene scene, MakeScene(world));
  const EvictPodParams eviction{.pod = scene.pod.ref};
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().EvictPod(world.context(), eviction).status());
  const absl::StatusOr<Pod> listed = ListedPod(world, scene.pod.ref);
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const EvictionAnswer again, world.facade().EvictPod(world.context(), eviction));
  if (!again.accepted()) return absl::OkStatus();
  DRIVERUPGRADE_RETURN_IF_ERROR(listed.status());
  EXPECT_THAT(listed->deletion_timestamp.has_value(), "a pod that is not being deleted");
  return absl::OkStatus();
}

absl::Status EmptyListsAreNoErrors(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string ns, world.MakeNamespace());
  const auto sets = world.facade().ListDaemonSets(world.context(), {.ns = ns});
  DRIVERUPGRADE_RETURN_IF_ERROR(sets.status());
  EXPECT_THAT(sets->empty(), sets->size());
  const auto revisions = world.facade().ListControllerRevisions(world.context(), {.ns = ns});
  DRIVERUPGRADE_RETURN_IF_ERROR(revisions.status());
  EXPECT_THAT(revisions->empty(), revisions->size());
  return absl::OkStatus();
}

absl::Status DaemonSetsAreListed(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string ns, world.MakeNamespace());
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string other, world.MakeNamespace());
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const DaemonSet nic, world.MakeDaemonSet(ns, "nic"));
  DRIVERUPGRADE_RETURN_IF_ERROR(world.MakeDaemonSet(ns, "gpu").status());
  DRIVERUPGRADE_RETURN_IF_ERROR(world.MakeDaemonSet(other, "foreign").status());
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<DaemonSet> all,
                                 world.facade().ListDaemonSets(world.context(), {.ns = ns}));
  Names names;
  for (const DaemonSet& set : all) names.insert(set.name);
  EXPECT_THAT((all.size() == 2 && names == Names{"gpu", "nic"}), Describe(names));
  const LabelSelector selector = LabelSelector::FromMatchLabels({{"app", "nic"}});
  DRIVERUPGRADE_ASSIGN_OR_RETURN(
      const std::vector<DaemonSet> selected,
      world.facade().ListDaemonSets(world.context(), {.ns = ns, .label_selector = selector}));
  EXPECT_THAT(selected.size() == 1, selected.size());
  const DaemonSet& set = selected.front();
  EXPECT_THAT(set.ns == ns && set.name == "nic", set.name);
  EXPECT_THAT(!set.uid.empty() && set.uid == nic.uid, set.uid);
  EXPECT_THAT(set.generation > 0, set.generation);
  EXPECT_THAT(Holds(set.labels, "app", "nic"), Describe(set.labels));
  EXPECT_THAT(set.selector.Matches({{"app", "nic"}}) && !set.selector.Matches({}), set.selector.ToString());
  return absl::OkStatus();
}

absl::Status RevisionsAreListed(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string ns, world.MakeNamespace());
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string other, world.MakeNamespace());
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const DaemonSet nic, world.MakeDaemonSet(ns, "nic"));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const DaemonSet gpu, world.MakeDaemonSet(ns, "gpu"));
  DRIVERUPGRADE_RETURN_IF_ERROR(world.MakeDaemonSet(other, "foreign").status());
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<ControllerRevision> all,
                                 world.facade().ListControllerRevisions(world.context(), {.ns = ns}));
  Names owners;
  for (const ControllerRevision& revision : all) owners.insert(revision.owner_uid);
  EXPECT_THAT((owners == Names{nic.uid, gpu.uid}), Describe(owners));
  const LabelSelector selector = LabelSelector::FromMatchLabels({{"app", "nic"}});
  DRIVERUPGRADE_ASSIGN_OR_RETURN(
      const std::vector<ControllerRevision> selected,
      world.facade().ListControllerRevisions(world.context(), {.ns = ns, .label_selector = selector}));
  EXPECT_THAT(selected.size() == 1, selected.size());
  const ControllerRevision& revision = selected.front();
  EXPECT_THAT(revision.ns == ns && !revision.name.empty(), revision.name);
  EXPECT_THAT(revision.owner_uid == nic.uid, revision.owner_uid);
  EXPECT_THAT(revision.revision > 0, revision.revision);
  EXPECT_THAT(revision.labels.contains("controller-revision-hash"), Describe(revision.labels));
  return absl::OkStatus();
}

absl::Status BudgetsAreListed(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string ns, world.MakeNamespace());
  DRIVERUPGRADE_RETURN_IF_ERROR(world.MakeBudget(ns, "strict", {{"app", "web"}}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<PodDisruptionBudget> budgets,
                                 world.facade().ListPodDisruptionBudgets(world.context(), {.ns = ns}));
  EXPECT_THAT(budgets.size() == 1, budgets.size());
  EXPECT_THAT(budgets[0].ns == ns && budgets[0].name == "strict", budgets[0].name);
  EXPECT_THAT(budgets[0].selector.Matches({{"app", "web"}}), budgets[0].selector.ToString());
  EXPECT_THAT(!budgets[0].selector.Matches({}), budgets[0].selector.ToString());
  EXPECT_THAT(budgets[0].disruptions_allowed == 0, budgets[0].disruptions_allowed);
  return absl::OkStatus();
}

absl::Status CallsEnd(ContractWorld& world, const CallContext& context, absl::StatusCode code) {
  ClusterFacade& facade = world.facade();
  std::vector<absl::Status> answers;
  if (facade.Supports(Operation::kGetNode)) answers.push_back(facade.GetNode(context, {.name = "none"}).status());
  if (facade.Supports(Operation::kListNodes)) answers.push_back(facade.ListNodes(context, {}).status());
  if (facade.Supports(Operation::kListPods)) answers.push_back(facade.ListPods(context, {}).status());
  for (const absl::Status& answer : answers) EXPECT_THAT(answer.code() == code, Describe(answer));
  return absl::OkStatus();
}

absl::Status StopAndDeadlineEndACall(ContractWorld& world) {
  std::stop_source source;
  source.request_stop();
  CallContext stopped = world.context();
  stopped.stop = source.get_token();
  DRIVERUPGRADE_RETURN_IF_ERROR(CallsEnd(world, stopped, absl::StatusCode::kCancelled));
  CallContext late = world.context();
  late.deadline = absl::InfinitePast();
  return CallsEnd(world, late, absl::StatusCode::kDeadlineExceeded);
}

}  // namespace

std::vector<NeededCase> ListCases() {
  using enum Operation;
  return {
      {"a node is read as it is stored", {NodeReads()}, NodeIsReadAsStored},
      {"a pod is read as it is stored", {PodReads()}, PodIsReadAsStored},
      {"objects that do not exist are NotFound", {{kGetNode}, {kGetPod}}, MissingObjectsAreNotFound},
      {"nodes are selected by labels", {{kListNodes}}, NodesAreSelectedByLabels},
      {"pods are selected by namespace, labels and node", {{kListPods}}, PodsAreSelectedByNamespaceLabelsAndNode},
      {"lists of nodes are complete", {{kListNodes}}, ListsOfNodesAreComplete},
      {"lists of pods are complete", {{kListPods}}, ListsOfPodsAreComplete},
      {"lists of nodes show every earlier write, and never go back",
       {{kListNodes}, {kPatchNode}},
       ListsOfNodesNeverGoBack},
      {"lists of pods show every earlier deletion, and never go back",
       {{kListPods}, {kDeletePod}},
       ListsOfPodsNeverGoBack},
      {"a pod that is being deleted is listed until it no longer exists",
       {{kListPods}, {kEvictPod}},
       PodsThatAreBeingDeletedAreListed},
      {"empty lists are not errors", {{kListDaemonSets}, {kListControllerRevisions}}, EmptyListsAreNoErrors},
      {"DaemonSets are listed", {{kListDaemonSets}}, DaemonSetsAreListed},
      {"controller revisions are listed", {{kListControllerRevisions}}, RevisionsAreListed},
      {"disruption budgets are listed", {{kListPodDisruptionBudgets}}, BudgetsAreListed},
      {"a stop and a deadline end a call", {NodeReads()}, StopAndDeadlineEndACall},
  };
}

}  // namespace driverupgrade::testing::internal
