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
constexpr std::array kDayNames = {
    std::pair(std::string_view("Mon"), absl::Weekday::monday),
    std::pair(std::string_view("Tue"), absl::Weekday::tuesday),
    std::pair(std::string_view("Wed"), absl::Weekday::wednesday),
    std::pair(std::string_view("Thu"), absl::Weekday::thursday),
    std::pair(std::string_view("Fri"), absl::Weekday::friday),
    std::pair(std::string_view("Sat"), absl::Weekday::saturday),
    std::pair(std::string_view("Sun"), absl::Weekday::sunday),
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

// Zero is zero here.
void ReadDuration(PolicySection& section, std::string_view name, std::optional<absl::Duration>& value) {
  std::optional<int> seconds;
  ReadOptionalInt(section, name, seconds);
  if (seconds) value = absl::Seconds(*seconds);
}

// What a mapping must have: `name`, if it was not among the fields.
void RequireSet(PolicySection& list, std::string_view item, const PolicySection& section, std::string_view name) {
  if (!section.IsSet(name)) list.Reject(item, fmt::format("{} is missing", name));
}

// The digits of `text` at `at`; -1 if they are none.
int Digits(std::string_view text, std::size_t at, std::size_t size) {
  int value = 0;
  for (const char c : text.substr(at, size)) {
    if (c < '0' || c > '9') return -1;
    value = 10 * value + (c - '0');
  }
  return value;
}

// `22:00`, as a time since midnight.
std::optional<absl::Duration> ParseTimeOfDay(std::string_view text) {
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  const int hours = Digits(text, 0, 2);
  const int minutes = Digits(text, 3, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  return absl::Hours(hours) + absl::Minutes(minutes);
}

// `2026-12-24`.
std::optional<absl::CivilDay> ParseDay(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const int year = Digits(text, 0, 4);
  const int month = Digits(text, 5, 2);
  const int day = Digits(text, 8, 2);
  const absl::CivilDay parsed(year, month, day);
  // It makes the 2nd of March of the 30th of February.
  if (parsed.year() != year || parsed.month() != month || parsed.day() != day) return std::nullopt;
  return parsed;
}

// `2026-12-24/2027-01-02`, or one day.
std::optional<ClosedDays> ParseClosedDays(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::optional<absl::CivilDay> first = ParseDay(text.substr(0, slash));
  const std::optional<absl::CivilDay> last = slash == std::string_view::npos ? first : ParseDay(text.substr(slash + 1));
  if (!first || !last) return std::nullopt;
  return ClosedDays{.first = *first, .last = *last};
}

std::string FormatDay(absl::CivilDay day) {
  return fmt::format("{:04}-{:02}-{:02}", day.year(), day.month(), day.day());
}

void ReadStageNodes(PolicySection& list, std::string_view item, PolicySection& section, RolloutStage& stage) {
  std::optional<CountOrPercent> nodes;
  LabelSelector selector;
  section.ReadCountOrPercent("nodes", nodes);
  section.ReadSelector("nodeSelector", selector);
  if (section.IsSet("nodes") == section.IsSet("nodeSelector")) {
    return list.Reject(item, "must have either nodes or nodeSelector");
  }
  // Not by a value of it: that assignment would bring exceptions.
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

absl::StatusOr<absl::TimeZone> LoadZone(const std::string& name, const TimeZoneLoader& zones) {
  if (name == "UTC") return absl::UTCTimeZone();
  if (zones) return zones(name);
  return absl::InvalidArgumentError(fmt::format("no time zone but UTC is known here, got {}", Quote(name)));
}

void ReadWindow(PolicySection& list, std::string_view item, const TimeZoneLoader& zones, RolloutWindow& window) {
  list.ReadSection(item, [&](PolicySection& section) {
    section.ReadList("days", [&](PolicySection& days, std::string_view name) {
      absl::Weekday day = absl::Weekday::monday;
      days.ReadEnum(name, kDayNames, day);
      if (!window.days.insert(day).second) days.Reject(name, "duplicate day");
    });
    std::string start = "00:00";
    section.ReadText("start", start);
    const std::optional<absl::Duration> time = ParseTimeOfDay(start);
    if (!time) section.Reject("start", fmt::format("must be a time such as \"22:00\", got {}", Quote(start)));
    window.start = time.value_or(window.start);
    std::optional<absl::Duration> duration;
    ReadDuration(section, "durationSeconds", duration);
    RequireSet(list, item, section, "durationSeconds");
    window.duration = duration.value_or(window.duration);
    std::string zone = "UTC";
    section.ReadText("timeZone", zone);
    const absl::StatusOr<absl::TimeZone> loaded = LoadZone(zone, zones);
    if (!loaded.ok()) return section.Reject("timeZone", Message(loaded.status()));
    window.time_zone = *loaded;
  });
}

void ReadClosed(PolicySection& list, std::string_view item, std::vector<ClosedDays>& closed) {
  std::string text;
  list.ReadText(item, text);
  if (text.empty()) return;
  const std::optional<ClosedDays> days = ParseClosedDays(text);
  if (!days) {
    return list.Reject(
        item, fmt::format("must be days such as \"2026-12-24/2027-01-02\" or \"2026-12-24\", got {}", Quote(text)));
  }
  closed.push_back(*days);
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

void WriteWindow(const RolloutWindow& window, FieldWriter& out) {
  out.StartObject();
  out.StartArray("days");
  for (const auto& [name, day] : kDayNames) {
    if (window.days.contains(day)) out.Text(name);
  }
  out.EndArray();
  const auto minutes = absl::ToInt64Minutes(window.start);
  out.Text("start", fmt::format("{:02}:{:02}", minutes / 60, minutes % 60));
  out.Seconds("durationSeconds", window.duration);
  out.Text("timeZone", window.time_zone.name());
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

void WriteClosed(const ClosedDays& days, FieldWriter& out) {
  out.Text(fmt::format("{}/{}", FormatDay(days.first), FormatDay(days.last)));
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
  section.ReadList("windows", [&](PolicySection& list, std::string_view item) {
    ReadWindow(list, item, zones, rollout.windows.emplace_back());
  });
  section.ReadList("closed",
                   [&](PolicySection& list, std::string_view item) { ReadClosed(list, item, rollout.closed); });
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
  WriteList("windows", rollout->windows, writer, WriteWindow);
  WriteList("closed", rollout->closed, writer, WriteClosed);
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
