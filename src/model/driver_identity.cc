#include "driverupgrade/driver_identity.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/quote.h"
#include "fmt/format.h"
#include "model/label_syntax.h"

namespace driverupgrade {
namespace {

constexpr std::string_view kKeyInfix = "-driver-upgrade";
constexpr std::string_view kPodCompletionStartSuffix = "-wait-for-pod-completion-start-time";
// The longest key has this suffix, so the suffix determines the maximum length of a driver name (S10).
constexpr std::size_t kDriverSizeMax =
    internal::kLabelNameSizeMax - kKeyInfix.size() - kPodCompletionStartSuffix.size();
static_assert(kDriverSizeMax == 13);

char ToUpper(char c) { return 'a' <= c && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool IsDriverName(std::string_view driver) {
  return !driver.empty() && internal::IsLowerAlnum(driver.front()) && internal::IsLowerAlnum(driver.back()) &&
         std::all_of(driver.begin(), driver.end(),
                     [](char c) { return internal::IsLowerAlnum(c) || c == '-' || c == '_' || c == '.'; });
}

std::string EventReasonOf(std::string driver) {
  std::transform(driver.begin(), driver.end(), driver.begin(), ToUpper);
  return driver + "DriverUpgrade";
}

}  // namespace

// All keys are stored, because every pass uses several of them for every node.
struct DriverIdentity::Keys {
  Keys(std::string_view the_domain, std::string_view the_driver) : domain(the_domain), driver(the_driver) {}

  const std::string domain;
  const std::string driver;
  const std::string name = fmt::format("{}/{}", domain, driver);
  const std::string key_prefix = fmt::format("{}{}", name, kKeyInfix);
  const std::string state_label = Key("-state");
  const std::string skip_upgrade_label = Key(".skip");
  const std::string skip_drain_pod_label = Key("-drain.skip");
  const std::string safe_load_annotation = Key(".driver-wait-for-safe-load");
  const std::string initially_unschedulable_annotation = Key(".node-initial-state.unschedulable");
  const std::string pod_completion_start_annotation = Key(kPodCompletionStartSuffix);
  const std::string validation_start_annotation = Key("-validation-start-time");
  const std::string upgrade_requested_annotation = Key("-requested");
  const std::string requestor_mode_annotation = Key("-requestor-mode");
  const std::string event_reason = EventReasonOf(driver);
  const std::string stage_annotation = Key(".stage");
  const std::string drain_start_annotation = Key(".drain-start");
  const std::string unwanted_since_annotation = Key(".unwanted-since");
  const std::string failed_revision_annotation = Key(".failed-revision");
  const std::string failures_annotation = Key(".failures");
  const std::string failure_class_annotation = Key(".failure-class");
  const std::string failure_cause_annotation = Key(".failure-cause");
  const std::string waiting_for_annotation = Key(".waiting-for");
  const std::string approved_annotation = Key(".approved");
  const std::string policy_annotation = Key(".policy");
  const std::string restart_pod_annotation = Key(".restart-pod");
  const std::string restart_only_annotation = Key(".restart-only");
  const std::string reload_only_annotation = Key(".reload-only");
  const std::string unit_annotation = Key(".unit");
  const std::string rollout_labels_annotation = Key(".rollout-labels");
  const std::string isolated_devices_annotation = Key(".isolated-devices");

 private:
  std::string Key(std::string_view suffix) const { return fmt::format("{}{}", key_prefix, suffix); }
};

absl::StatusOr<DriverIdentity> DriverIdentity::Create(std::string_view domain, std::string_view driver) {
  if (!internal::IsDnsSubdomain(domain)) {
    return absl::InvalidArgumentError(
        fmt::format("driver identity: domain {} is not a lower-case DNS name of at most {} characters",
                    internal::Quote(domain), internal::kDnsSubdomainSizeMax));
  }
  if (!IsDriverName(driver)) {
    return absl::InvalidArgumentError(
        fmt::format("driver identity: driver name {} must start and end with a lower-case letter or a digit, with only "
                    "those and '-', '_', '.' inside",
                    internal::Quote(driver)));
  }
  if (driver.size() > kDriverSizeMax) {
    return absl::InvalidArgumentError(
        fmt::format("driver identity: driver name {} has {} characters, and at most {} leave room for the longest "
                    "key, \"<driver>{}{}\", within the {} that Kubernetes allows",
                    internal::Quote(driver), driver.size(), kDriverSizeMax, kKeyInfix, kPodCompletionStartSuffix,
                    internal::kLabelNameSizeMax));
  }
  return DriverIdentity(std::make_shared<const Keys>(domain, driver));
}

const std::string& DriverIdentity::domain() const { return keys_->domain; }
const std::string& DriverIdentity::driver() const { return keys_->driver; }
const std::string& DriverIdentity::Name() const { return keys_->name; }
const std::string& DriverIdentity::KeyPrefix() const { return keys_->key_prefix; }
const std::string& DriverIdentity::StateLabel() const { return keys_->state_label; }
const std::string& DriverIdentity::SkipUpgradeLabel() const { return keys_->skip_upgrade_label; }
const std::string& DriverIdentity::SkipDrainPodLabel() const { return keys_->skip_drain_pod_label; }
const std::string& DriverIdentity::SafeLoadAnnotation() const { return keys_->safe_load_annotation; }
const std::string& DriverIdentity::InitiallyUnschedulableAnnotation() const {
  return keys_->initially_unschedulable_annotation;
}
const std::string& DriverIdentity::PodCompletionStartAnnotation() const {
  return keys_->pod_completion_start_annotation;
}
const std::string& DriverIdentity::ValidationStartAnnotation() const { return keys_->validation_start_annotation; }
const std::string& DriverIdentity::UpgradeRequestedAnnotation() const { return keys_->upgrade_requested_annotation; }
const std::string& DriverIdentity::RequestorModeAnnotation() const { return keys_->requestor_mode_annotation; }
const std::string& DriverIdentity::EventReason() const { return keys_->event_reason; }
const std::string& DriverIdentity::StageAnnotation() const { return keys_->stage_annotation; }
const std::string& DriverIdentity::DrainStartAnnotation() const { return keys_->drain_start_annotation; }
const std::string& DriverIdentity::UnwantedSinceAnnotation() const { return keys_->unwanted_since_annotation; }
const std::string& DriverIdentity::FailedRevisionAnnotation() const { return keys_->failed_revision_annotation; }
const std::string& DriverIdentity::FailuresAnnotation() const { return keys_->failures_annotation; }
const std::string& DriverIdentity::FailureClassAnnotation() const { return keys_->failure_class_annotation; }
const std::string& DriverIdentity::FailureCauseAnnotation() const { return keys_->failure_cause_annotation; }
const std::string& DriverIdentity::WaitingForAnnotation() const { return keys_->waiting_for_annotation; }
const std::string& DriverIdentity::ApprovedAnnotation() const { return keys_->approved_annotation; }
const std::string& DriverIdentity::PolicyAnnotation() const { return keys_->policy_annotation; }
const std::string& DriverIdentity::RestartPodAnnotation() const { return keys_->restart_pod_annotation; }
const std::string& DriverIdentity::RestartOnlyAnnotation() const { return keys_->restart_only_annotation; }
const std::string& DriverIdentity::ReloadOnlyAnnotation() const { return keys_->reload_only_annotation; }
const std::string& DriverIdentity::UnitAnnotation() const { return keys_->unit_annotation; }
const std::string& DriverIdentity::RolloutLabelsAnnotation() const { return keys_->rollout_labels_annotation; }
const std::string& DriverIdentity::IsolatedDevicesAnnotation() const { return keys_->isolated_devices_annotation; }

}  // namespace driverupgrade
