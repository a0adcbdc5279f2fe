#include "upgradectl/request.h"

#include <array>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "driverupgrade/label_selector.h"
#include "driverupgrade/policy_codec.h"
#include "fmt/format.h"
#include "gpu/gpu_pods.h"
#include "support/requestor_arguments.h"
#include "support/spare_skipped_pods.h"
#include "upgradectl/text.h"

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

absl::StatusOr<std::string> ReadFile(const std::string& path, std::size_t bytes_max) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(fmt::format("{}: cannot be opened", path));
  return ReadAll(file, path, bytes_max);
}

absl::StatusOr<absl::Time> ReadTime(std::string_view option, const std::string& text) {
  absl::Time time;
  std::string error;
  // The first character: ParseTime knows infinite times and leading spaces as well.
  const bool digit = !text.empty() && text[0] >= '0' && text[0] <= '9';
  if (digit && absl::ParseTime(absl::RFC3339_full, text, &time, &error)) return time;
  return absl::InvalidArgumentError(
      fmt::format("{}: `{}` is no RFC 3339 time such as 2026-01-02T03:04:05Z", option, text));
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

absl::Status LoadSelectors(const Options& options, Question& request) {
  if (options.ns.empty()) return absl::InvalidArgumentError("--namespace: must not be empty");
  request.snapshot.ns = options.ns;
  absl::StatusOr<LabelSelector> labels = LabelSelector::Parse(options.driver_labels);
  if (!labels.ok()) return Named("--driver-labels", labels.status());
  if (labels->empty()) {
    return absl::InvalidArgumentError("--driver-labels: must not be empty, that would select every pod");
  }
  request.snapshot.driver_labels = *std::move(labels);
  if (options.validation_selector.empty()) return absl::OkStatus();
  absl::StatusOr<LabelSelector> validation = LabelSelector::Parse(options.validation_selector);
  if (!validation.ok()) return Named("--validation-selector", validation.status());
  request.machine.validation_selector = *std::move(validation);
  return absl::OkStatus();
}

// The snapshot and the state machine have the same, as in an engine.
absl::Status LoadRequestor(const Options& options, Question& request) {
  absl::StatusOr<std::optional<RequestorOptions>> requestor = examples::ReadRequestorArguments(options.requestor);
  if (!requestor.ok()) return requestor.status();
  if (*requestor && options.gpu_pods) (*requestor)->resource_name_filters = gpu_operator::GpuResourceFilters();
  request.snapshot.requestor = *requestor;
  request.machine.requestor = *std::move(requestor);
  return absl::OkStatus();
}

PolicyDefaults DefaultsNamed(std::string_view name) {
  if (name == "gpu-operator") return PolicyDefaults::GpuOperator();
  if (name == "network-operator") return PolicyDefaults::NetworkOperator();
  return {};
}

absl::Status LoadPolicy(const Options& options, Question& request) {
  const absl::StatusOr<std::string> document = ReadFile(options.policy, kPolicyBytesMax);
  if (!document.ok()) return document.status();
  absl::StatusOr<UpgradePolicy> policy = driverupgrade::ParseUpgradePolicy(*document, DefaultsNamed(options.defaults));
  if (!policy.ok()) return Named(options.policy, policy.status());
  request.policy = *std::move(policy);
  return examples::SpareSkippedPods(request.identity, request.policy);
}

absl::Status LoadCluster(const Options& options, std::istream& in, Question& request) {
  const bool standard_input = options.cluster == "-";
  const std::string name = standard_input ? "standard input" : options.cluster;
  const absl::StatusOr<std::string> document =
      standard_input ? ReadAll(in, name, kDumpBytesMax) : ReadFile(name, kDumpBytesMax);
  if (!document.ok()) return document.status();
  absl::StatusOr<ClusterObjects> cluster = driverupgrade::ParseMixedList(*document, driverupgrade::OnUnreadable::kMark);
  if (!cluster.ok()) return Named(name, cluster.status());
  request.cluster = *std::move(cluster);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadAll(std::istream& in, std::string_view name, std::size_t bytes_max) {
  std::string content;
  std::array<char, std::size_t{64} << 10> block;
  while (in) {
    in.read(block.data(), block.size());
    content.append(block.data(), static_cast<std::size_t>(in.gcount()));
    if (content.size() > bytes_max) {
      return absl::ResourceExhaustedError(fmt::format("{}: longer than {} bytes", name, bytes_max));
    }
  }
  if (in.bad()) return absl::UnavailableError(fmt::format("{}: cannot be read", name));
  return content;
}

absl::StatusOr<driverupgrade::whatif::Question> Load(const Options& options, std::istream& in) {
  absl::StatusOr<DriverIdentity> identity = DriverIdentity::Create(options.domain, options.driver);
  if (!identity.ok()) return Named("--driver, --domain", identity.status());
  Question request{.identity = *std::move(identity)};
  // As in an engine: pods that use the driver are evicted if the operator can tell which they are.
  request.machine.pod_deletion = options.gpu_pods;
  if (options.gpu_pods) {
    request.snapshot.uses_driver = [](const driverupgrade::CallContext&, const driverupgrade::Pod& pod) {
      return gpu_operator::UsesGpu(pod);
    };
  }
  if (const absl::Status status = LoadSelectors(options, request); !status.ok()) return status;
  if (const absl::Status status = LoadRequestor(options, request); !status.ok()) return status;
  if (const absl::Status status = LoadTimes(options, request); !status.ok()) return status;
  if (const absl::Status status = LoadPolicy(options, request); !status.ok()) return status;
  if (const absl::Status status = LoadCluster(options, in, request); !status.ok()) return status;
  return request;
}

}  // namespace upgradectl
