// Contract cases for the writes that every engine performs, and for Events.

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/status_macros.h"
#include "testing/facade_contract_cases.h"

namespace driverupgrade::testing::internal {

namespace {

// Returns OK if the pod still has this UID and is not being deleted, because a rejected eviction or deletion must have
// no effect.
absl::Status ExpectUntouched(ContractWorld& world, const PodRef& ref) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Pod pod, ReadPod(world, ref));
  EXPECT_THAT(pod.ref.uid == ref.uid, pod.ref.uid);
  EXPECT_THAT(!pod.deletion_timestamp.has_value(), "a pod that is being deleted");
  return absl::OkStatus();
}

// Returns OK if the pod is being deleted, or if no pod with this UID exists any longer.
absl::Status ExpectDeletion(ContractWorld& world, const PodRef& ref) {
  const absl::StatusOr<Pod> pod = ReadPod(world, ref);
  if (absl::IsNotFound(pod.status())) return absl::OkStatus();
  DRIVERUPGRADE_RETURN_IF_ERROR(pod.status());
  EXPECT_THAT(pod->deletion_timestamp.has_value() || pod->ref.uid != ref.uid, "a pod that is not being deleted");
  return absl::OkStatus();
}

// Checks the result of the patch in PatchChangesWhatItNames.
absl::Status ExpectPatched(const Node& node) {
  EXPECT_THAT(!node.labels.contains("old") && !node.labels.contains("absent"), Describe(node.labels));
  EXPECT_THAT(Holds(node.labels, "kept", "2") && Holds(node.labels, "new", "3"), Describe(node.labels));
  EXPECT_THAT(!node.annotations.contains("old"), Describe(node.annotations));
  EXPECT_THAT(!node.annotations.contains("absent"), Describe(node.annotations));
  EXPECT_THAT(Holds(node.annotations, "kept", "2"), Describe(node.annotations));
  EXPECT_THAT(Holds(node.annotations, "new", "a \"b\"\n"), Describe(node.annotations));
  return absl::OkStatus();
}

absl::Status PatchChangesWhatItNames(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node made, world.MakeNode({.name = world.prefix() + "a",
                                                                  .labels = {{"old", "1"}, {"kept", "2"}},
                                                                  .annotations = {{"old", "1"}, {"kept", "2"}}}));
  const PatchNodeParams patch{.name = made.name,
                              .labels = {{"new", "3"}, {"old", std::nullopt}, {"absent", std::nullopt}},
                              .annotations = {{"new", "a \"b\"\n"}, {"old", std::nullopt}, {"absent", std::nullopt}},
                              .unschedulable = true};
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node patched, PatchNow(world, patch));
  EXPECT_THAT(patched.uid == made.uid, patched.uid);
  EXPECT_THAT(patched.resource_version != made.resource_version, patched.resource_version);
  // Sends an empty patch, and a patch that lifts the cordon: all other fields stay the same.
  const PatchNodeParams nothing{.name = made.name};
  const PatchNodeParams uncordon{.name = made.name, .unschedulable = false};
  Node answer = patched;
  bool unschedulable = true;
  for (const PatchNodeParams& next : {nothing, uncordon, nothing}) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node read, ReadNode(world, made.name));
    for (const Node& node : {answer, read}) {
      DRIVERUPGRADE_RETURN_IF_ERROR(ExpectPatched(node));
      EXPECT_THAT(node.unschedulable == unschedulable, Describe(node.unschedulable));
    }
    DRIVERUPGRADE_ASSIGN_OR_RETURN(answer, PatchNow(world, next));
    unschedulable = next.unschedulable.value_or(unschedulable);
  }
  EXPECT_THAT(!answer.unschedulable, Describe(answer.unschedulable));
  return ExpectPatched(answer);
}

bool Has(const Node& node, const Taint& taint) {
  return std::find(node.taints.begin(), node.taints.end(), taint) != node.taints.end();
}

// The case looks only for its own taints, because other clients, such as Kubernetes' own controllers, can add taints.
absl::Status PatchSetsTaintsAsAWhole(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node made, world.MakeNode({.name = world.prefix() + "a"}));
  const Taint kept{.key = "example.com/kept", .value = "v", .effect = "NoSchedule"};
  const Taint same_key{.key = "example.com/kept", .effect = "PreferNoSchedule"};
  const Taint ours{.key = "example.com/ours", .value = "pending", .effect = "PreferNoSchedule"};
  const auto patch_with = [&](std::vector<Taint> taints) {
    taints.insert(taints.end(), made.taints.begin(), made.taints.end());
    return PatchNow(world, {.name = made.name, .taints = std::move(taints)});
  };
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node tainted, patch_with({kept, same_key, ours}));
  // A patch without taints leaves the node's taints unchanged.
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node labelled, PatchNow(world, {.name = made.name, .labels = {{"new", "1"}}}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node read, ReadNode(world, made.name));
  for (const Node& node : {tainted, labelled, read}) {
    EXPECT_THAT(Has(node, kept) && Has(node, same_key) && Has(node, ours), "a node without one of its taints");
  }
  const absl::Status twice = patch_with({kept, kept}).status();
  EXPECT_THAT(absl::IsInvalidArgument(twice), Describe(twice));
  const absl::Status without_effect = patch_with({{.key = "example.com/kept"}}).status();
  EXPECT_THAT(absl::IsInvalidArgument(without_effect), Describe(without_effect));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node untainted, patch_with({kept, same_key}));
  EXPECT_THAT(Has(untainted, kept) && Has(untainted, same_key) && !Has(untainted, ours), "a taint that was removed");
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node emptied,
                                 PatchNow(world, {.name = made.name, .taints = std::vector<Taint>()}));
  EXPECT_THAT(!Has(emptied, kept) && !Has(emptied, same_key), "taints that were removed");
  return absl::OkStatus();
}

absl::Status PatchOfAnotherVersionIsAborted(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node made, world.MakeNode({.name = world.prefix() + "a"}));
  DRIVERUPGRADE_RETURN_IF_ERROR(world.TouchNode(made.name));
  PatchNodeParams patch{.name = made.name, .uid = made.uid, .resource_version = made.resource_version};
  const absl::Status without_changes = world.facade().PatchNode(world.context(), patch).status();
  EXPECT_THAT(absl::IsAborted(without_changes), Describe(without_changes));
  patch.labels = {{"x", "1"}};
  patch.annotations = {{"x", "1"}};
  patch.unschedulable = true;
  patch.taints = std::vector{Taint{.key = "x", .effect = "PreferNoSchedule"}};
  const absl::Status stale = world.facade().PatchNode(world.context(), patch).status();
  EXPECT_THAT(absl::IsAborted(stale), Describe(stale));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node node, ReadNode(world, made.name));
  patch.uid = kOtherUid;
  patch.resource_version = node.resource_version;
  const absl::Status other = world.facade().PatchNode(world.context(), patch).status();
  EXPECT_THAT(absl::IsAborted(other), Describe(other));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node after, ReadNode(world, made.name));
  EXPECT_THAT(!after.labels.contains("x"), Describe(after.labels));
  EXPECT_THAT(!after.annotations.contains("x"), Describe(after.annotations));
  EXPECT_THAT(!after.unschedulable, Describe(after.unschedulable));
  EXPECT_THAT(after.taints == made.taints, "other taints");
  return absl::OkStatus();
}

absl::Status PatchOfAMissingNodeIsNotFound(ContractWorld& world) {
  const absl::Status patch =
      world.facade()
          .PatchNode(world.context(), {.name = world.prefix() + "a", .uid = "u", .resource_version = "1"})
          .status();
  EXPECT_THAT(absl::IsNotFound(patch), Describe(patch));
  return absl::OkStatus();
}

absl::Status EvictionDeletes(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const ContractScene scene, MakeScene(world));
  DRIVERUPGRADE_RETURN_IF_ERROR(ExpectUntouched(world, scene.pod.ref));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const EvictionAnswer answer,
                                 world.facade().EvictPod(world.context(), {.pod = scene.pod.ref}));
  EXPECT_THAT(answer.accepted(), ToString(answer));
  return ExpectDeletion(world, scene.pod.ref);
}

absl::Status EvictionOfAnotherPodIsGone(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const ContractScene scene, MakeScene(world));
  PodRef ref = scene.pod.ref;
  ref.uid = kOtherUid;
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const EvictionAnswer other, world.facade().EvictPod(world.context(), {.pod = ref}));
  EXPECT_THAT(other.gone, ToString(other));
  ref.name = "none";
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const EvictionAnswer none, world.facade().EvictPod(world.context(), {.pod = ref}));
  EXPECT_THAT(none.gone, ToString(none));
  return ExpectUntouched(world, scene.pod.ref);
}

absl::Status BudgetRefusesEviction(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const ContractScene scene, MakeScene(world));
  DRIVERUPGRADE_RETURN_IF_ERROR(world.MakeBudget(scene.ns, "strict", {{"app", "web"}}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const EvictionAnswer one,
                                 world.facade().EvictPod(world.context(), {.pod = scene.pod.ref}));
  EXPECT_THAT(one.refusal == Refusal::kDisruptionBudget, ToString(one));
  EXPECT_THAT(one.budget == "strict", one.budget);
  DRIVERUPGRADE_RETURN_IF_ERROR(ExpectUntouched(world, scene.pod.ref));
  DRIVERUPGRADE_RETURN_IF_ERROR(world.MakeBudget(scene.ns, "stricter", {{"app", "web"}}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const EvictionAnswer two,
                                 world.facade().EvictPod(world.context(), {.pod = scene.pod.ref}));
  EXPECT_THAT(two.refusal == Refusal::kSeveralBudgets, ToString(two));
  return ExpectUntouched(world, scene.pod.ref);
}

absl::Status DeletionIsOfThatPodOnly(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const ContractScene scene, MakeScene(world));
  PodRef ref = scene.pod.ref;
  ref.uid = kOtherUid;
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().DeletePod(world.context(), {.pod = ref}));
  DRIVERUPGRADE_RETURN_IF_ERROR(ExpectUntouched(world, scene.pod.ref));
  ref.name = "none";
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().DeletePod(world.context(), {.pod = ref}));
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().DeletePod(world.context(), {.pod = scene.pod.ref}));
  return ExpectDeletion(world, scene.pod.ref);
}

absl::Status EventsAreTaken(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const ContractScene scene, MakeScene(world));
  RecordEventParams params{.node_name = scene.node.name,
                           .node_uid = scene.node.uid,
                           .reason = "Contract",
                           .message = "ü \"\n",
                           .time = absl::FromUnixSeconds(1767323045)};
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().RecordEvent(world.context(), params));
  params.message = "another Event with the same time";
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().RecordEvent(world.context(), params));
  params.pod = scene.pod.ref;
  params.type = EventType::kWarning;
  return world.facade().RecordEvent(world.context(), params);
}

absl::Status RepeatedEventsAreTaken(ContractWorld& world) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const ContractScene scene, MakeScene(world));
  RecordEventParams params{.node_name = scene.node.name,
                           .node_uid = scene.node.uid,
                           .type = EventType::kWarning,
                           .reason = "Contract",
                           .message = "blocked",
                           .time = absl::FromUnixSeconds(1767323045)};
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().RecordEvent(world.context(), params));
  params.series = {.count = 2, .first_time = params.time, .first_message = params.message};
  params.time += absl::Seconds(60);
  params.message = "blocked by another budget";
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().RecordEvent(world.context(), params));
  // With an earlier `first_time`, the series refers to an Event that does not exist.
  params.series->first_time -= absl::Hours(2);
  DRIVERUPGRADE_RETURN_IF_ERROR(world.facade().RecordEvent(world.context(), params));
  params.pod = scene.pod.ref;
  return world.facade().RecordEvent(world.context(), params);
}

}  // namespace

std::vector<NeededCase> WriteCases() {
  using enum Operation;
  return {
      {"a patch changes only the fields that it contains", {{kPatchNode}, NodeReads()}, PatchChangesWhatItNames},
      {"a patch sets a node's taints as a whole, or leaves them alone",
       {{kPatchNode}, NodeReads()},
       PatchSetsTaintsAsAWhole},
      {"a patch that names another version or UID fails with Aborted, and changes nothing",
       {{kPatchNode}, NodeReads()},
       PatchOfAnotherVersionIsAborted},
      {"a patch of a node that does not exist is NotFound", {{kPatchNode}}, PatchOfAMissingNodeIsNotFound},
      {"an eviction deletes the pod", {{kEvictPod}, PodReads()}, EvictionDeletes},
      {"an eviction reports that its pod was deleted or replaced",
       {{kEvictPod}, PodReads()},
       EvictionOfAnotherPodIsGone},
      {"a budget refuses an eviction, and two refuse it permanently", {{kEvictPod}, PodReads()}, BudgetRefusesEviction},
      {"a deletion deletes only the pod with the given UID", {{kDeletePod}, PodReads()}, DeletionIsOfThatPodOnly},
      {"events on nodes and pods are accepted", {{kRecordEvent}}, EventsAreTaken},
      {"repeated events are stored as one event", {{kRecordEvent}}, RepeatedEventsAreTaken},
  };
}

}  // namespace driverupgrade::testing::internal
