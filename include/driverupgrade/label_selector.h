/// Label selectors, parsed and matched as in Kubernetes.
///
/// Defines LabelSelector, which can be created from query syntax (`app=web,tier in (a,b),!debug`) or from the object
/// form (matchLabels and matchExpressions).
///
///     absl::StatusOr<LabelSelector> selector = LabelSelector::Parse("app=web,tier notin (cache)");
///     selector->Matches({{"app", "web"}});  // true: an absent key satisfies notin
///
/// An immutable value; thread-safe. A default LabelSelector selects everything, like the empty string.
#ifndef DRIVERUPGRADE_LABEL_SELECTOR_H_
#define DRIVERUPGRADE_LABEL_SELECTOR_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "driverupgrade/abseil_abi.h"

namespace driverupgrade {

using StringMap = std::map<std::string, std::string>;

class LabelSelector {
 public:
  enum class Operator : std::uint8_t { kIn, kNotIn, kExists, kDoesNotExist, kGreaterThan, kLessThan };
  struct Requirement {
    std::string key = {};
    Operator op = Operator::kExists;
    /// Sorted, without duplicates. A single integer for kGreaterThan and kLessThan; empty for kExists and
    /// kDoesNotExist.
    std::vector<std::string> values = {};
    friend bool operator==(const Requirement&, const Requirement&) = default;
  };

  LabelSelector() = default;
  /// Parses the syntax of `kubectl -l`; keys and values must be valid in labels. Errors: InvalidArgument, with the
  /// position.
  [[nodiscard]] static absl::StatusOr<LabelSelector> Parse(std::string_view text);
  /// Creates a selector from its object form. Errors: InvalidArgument if an operator has the wrong number of values, or
  /// if a key or a value is not valid in a label. In a disruption budget, Kubernetes treats such a selector as matching
  /// nothing.
  [[nodiscard]] static absl::StatusOr<LabelSelector> FromRequirements(std::vector<Requirement> requirements);
  /// Returns a selector that matches labels that contain every pair.
  static LabelSelector FromMatchLabels(const StringMap& match_labels);
  /// Returns a selector that selects nothing, like a null selector in a disruption budget.
  static LabelSelector Nothing();

  /// Returns a selector that matches an object if both selectors match it.
  LabelSelector And(const LabelSelector& other) const;

  bool Matches(const StringMap& labels) const;
  /// Returns true if the selector selects everything.
  bool empty() const { return !nothing_ && requirements_.empty(); }
  const std::vector<Requirement>& requirements() const { return requirements_; }
  /// Returns the canonical query form, sorted by key, for `labelSelector=`. Uses `=` even if the parsed string had `==`
  /// or `in` with one value. For Nothing(), the result is a contradiction, which selects nothing.
  std::string ToString() const;

  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;

 private:
  std::vector<Requirement> requirements_;
  bool nothing_ = false;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_LABEL_SELECTOR_H_
