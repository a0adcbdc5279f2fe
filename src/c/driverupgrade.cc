#include "driverupgrade/c/driverupgrade.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "base/status_macros.h"
#include "c/guard.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/policy_codec.h"
#include "driverupgrade/version.h"
#include "fmt/format.h"
#include "whatif/driver_members.h"
#include "whatif/plan_request.h"
#include "wire/document.h"
#include "wire/json_writer.h"

namespace driverupgrade::internal {
namespace {

absl::Status Named(std::string_view what, const absl::Status& status) {
  return absl::Status(status.code(), fmt::format("{}: {}", what, Message(status)));
}

absl::StatusOr<std::string> Keys(std::string_view text) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Document document, Document::Parse("identity", text, {"domain", "driver"}));
  const absl::StatusOr<DriverIdentity> identity = IdentityOf(document);
  if (!identity.ok()) return Named("identity", identity.status());
  const std::array<std::pair<const char*, std::string>, 27> keys = {{
      {"stateLabel", identity->StateLabel()},
      {"skipUpgradeLabel", identity->SkipUpgradeLabel()},
      {"skipDrainPodLabel", identity->SkipDrainPodLabel()},
      {"safeLoadAnnotation", identity->SafeLoadAnnotation()},
      {"initiallyUnschedulableAnnotation", identity->InitiallyUnschedulableAnnotation()},
      {"podCompletionStartAnnotation", identity->PodCompletionStartAnnotation()},
      {"validationStartAnnotation", identity->ValidationStartAnnotation()},
      {"upgradeRequestedAnnotation", identity->UpgradeRequestedAnnotation()},
      {"requestorModeAnnotation", identity->RequestorModeAnnotation()},
      {"stageAnnotation", identity->StageAnnotation()},
      {"drainStartAnnotation", identity->DrainStartAnnotation()},
      {"unwantedSinceAnnotation", identity->UnwantedSinceAnnotation()},
      {"failedRevisionAnnotation", identity->FailedRevisionAnnotation()},
      {"failuresAnnotation", identity->FailuresAnnotation()},
      {"failureClassAnnotation", identity->FailureClassAnnotation()},
      {"failureCauseAnnotation", identity->FailureCauseAnnotation()},
      {"waitingForAnnotation", identity->WaitingForAnnotation()},
      {"approvedAnnotation", identity->ApprovedAnnotation()},
      {"policyAnnotation", identity->PolicyAnnotation()},
      {"restartPodAnnotation", identity->RestartPodAnnotation()},
      {"restartOnlyAnnotation", identity->RestartOnlyAnnotation()},
      {"reloadOnlyAnnotation", identity->ReloadOnlyAnnotation()},
      {"unitAnnotation", identity->UnitAnnotation()},
      {"rolloutLabelsAnnotation", identity->RolloutLabelsAnnotation()},
      {"isolatedDevicesAnnotation", identity->IsolatedDevicesAnnotation()},
      {"cordonedByAnnotation", std::string(kCordonedByAnnotation)},
      {"eventReason", identity->EventReason()},
  }};
  JsonWriter writer;
  writer.Object([&] {
    for (const std::pair<const char*, std::string>& key : keys) writer.Member(key.first, key.second);
  });
  return writer.Take();
}

// Treats a document with the member `policy` as a request, because a policy itself has no such member.
absl::StatusOr<UpgradePolicy> PolicyOf(std::string_view text) {
  const absl::StatusOr<Document> request = Document::Parse("request", text, {"policy", "timeZones", "policyDefaults"});
  absl::StatusOr<UpgradePolicy> policy = absl::UnknownError("");
  if (request.ok() && request->Has("policy")) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string embedded, request->Embedded("policy"));
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const PolicyDefaults defaults, DefaultsMember(*request));
    policy = ParsePolicy(*request, embedded, defaults);
  } else {
    policy = ParseUpgradePolicy(text);
  }
  if (!policy.ok()) return Named("policy", policy.status());
  return policy;
}

absl::StatusOr<std::string> NormalizedPolicy(std::string_view text) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const UpgradePolicy policy, PolicyOf(text));
  return FormatUpgradePolicy(policy);
}

absl::StatusOr<std::string> PolicyWarnings(std::string_view text) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const UpgradePolicy policy, PolicyOf(text));
  JsonWriter writer;
  writer.Array([&] {
    for (const std::string& warning : Warnings(policy)) writer.String(warning);
  });
  return writer.Take();
}

}  // namespace
}  // namespace driverupgrade::internal

using driverupgrade::internal::Guard;
using driverupgrade::internal::View;

uint32_t du_abi_version(void) { return 1; }

const char* du_version(void) { return DRIVERUPGRADE_VERSION_STRING; }

void* du_alloc(size_t size) { return std::malloc(std::max<size_t>(size, 1)); }

void du_free(void* memory) { std::free(memory); }

du_code du_keys(du_str identity, du_buf* out) {
  return Guard(out, {identity}, [&] { return driverupgrade::internal::Keys(View(identity)); });
}

du_code du_policy_normalize(du_str policy, du_buf* out) {
  return Guard(out, {policy}, [&] { return driverupgrade::internal::NormalizedPolicy(View(policy)); });
}

du_code du_policy_warnings(du_str policy, du_buf* out) {
  return Guard(out, {policy}, [&] { return driverupgrade::internal::PolicyWarnings(View(policy)); });
}

du_code du_plan(du_str request, du_str cluster, du_buf* out) {
  return Guard(out, {request, cluster}, [&] { return driverupgrade::internal::PlanOf(View(request), View(cluster)); });
}
