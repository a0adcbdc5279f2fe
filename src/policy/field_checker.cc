#include "policy/field_checker.h"

#include <algorithm>

#include "base/quote.h"
#include "model/label_syntax.h"

namespace driverupgrade::internal {

// Rejects zero, because documents use zero for "no limit", which is InfiniteDuration here.
void FieldChecker::Check(std::string_view field, const Timeout&, absl::Duration value) {
  if (value == absl::InfiniteDuration()) return;
  if (value <= absl::ZeroDuration() || value > absl::Seconds(kNumberMax)) {
    errors_.push_back(fmt::format("{}: must be > 0 and at most {} s, or infinite, got {}", field, kNumberMax,
                                  absl::FormatDuration(value)));
  }
}

void FieldChecker::Check(std::string_view field, const LabelKey&, const std::string& value) {
  Require(IsLabelKey(value), field, fmt::format("must be the key of a label, got {}", Quote(value)));
}

void FieldChecker::Check(std::string_view field, const Names& kind, const std::vector<std::string>& value) {
  const bool named = std::none_of(value.begin(), value.end(), [](const auto& name) { return name.empty(); });
  Require(!kind.required || (!value.empty() && named), field, "must list at least one name, and no empty names");
}

}  // namespace driverupgrade::internal
