#include "upgradectl/reported_options.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/label_selector.h"
#include "driverupgrade/validation_manager.h"
#include "fmt/format.h"
#include "model/label_syntax.h"
#include "upgradectl/request.h"
#include "upgradectl/text.h"
#include "wire/json_document.h"

namespace upgradectl {
namespace {

using driverupgrade::DaemonSet;
using driverupgrade::DriverIdentity;
using driverupgrade::internal::JsonField;

constexpr std::string_view kKeyEnd = "-driver-upgrade.options";

// Returns the driver whose operator writes an annotation with this key; nullopt if the annotation is not a report.
std::optional<DriverIdentity> ReportingDriver(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (!key.ends_with(kKeyEnd) || slash == std::string_view::npos) return std::nullopt;
  const std::string_view driver = key.substr(slash + 1, key.size() - kKeyEnd.size() - slash - 1);
  const absl::StatusOr<DriverIdentity> identity = DriverIdentity::Create(key.substr(0, slash), driver);
  return identity.ok() ? std::optional(*identity) : std::nullopt;
}

// Checks names, because any client that may write Leases can choose them, and they become parts of paths and printed
// commands.
absl::Status CheckNames(const Options& reported) {
  for (const std::string& name : {reported.ns.value_or("x"), reported.ledger_ns, reported.ledger_name}) {
    if (!name.empty() && !driverupgrade::internal::IsDnsSubdomain(name)) {
      return absl::InvalidArgumentError(fmt::format("`{}` is not the name of a Kubernetes object", name));
    }
  }
  const auto is_plain = [](char c) {
    return driverupgrade::internal::IsAlnum(c) || std::string_view("./:-_").find(c) != std::string_view::npos;
  };
  if (!std::all_of(reported.policy_resource.begin(), reported.policy_resource.end(), is_plain)) {
    return absl::InvalidArgumentError(
        fmt::format("policyResource: `{}` contains characters other than letters, digits and "
                    "`./:-_`",
                    reported.policy_resource));
  }
  return absl::OkStatus();
}

absl::Status CheckWords(const Options& reported) {
  const std::string& early = reported.early_validation;
  if (!early.empty() && !driverupgrade::ParseEarlyValidation(early)) {
    return absl::InvalidArgumentError(fmt::format("validation.early: `{}` is not known", early));
  }
  const std::set<std::string> known = {"", "plain", "gpu-operator", "network-operator"};
  if (known.contains(reported.defaults)) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("defaults: `{}` is not known", reported.defaults));
}

// Returns OK if the options would be valid on a command line.
absl::Status Check(const Options& reported) {
  if (const absl::Status status = CheckNames(reported); !status.ok()) return status;
  if (const absl::Status status = CheckWords(reported); !status.ok()) return status;
  Options complete = reported;
  if (!complete.ns) complete.ns = "any";
  if (!complete.driver_labels) complete.driver_labels = "any";
  return LoadDriver(complete).status();
}

absl::StatusOr<Options> ParseReport(const DriverIdentity& identity, const LeaseFact& lease, std::string_view text) {
  driverupgrade::internal::JsonDocument document;
  if (const absl::Status parsed = document.Parse(text); !parsed.ok()) return parsed;
  if (!document.root().IsObject()) return absl::InvalidArgumentError("is not a JSON object");
  std::string wrong;
  const JsonField root(document.root(), wrong);
  const JsonField ledger = root.Member("ledger");
  const JsonField validation = root.Member("validation");
  const JsonField requestor = root.Member("requestor");
  const auto read = [](const JsonField& field, auto& value) {
    if (field.present()) value = field.String();
  };
  Options reported{.driver = identity.driver(), .domain = identity.domain()};
  reported.lease_ns = lease.ns;
  reported.lease_name = lease.name;
  read(root.Member("namespace"), reported.ns);
  read(root.Member("driverLabels"), reported.driver_labels);
  read(ledger.Member("namespace"), reported.ledger_ns);
  read(ledger.Member("name"), reported.ledger_name);
  // The report is complete: if the member is missing, the operator does not wait for validation pods.
  reported.validation_selector = validation.Member("selector").String();
  read(validation.Member("early"), reported.early_validation);
  read(requestor.Member("id"), reported.requestor.id);
  read(requestor.Member("namespace"), reported.requestor.ns);
  read(requestor.Member("namePrefix"), reported.requestor.name_prefix);
  root.Member("resources").ForEachItem([&](const JsonField& item) { reported.resources.push_back(item.String()); });
  if (root.Member("gpuPods").present()) reported.gpu_pods = root.Member("gpuPods").Bool();
  read(root.Member("defaults"), reported.defaults);
  read(root.Member("policyResource"), reported.policy_resource);
  if (!wrong.empty()) return absl::InvalidArgumentError(wrong);
  if (const absl::Status status = Check(reported); !status.ok()) return status;
  return reported;
}

struct Reported {
  Options options = {};
  absl::Time renewed = absl::InfinitePast();
  std::string Driver() const { return options.domain + "/" + options.driver; }
  std::string Lease() const { return options.lease_ns + "/" + options.lease_name; }
};

// Returns true if the report is about the driver and the Lease that the command line names.
bool Applies(const Options& options, const DriverIdentity& identity, const LeaseFact& lease) {
  if (!options.lease_ns.empty() && lease.ns != options.lease_ns) return false;
  if (!options.lease_name.empty() && lease.name != options.lease_name) return false;
  // Labels without a driver or domain refer to the default driver.
  const bool is_named = options.driver_labels && !options.driver_named && !options.domain_named;
  if ((options.driver_named || is_named) && identity.driver() != options.driver) return false;
  return (!options.domain_named && !is_named) || identity.domain() == options.domain;
}

std::vector<Reported> ReadReports(const Options& options, const std::vector<LeaseFact>& leases,
                                  std::vector<std::string>& notes) {
  std::vector<Reported> reports;
  for (const LeaseFact& lease : leases) {
    for (const auto& [key, text] : lease.annotations) {
      const std::optional<DriverIdentity> identity = ReportingDriver(key);
      if (!identity || !Applies(options, *identity, lease)) continue;
      absl::StatusOr<Options> reported = ParseReport(*identity, lease, text);
      if (!reported.ok()) {
        notes.push_back(
            fmt::format("Lease {}/{}: annotation {}: {}", lease.ns, lease.name, key, Message(reported.status())));
        continue;
      }
      const bool is_elsewhere = options.ns && reported->ns != options.ns;
      if (!is_elsewhere) reports.push_back({*std::move(reported), lease.renewed});
    }
  }
  return reports;
}

template <typename F>
std::set<std::string> Distinct(const std::vector<Reported>& reports, F name) {
  std::set<std::string> names;
  for (const Reported& report : reports) names.insert((report.*name)());
  return names;
}

// Returns true if a DaemonSet does not belong to any reported driver.
bool IsOfAnother(const std::vector<DaemonSet>& daemon_sets, const std::vector<Reported>& reports) {
  return std::any_of(daemon_sets.begin(), daemon_sets.end(), [&](const DaemonSet& set) {
    return std::none_of(reports.begin(), reports.end(), [&](const Reported& report) {
      const auto labels = driverupgrade::LabelSelector::Parse(report.options.driver_labels.value_or(""));
      return report.options.ns == set.ns && labels.ok() && labels->Matches(set.labels);
    });
  });
}

// Returns the report to use, or nullopt.
absl::StatusOr<std::optional<Reported>> Choose(std::vector<Reported> reports, const Options& options,
                                               const ListUsualSets& usual_daemon_sets) {
  const std::string usual = options.domain + "/" + options.driver;
  const std::set<std::string> drivers = Distinct(reports, &Reported::Driver);
  if (drivers.contains(usual)) {
    std::erase_if(reports, [&](const Reported& report) { return report.Driver() != usual; });
  } else if (drivers.empty() || IsOfAnother(usual_daemon_sets(), reports)) {
    return std::optional<Reported>();
  } else if (drivers.size() > 1) {
    return absl::InvalidArgumentError(fmt::format(
        "--driver, --domain: operators report several drivers, select one: {}", absl::StrJoin(drivers, ", ")));
  }
  const auto elsewhere = [&](const Reported& report) {
    return report.options.lease_ns != reports.front().options.lease_ns;
  };
  if (std::any_of(reports.begin(), reports.end(), elsewhere)) {
    return absl::InvalidArgumentError(
        fmt::format("--lease-namespace: Leases of several namespaces report the options of {}, name one: {}",
                    reports.front().Driver(), absl::StrJoin(Distinct(reports, &Reported::Lease), ", ")));
  }
  // Uses the most recently renewed Lease, because a renamed operator leaves its old Lease behind.
  return *std::max_element(reports.begin(), reports.end(),
                           [](const Reported& a, const Reported& b) { return a.renewed < b.renewed; });
}

template <typename T>
bool IsOpen(const std::optional<T>& value) {
  return !value;
}
template <typename T>
bool IsOpen(const T& value) {
  return value.empty();
}

void Complete(const Options& reported, Options& options) {
  const auto take = [&](std::initializer_list<const char*> names, auto& value, const auto& from) {
    if (!IsOpen(value) || IsOpen(from)) return false;
    value = from;
    options.reported.insert(names.begin(), names.end());
    return true;
  };
  options.driver = reported.driver;
  options.domain = reported.domain;
  if (!options.driver_named) options.reported.insert("--driver");
  if (!options.domain_named) options.reported.insert("--domain");
  take({"--namespace"}, options.ns, reported.ns);
  take({"--driver-labels"}, options.driver_labels, reported.driver_labels);
  take({"--lease-namespace"}, options.lease_ns, reported.lease_ns);
  take({"--lease-name"}, options.lease_name, reported.lease_name);
  take({"--ledger-namespace"}, options.ledger_ns, reported.ledger_ns);
  take({"--ledger-name"}, options.ledger_name, reported.ledger_name);
  take({"--validation-selector"}, options.validation_selector, reported.validation_selector);
  take({"--early-validation"}, options.early_validation, reported.early_validation);
  take({"--gpu-pods", "--no-gpu-pods"}, options.gpu_pods, reported.gpu_pods);
  take({"--resource"}, options.resources, reported.resources);
  take({"--defaults"}, options.defaults, reported.defaults);
  take({"--policy-resource"}, options.policy_resource, reported.policy_resource);
  if (take({"--requestor-id", "--requestor-namespace", "--requestor-prefix"}, options.requestor.id,
           reported.requestor.id)) {
    options.requestor = reported.requestor;
  }
}

}  // namespace

bool MayReportOptions(std::string_view text) { return text.find(kKeyEnd) != std::string_view::npos; }

absl::StatusOr<Options> WithReported(Options options, const std::vector<LeaseFact>& leases,
                                     const ListUsualSets& usual_daemon_sets, std::vector<std::string>& notes) {
  for (const LeaseFact& lease : leases) {
    for (const auto& [key, text] : lease.annotations) {
      if (const auto identity = ReportingDriver(key)) options.reporting_drivers.insert(identity->Name());
    }
  }
  absl::StatusOr<std::optional<Reported>> report =
      Choose(ReadReports(options, leases, notes), options, usual_daemon_sets);
  if (!report.ok()) return report.status();
  if (*report) Complete((*report)->options, options);
  return options;
}

}  // namespace upgradectl
