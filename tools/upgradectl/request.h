// What the options name, read and checked.
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

/// Gives the cluster's objects as one list: ReadDump or ReadLive.
using ReadObjects =
    std::function<absl::StatusOr<std::string>(const driverupgrade::DriverIdentity& identity, const DriverPlace& place,
                                              const Wanted& wanted, std::vector<std::string>& notes)>;

struct Request {
  driverupgrade::whatif::Question question;
  Facts facts = {};
  /// The time that the Leases are compared with; nullopt: they were not read. Of a dump without `--at` it is the newest time
  /// that the dump has, as it may be old.
  std::optional<absl::Time> leases_at = std::nullopt;
  DriverPlace place = {};
  /// Where the policy is from: a file, the custom resource, or the Lease of an operator that reports it. Empty: nobody
  /// knows it, and the question has one that says no more than autoUpgrade.
  std::string policy_source = {};
  /// Whose Lease that is; nullopt: it is from elsewhere.
  std::optional<LeaseFact> policy_reporter = std::nullopt;
  /// The options that say which cluster, driver and policy this is about, with their values, flags without, for other commands about
  /// the same. Those that say nothing new are left out, and a dump, which commands do not act on.
  std::vector<std::pair<std::string, std::optional<std::string>>> options = {};
  /// Default values of policies.
  driverupgrade::PolicyDefaults defaults = {};
  /// Lease with the report that completes the command line; empty: none does.
  std::string options_source = {};
  /// Drivers whose operators report their options, as `example.com/fpga`.
  std::set<std::string> reporting_drivers = {};
  /// The document of the operator that leads; nullopt: it was not asked, or gave no answer.
  std::optional<OperatorView> view = std::nullopt;
  /// The reason why it gave none; empty if it was not asked.
  std::string view_trouble = {};
  /// What could not be read, for people.
  std::vector<std::string> notes = {};
};

/// Returns the input of a preflight and of a simulation. It refers to the request.
driverupgrade::whatif::Situation SituationOf(const Request& request);

/// Which driver, and where its objects are; without the cluster's objects. Errors: one line that begins with the option.
[[nodiscard]] absl::StatusOr<Request> LoadDriver(const Options& options);

/// Everything. Errors: one line that begins with the option or the file it is about.
[[nodiscard]] absl::StatusOr<Request> Load(const Options& options, const Wanted& wanted, const ReadObjects& read);

/// Whether upgradectl knows where the objects of this driver are usually.
bool HasUsualPlace(const std::string& domain, const std::string& driver);

/// A file with a policy, as Load reads it.
[[nodiscard]] absl::StatusOr<driverupgrade::UpgradePolicy> LoadPolicyFile(
    const std::string& path, const driverupgrade::PolicyDefaults& defaults,
    const driverupgrade::DriverIdentity& identity);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_REQUEST_H_
