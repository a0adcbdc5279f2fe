#include "driverupgrade/testing/facade_contract.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "fmt/format.h"
#include "internal/status_macros.h"
#include "testing/facade_contract_cases.h"

namespace driverupgrade::inline v1::testing {

ContractWorld::~ContractWorld() = default;

absl::Status ContractWorld::RemoveNode(const std::string& /*name*/) {
  return absl::UnimplementedError("this world removes no nodes");
}

namespace {

using internal::Describe;
using internal::NeededCase;
using internal::PatchNow;
using Kind = EvictionAnswer::Kind;

// One namespace, one node and one pod on it.
struct Scene {
  std::string ns;
  Node node;
  Pod pod;
};

absl::StatusOr<Scene> MakeScene(ContractWorld& world) {
  Scene scene;
  DRIVERUPGRADE_ASSIGN_OR_RETURN(scene.ns, world.MakeNamespace());
  DRIVERUPGRADE_ASSIGN_OR_RETURN(scene.node, world.MakeNode({.name = world.prefix() + "a"}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(scene.pod, world.MakePod({.ref = {.ns = scene.ns, .name = "web"},
                                                           .node_name = scene.node.name,
                                                           .labels = {{"app", "web"}}}));
  return scene;
}

absl::StatusOr<std::set<std::string>> PodNames(ContractWorld& world, const ListPodsParams& params) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<Pod> pods, world.facade().ListPods(world.context(), params));
  std::set<std::string> names;
  for (const Pod& pod : pods) names.insert(pod.ref.name);
  return names;
}

// OK if the pod is as it was; an eviction or deletion that does not apply must leave no trace.
absl::Status ExpectUntouched(ContractWorld& world, const PodRef& ref) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Pod pod, world.facade().GetPod(world.context(), {ref.ns, ref.name}));
  EXPECT_THAT(pod.ref.uid == ref.uid, pod.ref.uid);
  EXPECT_THAT(!pod.deletion_timestamp.has_value(), "a pod that is being deleted");
  return absl::OkStatus();
}

// OK if the pod is being deleted, or gone.
absl::Status ExpectDeletion(ContractWorld& world, const PodRef& ref) {
  const absl::StatusOr<Pod> pod = world.facade().GetPod(world.context(), {ref.ns, ref.name});
  if (absl::IsNotFound(pod.status())) return absl::OkStatus();
  DRIVERUPGRADE_RETURN_IF_ERROR(pod.status());
  EXPECT_THAT(pod->deletion_timestamp.has_value() || pod->ref.uid != ref.uid, "a pod that is not being deleted");
  return absl::OkStatus();
}

absl::Status NodeIsReadAsStored(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node made, world.MakeNode({.name = world.prefix() + "a",
                                                                  .labels = {{"contract/x", "1"}},
                                                                  .annotations = {{"contract/note", "ü \"\n"}},
                                                                  .unschedulable = true}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node node, world.facade().GetNode(world.context(), {.name = made.name}));
  EXPECT_THAT(node.name == made.name, node.name);
  EXPECT_THAT(!node.uid.empty() && node.uid == made.uid, node.uid);
  EXPECT_THAT(!node.resource_version.empty(), "no resource version");
  EXPECT_THAT(node.labels.contains("contract/x"), Describe(node.labels));
  EXPECT_THAT(node.annotations.at("contract/note") == "ü \"\n", Describe(node.annotations));
  EXPECT_THAT(node.unschedulable, Describe(node.unschedulable));
  return absl::OkStatus();
}

absl::Status MissingObjectsAreNotFound(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string ns, world.MakeNamespace());
  const absl::Status node = world.facade().GetNode(world.context(), {.name = world.prefix() + "a"}).status();
  EXPECT_THAT(absl::IsNotFound(node), Describe(node));
  const absl::Status pod = world.facade().GetPod(world.context(), {ns, "none"}).status();
  EXPECT_THAT(absl::IsNotFound(pod), Describe(pod));
  const absl::Status patch =
      world.facade()
          .PatchNode(world.context(), {.name = world.prefix() + "a", .uid = "u", .resource_version = "1"})
          .status();
  EXPECT_THAT(absl::IsNotFound(patch), Describe(patch));
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
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Scene scene, MakeScene(world));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node other_node, world.MakeNode({.name = world.prefix() + "b"}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string other_ns, world.MakeNamespace());
  for (const Pod& pod :
       std::vector<Pod>{{.ref = {scene.ns, "far"}, .node_name = other_node.name, .labels = {{"app", "web"}}},
                        {.ref = {scene.ns, "db"}, .node_name = scene.node.name, .labels = {{"app", "db"}}},
                        {.ref = {other_ns, "foreign"}, .node_name = scene.node.name, .labels = {{"app", "web"}}}}) {
    DRIVERUPGRADE_RETURN_IF_ERROR(world.MakePod(pod).status());
  }
  using Names = std::set<std::string>;
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

absl::Status PodIsReadAsStored(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Scene scene, MakeScene(world));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Pod pod, world.facade().GetPod(world.context(), {scene.ns, "web"}));
  EXPECT_THAT(pod.ref == scene.pod.ref && !pod.ref.uid.empty(), pod.ref.ToString());
  EXPECT_THAT(pod.node_name == scene.node.name, pod.node_name);
  EXPECT_THAT(IsReady(pod), "a pod that is not ready");
  EXPECT_THAT(pod.labels.contains("app"), Describe(pod.labels));
  EXPECT_THAT(ControllerOf(pod) == nullptr, ControllerOf(pod)->name);
  return absl::OkStatus();
}

absl::Status PatchChangesWhatItNames(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node made, world.MakeNode({.name = world.prefix() + "a",
                                                                  .labels = {{"old", "1"}, {"kept", "2"}},
                                                                  .annotations = {{"old", "1"}, {"kept", "2"}}}));
  PatchNodeParams patch{.name = made.name,
                        .uid = made.uid,
                        .resource_version = made.resource_version,
                        .labels = {{"new", "3"}, {"old", std::nullopt}, {"absent", std::nullopt}},
                        .annotations = {{"new", "a \"b\"\n"}, {"old", std::nullopt}, {"absent", std::nullopt}},
                        .unschedulable = true};
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node patched, PatchNow(world, patch));
  EXPECT_THAT(patched.uid == made.uid, patched.uid);
  EXPECT_THAT(patched.resource_version != made.resource_version, patched.resource_version);
  EXPECT_THAT(!patched.labels.contains("old") && !patched.labels.contains("absent"), Describe(patched.labels));
  EXPECT_THAT(patched.labels.contains("kept") && patched.labels.contains("new"), Describe(patched.labels));
  EXPECT_THAT(!patched.annotations.contains("old"), Describe(patched.annotations));
  EXPECT_THAT(patched.annotations.contains("kept"), Describe(patched.annotations));
  EXPECT_THAT(patched.annotations.contains("new"), Describe(patched.annotations));
  EXPECT_THAT(patched.unschedulable, Describe(patched.unschedulable));

  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node open, PatchNow(world, {.name = made.name, .unschedulable = false}));
  EXPECT_THAT(!open.unschedulable, Describe(open.unschedulable));
  EXPECT_THAT(open.labels == patched.labels, Describe(open.labels));

  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node confirmed, PatchNow(world, {.name = made.name}));
  EXPECT_THAT(confirmed.labels == open.labels && confirmed.annotations == open.annotations && !confirmed.unschedulable,
              Describe(confirmed.labels));
  return absl::OkStatus();
}

absl::Status PatchOfAnotherVersionIsAborted(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node made, world.MakeNode({.name = world.prefix() + "a"}));
  DRIVERUPGRADE_RETURN_IF_ERROR(world.TouchNode(made.name));
  PatchNodeParams patch{.name = made.name, .uid = made.uid, .resource_version = made.resource_version};
  const absl::Status without_changes = world.facade().PatchNode(world.context(), patch).status();
  EXPECT_THAT(absl::IsAborted(without_changes), Describe(without_changes));
  patch.labels = {{"x", "1"}};
  const absl::Status stale = world.facade().PatchNode(world.context(), patch).status();
  EXPECT_THAT(absl::IsAborted(stale), Describe(stale));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node node, world.facade().GetNode(world.context(), {.name = made.name}));
  patch.uid = "00000000-0000-0000-0000-000000000000";
  patch.resource_version = node.resource_version;
  const absl::Status other = world.facade().PatchNode(world.context(), patch).status();
  EXPECT_THAT(absl::IsAborted(other), Describe(other));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node after, world.facade().GetNode(world.context(), {.name = made.name}));
  EXPECT_THAT(!after.labels.contains("x"), Describe(after.labels));
  return absl::OkStatus();
}

absl::Status EvictionDeletes(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Scene scene, MakeScene(world));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const EvictionAnswer answer,
                                 world.facade().EvictPod(world.context(), {.pod = scene.pod.ref}));
  EXPECT_THAT(answer.kind == Kind::kAccepted, ToString(answer.kind));
  return ExpectDeletion(world, scene.pod.ref);
}

absl::Status EvictionOfAnotherPodIsGone(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Scene scene, MakeScene(world));
  PodRef ref = scene.pod.ref;
  ref.uid = "00000000-0000-0000-0000-000000000000";
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const EvictionAnswer other, world.facade().EvictPod(world.context(), {.pod = ref}));
  EXPECT_THAT(other.kind == Kind::kGone, ToString(other.kind));
  ref.name = "none";
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const EvictionAnswer none, world.facade().EvictPod(world.context(), {.pod = ref}));
  EXPECT_THAT(none.kind == Kind::kGone, ToString(none.kind));
  return ExpectUntouched(world, scene.pod.ref);
}

absl::Status BudgetRefusesEviction(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Scene scene, MakeScene(world));
  DRIVERUPGRADE_RETURN_IF_ERROR(world.MakeBudget(scene.ns, "strict", {{"app", "web"}}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const EvictionAnswer one,
                                 world.facade().EvictPod(world.context(), {.pod = scene.pod.ref}));
  EXPECT_THAT(one.kind == Kind::kRefusedByBudget, ToString(one.kind));
  EXPECT_THAT(one.budget == "strict", one.budget);
  DRIVERUPGRADE_RETURN_IF_ERROR(world.MakeBudget(scene.ns, "stricter", {{"app", "web"}}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const EvictionAnswer two,
                                 world.facade().EvictPod(world.context(), {.pod = scene.pod.ref}));
  EXPECT_THAT(two.kind == Kind::kSeveralBudgets, ToString(two.kind));
  return ExpectUntouched(world, scene.pod.ref);
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

absl::Status DeletionIsOfThatPodOnly(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Scene scene, MakeScene(world));
  PodRef ref = scene.pod.ref;
  ref.uid = "00000000-0000-0000-0000-000000000000";
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().DeletePod(world.context(), {.pod = ref}));
  DRIVERUPGRADE_RETURN_IF_ERROR(ExpectUntouched(world, scene.pod.ref));
  ref.name = "none";
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().DeletePod(world.context(), {.pod = ref}));
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().DeletePod(world.context(), {.pod = scene.pod.ref}));
  return ExpectDeletion(world, scene.pod.ref);
}

absl::Status EventsAreTaken(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Scene scene, MakeScene(world));
  RecordEventParams params{.node_name = scene.node.name,
                           .node_uid = scene.node.uid,
                           .reason = "Contract",
                           .message = "ü \"\n",
                           .time = absl::FromUnixSeconds(1767323045)};
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().RecordEvent(world.context(), params));
  params.message = "another one of that moment";
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().RecordEvent(world.context(), params));
  params.pod = scene.pod.ref;
  params.type = EventType::kWarning;
  return world.facade().RecordEvent(world.context(), params);
}

absl::Status RepeatedEventsAreTaken(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Scene scene, MakeScene(world));
  RecordEventParams params{.node_name = scene.node.name,
                           .node_uid = scene.node.uid,
                           .type = EventType::kWarning,
                           .reason = "Contract",
                           .message = "blocked",
                           .time = absl::FromUnixSeconds(1767323045)};
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().RecordEvent(world.context(), params));
  params.series = {.count = 2, .first_time = params.time, .first_message = params.message};
  params.time += absl::Seconds(60);
  params.message = "blocked by another one";
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().RecordEvent(world.context(), params));
  // The first of this series was never written, or is gone.
  params.series->first_time -= absl::Hours(2);
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().RecordEvent(world.context(), params));
  params.pod = scene.pod.ref;
  return world.facade().RecordEvent(world.context(), params);
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

absl::Status StopAndDeadlineEndACall(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node made, world.MakeNode({.name = world.prefix() + "a"}));
  std::stop_source source;
  source.request_stop();
  CallContext stopped = world.context();
  stopped.stop = source.get_token();
  const absl::Status cancelled = world.facade().GetNode(stopped, {.name = made.name}).status();
  EXPECT_THAT(absl::IsCancelled(cancelled), Describe(cancelled));
  CallContext late = world.context();
  late.deadline = absl::InfinitePast();
  const absl::Status timeout = world.facade().GetNode(late, {.name = made.name}).status();
  EXPECT_THAT(absl::IsDeadlineExceeded(timeout), Describe(timeout));
  return absl::OkStatus();
}

}  // namespace

namespace internal {

absl::StatusOr<Node> PatchNow(ContractWorld& world, PatchNodeParams patch) {
  absl::StatusOr<Node> patched = absl::AbortedError("not tried");
  for (int i = 0; i < 5 && absl::IsAborted(patched.status()); ++i) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node node, world.facade().GetNode(world.context(), {.name = patch.name}));
    patch.uid = node.uid;
    patch.resource_version = node.resource_version;
    patched = world.facade().PatchNode(world.context(), patch);
  }
  return patched;
}

}  // namespace internal

std::vector<ContractCase> FacadeContract() {
  using enum Operation;
  std::vector<NeededCase> cases = {
      {"a node is read as it is stored", {kGetNode}, NodeIsReadAsStored},
      {"objects that do not exist are NotFound", {kGetNode, kGetPod, kPatchNode}, MissingObjectsAreNotFound},
      {"nodes are selected by labels", {kListNodes}, NodesAreSelectedByLabels},
      {"a pod is read as it is stored", {kGetPod}, PodIsReadAsStored},
      {"pods are selected by namespace, labels and node", {kListPods}, PodsAreSelectedByNamespaceLabelsAndNode},
      {"lists of nothing are no errors", {kListDaemonSets, kListControllerRevisions}, EmptyListsAreNoErrors},
      {"disruption budgets are listed", {kListPodDisruptionBudgets}, BudgetsAreListed},
      {"a patch changes what it names and nothing else", {kPatchNode, kGetNode}, PatchChangesWhatItNames},
      {"a patch of another version or UID is Aborted", {kPatchNode, kGetNode}, PatchOfAnotherVersionIsAborted},
      {"an eviction deletes the pod", {kEvictPod, kGetPod}, EvictionDeletes},
      {"an eviction of a pod that is gone or another says so", {kEvictPod, kGetPod}, EvictionOfAnotherPodIsGone},
      {"a budget refuses an eviction, and two do for good", {kEvictPod, kGetPod}, BudgetRefusesEviction},
      {"a deletion is of that very pod or of none", {kDeletePod, kGetPod}, DeletionIsOfThatPodOnly},
      {"events on nodes and pods are taken", {kRecordEvent}, EventsAreTaken},
      {"an event that repeats is one event", {kRecordEvent}, RepeatedEventsAreTaken},
      {"a stop and a deadline end a call", {kGetNode}, StopAndDeadlineEndACall},
  };
  for (const auto& more : {internal::MaintenanceCases(), internal::WatchCases(), internal::LeaseCases()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  std::vector<ContractCase> result;
  std::transform(cases.begin(), cases.end(), std::back_inserter(result), [](const NeededCase& one) {
    return ContractCase{.name = std::string(one.name), .run = [one](ContractWorld& world) {
                          for (const Operation operation : one.operations) {
                            if (!world.facade().Supports(operation)) return absl::OkStatus();
                          }
                          return one.run(world);
                        }};
  });
  return result;
}

}  // namespace driverupgrade::inline v1::testing
