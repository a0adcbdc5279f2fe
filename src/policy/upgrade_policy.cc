#include "driverupgrade/upgrade_policy.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace driverupgrade {
namespace {

constexpr int kIntMax = std::numeric_limits<std::int32_t>::max();

// Collects what is wrong under the names that the documents use, so that one message serves both ways in.
class Checker {
 public:
  void AtLeast(std::string_view field, int min, int value) {
    if (value < min) errors_.push_back(fmt::format("{}: must be >= {}, got {}", field, min, value));
  }

  // Zero is refused because documents write "for ever" that way.
  void Timeout(std::string_view field, absl::Duration timeout) {
    if (timeout == absl::InfiniteDuration()) return;
    if (timeout <= absl::ZeroDuration() || timeout > absl::Seconds(kIntMax)) {
      errors_.push_back(fmt::format("{}: must be > 0 and at most {} s, or infinite, got {}", field, kIntMax,
                                    absl::FormatDuration(timeout)));
    }
  }

  absl::Status Result() const {
    if (errors_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(fmt::format("{}", fmt::join(errors_, "; ")));
  }

 private:
  std::vector<std::string> errors_;
};

int ValueOf(const CountOrPercent& limit) {
  if (const Count* count = std::get_if<Count>(&limit)) return count->value;
  if (const Percent* percent = std::get_if<Percent>(&limit)) return percent->value;
  return 0;
}

}  // namespace

int ScaledLimit(const CountOrPercent& limit, int total) {
  if (const Count* count = std::get_if<Count>(&limit)) return count->value;
  // Two ints multiply without overflow in 64 bits.
  const std::int64_t hundredths = std::int64_t{ValueOf(limit)} * std::max(total, 0);
  const std::int64_t scaled = std::max<std::int64_t>(hundredths, 0) / 100 + (hundredths > 0 && hundredths % 100 != 0);
  return static_cast<int>(std::min<std::int64_t>(scaled, std::numeric_limits<int>::max()));
}

NodeRules::NodeRules(const UpgradePolicy& policy)
    : auto_upgrade(policy.auto_upgrade),
      frozen_because(policy.frozen_because),
      wait_for_completion(policy.wait_for_completion),
      pod_deletion(policy.pod_deletion),
      drain(policy.drain),
      pacing(policy.pacing),
      cordoned_nodes(policy.cordoned_nodes),
      deadlines(policy.deadlines),
      failed_hold_slots(!policy.failure_policy),
      retry(policy.retry) {}

AdmissionLimits::AdmissionLimits(const UpgradePolicy& policy)
    : paused(policy.paused),
      max_parallel(policy.max_parallel),
      max_unavailable(policy.max_unavailable),
      on_unscheduled_pods(policy.on_unscheduled_pods) {
  if (policy.failure_policy) max_failures = policy.failure_policy->max_failures;
}

absl::Status Validate(const UpgradePolicy& policy) {
  Checker checker;
  // Zero would be read back as "no limit"; that is nullopt here, and `paused` admits nobody.
  if (policy.max_parallel) checker.AtLeast("maxParallelUpgrades", 1, *policy.max_parallel);
  if (policy.max_unavailable) {
    checker.AtLeast("maxUnavailable", 0, ValueOf(*policy.max_unavailable));
  }
  if (policy.wait_for_completion) {
    checker.Timeout("waitForCompletion.timeoutSeconds", policy.wait_for_completion->timeout);
  }
  if (policy.pod_deletion) checker.Timeout("podDeletion.timeoutSeconds", policy.pod_deletion->timeout);
  if (policy.drain) checker.Timeout("drain.timeoutSeconds", policy.drain->timeout);
  checker.Timeout("deadlines.podRestartSeconds", policy.deadlines.pod_restart);
  checker.Timeout("deadlines.validationSeconds", policy.deadlines.validation);
  if (policy.failure_policy) {
    checker.AtLeast("failurePolicy.maxFailures", 1, ValueOf(policy.failure_policy->max_failures));
  }
  checker.AtLeast("retry.maxAttempts", 0, policy.retry.max_attempts);
  checker.Timeout("retry.backoffSeconds", policy.retry.backoff);
  return checker.Result();
}

}  // namespace driverupgrade
