// Collects what is wrong with the fields of a policy under the names that the documents use, so that one message serves
// both ways in.
#ifndef DRIVERUPGRADE_SRC_POLICY_FIELD_CHECKER_H_
#define DRIVERUPGRADE_SRC_POLICY_FIELD_CHECKER_H_

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/policy_values.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace driverupgrade::internal {

class FieldChecker {
 public:
  void Require(bool holds, std::string_view field, std::string_view problem) {
    if (!holds) errors_.push_back(fmt::format("{}: {}", field, problem));
  }

  void AtLeast(std::string_view field, int min, int value) {
    if (value < min) errors_.push_back(fmt::format("{}: must be >= {}, got {}", field, min, value));
  }

  void AtLeast(std::string_view field, int min, const CountOrPercent& limit) {
    AtLeast(field, min, std::visit([](const auto& number) { return number.value; }, limit));
  }

  // Zero is refused because documents write "for ever" that way.
  void Timeout(std::string_view field, absl::Duration timeout) {
    if (timeout == absl::InfiniteDuration()) return;
    if (timeout <= absl::ZeroDuration() || timeout > absl::Seconds(kIntMax)) {
      errors_.push_back(fmt::format("{}: must be > 0 and at most {} s, or infinite, got {}", field, kIntMax,
                                    absl::FormatDuration(timeout)));
    }
  }

  void Between(std::string_view field, absl::Duration min, absl::Duration max, absl::Duration value) {
    if (min <= value && value <= max) return;
    errors_.push_back(fmt::format("{}: must be {} to {}, got {}", field, absl::FormatDuration(min),
                                  absl::FormatDuration(max), absl::FormatDuration(value)));
  }

  absl::Status Result() const {
    if (errors_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(fmt::format("{}", fmt::join(errors_, "; ")));
  }

 private:
  static constexpr int kIntMax = std::numeric_limits<std::int32_t>::max();
  std::vector<std::string> errors_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_POLICY_FIELD_CHECKER_H_
