// Defines the fields of the section `rollout` of an upgrade policy. See field_table.h for the tables.
#ifndef DRIVERUPGRADE_SRC_POLICY_ROLLOUT_FIELDS_H_
#define DRIVERUPGRADE_SRC_POLICY_ROLLOUT_FIELDS_H_

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "driverupgrade/rollout_policy.h"
#include "driverupgrade/upgrade_policy.h"
#include "policy/field_table.h"
#include "policy/window_codec.h"

namespace driverupgrade::internal {

inline constexpr Words<Approval, 2> kApprovalWords = {
    {{"Automatic", Approval::kAutomatic}, {"Manual", Approval::kManual}}};
inline constexpr Words<GroupMode, 3> kGroupModeWords = {
    {{"Together", GroupMode::kTogether}, {"OneAtATime", GroupMode::kOneAtATime}, {"Spread", GroupMode::kSpread}}};
inline constexpr Words<Rollback, 2> kRollbackWords = {{{"Staged", Rollback::kStaged}, {"Fast", Rollback::kFast}}};
inline constexpr Words<GangMode, 2> kGangModeWords = {
    {{"Together", GangMode::kTogether}, {"WhenDone", GangMode::kWhenDone}}};
inline constexpr Words<TooBig, 2> kTooBigWords = {{{"Wait", TooBig::kWait}, {"Split", TooBig::kSplit}}};
inline constexpr Words<Steer, 2> kSteerWords = {{{"Prefer", Steer::kPrefer}, {"None", Steer::kNone}}};

void ReadItem(PolicySection& list, std::string_view item, RolloutStage& stage);
void WriteItem(const RolloutStage& stage, FieldWriter& out);
void CheckItems(const std::string& path, const std::vector<RolloutStage>& stages, FieldChecker& checker);
void ReadItem(PolicySection& list, std::string_view item, RolloutOrder& order);
void WriteItem(const RolloutOrder& order, FieldWriter& out);
void CheckItems(const std::string& path, const std::vector<RolloutOrder>& orders, FieldChecker& checker);
void ReadItem(PolicySection& list, std::string_view item, SickCondition& sick);
void WriteItem(const SickCondition& sick, FieldWriter& out);
void CheckItems(const std::string& path, const std::vector<SickCondition>& conditions, FieldChecker& checker);

// The kind of a mapping from failure classes to budgets. CheckByClass checks the budgets.
struct ByClass {
  void Read(PolicySection& section, std::string_view name, FailureBudgets& value) const;
  void Write(FieldWriter& out, std::string_view name, const FailureBudgets& value) const;
};

// A time that can be infinite in code, but not in documents. If it is infinite, an unwell node never counts as sick.
struct UnwellTime : Seconds {
  void Check(FieldChecker& checker, const std::string& path, absl::Duration value) const;
};

inline constexpr std::tuple kStageFields(
    ByHand("name", {.meaning = "unique; `rest` is reserved",
                    .values = "up to 63 letters, digits, `-`, `_`, `.`",
                    .fallback = "required"}),
    ByHand("nodes", {.meaning = "the nodes of the stage, chosen from the nodes that are not in an earlier stage. A "
                                "percentage is relative to all nodes that are not left out, and rounds up",
                     .values = "integer >= 1, percentage up to 100%; or a label selector",
                     .fallback = "one of them is required"}),
    ByHand("nodeSelector"),
    Field("maxParallel", &RolloutStage::max_parallel, Number{.min = 1},
          {.meaning = "maximum number of nodes of the stage in progress at the same time", .fallback = "no limit"}),
    Field("soakSeconds", &RolloutStage::soak, Seconds{},
          {.meaning = "time that all nodes of the stage must have been done before the next stage starts"}),
    Field("maxFailures", &RolloutStage::max_failures, NumberOrPercent{},
          {.meaning = "number of failed nodes that the stage tolerates: it can finish with them, and one more halts "
                      "the rollout. A percentage is relative to the nodes of the stage, and rounds down. If this field "
                      "is not set, failures do not halt the rollout, and the stage finishes when its failed nodes are "
                      "repaired. A failed node counts even if `retry` applies to it; a halted rollout does not retry"}),
    Field("approval", &RolloutStage::approval, OneOf(kApprovalWords),
          {.meaning = "`Manual`: the next stage waits for an [approval](operations.md#a-rollout-in-stages)"}));

inline constexpr std::tuple kGroupsFields(
    Field("by", &NodeGroups::by, LabelKey{},
          {.meaning = "nodes with the same value form a group; a node without the label forms its own group"}),
    Field(
        "mode", &NodeGroups::mode, OneOf(kGroupModeWords),
        {.meaning =
             "`Together`: all nodes of a group start together, take one slot, and start only if all of them fit into "
             "`maxUnavailable`. `OneAtATime`: no node of a second group starts before all nodes of the first group are "
             "done. A failed node keeps its group open until it is repaired, has the skip label, or gets another "
             "revision. A node with an invalid state label keeps the group open until the label is corrected. "
             "`Spread`: at most `maxPerGroup` nodes of a group are in progress. In all modes, a node that an earlier "
             "upgrade left cordoned starts alone while no node is in progress, because other nodes may wait for its "
             "share of `maxUnavailable`"}),
    Field("maxPerGroup", &NodeGroups::max_per_group, NumberOrPercent{.min = 1},
          {.meaning = "only with `Spread`. A percentage is relative to the group, and rounds up"})
        .OnlyIf([](const NodeGroups& groups) { return groups.mode == GroupMode::kSpread; },
                "can be set only with mode Spread"));

inline constexpr std::tuple kGangsFields(
    Field("mode", &NodeGangs::mode, OneOf(kGangModeWords),
          {.meaning =
               "`Together`: the waiting nodes of one [gang](#gangs) start together, so that the gang is interrupted "
               "once. `WhenDone`: the same, but gangs may finish first. `gangs` cannot be combined with `groups`"}),
    Field("tooBig", &NodeGangs::too_big, OneOf(kTooBigWords),
          {.meaning = "treatment of a gang on more nodes than `maxUnavailable` allows. `Wait`: its nodes do not "
                      "start, and the gate shows how many nodes it needs. `Split`: they start in several parts, and "
                      "each part interrupts the gang"}),
    Field("steer", &NodeGangs::steer, OneOf(kSteerWords),
          {.meaning = "`Prefer`: nodes that are not upgraded yet have a taint, so that the scheduler [prefers "
                      "upgraded nodes](#gangs) for gangs that restart"}),
    Field("waitSeconds", &NodeGangs::wait, Seconds{},
          {.meaning =
               "time that a gang may take to finish or to save its work. It starts once nothing else keeps the "
               "gang's nodes from starting. 0 means no time with `Together`, and unlimited time with `WhenDone`"}));

inline constexpr std::tuple kWindowFields(
    ByHand("days", {.meaning = "the days on which the window starts; it can end on another day",
                    .values = "a list of `Mon` to `Sun`",
                    .fallback = "all days"}),
    ByHand("daysOfMonth", {.meaning = "days of the month on which the window starts. With `days`, both must match: "
                                      "`days: [Tue], daysOfMonth: [8, 9, 10, 11, 12, 13, 14]` is the second Tuesday",
                           .values = "a list of 1 to 31 and `Last`",
                           .fallback = "all days"}),
    ByHand("start", {.meaning = "local time in `timeZone`. If the clocks skip this time, the window starts when they "
                                "continue. If they show it twice, the first time counts",
                     .values = "`\"HH:MM\"`",
                     .fallback = "`\"00:00\"`"}),
    ByHand("durationSeconds",
           {.meaning = "elapsed time, even if the clocks change. A window of whole days (86400, 172800, "
                       "…), however, ends when the clocks show `start` again",
            .values = "60 to 604800",
            .fallback = "required"}),
    ByHand("timeZone",
           {.meaning =
                "time zone of the window; the time zone database of the machine that reads the policy must contain it",
            .values = "an IANA name",
            .fallback = "`UTC`"}));

inline constexpr std::tuple kHealthFields(
    Field("nodeConditions", &RolloutHealth::node_conditions, ListOf<SickCondition>{}),
    Field("podSelector", &RolloutHealth::pod_selector, Selector{.not_empty = "it selects every pod"}),
    Field("maxDriverRestarts", &RolloutHealth::max_driver_restarts, Number{}),
    Field(
        "unwellSeconds", &RolloutHealth::unwell_max, UnwellTime{},
        {.meaning =
             "time for which an upgraded node may be unwell before it counts as sick. `0`: the rollout does not check "
             "whether upgraded nodes are unwell",
         .fallback = "60"}));

// These functions check several fields together, or the budgets of `failurePolicy.byClass`.
void Check(const FailureBudgets& budgets, FieldChecker& checker);
void CheckGangs(const RolloutPolicy& rollout, FieldChecker& checker);
void CheckFinishBy(const RolloutPolicy& rollout, FieldChecker& checker);

inline constexpr std::tuple kRolloutFields(
    Field("stages", &RolloutPolicy::stages, ListOf<RolloutStage>{.omits_empty = true}),
    Field("order", &RolloutPolicy::order, ListOf<RolloutOrder>{.omits_empty = true},
          {.meaning =
               "criteria in order of precedence. `Idle`: nodes without pods to evict or to wait for come first. "
               "`FewestPods`: nodes with fewer such pods come first. `label`: the larger integer in the label comes "
               "first. `topology`: nodes with the same label value follow each other. `Name`: alphabetical. The "
               "pods to evict or to wait for are those that `drain`, `podDeletion` or `waitForCompletion` select and "
               "that have not ended. The engine knows the pods of waiting nodes from its watch. At the start it lists "
               "them once: by node for up to ten nodes, otherwise with one list of all pods",
           .values = "a list of `Idle`, `FewestPods`, `{label: KEY}`, `{topology: KEY}`, `Name`",
           .fallback = "by name"}),
    Field("groups", &RolloutPolicy::groups, Section(kGroupsFields)), CrossCheck(&CheckGangs),
    Field("gangs", &RolloutPolicy::gangs, Section(kGangsFields)),
    Field("windows", &RolloutPolicy::windows,
          ListOf<RolloutWindow>{.not_empty = "omit this field to let nodes start at any time"}),
    Field("closed", &RolloutPolicy::closed, Closed{},
          {.meaning = "no node starts on these days, first and last day included, in the time zone of each window, or "
                      "in UTC without windows",
           .values = "a list of days, `\"2026-12-24\"` or `\"2026-12-24/2027-01-02\"`",
           .fallback = "none"}),
    Field("closedTimeZone", &RolloutPolicy::closed_time_zone, ZoneName{},
          {.meaning = "time zone of the closed days", .values = "an IANA name", .fallback = "see `closed`"}),
    Field("rollback", &RolloutPolicy::rollback, OneOf(kRollbackWords, /*omit_default=*/true),
          {.meaning = "how nodes return to the last revision that the whole fleet completed. `Staged`: stage by stage. "
                      "`Fast`: all stages are open immediately. Limits, groups, windows and health still apply. "
                      "`upgradectl status` shows which of the two applies",
           .description = "How nodes return to the last revision that the whole fleet completed: Staged opens one "
                          "stage at a time, Fast opens all stages immediately."}),
    Field(
        "finishBy", &RolloutPolicy::finish_by, Boolean{},
        {.meaning = "a node starts only if it will be done before the window closes. Requires `expectedNodeSeconds`"}),
    Field(
        "expectedNodeSeconds", &RolloutPolicy::expected_node_duration, Seconds{.min = 1},
        {.meaning = "duration of a node's upgrade, used until five nodes have been measured at this revision, each by "
                    "a replica that was the leader from start to end. After that the engine uses the 95th percentile "
                    "of the measured durations, which it may overestimate by up to a fifth. The value must be shorter "
                    "than the longest window. If the measured duration is not, no node starts (gate `NoWindow`)"}),
    CrossCheck(&CheckFinishBy),
    Field("health", &RolloutPolicy::health, Section(kHealthFields),
          {.description = "Conditions and limits that make an upgraded node count as sick, which halts the rollout. "
                          "Also selects the pods that must be Ready on an upgraded node before a stage completes."}));

inline constexpr Field kRolloutField(
    "rollout", &UpgradePolicy::rollout, Section(kRolloutFields),
    {.description = "Stages, maintenance windows and order in which nodes start. Requires an operator with a ledger."});

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_POLICY_ROLLOUT_FIELDS_H_
