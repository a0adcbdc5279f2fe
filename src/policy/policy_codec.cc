#include "driverupgrade/policy_codec.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "policy/document.h"
#include "policy/field_writer.h"
#include "policy/policy_reader.h"
#include "policy/policy_section.h"
#include "policy/rollout_codec.h"

namespace driverupgrade {
namespace {

using internal::EnumName;
using internal::PolicyProblems;
using internal::PolicySection;

constexpr std::array kPacingNames = {
    std::pair(std::string_view("Chained"), Pacing::kChained),
    std::pair(std::string_view("EveryState"), Pacing::kEveryState),
};
constexpr std::array kCordonedNodesNames = {
    std::pair(std::string_view("Proceed"), CordonedNodes::kProceed),
    std::pair(std::string_view("WithinBudget"), CordonedNodes::kWithinBudget),
    std::pair(std::string_view("Ignore"), CordonedNodes::kIgnore),
};

constexpr std::array kOnTimeoutNames = {
    std::pair(std::string_view("Fail"), OnTimeout::kFail),
    std::pair(std::string_view("Delete"), OnTimeout::kDelete),
    std::pair(std::string_view("ForceDelete"), OnTimeout::kForceDelete),
};
constexpr std::array kOnFailureNames = {
    std::pair(std::string_view("Fail"), OnFailure::kFail),
    std::pair(std::string_view("GiveBack"), OnFailure::kGiveBack),
};
constexpr std::array kOnUnscheduledPodsNames = {
    std::pair(std::string_view("CountUnavailable"), OnUnscheduledPods::kCountUnavailable),
    std::pair(std::string_view("Ignore"), OnUnscheduledPods::kIgnore),
};
constexpr std::array kScopeNames = {
    std::pair(std::string_view("Node"), IsolationScope::kNode),
    std::pair(std::string_view("Devices"), IsolationScope::kDevices),
    std::pair(std::string_view("Auto"), IsolationScope::kAuto),
};

void ReadWaitForCompletion(PolicySection& section, UpgradePolicy& policy) {
  WaitForCompletionPolicy& wait = policy.wait_for_completion.emplace();
  section.ReadSelector("podSelector", wait.pod_selector);
  section.ReadSeconds("timeoutSeconds", wait.timeout);
}

void ReadPodDeletion(PolicySection& section, UpgradePolicy& policy) {
  PodDeletionPolicy& deletion = policy.pod_deletion.emplace();
  section.ReadBool("force", deletion.force);
  section.ReadSeconds("timeoutSeconds", deletion.timeout);
  section.ReadBool("deleteEmptyDir", deletion.delete_empty_dir);
  section.ReadSelector("podSelector", deletion.pod_selector);
  section.ReadEnum("onTimeout", kOnTimeoutNames, deletion.on_timeout);
  section.ReadEnum("onFailure", kOnFailureNames, deletion.on_failure);
}

void ReadDrain(PolicySection& section, bool enable, UpgradePolicy& policy) {
  DrainPolicy drain;
  section.ReadBool("enable", enable);
  section.ReadBool("force", drain.force);
  section.ReadSelector("podSelector", drain.pod_selector);
  section.ReadSeconds("timeoutSeconds", drain.timeout);
  section.ReadBool("deleteEmptyDir", drain.delete_empty_dir);
  section.ReadEnum("onTimeout", kOnTimeoutNames, drain.on_timeout);
  section.ReadEnum("onFailure", kOnFailureNames, drain.on_failure);
  if (enable) policy.drain = std::move(drain);
}

void ReadDeadlines(PolicySection& section, UpgradePolicy& policy) {
  absl::Duration pod_restart = absl::InfiniteDuration();
  section.ReadSeconds("podRestartSeconds", pod_restart);
  if (section.IsSet("podRestartSeconds")) policy.deadlines.pod_restart = pod_restart;
  section.ReadSeconds("validationSeconds", policy.deadlines.validation);
}

void ReadFailurePolicy(PolicySection& section, UpgradePolicy& policy) {
  std::optional<CountOrPercent> max_failures;
  section.ReadCountOrPercent("maxFailures", max_failures);
  policy.failure_policy = FailurePolicy{};
  if (max_failures) policy.failure_policy->max_failures = *max_failures;
  section.ReadSection("byClass", [&](PolicySection& budgets) {
    internal::ReadFailureBudgets(budgets, policy.failure_policy->by_class);
  });
}

void ReadRetry(PolicySection& section, UpgradePolicy& policy) {
  section.ReadInt("maxAttempts", policy.retry.max_attempts);
  section.ReadSeconds("backoffSeconds", policy.retry.backoff);
}

// A list in the document replaces the default as a whole.
void ReadNames(PolicySection& section, std::string_view name, std::vector<std::string>& names) {
  std::vector<std::string> read;
  section.ReadList(name, [&](PolicySection& list, std::string_view item) { list.ReadText(item, read.emplace_back()); });
  if (section.IsSet(name)) names = std::move(read);
}

void ReadIsolation(PolicySection& section, IsolationPolicy& isolation) {
  section.ReadEnum("scope", kScopeNames, isolation.scope);
  int settle = static_cast<int>(absl::ToInt64Seconds(isolation.settle));
  section.ReadInt("settleSeconds", settle);
  isolation.settle = absl::Seconds(settle);
  ReadNames(section, "deviceDrivers", isolation.device_drivers);
  ReadNames(section, "pluginResources", isolation.plugin_resources);
  ReadNames(section, "schedulerNames", isolation.scheduler_names);
  section.ReadBool("validatorTolerates", isolation.validator_tolerates);
}

void ReadMaxParallel(PolicySection& root, UpgradePolicy& policy) {
  int max_parallel = policy.max_parallel.value_or(0);
  root.ReadInt("maxParallelUpgrades", max_parallel);
  policy.max_parallel = max_parallel == 0 ? std::nullopt : std::optional<int>(max_parallel);
}

void ReadPolicy(PolicySection& root, const PolicyDefaults& defaults, const TimeZoneLoader& zones,
                UpgradePolicy& policy) {
  root.ReadBool("autoUpgrade", policy.auto_upgrade);
  root.ReadBool("paused", policy.paused);
  ReadMaxParallel(root, policy);
  root.ReadCountOrPercent("maxUnavailable", policy.max_unavailable);
  root.ReadSection("waitForCompletion", [&](PolicySection& section) { ReadWaitForCompletion(section, policy); });
  // The custom resource uses podDeletion; Helm values and the GPU operator's manual use gpuPodDeletion (doc-D4).
  const auto read_pod_deletion = [&](PolicySection& section) { ReadPodDeletion(section, policy); };
  root.ReadSection("podDeletion", read_pod_deletion);
  root.ReadSection("gpuPodDeletion", read_pod_deletion);
  if (root.IsSet("podDeletion") && root.IsSet("gpuPodDeletion")) {
    root.Reject("gpuPodDeletion", "must not be set together with podDeletion, which is another name for it");
  }
  root.ReadSection("drain", [&](PolicySection& section) { ReadDrain(section, defaults.drain_enable, policy); });
  root.ReadEnum("pacing", kPacingNames, policy.pacing);
  root.ReadEnum("cordonedNodes", kCordonedNodesNames, policy.cordoned_nodes);
  root.ReadSection("deadlines", [&](PolicySection& section) { ReadDeadlines(section, policy); });
  root.ReadEnum("onUnscheduledPods", kOnUnscheduledPodsNames, policy.on_unscheduled_pods);
  root.ReadSection("failurePolicy", [&](PolicySection& section) { ReadFailurePolicy(section, policy); });
  root.ReadSection("retry", [&](PolicySection& section) { ReadRetry(section, policy); });
  root.ReadSection("isolation", [&](PolicySection& section) { ReadIsolation(section, policy.isolation); });
  root.ReadBool("safeLoad", policy.safe_load);
  root.ReadSection("rollout",
                   [&](PolicySection& section) { internal::ReadRollout(section, zones, policy.rollout.emplace()); });
}

// The kind of a whole Kubernetes object, which administrators pass in place of its section; empty for other documents.
std::string WholeObject(const internal::DocumentValue& document) {
  const auto text = [&](std::string_view name) {
    for (const internal::DocumentValue::Entry& entry : document.entries) {
      if (document.IsMapping() && entry.name.text == name) return entry.value.text;
    }
    return std::string();
  };
  return text("apiVersion").empty() ? std::string() : text("kind");
}

// The section above a policy with which values of a Helm chart or parts of a custom resource are passed; empty for
// other documents.
std::string_view OuterSection(const internal::DocumentValue& document) {
  constexpr std::array<std::string_view, 4> kSections = {"spec", "driver", "ofedDriver", "upgradePolicy"};
  for (const internal::DocumentValue::Entry& entry : document.entries) {
    const auto found = std::find(kSections.begin(), kSections.end(), entry.name.text);
    if (document.IsMapping() && found != kSections.end()) return *found;
  }
  return "";
}

// Writes what Parse reads. Writes every field, because a server replaces missing fields with defaults (H24).
class PolicyWriter {
 public:
  std::string Write(const UpgradePolicy& policy) {
    out_.StartObject();
    out_.Bool("autoUpgrade", policy.auto_upgrade);
    out_.Bool("paused", policy.paused);
    out_.Int("maxParallelUpgrades", policy.max_parallel.value_or(0));
    out_.Limit("maxUnavailable", policy.max_unavailable);
    WriteWaitForCompletion(policy.wait_for_completion);
    WritePodDeletion(policy.pod_deletion);
    WriteDrain(policy.drain);
    out_.Text("pacing", EnumName(kPacingNames, policy.pacing));
    out_.Text("cordonedNodes", EnumName(kCordonedNodesNames, policy.cordoned_nodes));
    out_.StartObject("deadlines");
    if (policy.deadlines.pod_restart) {
      out_.Seconds("podRestartSeconds", *policy.deadlines.pod_restart);
    } else {
      out_.Null("podRestartSeconds");
    }
    out_.Seconds("validationSeconds", policy.deadlines.validation);
    out_.EndObject();
    out_.Text("onUnscheduledPods", EnumName(kOnUnscheduledPodsNames, policy.on_unscheduled_pods));
    WriteFailurePolicy(policy.failure_policy);
    out_.StartObject("retry");
    out_.Int("maxAttempts", policy.retry.max_attempts);
    out_.Seconds("backoffSeconds", policy.retry.backoff);
    out_.EndObject();
    WriteIsolation(policy.isolation);
    out_.Bool("safeLoad", policy.safe_load);
    internal::WriteRollout(policy.rollout, out_);
    out_.EndObject();
    return out_.Written();
  }

 private:
  void WriteFailurePolicy(const std::optional<FailurePolicy>& failures) {
    if (!failures) return out_.Null("failurePolicy");
    out_.StartObject("failurePolicy");
    out_.Limit("maxFailures", failures->max_failures);
    internal::WriteFailureBudgets(failures->by_class, out_);
    out_.EndObject();
  }

  void WriteIsolation(const IsolationPolicy& isolation) {
    if (isolation == IsolationPolicy()) return out_.Null("isolation");
    out_.StartObject("isolation");
    out_.Text("scope", EnumName(kScopeNames, isolation.scope));
    out_.Int("settleSeconds", static_cast<int>(absl::ToInt64Seconds(isolation.settle)));
    WriteNames("deviceDrivers", isolation.device_drivers);
    WriteNames("pluginResources", isolation.plugin_resources);
    WriteNames("schedulerNames", isolation.scheduler_names);
    out_.Bool("validatorTolerates", isolation.validator_tolerates);
    out_.EndObject();
  }

  void WriteNames(std::string_view name, const std::vector<std::string>& names) {
    out_.StartArray(name);
    for (const std::string& one : names) out_.Text(one);
    out_.EndArray();
  }

  void WriteWaitForCompletion(const std::optional<WaitForCompletionPolicy>& wait) {
    if (!wait) return out_.Null("waitForCompletion");
    out_.StartObject("waitForCompletion");
    out_.Text("podSelector", wait->pod_selector.ToString());
    out_.Seconds("timeoutSeconds", wait->timeout);
    out_.EndObject();
  }

  void WritePodDeletion(const std::optional<PodDeletionPolicy>& deletion) {
    if (!deletion) return out_.Null("podDeletion");
    out_.StartObject("podDeletion");
    out_.Bool("force", deletion->force);
    out_.Seconds("timeoutSeconds", deletion->timeout);
    out_.Bool("deleteEmptyDir", deletion->delete_empty_dir);
    // The empty selector means that there is no selector, and is written as such.
    out_.Text("podSelector", deletion->pod_selector.ToString());
    out_.Text("onTimeout", EnumName(kOnTimeoutNames, deletion->on_timeout));
    out_.Text("onFailure", EnumName(kOnFailureNames, deletion->on_failure));
    out_.EndObject();
  }

  // Not null if it is off: the network operator's server would switch a drain without `enable` on (defect-D17).
  void WriteDrain(const std::optional<DrainPolicy>& drain) {
    const DrainPolicy fields = drain.value_or(DrainPolicy());
    out_.StartObject("drain");
    out_.Bool("enable", drain.has_value());
    out_.Bool("force", fields.force);
    out_.Text("podSelector", fields.pod_selector.ToString());
    out_.Seconds("timeoutSeconds", fields.timeout);
    out_.Bool("deleteEmptyDir", fields.delete_empty_dir);
    out_.Text("onTimeout", EnumName(kOnTimeoutNames, fields.on_timeout));
    out_.Text("onFailure", EnumName(kOnFailureNames, fields.on_failure));
    out_.EndObject();
  }

  internal::FieldWriter out_;
};

}  // namespace

PolicyDefaults PolicyDefaults::GpuOperator() {
  return {.auto_upgrade = true, .max_unavailable = Percent{25}, .drain_enable = false};
}

PolicyDefaults PolicyDefaults::NetworkOperator() {
  return {.auto_upgrade = false, .max_unavailable = std::nullopt, .drain_enable = true};
}

absl::StatusOr<UpgradePolicy> internal::ReadUpgradePolicy(const absl::StatusOr<DocumentValue>& document,
                                                          const PolicyDefaults& defaults, const TimeZoneLoader& zones) {
  if (!document.ok()) {
    return absl::InvalidArgumentError(fmt::format("upgrade policy: {}", Message(document.status())));
  }
  UpgradePolicy policy{.auto_upgrade = defaults.auto_upgrade, .max_unavailable = defaults.max_unavailable};
  PolicyProblems problems;
  if (const std::string kind = WholeObject(*document); !kind.empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "upgrade policy: the document is a whole {}; pass its upgradePolicy section alone, which a ClusterPolicy has "
        "at spec.driver.upgradePolicy and a NicClusterPolicy at spec.ofedDriver.upgradePolicy",
        kind));
  }
  if (const std::string_view section = OuterSection(*document); !section.empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "upgrade policy: {} is not a field of the policy; pass the fields below upgradePolicy alone", section));
  }
  if (document->IsMapping()) {
    PolicySection root(*document, "", problems);
    ReadPolicy(root, defaults, zones, policy);
    root.RejectUnknown();
  } else if (document->IsNull()) {
    // A file that lost its content must not start a rollout by defaults.
    return absl::InvalidArgumentError("upgrade policy: the document is empty; {} is a policy of defaults");
  } else {
    return absl::InvalidArgumentError(fmt::format("upgrade policy: must be a mapping, got {}", Describe(*document)));
  }
  DRIVERUPGRADE_RETURN_IF_ERROR(problems.ToStatus());
  // Ranges that only some fields have.
  DRIVERUPGRADE_RETURN_IF_ERROR(Validate(policy));
  return policy;
}

absl::StatusOr<UpgradePolicy> ParseUpgradePolicyJson(std::string_view json, const PolicyDefaults& defaults,
                                                     const TimeZoneLoader& zones) {
  return internal::ReadUpgradePolicy(internal::LoadJson(json), defaults, zones);
}

std::string FormatUpgradePolicy(const UpgradePolicy& policy) { return PolicyWriter().Write(policy); }

}  // namespace driverupgrade
