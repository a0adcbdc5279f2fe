// Parses the Retry-After header of a response. Private to src/kubernetes.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_RETRY_AFTER_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_RETRY_AFTER_H_

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace driverupgrade {

// Upper limit for the wait that a server can request.
inline constexpr int kRetryAfterSecondsMax = 300;

// Returns whole seconds, at most kRetryAfterSecondsMax. Ignores any text that is not a number, including dates, as
// client-go does (api-A30).
inline std::optional<int> ParseRetryAfter(std::string_view text) {
  long long seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (text.empty() || end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return text.front() == '-' ? 0 : kRetryAfterSecondsMax;
  if (error != std::errc()) return std::nullopt;
  return static_cast<int>(std::clamp<long long>(seconds, 0, kRetryAfterSecondsMax));
}

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_RETRY_AFTER_H_
