// Collects errors in the fields of a policy, under the field names used in documents, so that policies from documents
// and policies from code get the same messages.
#ifndef DRIVERUPGRADE_SRC_POLICY_FIELD_CHECKER_H_
#define DRIVERUPGRADE_SRC_POLICY_FIELD_CHECKER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/label_selector.h"
#include "driverupgrade/policy_values.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "policy/field_kinds.h"

namespace driverupgrade::internal {

class FieldChecker {
 public:
  void Require(bool holds, std::string_view field, std::string_view problem) {
    if (!holds) errors_.push_back(fmt::format("{}: {}", field, problem));
  }

  void Check(std::string_view field, const Number& kind, int value) { AtLeast(field, kind.min, value); }
  void Check(std::string_view field, const NumberOrPercent& kind, const CountOrPercent& value) {
    AtLeast(field, kind.min, std::visit([](const auto& number) { return number.value; }, value));
  }
  void Check(std::string_view field, const Timeout& kind, absl::Duration value);
  void Check(std::string_view field, const Seconds& kind, absl::Duration value) {
    Between(field, absl::Seconds(kind.min), absl::Seconds(kind.max), value);
  }
  void Check(std::string_view field, const Selector& kind, const LabelSelector& value) {
    Require(kind.not_empty.empty() || !value.empty(), field, fmt::format("must not be empty: {}", kind.not_empty));
  }
  void Check(std::string_view field, const LabelKey& kind, const std::string& value);
  void Check(std::string_view field, const Names& kind, const std::vector<std::string>& value);
  // Calls the Check function of the kind. Does nothing if the kind has no such function.
  template <typename Kind, typename T>
  void Check(std::string_view field, const Kind& kind, const T& value) {
    if constexpr (requires { kind.Check(*this, std::string(field), value); }) {
      kind.Check(*this, std::string(field), value);
    }
  }
  template <typename Kind, typename T>
  void Check(std::string_view field, const Kind& kind, const std::optional<T>& value) {
    if (value) Check(field, kind, *value);
  }

  void Between(std::string_view field, absl::Duration min, absl::Duration max, absl::Duration value) {
    if (min <= value && value <= max) return;
    errors_.push_back(fmt::format("{}: must be {} to {}, got {}", field, absl::FormatDuration(min),
                                  absl::FormatDuration(max), absl::FormatDuration(value)));
  }

  // Calls `check` with the path and the value of each item.
  template <typename T, typename CheckItem>
  void Items(const std::string& field, const std::vector<T>& items, const CheckItem& check) {
    // The number of items is limited, because some lists are evaluated in every pass.
    constexpr std::size_t kItemsMax = 100;
    Require(items.size() <= kItemsMax, field, fmt::format("must have <= {} items, got {}", kItemsMax, items.size()));
    for (std::size_t i = 0; i < items.size(); ++i) check(fmt::format("{}[{}]", field, i), items[i]);
  }

  absl::Status Result() const {
    if (errors_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(fmt::format("{}", fmt::join(errors_, "; ")));
  }

 private:
  void AtLeast(std::string_view field, int min, int value) {
    if (value < min) errors_.push_back(fmt::format("{}: must be >= {}, got {}", field, min, value));
  }

  std::vector<std::string> errors_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_POLICY_FIELD_CHECKER_H_
