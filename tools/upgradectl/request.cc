#include "upgradectl/request.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "driverupgrade/label_selector.h"
#include "driverupgrade/policy_codec.h"
#include "fmt/format.h"
#include "gpu/driver_digest.h"
#include "gpu/gpu_pods.h"
#include "support/requestor_arguments.h"
#include "support/spare_skipped_pods.h"
#include "upgradectl/reported.h"
#include "upgradectl/text.h"
#include "upgradectl/usual_driver.h"

namespace upgradectl {
namespace {

using driverupgrade::ClusterObjects;
using driverupgrade::DriverIdentity;
using driverupgrade::LabelSelector;
using driverupgrade::PolicyDefaults;
using driverupgrade::RequestorOptions;
using driverupgrade::UpgradePolicy;
using driverupgrade::whatif::Question;

absl::Status Named(std::string_view what, const absl::Status& status) {
  return absl::Status(status.code(), fmt::format("{}: {}", what, Message(status)));
}

absl::StatusOr<absl::Time> ReadTime(std::string_view option, const std::string& text) {
  absl::Time time;
  std::string error;
  // Checks the first character, because ParseTime also accepts infinite times and leading spaces.
  const bool digit = !text.empty() && text[0] >= '0' && text[0] <= '9';
  if (digit && absl::ParseTime(absl::RFC3339_full, text, &time, &error)) return time;
  return absl::InvalidArgumentError(
      fmt::format("{}: `{}` is not an RFC 3339 time such as 2026-01-02T03:04:05Z", option, text));
}

absl::Status LoadTimes(const Options& options, Question& request) {
  request.at = absl::Now();
  if (!options.at.empty()) {
    const absl::StatusOr<absl::Time> at = ReadTime("--at", options.at);
    if (!at.ok()) return at.status();
    request.at = *at;
  }
  if (!options.active_since.empty()) {
    const absl::StatusOr<absl::Time> since = ReadTime("--active-since", options.active_since);
    if (!since.ok()) return since.status();
    request.active_since = *since;
  }
  return absl::OkStatus();
}

bool GpuPods(const Options& options) {
  const UsualDriver* usual = UsualDriverOf(options);
  return options.gpu_pods.value_or(usual != nullptr && usual->gpu_pods);
}

std::string ValidationSelector(const Options& options) {
  const UsualDriver* usual = UsualDriverOf(options);
  return options.validation_selector.value_or(usual == nullptr ? "" : std::string(usual->validation_selector));
}

// Returns the options from the command line that another command needs to refer to the same objects.
std::vector<std::pair<std::string, std::optional<std::string>>> OptionsAgain(const Options& options) {
  const Options silent;
  // True if the driver must be named, because the command could otherwise refer to another driver that reports its
  // options.
  const bool is_named = options.driver_named && !options.reporting_drivers.empty();
  std::vector<std::pair<std::string, std::optional<std::string>>> again;
  const auto text = [&](const char* name, const std::string& value, const std::string& otherwise = {}) {
    if (value != otherwise) again.emplace_back(name, value);
  };
  const auto optional = [&](const char* name, const std::optional<std::string>& value) {
    if (value) again.emplace_back(name, *value);
  };
  const auto flag = [&](const char* name, bool given) {
    if (given) again.emplace_back(name, std::nullopt);
  };
  text("--driver", options.driver, is_named ? "" : silent.driver);
  text("--domain", options.domain, silent.domain);
  text("--kubeconfig", options.source.kubeconfig);
  text("--context", options.source.context);
  flag("--in-cluster", options.source.in_cluster);
  flag("--allow-exec", options.source.allow_exec);
  optional("--namespace", options.ns);
  optional("--driver-labels", options.driver_labels);
  optional("--validation-selector", options.validation_selector);
  text("--early-validation", options.early_validation);
  if (GpuPods(options) != GpuPods({.driver = options.driver, .domain = options.domain})) {
    flag(GpuPods(options) ? "--gpu-pods" : "--no-gpu-pods", true);
  }
  for (const std::string& resource : options.resources) again.emplace_back("--resource", resource);
  text("--policy", options.policy);
  text("--policy-resource", options.policy_resource);
  text("--defaults", options.defaults);
  text("--ledger-namespace", options.ledger_ns);
  text("--ledger-name", options.ledger_name);
  text("--lease-namespace", options.lease_ns);
  text("--lease-name", options.lease_name);
  optional("--requestor-id", options.requestor.id);
  text("--requestor-namespace", options.requestor.ns, silent.requestor.ns);
  text("--requestor-prefix", options.requestor.name_prefix, silent.requestor.name_prefix);
  std::erase_if(again, [&](const auto& option) { return options.reported.contains(option.first); });
  return again;
}

absl::StatusOr<std::string> PlaceText(std::string_view option, const std::optional<std::string>& given,
                                      std::string_view usual) {
  if (given) return *given;
  if (!usual.empty()) return std::string(usual);
  return absl::InvalidArgumentError(
      fmt::format("{}: is required for this driver, because no operator reports it through its Lease", option));
}

std::vector<std::string> SplitBy(char separator, std::string_view text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

absl::StatusOr<std::optional<PolicyResource>> LoadPolicyResource(const Options& options) {
  std::string text = options.policy_resource;
  if (text.empty() && options.domain == "nvidia.com") {
    if (options.driver == "gpu") text = "nvidia.com/v1/clusterpolicies/cluster-policy:spec.driver.upgradePolicy";
    if (options.driver == "ofed") {
      text = "mellanox.com/v1alpha1/nicclusterpolicies/nic-cluster-policy:spec.ofedDriver.upgradePolicy";
    }
  }
  if (text.empty()) return std::optional<PolicyResource>();
  const std::size_t colon = text.find(':');
  const std::vector<std::string> parts = SplitBy('/', text.substr(0, colon));
  const bool whole = colon != std::string::npos && colon + 1 < text.size() && parts.size() == 4 &&
                     std::none_of(parts.begin(), parts.end(), [](const std::string& part) { return part.empty(); });
  if (!whole) {
    return absl::InvalidArgumentError(
        fmt::format("--policy-resource: `{}` is not GROUP/VERSION/RESOURCE/NAME:PATH.TO.SECTION", text));
  }
  return PolicyResource{.group_version = parts[0] + "/" + parts[1],
                        .resource = parts[2],
                        .name = parts[3],
                        .path = SplitBy('.', text.substr(colon + 1))};
}

absl::Status LoadValidation(const Options& options, driverupgrade::StateMachineOptions& machine) {
  const std::string pods = ValidationSelector(options);
  if (pods.empty()) return absl::OkStatus();
  absl::StatusOr<LabelSelector> selector = LabelSelector::Parse(pods);
  if (!selector.ok()) return Named("--validation-selector", selector.status());
  machine.validation_selector = *std::move(selector);
  // Uses the default of gpu_operator.
  if (UsualDriverOf(options) != nullptr) machine.early_validation = driverupgrade::EarlyValidation::kRestart;
  if (!options.early_validation.empty()) {
    machine.early_validation = *driverupgrade::ParseEarlyValidation(options.early_validation);
  }
  return absl::OkStatus();
}

absl::Status LoadPlace(const Options& options, Request& request) {
  const UsualDriver* usual = UsualDriverOf(options);
  const absl::StatusOr<std::string> ns = PlaceText("--namespace", options.ns, usual == nullptr ? "" : usual->ns);
  if (!ns.ok()) return ns.status();
  if (ns->empty()) return absl::InvalidArgumentError("--namespace: must not be empty");
  const absl::StatusOr<std::string> text =
      PlaceText("--driver-labels", options.driver_labels, usual == nullptr ? "" : usual->labels.front());
  if (!text.ok()) return text.status();
  absl::StatusOr<LabelSelector> labels = LabelSelector::Parse(*text);
  if (!labels.ok()) return Named("--driver-labels", labels.status());
  if (labels->empty()) {
    return absl::InvalidArgumentError(
        "--driver-labels: must not be empty, because an empty selector matches every pod");
  }
  request.options = OptionsAgain(options);
  request.reporting_drivers = options.reporting_drivers;
  if (!options.reported.empty())
    request.options_source = fmt::format("Lease {}/{}", options.lease_ns, options.lease_name);
  request.place.ns = *ns;
  request.place.labels = *text;
  request.place.lease_ns = options.lease_ns.empty() ? *ns : options.lease_ns;
  request.place.lease = options.lease_name;
  request.place.ledger_ns = options.ledger_ns.empty() ? *ns : options.ledger_ns;
  request.place.ledger = options.ledger_name;
  if (request.place.ledger.empty() && usual != nullptr) request.place.ledger = usual->ledger;
  request.question.snapshot.ns = *ns;
  request.question.snapshot.driver_labels = *std::move(labels);
  return absl::OkStatus();
}

// Sets the requestor of the state machine.
absl::Status LoadRequestor(const Options& options, Question& request) {
  absl::StatusOr<std::optional<RequestorOptions>> requestor = examples::ReadRequestorArguments(options.requestor);
  if (!requestor.ok()) return requestor.status();
  if (*requestor && GpuPods(options)) (*requestor)->resource_name_filters = gpu_operator::GpuResourceFilters();
  request.machine.requestor = *std::move(requestor);
  return absl::OkStatus();
}

absl::Status LoadReported(const std::string& engine, Request& request) {
  absl::StatusOr<ReportedPolicy> reported =
      ReadReported(request.question.identity, request.place, request.facts, engine);
  if (!reported.ok()) return reported.status();
  request.question.policy = std::move(reported->policy);
  request.policy_source = fmt::format("Lease {}/{}", reported->lease.ns, reported->lease.name);
  request.policy_reporter = std::move(reported->lease);
  return absl::OkStatus();
}

// Same as gpu_operator::GpuPodFilter: a claim that was not read counts as using a GPU.
driverupgrade::PodFilter GpuPodFilter(std::map<std::string, bool, std::less<>> gpu_claims) {
  return [gpu_claims = std::move(gpu_claims)](const driverupgrade::CallContext&, const driverupgrade::Pod& pod) {
    if (IsFinished(pod)) return false;
    const auto& claims = pod.resource_claims;
    return gpu_operator::UsesGpu(pod) || std::any_of(claims.begin(), claims.end(), [&](const std::string& claim) {
             const auto found = gpu_claims.find(pod.ref.ns + "/" + claim);
             return found == gpu_claims.end() || found->second;
           });
  };
}

// Returns a filter for the pods that use the driver; null if the operator cannot identify them.
driverupgrade::PodFilter UsersOf(const Options& options, const Facts& facts) {
  const driverupgrade::PodFilter gpu_pods = GpuPods(options) ? GpuPodFilter(facts.gpu_claims) : nullptr;
  if (options.resources.empty()) return gpu_pods;
  return [gpu_pods, resources = options.resources](const driverupgrade::CallContext& context,
                                                   const driverupgrade::Pod& pod) -> absl::StatusOr<bool> {
    const bool requests =
        !IsFinished(pod) && std::any_of(resources.begin(), resources.end(), [&](const std::string& resource) {
          return std::find(pod.resource_names.begin(), pod.resource_names.end(), resource) != pod.resource_names.end();
        });
    if (requests || !gpu_pods) return requests;
    return gpu_pods(context, pod);
  };
}

// Same as gpu_operator's restart-only predicate.
absl::StatusOr<bool> LoadsSameGpuDriver(const driverupgrade::CallContext&, const driverupgrade::Pod&,
                                        const driverupgrade::ControllerRevision& running,
                                        const driverupgrade::ControllerRevision& wanted) {
  return gpu_operator::LoadsSameDriver(running, wanted);
}

PolicyDefaults DefaultsOf(const Options& options) {
  std::string_view name = options.defaults;
  const UsualDriver* usual = UsualDriverOf(options);
  if (name.empty() && options.verb != "plan" && usual != nullptr) name = usual->defaults;
  if (name == "gpu-operator") return PolicyDefaults::GpuOperator();
  if (name == "network-operator") return PolicyDefaults::NetworkOperator();
  return {};
}

bool IsPolicyFile(const Options& options) { return !options.policy.empty() && !EngineOfLive(options.policy); }

// Loads the policy from the file, from the custom resource, or from the operator's report.
absl::Status LoadPolicy(const Options& options, Request& request) {
  const PolicyDefaults& defaults = request.defaults;
  Question& question = request.question;
  if (const std::optional<std::string> engine = EngineOfLive(options.policy)) {
    const absl::Status status = LoadReported(*engine, request);
    return status.ok() ? status : Named("--policy " + options.policy, status);
  }
  if (!options.policy.empty()) {
    absl::StatusOr<UpgradePolicy> policy = LoadPolicyFile(options.policy, defaults, question.identity);
    if (!policy.ok()) return policy.status();
    question.policy = *std::move(policy);
    request.policy_source = options.policy;
    return absl::OkStatus();
  }
  question.policy = UpgradePolicy{.auto_upgrade = true};
  if (!request.facts.policy || request.facts.policy->section_json.empty()) {
    const absl::Status status = LoadReported("", request);
    if (status.ok()) return status;
    if (!absl::IsNotFound(status)) request.notes.push_back(fmt::format("the policy: {}", Message(status)));
    return examples::SpareSkippedPods(question.identity, question.policy);
  }
  absl::StatusOr<UpgradePolicy> policy =
      driverupgrade::ParseUpgradePolicy(request.facts.policy->section_json, defaults);
  if (!policy.ok()) return Named(request.place.policy->ToString(), policy.status());
  question.policy = *std::move(policy);
  request.policy_source = request.place.policy->ToString();
  return examples::SpareSkippedPods(question.identity, question.policy);
}

// Returns true if at least one of the compared policies isolates devices. Errors: same as LoadPolicyFile.
absl::StatusOr<bool> TriesDevices(const Options& options, const Request& request) {
  bool devices = false;
  for (const std::string& file : options.policies) {
    const absl::StatusOr<UpgradePolicy> policy = LoadPolicyFile(file, request.defaults, request.question.identity);
    if (!policy.ok()) return policy.status();
    devices = devices || policy->isolation.scope != driverupgrade::IsolationScope::kNode;
  }
  return devices;
}

std::optional<absl::Time> LeasesAt(const Options& options, const Wanted& wanted, const Request& request) {
  if (!options.source.IsDump()) {
    const bool refused = std::any_of(request.notes.begin(), request.notes.end(), [](const std::string& note) {
      return note.find("/leases: ") != std::string::npos;
    });
    return wanted.leases && !refused ? std::optional(request.question.at) : std::nullopt;
  }
  if (request.facts.leases.empty()) return std::nullopt;
  if (!options.at.empty()) return request.question.at;
  absl::Time newest = absl::InfinitePast();
  for (const LeaseFact& lease : request.facts.leases) newest = std::max(newest, lease.renewed);
  for (const EventFact& event : request.facts.events) newest = std::max(newest, event.last);
  return std::min(newest, request.question.at);
}

absl::Status LoadObjects(const Options& options, Wanted wanted, const ReadObjects& read, Request& request) {
  wanted.policy = wanted.policy && options.policy.empty();
  wanted.reported = wanted.reported && !IsPolicyFile(options);
  wanted.claims = GpuPods(options);
  const absl::StatusOr<std::string> text = read(request.question.identity, request.place, wanted, request.notes);
  if (!text.ok()) return text.status();
  const std::string name = !options.source.IsDump()        ? std::string("the API server")
                           : options.source.cluster == "-" ? std::string("standard input")
                                                           : options.source.cluster;
  absl::StatusOr<ClusterObjects> cluster = driverupgrade::ParseMixedList(*text, driverupgrade::OnUnreadable::kMark);
  if (!cluster.ok()) return Named(name, cluster.status());
  absl::StatusOr<Facts> facts = ReadFacts(*text, request.question.identity.EventReason(), request.place.policy);
  if (!facts.ok()) return Named(name, facts.status());
  Options located = options;
  Locate(cluster->daemon_sets, located);
  if (const absl::Status status = LoadPlace(located, request); !status.ok()) return status;
  request.question.cluster = *std::move(cluster);
  request.facts = *std::move(facts);
  request.leases_at = LeasesAt(options, wanted, request);
  request.question.snapshot.uses_driver = UsersOf(options, request.facts);
  const UsualDriver* usual = UsualDriverOf(options);
  const bool is_gpu_driver = GpuPods(options) || (usual != nullptr && usual->gpu_pods);
  if (is_gpu_driver) request.question.snapshot.restart_only = LoadsSameGpuDriver;
  request.question.rollout_record = driverupgrade::whatif::RecordOf(request.facts, request.question.identity);
  return absl::OkStatus();
}

}  // namespace

bool HasUsualPlace(const std::string& domain, const std::string& driver) {
  return UsualDriverOf(domain, driver) != nullptr;
}

absl::StatusOr<UpgradePolicy> LoadPolicyFile(const std::string& path, const PolicyDefaults& defaults,
                                             const DriverIdentity& identity) {
  const absl::StatusOr<std::string> document = ReadFile(path, kPolicyBytesMax);
  if (!document.ok()) return document.status();
  absl::StatusOr<UpgradePolicy> policy = driverupgrade::ParseUpgradePolicy(*document, defaults);
  if (!policy.ok()) return Named(path, policy.status());
  if (const absl::Status status = examples::SpareSkippedPods(identity, *policy); !status.ok()) return status;
  return policy;
}

driverupgrade::whatif::Situation SituationOf(const Request& request) {
  const std::string unknown = request.place.policy ? request.place.policy->ToString() : "policy";
  return {.question = request.question,
          .facts = request.facts,
          .policy_name = request.policy_source.empty() ? unknown : request.policy_source,
          .knows_policy = !request.policy_source.empty()};
}

absl::StatusOr<Request> LoadDriver(const Options& options) {
  absl::StatusOr<DriverIdentity> identity = DriverIdentity::Create(options.domain, options.driver);
  if (!identity.ok()) return Named("--driver, --domain", identity.status());
  Request request{.question = {.identity = *std::move(identity)}};
  request.defaults = DefaultsOf(options);
  Question& question = request.question;
  // Pod deletion evicts the pods that use the driver, as in an engine, if the operator can identify these pods.
  question.snapshot.uses_driver = UsersOf(options, request.facts);
  if (const absl::Status status = LoadPlace(options, request); !status.ok()) return status;
  if (const absl::Status status = LoadValidation(options, question.machine); !status.ok()) return status;
  absl::StatusOr<std::optional<PolicyResource>> policy = LoadPolicyResource(options);
  if (!policy.ok()) return policy.status();
  request.place.policy = *std::move(policy);
  if (const absl::Status status = LoadRequestor(options, question); !status.ok()) return status;
  if (question.machine.requestor) request.place.requestor_ns = options.requestor.ns;
  if (const absl::Status status = LoadTimes(options, question); !status.ok()) return status;
  return request;
}

absl::StatusOr<Request> Load(const Options& options, const Wanted& wanted, const ReadObjects& read) {
  absl::StatusOr<Request> request = LoadDriver(options);
  if (!request.ok()) return request;
  Wanted first = wanted;
  const absl::StatusOr<bool> tries_devices = TriesDevices(options, *request);
  if (!tries_devices.ok()) return tries_devices.status();
  first.devices = *tries_devices;
  // Rejects an invalid file before reading the cluster.
  if (IsPolicyFile(options)) {
    if (const absl::Status status = LoadPolicy(options, *request); !status.ok()) return status;
    first.devices = FollowDevices(request->question) || first.devices;
  }
  if (const absl::Status status = LoadObjects(options, first, read, *request); !status.ok()) return status;
  if (!IsPolicyFile(options)) {
    if (const absl::Status status = LoadPolicy(options, *request); !status.ok()) return status;
    if (!FollowDevices(request->question) || options.source.IsDump() || first.devices) return request;
    // Reads the objects of devices only if the policy needs them, because a cluster has many of them. The policy itself
    // was read with the first objects.
    first.devices = true;
    if (const absl::Status status = LoadObjects(options, first, read, *request); !status.ok()) return status;
  }
  return request;
}

}  // namespace upgradectl
