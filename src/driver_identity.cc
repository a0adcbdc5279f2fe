#include "driverupgrade/driver_identity.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "internal/label_syntax.h"
#include "internal/quote.h"

namespace driverupgrade::inline v1 {
namespace {

constexpr std::string_view kKeyInfix = "-driver-upgrade";
constexpr std::string_view kPodCompletionStartSuffix = "-wait-for-pod-completion-start-time";
// No key is longer than this one, so it sets the limit for all (S10).
constexpr std::size_t kDriverSizeMax =
    internal::kLabelNameSizeMax - kKeyInfix.size() - kPodCompletionStartSuffix.size();
static_assert(kDriverSizeMax == 13);

char ToUpper(char c) { return 'a' <= c && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool IsDriverName(std::string_view driver) {
  return !driver.empty() && internal::IsLowerAlnum(driver.front()) && internal::IsLowerAlnum(driver.back()) &&
         std::all_of(driver.begin(), driver.end(),
                     [](char c) { return internal::IsLowerAlnum(c) || c == '-' || c == '_' || c == '.'; });
}

}  // namespace

absl::StatusOr<DriverIdentity> DriverIdentity::Create(std::string_view domain, std::string_view driver) {
  if (!internal::IsDnsSubdomain(domain)) {
    return absl::InvalidArgumentError(
        fmt::format("driver identity: domain {} is not a lower-case DNS name of at most {} characters",
                    internal::Quote(domain), internal::kDnsSubdomainSizeMax));
  }
  if (!IsDriverName(driver)) {
    return absl::InvalidArgumentError(
        fmt::format("driver identity: driver name {} must begin and end with a lower-case letter or a digit, with "
                    "only those and '-', '_', '.' inside",
                    internal::Quote(driver)));
  }
  if (driver.size() > kDriverSizeMax) {
    return absl::InvalidArgumentError(
        fmt::format("driver identity: driver name {} has {} characters, and at most {} leave room for the longest "
                    "key, \"<driver>{}{}\", within the {} that Kubernetes allows",
                    internal::Quote(driver), driver.size(), kDriverSizeMax, kKeyInfix, kPodCompletionStartSuffix,
                    internal::kLabelNameSizeMax));
  }
  return DriverIdentity(domain, driver);
}

std::string DriverIdentity::Name() const { return fmt::format("{}/{}", domain_, driver_); }

DriverIdentity::DriverIdentity(std::string_view domain, std::string_view driver)
    : domain_(domain), driver_(driver), prefix_(fmt::format("{}/{}{}", domain, driver, kKeyInfix)) {}

// Every node asks for several keys in every pass.
std::string DriverIdentity::Key(std::string_view suffix) const {
  std::string key;
  key.reserve(prefix_.size() + suffix.size());
  return key.append(prefix_).append(suffix);
}

std::string DriverIdentity::StateLabel() const { return Key("-state"); }
std::string DriverIdentity::SkipUpgradeLabel() const { return Key(".skip"); }
std::string DriverIdentity::SkipDrainPodLabel() const { return Key("-drain.skip"); }
std::string DriverIdentity::SafeLoadAnnotation() const { return Key(".driver-wait-for-safe-load"); }
std::string DriverIdentity::InitiallyUnschedulableAnnotation() const {
  return Key(".node-initial-state.unschedulable");
}
std::string DriverIdentity::PodCompletionStartAnnotation() const { return Key(kPodCompletionStartSuffix); }
std::string DriverIdentity::ValidationStartAnnotation() const { return Key("-validation-start-time"); }
std::string DriverIdentity::UpgradeRequestedAnnotation() const { return Key("-requested"); }
std::string DriverIdentity::RequestorModeAnnotation() const { return Key("-requestor-mode"); }

std::string DriverIdentity::EventReason() const {
  std::string reason = driver_;
  std::transform(reason.begin(), reason.end(), reason.begin(), ToUpper);
  return reason + "DriverUpgrade";
}

std::string DriverIdentity::StageAnnotation() const { return Key(".stage"); }
std::string DriverIdentity::FailedRevisionAnnotation() const { return Key(".failed-revision"); }
std::string DriverIdentity::FailuresAnnotation() const { return Key(".failures"); }
std::string DriverIdentity::RestartPodAnnotation() const { return Key(".restart-pod"); }
std::string DriverIdentity::RestartOnlyAnnotation() const { return Key(".restart-only"); }

}  // namespace driverupgrade::inline v1
