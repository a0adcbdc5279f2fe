// Defines the fields of an upgrade policy, except for the fields of `rollout` (rollout_fields.h). See field_table.h for
// the tables.
#ifndef DRIVERUPGRADE_SRC_POLICY_POLICY_FIELDS_H_
#define DRIVERUPGRADE_SRC_POLICY_POLICY_FIELDS_H_

#include <string>
#include <string_view>
#include <tuple>

#include "driverupgrade/upgrade_policy.h"
#include "policy/field_table.h"
#include "policy/rollout_fields.h"

namespace driverupgrade::internal {

inline constexpr Words<Pacing, 2> kPacingWords = {{{"Chained", Pacing::kChained}, {"EveryState", Pacing::kEveryState}}};
inline constexpr Words<CordonedNodes, 3> kCordonedNodesWords = {{{"Proceed", CordonedNodes::kProceed},
                                                                 {"WithinBudget", CordonedNodes::kWithinBudget},
                                                                 {"Ignore", CordonedNodes::kIgnore}}};
inline constexpr Words<OnTimeout, 3> kOnTimeoutWords = {
    {{"Fail", OnTimeout::kFail}, {"Delete", OnTimeout::kDelete}, {"ForceDelete", OnTimeout::kForceDelete}}};
inline constexpr Words<OnFailure, 2> kOnFailureWords = {
    {{"Fail", OnFailure::kFail}, {"GiveBack", OnFailure::kGiveBack}}};
inline constexpr Words<OnUnscheduledPods, 2> kOnUnscheduledPodsWords = {
    {{"CountUnavailable", OnUnscheduledPods::kCountUnavailable}, {"Ignore", OnUnscheduledPods::kIgnore}}};
inline constexpr Words<IsolationScope, 3> kScopeWords = {
    {{"Node", IsolationScope::kNode}, {"Devices", IsolationScope::kDevices}, {"Auto", IsolationScope::kAuto}}};

inline constexpr std::tuple kWaitForCompletionFields(
    Field("podSelector", &WaitForCompletionPolicy::pod_selector, Selector{},
          {.meaning = "the pods to wait for, in any namespace. **Empty waits for none**. Pods of DaemonSets and static "
                      "pods never end, so the upgrade does not wait for them",
           .advice = "remaining pods are evicted by `podDeletion` and `drain` like all others"}),
    Field("timeoutSeconds", &WaitForCompletionPolicy::timeout, Timeout{"no limit"},
          {.meaning = "after this time the upgrade continues, even if pods are still running",
           .advice = "choose the duration of the longest job that you want to spare. With 0, a job that never ends "
                     "holds the slot indefinitely"}));

inline constexpr std::tuple kPodDeletionFields(
    Field("force", &PodDeletionPolicy::force, Boolean{},
          {.meaning = "`true` also evicts pods that no controller will replace",
           .advice = "with `false`, a single such pod ends pod deletion immediately: the node is drained, or fails "
                     "without `drain`"}),
    Field(
        "timeoutSeconds", &PodDeletionPolicy::timeout, Timeout{"no limit"},
        {.meaning =
             "after this time the node changes to `drain-required` if there is a drain, otherwise to `upgrade-failed`",
         .advice = "choose a time longer than the grace periods of the pods, and longer than a disruption budget needs "
                   "to recover"}),
    Field("deleteEmptyDir", &PodDeletionPolicy::delete_empty_dir, Boolean{},
          {.meaning = "`true` also evicts pods with `emptyDir` volumes, whose data are lost", .advice = "the same"}),
    Field("podSelector", &PodDeletionPolicy::pod_selector, Selector{},
          {.meaning = "additional pods that use the driver. **Empty selects none**",
           .advice = "for pods that use the device without requesting a resource"}),
    Field("onTimeout", &PodDeletionPolicy::on_timeout, OneOf(kOnTimeoutWords),
          {.meaning = "`Delete`: pods that are left at the timeout are deleted **despite disruption budgets**; each "
                      "keeps its grace period. `ForceDelete`: they are deleted with grace period zero, terminating "
                      "ones included ([risk](#forced-deletion))",
           .advice = "use `Delete` and `ForceDelete` only if the driver matters more than the workloads. The operator "
                     "needs the permission to delete pods in all namespaces"}),
    Field("onFailure", &PodDeletionPolicy::on_failure, OneOf(kOnFailureWords),
          {.meaning = "treatment of a node that could not be evacuated while its old driver still runs. `Fail`: it "
                      "stays cordoned as `upgrade-failed`. `GiveBack`: it returns to service "
                      "([below](#nodes-that-cannot-be-evacuated))",
           .advice = "has no effect if there is a `drain`, which comes next"}));

inline constexpr std::tuple kDrainFields(
    // Handled by DrainField.
    ByHand("enable", {.meaning = "`false` has the same effect as no section",
                      .advice = "without a drain, the node fails if pod deletion does not succeed"}),
    Field("force", &DrainPolicy::force, Boolean{},
          {.meaning = "`true` also evicts pods that no controller will replace",
           .advice = "with `false` one such pod fails the drain before any pod is evicted"}),
    Field("podSelector", &DrainPolicy::pod_selector, Selector{},
          {.meaning = "the pods to drain. **Empty drains all pods** except static pods and pods of DaemonSets",
           .advice = "pods that the selector does not match keep running while the driver is replaced: exclude only "
                     "pods that do not use it"}),
    Field("timeoutSeconds", &DrainPolicy::timeout, Timeout{"no limit"},
          {.meaning = "after this time the node changes to `upgrade-failed`",
           .advice = "counts from the start of the drain, after the time of `podDeletion`. With 0, a disruption budget "
                     "can hold a slot indefinitely"}),
    Field("deleteEmptyDir", &DrainPolicy::delete_empty_dir, Boolean{},
          {.meaning = "`true` also evicts pods with `emptyDir` volumes, whose data are lost", .advice = "the same"}),
    Field("onTimeout", &DrainPolicy::on_timeout, OneOf(kOnTimeoutWords),
          {.meaning = "same as in `podDeletion`", .advice = "same as in `podDeletion`"}),
    Field("onFailure", &DrainPolicy::on_failure, OneOf(kOnFailureWords),
          {.meaning = "same as in `podDeletion`",
           .advice = "choose `GiveBack` if a node with the old driver is better than a cordoned node"}));

inline constexpr std::tuple kDeadlinesFields(
    Field("podRestartSeconds", &DeadlinePolicy::pod_restart, Timeout{"off"},
          {.meaning =
               "the new driver pod must become Ready within this time; otherwise the node changes to `upgrade-failed`",
           .advice = "choose twice the longest startup time observed, including image pull and compilation. With 0, "
                     "an image that cannot be pulled holds the slot indefinitely",
           .fallback = "1800 if the policy has a `rollout` or a `failurePolicy`, otherwise 0"}),
    Field("validationSeconds", &DeadlinePolicy::validation, Timeout{"off"},
          {.meaning =
               "the validation pods must become Ready within this time; otherwise the node changes to `upgrade-failed`",
           .advice = "has no effect in an operator without validation pods"}));

inline constexpr std::tuple kFailurePolicyFields(
    Field("maxFailures", &FailurePolicy::max_failures, NumberOrPercent{.min = 1},
          {.meaning = "number of nodes in `upgrade-failed` at which no further node starts; nodes in progress finish. "
                      "A node that could not load the driver that it had, for example after a reboot, does not count. "
                      "A percentage rounds down, to at least 1",
           .advice = "failed nodes stay cordoned and count in `maxUnavailable`, so keep this limit lower than "
                     "`maxUnavailable`. Choose the number of failures that convinces you that the driver is bad"}),
    Field("byClass", &FailurePolicy::by_class, ByClass{},
          {.meaning = "number of failed nodes of one class that stops the rollout; the first limit that is reached "
                      "counts. The classes: `DriverCrash` (the driver pod crashes repeatedly, or does not become "
                      "Ready), `ImagePull` (its image cannot be pulled), `Validation`, `DrainBlocked` (pods still "
                      "existed when the time for their eviction expired) and `NodeLost` (the node was not Ready)",
           .advice = "a class that is not named counts only in `maxFailures`. Keep `DriverCrash` and `ImagePull` "
                     "small, because their cause is usually the driver. A node that failed before the policy had "
                     "`byClass` has no class",
           .values = "a mapping from classes to integers >= 1 or percentages"}));

inline constexpr std::tuple kRetryFields(
    Field("maxAttempts", &RetryPolicy::max_attempts, Number{.zero = "none"},
          {.meaning = "maximum number of times that a failed node returns to `upgrade-required` at one target revision",
           .advice = "each attempt needs a slot. Choose 3 for transient failures, and 0 if an administrator should "
                     "check first"}),
    Field("backoffSeconds", &RetryPolicy::backoff, Timeout{"never"},
          {.meaning = "time from the first failure to the first retry; it doubles with each retry, up to a day",
           .advice = "choose a time longer than usual disturbances last. With 0, nodes are never retried"}));

inline constexpr std::tuple kIsolationFields(
    Field("scope", &IsolationPolicy::scope, OneOf(kScopeWords),
          {.meaning = "`Node`: cordon. `Devices`: taint the devices; a node where that is not possible waits with the "
                      "gate `DevicesUnfit`. `Auto`: taint the devices where possible, and cordon the other nodes",
           .advice = "choose `Auto`, or `Devices` if no node may be cordoned"}),
    Field("settleSeconds", &IsolationPolicy::settle, Seconds{.max = 3600},
          {.meaning = "pause between the taint and the first eviction",
           .advice = "the engine cannot observe when the scheduler sees a taint. In tests, it took up to one second; a "
                     "very busy scheduler needs longer"}),
    Field("deviceDrivers", &IsolationPolicy::device_drivers, Names{.required = true},
          {.meaning = "DRA drivers whose devices depend on this driver",
           .advice = "the operator must follow the same drivers"}),
    Field("pluginResources", &IsolationPolicy::plugin_resources, Names{},
          {.meaning = "extended resources of device plugins: a node that offers one is not fit",
           .advice = "device taints have no effect on device plugins",
           .values = "list of names, each with an optional `*` at its end"}),
    Field("schedulerNames", &IsolationPolicy::scheduler_names, Names{.required = true},
          {.meaning = "schedulers that respect device taints", .advice = "KAI-Scheduler (Run:ai) does not"}),
    Field("validatorTolerates", &IsolationPolicy::validator_tolerates, Boolean{},
          {.meaning = "the claims of the validation pods tolerate the taint `<domain>/<driver>-driver-upgrade`",
           .advice = "with `false`, the node is cordoned during its validation. Pods stay, and no pod is evicted"}));

// The section `drain`, whose field `enable` decides whether nodes are drained.
struct DrainField {
  void Read(PolicySection& section, UpgradePolicy& policy) const;
  void Write(const UpgradePolicy& policy, FieldWriter& out) const;
  void Check(const std::string& path, const UpgradePolicy& policy, FieldChecker& checker) const;

  std::string_view name = "drain";
};

inline constexpr Field kPodDeletionField("podDeletion", &UpgradePolicy::pod_deletion, Section(kPodDeletionFields));

// The custom resource uses podDeletion; Helm values and the GPU operator's manual use gpuPodDeletion (doc-D4).
struct GpuPodDeletionField : ByHand {
  constexpr GpuPodDeletionField() : ByHand("gpuPodDeletion") {}
  void Read(PolicySection& section, UpgradePolicy& policy) const;
};

void CheckByClass(const UpgradePolicy& policy, FieldChecker& checker);

inline constexpr std::tuple kPolicyFields(
    Field("autoUpgrade", &UpgradePolicy::auto_upgrade, Boolean{},
          {.meaning = "`false` freezes every node in its state; `true` continues from there",
           .advice = "stronger than `paused`. Use it in emergencies and for upgrades by hand; use `paused` to let "
                     "nodes in progress finish"}),
    Field("paused", &UpgradePolicy::paused, Boolean{},
          {.meaning = "`true` starts no further node; nodes in progress finish",
           .advice = "before a weekend, or when a new driver looks bad",
           .description = "If true, no further node starts. Nodes in progress finish."}),
    Field("maxParallelUpgrades", &UpgradePolicy::max_parallel, Number{.min = 1, .zero = "no limit"},
          {.meaning = "maximum number of nodes in progress at the same time",
           .advice = "both this limit and `maxUnavailable` must admit a node. A failed node counts, unless there is a "
                     "`failurePolicy`. Choose the number of nodes that the workloads can lose"}),
    Field(
        "maxUnavailable", &UpgradePolicy::max_unavailable, NumberOrPercent{},
        {.meaning =
             "an available node starts only while fewer nodes than this are unavailable: cordoned, not ready, about to "
             "leave the cluster, or with a driver pod that cannot be scheduled. `100%` or more means no limit",
         .advice =
             "nodes in progress and failed nodes are cordoned, so they count, too. Choose more than the number of "
             "nodes that are usually broken; otherwise no node starts. `0` starts only nodes that are already cordoned",
         .values = "integer, or percentage such as `25%`",
         .fallback = "no limit"}),
    Field("waitForCompletion", &UpgradePolicy::wait_for_completion, Section(kWaitForCompletionFields)),
    kPodDeletionField, GpuPodDeletionField(), DrainField(),
    Field("pacing", &UpgradePolicy::pacing, OneOf(kPacingWords),
          {.meaning = "`Chained` moves a node in one write through all states in which there is nothing to wait for; "
                      "`EveryState` writes each state, as the Go library does",
           .advice = "choose `EveryState` if a dashboard must see every state; it needs more requests"}),
    Field("cordonedNodes", &UpgradePolicy::cordoned_nodes, OneOf(kCordonedNodesWords),
          {.meaning = "treatment of nodes that an administrator cordoned. `Proceed`: they start immediately, outside "
                      "both limits. `WithinBudget`: they take a slot like others. `Ignore`: they wait until an "
                      "administrator uncordons them",
           .advice = "their cordon always stays. Choose `Ignore` if administrators work on cordoned nodes",
           .description = "Treatment of nodes that an administrator cordoned before the upgrade: Proceed starts them "
                          "outside both limits, WithinBudget lets them take a slot, Ignore makes them wait."}),
    Field("deadlines", &UpgradePolicy::deadlines, Section(kDeadlinesFields)),
    Field("onUnscheduledPods", &UpgradePolicy::on_unscheduled_pods, OneOf(kOnUnscheduledPodsWords),
          {.meaning = "treatment of driver pods that are not bound to a node. `CountUnavailable`: the node that the "
                      "pod's affinity names counts as unavailable, unless it has another driver pod",
           .advice = "choose `Ignore` if such pods are common and use up `maxUnavailable`"}),
    Field("failurePolicy", &UpgradePolicy::failure_policy, Section(kFailurePolicyFields),
          {.description = "Limits on failed nodes. With this section, failed nodes do not hold slots, and the rollout "
                          "halts when a limit is reached."}),
    Field("retry", &UpgradePolicy::retry, Section(kRetryFields)),
    Field("isolation", &UpgradePolicy::isolation, Section(kIsolationFields, /*null_by_default=*/true),
          {.description = "Whether workloads are kept away from the whole node or only from its devices while the "
                          "driver is replaced."}),
    CrossCheck(&CheckByClass),
    Field("safeLoad", &UpgradePolicy::safe_load, Boolean{},
          {.meaning = "the operator makes the driver pod's init container wait until the node is evacuated",
           .advice = "this field is for the operator: the engine reacts to the annotation that the init container "
                     "sets. A node whose driver waits needs a slot: raise the limits for the first rollout"}),
    kRolloutField);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_POLICY_POLICY_FIELDS_H_
