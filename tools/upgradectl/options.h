// Defines and parses the command line of upgradectl.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_OPTIONS_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_OPTIONS_H_

#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "support/requestor_arguments.h"
#include "upgradectl/source.h"

namespace CLI {
class App;
}

namespace upgradectl {

/// The options as typed; Load (request.h) interprets them.
struct Options {
  /// The subcommand.
  std::string verb = {};
  SourceOptions source = {};
  std::string policy = {};
  /// String of the form GROUP/VERSION/RESOURCE/NAME:PATH.TO.SECTION.
  std::string policy_resource = {};
  std::string defaults = {};
  std::string driver = "gpu";
  std::string domain = "nvidia.com";
  std::optional<std::string> ns = std::nullopt;
  std::optional<std::string> driver_labels = std::nullopt;
  std::string lease_ns = {};
  std::string lease_name = {};
  std::string ledger_ns = {};
  std::string ledger_name = {};
  std::string at = {};
  std::string active_since = {};
  /// If not set, the value that the driver's own operator uses.
  std::optional<std::string> validation_selector = std::nullopt;
  /// If empty, the value that the driver's own operator uses.
  std::string early_validation = {};
  std::optional<bool> gpu_pods = std::nullopt;
  /// Pods that request one of these resources use the driver.
  std::vector<std::string> resources = {};
  examples::RequestorArguments requestor = {};
  std::string output = "table";
  bool watch = false;
  /// `approve`: the stage to approve.
  std::string stage = {};
  /// `explain`, `skip` and similar verbs: the nodes to explain or change.
  std::vector<std::string> nodes = {};
  bool yes = false;
  std::string dry_run = "none";
  /// `preflight`: the lowest severity that counts as a failure.
  std::string fail_on = "error";
  /// `preflight`: the account whose permissions are checked; empty to check none.
  std::string rights = {};
  /// `simulate`: policies to compare, one column each.
  std::vector<std::string> policies = {};
  /// If empty, the measured duration is used.
  std::string driver_start = {};
  std::string driver_stop = {};
  std::string pod_start = {};
  std::string validation = {};
  std::string pod_stop = {};
  double jitter = 0.2;
  int seeds = 5;
  /// `timeline`: true to show a simulation.
  bool simulated = false;
  /// `dashboard`: 0 selects any free port.
  int port = 0;
  std::string shell = {};
  /// True if the command line names the driver or the domain.
  bool driver_named = false;
  bool domain_named = false;
  /// Names of the options above whose values come from an operator's report instead of the command line.
  std::set<std::string> reported = {};
  /// Drivers whose operators report options, such as `example.com/fpga`.
  std::set<std::string> reporting_drivers = {};
};

/// The output of a program that exits after parsing the command line: help, version, or an error.
struct Ending {
  bool failed = false;
  std::string text = {};
};

std::variant<Options, Ending> ParseOptions(int argc, const char* const* argv);

/// Returns true if the verb needs the option with this name, which includes its dashes. Verbs accept options that they
/// do not need.
bool TakesOption(const std::string& verb, const std::string& name);

/// Adds the description of the command line to `app`, for completion and the manual page. `options` must outlive `app`.
void Describe(CLI::App& app, Options& options);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_OPTIONS_H_
