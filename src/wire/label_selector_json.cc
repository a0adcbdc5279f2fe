#include "wire/label_selector_json.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace driverupgrade::internal {
namespace {

std::optional<LabelSelector::Operator> ReadOperator(const std::string& text) {
  if (text == "In") return LabelSelector::Operator::kIn;
  if (text == "NotIn") return LabelSelector::Operator::kNotIn;
  if (text == "Exists") return LabelSelector::Operator::kExists;
  if (text == "DoesNotExist") return LabelSelector::Operator::kDoesNotExist;
  return std::nullopt;
}

using Requirements = std::vector<LabelSelector::Requirement>;

// Adds one requirement for each pair in `labels`.
void AddLabels(const StringMap& labels, Requirements& requirements) {
  for (const auto& [key, value] : labels) {
    requirements.push_back({.key = key, .op = LabelSelector::Operator::kIn, .values = {value}});
  }
}

// Adds the `matchExpressions` of `field`. Returns false if an operator is unknown.
bool AddExpressions(const JsonField& field, Requirements& requirements) {
  bool operators_known = true;
  field.Member("matchExpressions").ForEachItem([&](const JsonField& expression) {
    const auto op = ReadOperator(expression.Member("operator").String());
    std::set<std::string> values;
    expression.Member("values").ForEachItem([&](const JsonField& value) { values.insert(value.String()); });
    operators_known = operators_known && op.has_value();
    requirements.push_back({.key = expression.Member("key").String(),
                            .op = op.value_or(LabelSelector::Operator::kExists),
                            .values = {values.begin(), values.end()}});
  });
  return operators_known;
}

}  // namespace

LabelSelector ReadSelector(const JsonField& field) {
  if (!field.present()) return LabelSelector::Nothing();
  Requirements requirements;
  AddLabels(field.Member("matchLabels").Strings(), requirements);
  const bool operators_known = AddExpressions(field, requirements);
  if (requirements.empty()) return {};
  absl::StatusOr<LabelSelector> selector = LabelSelector::FromRequirements(std::move(requirements));
  return operators_known && selector.ok() ? *std::move(selector) : LabelSelector::Nothing();
}

std::vector<LabelSelector> ReadNodeSelectors(const JsonField& pod_spec) {
  Requirements base;
  AddLabels(pod_spec.Member("nodeSelector").Strings(), base);
  const LabelSelector by_labels = LabelSelector::FromRequirements(base).value_or(LabelSelector());
  std::vector<LabelSelector> selectors;
  const JsonField affinity = pod_spec.Member("affinity");
  const JsonField of_node = affinity.Member("nodeAffinity");
  const JsonField required = of_node.Member("requiredDuringSchedulingIgnoredDuringExecution");
  required.Member("nodeSelectorTerms").ForEachItem([&](const JsonField& term) {
    Requirements requirements = base;
    const bool is_known = AddExpressions(term, requirements) && !term.Member("matchFields").present();
    absl::StatusOr<LabelSelector> selector = LabelSelector::FromRequirements(std::move(requirements));
    selectors.push_back(is_known && selector.ok() ? *std::move(selector) : by_labels);
  });
  if (selectors.empty()) selectors.push_back(by_labels);
  const bool any_node =
      std::any_of(selectors.begin(), selectors.end(), [](const LabelSelector& selector) { return selector.empty(); });
  return any_node ? std::vector<LabelSelector>() : selectors;
}

}  // namespace driverupgrade::internal
