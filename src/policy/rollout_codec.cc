#include "policy/rollout_codec.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/quote.h"
#include "driverupgrade/cluster_types.h"
#include "fmt/format.h"
#include "model/label_syntax.h"
#include "policy/rollout_fields.h"

namespace driverupgrade::internal {
namespace {

constexpr OneOf kOrder(Words<OrderBy, 3>{
    {{"Idle", OrderBy::kIdle}, {"FewestPods", OrderBy::kFewestPods}, {"Name", OrderBy::kName}}});
constexpr OneOf kConditionStatus(Words<std::string_view, 3>{
    {{"True", "True"}, {"False", "False"}, {"Unknown", "Unknown"}}});

// Rejects `item` if the field `name` is missing from its mapping.
void RequireSet(PolicySection& list, std::string_view item, const PolicySection& section, std::string_view name) {
  if (!section.IsSet(name)) list.Reject(item, fmt::format("{} is missing", name));
}

void ReadStageNodes(PolicySection& list, std::string_view item, PolicySection& section, RolloutStage& stage) {
  CountOrPercent nodes;
  LabelSelector selector;
  section.Read("nodes", NumberOrPercent(), nodes);
  section.Read("nodeSelector", Selector(), selector);
  if (section.IsSet("nodes") == section.IsSet("nodeSelector")) {
    return list.Reject(item, "must have either nodes or nodeSelector");
  }
  // Assigns a complete variant, because the assignment of an alternative could throw an exception.
  using Nodes = decltype(stage.nodes);
  stage.nodes = section.IsSet("nodes") ? Nodes(nodes) : Nodes(std::move(selector));
}

void CheckStage(const std::string& path, const RolloutStage& stage, std::set<std::string_view>& names,
                FieldChecker& checker) {
  const std::string name = path + ".name";
  checker.Require(IsLabelName(stage.name), name,
                  fmt::format("must be up to 63 letters, digits, `-`, `_` and `.`, got {}", Quote(stage.name)));
  checker.Require(stage.name != kLastStage, name, "is reserved for the nodes that no other stage selects");
  checker.Require(names.insert(stage.name).second, name, "another stage has the same name");
  if (const auto* nodes = std::get_if<CountOrPercent>(&stage.nodes)) {
    checker.Check(path + ".nodes", NumberOrPercent{.min = 1}, *nodes);
    const auto* percent = std::get_if<Percent>(nodes);
    checker.Require(percent == nullptr || percent->value <= 100, path + ".nodes", "must be <= 100%");
  } else {
    checker.Check(path + ".nodeSelector", Selector{.not_empty = "it selects every node"},
                  *std::get_if<LabelSelector>(&stage.nodes));
  }
  CheckFields(kStageFields, path, stage, checker);
}

void CheckOrder(const std::string& path, const RolloutOrder& order, FieldChecker& checker) {
  if (order.by == OrderBy::kLabel) return checker.Check(path + ".label", LabelKey(), order.label);
  if (order.by == OrderBy::kTopology) return checker.Check(path + ".topology", LabelKey(), order.label);
  checker.Require(order.label.empty(), path, "only label and topology name a label");
}

void CheckCondition(const std::string& path, const SickCondition& sick, FieldChecker& checker) {
  checker.Require(IsLabelKey(sick.type), path + ".type",
                  fmt::format("must be the type of a condition, got {}", Quote(sick.type)));
  checker.Require(
      !IsKubeletCondition(sick.type), path + ".type",
      fmt::format("{} belongs to the kubelet: a node that is not ready already counts as unavailable", sick.type));
  checker.Require(sick.status == "True" || sick.status == "False" || sick.status == "Unknown", path + ".status",
                  fmt::format("must be one of True, False, Unknown, got {}", Quote(sick.status)));
}

}  // namespace

void ReadItem(PolicySection& list, std::string_view item, RolloutStage& stage) {
  list.ReadSection(item, [&](PolicySection& section) {
    section.Read("name", Text(), stage.name);
    RequireSet(list, item, section, "name");
    ReadStageNodes(list, item, section, stage);
    ReadFields(kStageFields, section, stage);
  });
}

void WriteItem(const RolloutStage& stage, FieldWriter& out) {
  out.StartObject();
  out.Write("name", Text(), stage.name);
  if (const auto* nodes = std::get_if<CountOrPercent>(&stage.nodes)) {
    out.Write("nodes", NumberOrPercent(), *nodes);
  } else {
    out.Write("nodeSelector", Selector(), *std::get_if<LabelSelector>(&stage.nodes));
  }
  WriteFields(kStageFields, stage, out);
  out.EndObject();
}

void CheckItems(const std::string& path, const std::vector<RolloutStage>& stages, FieldChecker& checker) {
  std::set<std::string_view> names;
  checker.Items(path, stages,
                [&](const std::string& item, const RolloutStage& stage) { CheckStage(item, stage, names, checker); });
}

void ReadItem(PolicySection& list, std::string_view item, RolloutOrder& order) {
  if (!list.IsMapping(item)) return list.Read(item, kOrder, order.by);
  list.ReadSection(item, [&](PolicySection& section) {
    section.Read("label", Text(), order.label);
    section.Read("topology", Text(), order.label);
    if (section.IsSet("label") == section.IsSet("topology")) {
      return list.Reject(item, "must have either label or topology");
    }
    order.by = section.IsSet("label") ? OrderBy::kLabel : OrderBy::kTopology;
  });
}

void WriteItem(const RolloutOrder& order, FieldWriter& out) {
  if (order.by != OrderBy::kLabel && order.by != OrderBy::kTopology) return out.Item(WordOf(kOrder.words, order.by));
  out.StartObject();
  out.Write(order.by == OrderBy::kLabel ? "label" : "topology", Text(), order.label);
  out.EndObject();
}

void CheckItems(const std::string& path, const std::vector<RolloutOrder>& orders, FieldChecker& checker) {
  checker.Items(path, orders,
                [&](const std::string& item, const RolloutOrder& order) { CheckOrder(item, order, checker); });
}

void ReadItem(PolicySection& list, std::string_view item, SickCondition& sick) {
  list.ReadSection(item, [&](PolicySection& condition) {
    condition.Read("type", Text(), sick.type);
    std::string_view status;
    condition.Read("status", kConditionStatus, status);
    sick.status = status;
    RequireSet(list, item, condition, "type");
    RequireSet(list, item, condition, "status");
  });
}

void WriteItem(const SickCondition& sick, FieldWriter& out) {
  out.StartObject();
  out.Write("type", Text(), sick.type);
  out.Write("status", Text(), sick.status);
  out.EndObject();
}

void CheckItems(const std::string& path, const std::vector<SickCondition>& conditions, FieldChecker& checker) {
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    CheckCondition(fmt::format("{}[{}]", path, i), conditions[i], checker);
  }
}

void UnwellTime::Check(FieldChecker& checker, const std::string& path, absl::Duration value) const {
  checker.Check(path, Number(), value < absl::ZeroDuration() ? -1 : 0);
}

void ByClass::Read(PolicySection& section, std::string_view name, FailureBudgets& value) const {
  section.ReadSection(name, [&](PolicySection& budgets) {
    for (const FailureClass failure : kAllFailureClasses) {
      std::optional<CountOrPercent> budget;
      budgets.Read(ToString(failure), NumberOrPercent(), budget);
      if (budget) value.emplace(failure, *budget);
    }
  });
}

void ByClass::Write(FieldWriter& out, std::string_view name, const FailureBudgets& value) const {
  out.StartObject(name);
  for (const FailureClass failure : kAllFailureClasses) {
    const auto budget = value.find(failure);
    out.Write(ToString(failure), NumberOrPercent(),
              budget == value.end() ? std::nullopt : std::optional(budget->second));
  }
  out.EndObject();
}

std::string FormatRolloutSections(const RolloutSections& sections, bool only_set) {
  FieldWriter writer(only_set);
  writer.StartObject();
  writer.Write(kRolloutField.name, kRolloutField.kind, sections.rollout);
  writer.StartObject("failurePolicy");
  writer.Write("byClass", ByClass(), sections.by_class);
  writer.EndObject();
  writer.EndObject();
  return writer.Written();
}

}  // namespace driverupgrade::internal
