// Reads and checks the input that the options name.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_REQUEST_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_REQUEST_H_

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/policy_codec.h"
#include "upgradectl/facts.h"
#include "upgradectl/operator_view.h"
#include "upgradectl/options.h"
#include "upgradectl/source.h"
#include "whatif/situation.h"
#include "whatif/what_if.h"

namespace upgradectl {

/// Returns the cluster's objects as one list, as ReadDump and ReadLive do.
using ReadObjects =
    std::function<absl::StatusOr<std::string>(const driverupgrade::DriverIdentity& identity, const DriverPlace& place,
                                              const Wanted& wanted, std::vector<std::string>& notes)>;

struct Request {
  driverupgrade::whatif::Question question;
  Facts facts = {};
  /// Time with which the Leases are compared; nullopt if they were not read. For a dump without `--at`, the newest time
  /// in the dump, because the dump may be old.
  std::optional<absl::Time> leases_at = std::nullopt;
  DriverPlace place = {};
  /// Source of the policy: a file, the custom resource, or the Lease of an operator that reports the policy. Empty if
  /// the policy is unknown; the question then contains a policy with only autoUpgrade.
  std::string policy_source = {};
  /// Lease of the operator that reports the policy; nullopt for other sources.
  std::optional<LeaseFact> policy_reporter = std::nullopt;
  /// Options that select this cluster, driver and policy, for use in suggested commands. Flags have no values.
  /// Redundant options are omitted, and so is a dump, because the commands do not act on dumps.
  std::vector<std::pair<std::string, std::optional<std::string>>> options = {};
  driverupgrade::PolicyDefaults defaults = {};
  /// Lease whose report completes the command line; empty if no report is used.
  std::string options_source = {};
  /// Drivers whose operators report their options, such as `example.com/fpga`.
  std::set<std::string> reporting_drivers = {};
  /// View of the leading operator; nullopt if the view was not requested, or if the operator did not return it.
  std::optional<OperatorView> view = std::nullopt;
  /// Reason why the view is missing; empty if the view was not requested.
  std::string view_trouble = {};
  /// Objects that could not be read, for the user.
  std::vector<std::string> notes = {};
};

/// Returns the input of a preflight or a simulation. The result refers to the request.
driverupgrade::whatif::Situation SituationOf(const Request& request);

/// Determines the driver and the location of its objects, without reading them. Errors have one line that starts with
/// the option.
[[nodiscard]] absl::StatusOr<Request> LoadDriver(const Options& options);

/// Loads everything. Errors have one line that starts with the option or the file.
[[nodiscard]] absl::StatusOr<Request> Load(const Options& options, const Wanted& wanted, const ReadObjects& read);

/// Returns true if upgradectl has a default location for this driver's objects.
bool HasUsualPlace(const std::string& domain, const std::string& driver);

/// Reads a policy file in the same way as Load.
[[nodiscard]] absl::StatusOr<driverupgrade::UpgradePolicy> LoadPolicyFile(
    const std::string& path, const driverupgrade::PolicyDefaults& defaults,
    const driverupgrade::DriverIdentity& identity);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_REQUEST_H_
