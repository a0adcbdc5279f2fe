#include "driverupgrade/validation_manager.h"

#include <array>

#include "fmt/format.h"

namespace driverupgrade {
namespace {

std::string Moment(absl::Time time) { return absl::FormatTime("%Y-%m-%d%ET%H:%M:%SZ", time, absl::UTCTimeZone()); }

constexpr std::array kEarlyValidationNames = {std::pair(EarlyValidation::kAsk, std::string_view("Ask")),
                                              std::pair(EarlyValidation::kRestart, std::string_view("Restart")),
                                              std::pair(EarlyValidation::kCount, std::string_view("Count"))};

}  // namespace

std::string_view ToString(EarlyValidation early) {
  for (const auto& [value, name] : kEarlyValidationNames) {
    if (value == early) return name;
  }
  return "";
}

std::optional<EarlyValidation> ParseEarlyValidation(std::string_view text) {
  for (const auto& [value, name] : kEarlyValidationNames) {
    if (name == text) return value;
  }
  return std::nullopt;
}

Validation ValidationManager::Evaluate(const std::vector<Pod>& pods,
                                       std::optional<absl::Time> driver_ready_since) const {
  int found = 0;
  std::string not_ready;
  std::string not_proved;
  Validation result;
  // The comparison is safe because the same kubelet wrote both times, in whole seconds.
  const auto is_early = [&](const Pod& pod) {
    return early_ != EarlyValidation::kCount && driver_ready_since && pod.ready_since &&
           *pod.ready_since < *driver_ready_since;
  };
  for (const Pod& pod : pods) {
    if (!selector_.Matches(pod.labels)) continue;
    ++found;
    if (!IsReady(pod)) {
      if (not_ready.empty()) not_ready = fmt::format("validation pod {} is not ready", pod.ref.ToString());
    } else if (is_early(pod)) {
      if (not_proved.empty()) {
        not_proved =
            fmt::format("validation pod {} has been ready since {}, before the new driver pod ({}); restart it",
                        pod.ref.ToString(), Moment(*pod.ready_since), Moment(*driver_ready_since));
      }
      if (!pod.deletion_timestamp) result.early.push_back(&pod);
    }
  }
  // A pod that validated only the old driver takes precedence, because an administrator may have to act on it.
  result.missing = not_proved.empty() ? std::move(not_ready) : std::move(not_proved);
  if (found == 0) result.missing = fmt::format("no pod matches {} on the node", selector_.ToString());
  result.passed = result.missing.empty();
  return result;
}

}  // namespace driverupgrade
