#include "policy/rollout_codec.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/quote.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "policy/field_writer.h"
#include "policy/policy_section.h"
#include "policy/window_codec.h"

namespace driverupgrade::internal {
namespace {

constexpr std::array kApprovalNames = {
    std::pair(std::string_view("Automatic"), Approval::kAutomatic),
    std::pair(std::string_view("Manual"), Approval::kManual),
};
constexpr std::array kOrderNames = {
    std::pair(std::string_view("Idle"), OrderBy::kIdle),
    std::pair(std::string_view("FewestPods"), OrderBy::kFewestPods),
    std::pair(std::string_view("Name"), OrderBy::kName),
};
constexpr std::array kGroupModeNames = {
    std::pair(std::string_view("Together"), GroupMode::kTogether),
    std::pair(std::string_view("OneAtATime"), GroupMode::kOneAtATime),
    std::pair(std::string_view("Spread"), GroupMode::kSpread),
};
const std::array kRollbackNames = {
    std::pair(ToString(Rollback::kStaged), Rollback::kStaged),
    std::pair(ToString(Rollback::kFast), Rollback::kFast),
};
const std::array kGangModeNames = {
    std::pair(ToString(GangMode::kTogether), GangMode::kTogether),
    std::pair(ToString(GangMode::kWhenDone), GangMode::kWhenDone),
};
const std::array kTooBigNames = {
    std::pair(ToString(TooBig::kWait), TooBig::kWait),
    std::pair(ToString(TooBig::kSplit), TooBig::kSplit),
};
const std::array kSteerNames = {
    std::pair(ToString(Steer::kPrefer), Steer::kPrefer),
    std::pair(ToString(Steer::kNone), Steer::kNone),
};
constexpr std::array kConditionStatusNames = {
    std::pair(std::string_view("True"), std::string_view("True")),
    std::pair(std::string_view("False"), std::string_view("False")),
    std::pair(std::string_view("Unknown"), std::string_view("Unknown")),
};
void ReadOptionalInt(PolicySection& section, std::string_view name, std::optional<int>& value) {
  int read = -1;
  section.ReadInt(name, read);
  if (read >= 0) value = read;
}

// Zero has no special meaning here.
void ReadDuration(PolicySection& section, std::string_view name, std::optional<absl::Duration>& value) {
  std::optional<int> seconds;
  ReadOptionalInt(section, name, seconds);
  if (seconds) value = absl::Seconds(*seconds);
}

// Rejects `item` if its mapping lacks `name`.
void RequireSet(PolicySection& list, std::string_view item, const PolicySection& section, std::string_view name) {
  if (!section.IsSet(name)) list.Reject(item, fmt::format("{} is missing", name));
}

void ReadStageNodes(PolicySection& list, std::string_view item, PolicySection& section, RolloutStage& stage) {
  std::optional<CountOrPercent> nodes;
  LabelSelector selector;
  section.ReadCountOrPercent("nodes", nodes);
  section.ReadSelector("nodeSelector", selector);
  if (section.IsSet("nodes") == section.IsSet("nodeSelector")) {
    return list.Reject(item, "must have either nodes or nodeSelector");
  }
  // Not assigned from a value of the variant: that assignment would bring exceptions.
  using Nodes = decltype(stage.nodes);
  if (nodes) stage.nodes = Nodes(*nodes);
  if (section.IsSet("nodeSelector")) stage.nodes = Nodes(std::move(selector));
}

void ReadStage(PolicySection& list, std::string_view item, RolloutStage& stage) {
  list.ReadSection(item, [&](PolicySection& section) {
    section.ReadText("name", stage.name);
    RequireSet(list, item, section, "name");
    ReadStageNodes(list, item, section, stage);
    ReadOptionalInt(section, "maxParallel", stage.max_parallel);
    std::optional<absl::Duration> soak;
    ReadDuration(section, "soakSeconds", soak);
    stage.soak = soak.value_or(stage.soak);
    section.ReadCountOrPercent("maxFailures", stage.max_failures);
    section.ReadEnum("approval", kApprovalNames, stage.approval);
  });
}

void ReadOrder(PolicySection& list, std::string_view item, RolloutOrder& order) {
  if (!list.IsMapping(item)) return list.ReadEnum(item, kOrderNames, order.by);
  list.ReadSection(item, [&](PolicySection& section) {
    section.ReadText("label", order.label);
    section.ReadText("topology", order.label);
    if (section.IsSet("label") == section.IsSet("topology")) {
      return list.Reject(item, "must have either label or topology");
    }
    order.by = section.IsSet("label") ? OrderBy::kLabel : OrderBy::kTopology;
  });
}

void ReadGroups(PolicySection& section, NodeGroups& groups) {
  section.ReadText("by", groups.by);
  section.ReadEnum("mode", kGroupModeNames, groups.mode);
  std::optional<CountOrPercent> max_per_group;
  section.ReadCountOrPercent("maxPerGroup", max_per_group);
  if (max_per_group) groups.max_per_group = *max_per_group;
  if (section.IsSet("maxPerGroup") && groups.mode != GroupMode::kSpread) {
    section.Reject("maxPerGroup", "only mode Spread has it");
  }
}

void ReadGangs(PolicySection& section, NodeGangs& gangs) {
  section.ReadEnum("mode", kGangModeNames, gangs.mode);
  section.ReadEnum("tooBig", kTooBigNames, gangs.too_big);
  section.ReadEnum("steer", kSteerNames, gangs.steer);
  std::optional<absl::Duration> wait;
  ReadDuration(section, "waitSeconds", wait);
  gangs.wait = wait.value_or(gangs.wait);
}

void ReadHealth(PolicySection& section, RolloutHealth& health) {
  section.ReadList("nodeConditions", [&](PolicySection& list, std::string_view item) {
    list.ReadSection(item, [&](PolicySection& condition) {
      SickCondition& sick = health.node_conditions.emplace_back();
      condition.ReadText("type", sick.type);
      std::string_view status;
      condition.ReadEnum("status", kConditionStatusNames, status);
      sick.status = status;
      RequireSet(list, item, condition, "type");
      RequireSet(list, item, condition, "status");
    });
  });
  LabelSelector pods;
  section.ReadSelector("podSelector", pods);
  if (section.IsSet("podSelector")) health.pod_selector = std::move(pods);
  ReadOptionalInt(section, "maxDriverRestarts", health.max_driver_restarts);
  ReadDuration(section, "unwellSeconds", health.unwell_max);
}

void WriteStage(const RolloutStage& stage, FieldWriter& out) {
  out.StartObject();
  out.Text("name", stage.name);
  if (const auto* nodes = std::get_if<CountOrPercent>(&stage.nodes)) {
    out.Limit("nodes", *nodes);
  } else {
    out.Text("nodeSelector", std::get_if<LabelSelector>(&stage.nodes)->ToString());
  }
  out.Int("maxParallel", stage.max_parallel);
  out.Seconds("soakSeconds", stage.soak);
  out.Limit("maxFailures", stage.max_failures);
  out.Text("approval", EnumName(kApprovalNames, stage.approval));
  out.EndObject();
}

void WriteOrder(const RolloutOrder& order, FieldWriter& out) {
  if (order.by != OrderBy::kLabel && order.by != OrderBy::kTopology) return out.Text(EnumName(kOrderNames, order.by));
  out.StartObject();
  out.Text(order.by == OrderBy::kLabel ? "label" : "topology", order.label);
  out.EndObject();
}

void WriteGroups(const std::optional<NodeGroups>& groups, FieldWriter& out) {
  if (!groups) return out.Null("groups");
  out.StartObject("groups");
  out.Text("by", groups->by);
  out.Text("mode", EnumName(kGroupModeNames, groups->mode));
  if (groups->mode == GroupMode::kSpread) out.Limit("maxPerGroup", groups->max_per_group);
  out.EndObject();
}

void WriteGangs(const std::optional<NodeGangs>& gangs, FieldWriter& out) {
  if (!gangs) return out.Null("gangs");
  out.StartObject("gangs");
  out.Text("mode", EnumName(kGangModeNames, gangs->mode));
  out.Text("tooBig", EnumName(kTooBigNames, gangs->too_big));
  out.Text("steer", EnumName(kSteerNames, gangs->steer));
  out.Seconds("waitSeconds", gangs->wait);
  out.EndObject();
}

void WriteHealth(const std::optional<RolloutHealth>& health, FieldWriter& out) {
  if (!health) return out.Null("health");
  out.StartObject("health");
  out.StartArray("nodeConditions");
  for (const SickCondition& sick : health->node_conditions) {
    out.StartObject();
    out.Text("type", sick.type);
    out.Text("status", sick.status);
    out.EndObject();
  }
  out.EndArray();
  health->pod_selector ? out.Text("podSelector", health->pod_selector->ToString()) : out.Null("podSelector");
  out.Int("maxDriverRestarts", health->max_driver_restarts);
  health->unwell_max ? out.Seconds("unwellSeconds", *health->unwell_max) : out.Null("unwellSeconds");
  out.EndObject();
}

template <typename Items, typename Write>
void WriteList(std::string_view name, const Items& items, FieldWriter& out, const Write& write) {
  if (items.empty() && out.only_set()) return;
  out.StartArray(name);
  for (const auto& item : items) write(item, out);
  out.EndArray();
}

}  // namespace

void ReadRollout(PolicySection& section, const TimeZoneLoader& zones, RolloutPolicy& rollout) {
  section.ReadList("stages", [&](PolicySection& list, std::string_view item) {
    ReadStage(list, item, rollout.stages.emplace_back());
  });
  section.ReadList("order", [&](PolicySection& list, std::string_view item) {
    ReadOrder(list, item, rollout.order.emplace_back());
  });
  section.ReadSection("groups", [&](PolicySection& groups) { ReadGroups(groups, rollout.groups.emplace()); });
  section.ReadSection("gangs", [&](PolicySection& gangs) { ReadGangs(gangs, rollout.gangs.emplace()); });
  ReadWindows(section, zones, rollout);
  section.ReadEnum("rollback", kRollbackNames, rollout.rollback);
  section.ReadBool("finishBy", rollout.finish_by);
  ReadDuration(section, "expectedNodeSeconds", rollout.expected_node_duration);
  section.ReadSection("health", [&](PolicySection& health) { ReadHealth(health, rollout.health.emplace()); });
}

void ReadFailureBudgets(PolicySection& section, FailureBudgets& budgets) {
  for (const FailureClass failure : kAllFailureClasses) {
    std::optional<CountOrPercent> budget;
    section.ReadCountOrPercent(ToString(failure), budget);
    if (budget) budgets.emplace(failure, *budget);
  }
}

void WriteRollout(const std::optional<RolloutPolicy>& rollout, FieldWriter& writer) {
  if (!rollout) return writer.Null("rollout");
  writer.StartObject("rollout");
  WriteList("stages", rollout->stages, writer, WriteStage);
  WriteList("order", rollout->order, writer, WriteOrder);
  WriteGroups(rollout->groups, writer);
  WriteGangs(rollout->gangs, writer);
  WriteWindows(*rollout, writer);
  if (rollout->rollback != Rollback::kStaged || !writer.only_set()) {
    writer.Text("rollback", EnumName(kRollbackNames, rollout->rollback));
  }
  writer.Bool("finishBy", rollout->finish_by);
  if (const auto& expected = rollout->expected_node_duration) {
    writer.Seconds("expectedNodeSeconds", *expected);
  } else {
    writer.Null("expectedNodeSeconds");
  }
  WriteHealth(rollout->health, writer);
  writer.EndObject();
}

void WriteFailureBudgets(const FailureBudgets& budgets, FieldWriter& writer) {
  writer.StartObject("byClass");
  for (const FailureClass failure : kAllFailureClasses) {
    const auto budget = budgets.find(failure);
    writer.Limit(ToString(failure), budget == budgets.end() ? std::nullopt : std::optional(budget->second));
  }
  writer.EndObject();
}

std::string FormatRolloutSections(const RolloutSections& sections, bool only_set) {
  FieldWriter writer(only_set);
  writer.StartObject();
  WriteRollout(sections.rollout, writer);
  writer.StartObject("failurePolicy");
  WriteFailureBudgets(sections.by_class, writer);
  writer.EndObject();
  writer.EndObject();
  return writer.Written();
}

}  // namespace driverupgrade::internal
