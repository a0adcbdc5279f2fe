// The command line of upgradectl.
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

/// As they were typed; Load (request.h) says what they mean.
struct Options {
  /// The subcommand.
  std::string verb = {};
  SourceOptions source = {};
  std::string policy = {};
  /// GROUP/VERSION/RESOURCE/NAME:PATH.TO.SECTION
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
  /// Absent: as the driver's usual operator.
  std::optional<std::string> validation_selector = std::nullopt;
  /// Empty: as the driver's usual operator.
  std::string early_validation = {};
  std::optional<bool> gpu_pods = std::nullopt;
  /// Pods that request one of these resources use the driver.
  std::vector<std::string> resources = {};
  examples::RequestorArguments requestor = {};
  std::string output = "table";
  bool watch = false;
  /// `approve`.
  std::string stage = {};
  /// `explain`, `skip` and their like.
  std::vector<std::string> nodes = {};
  bool yes = false;
  std::string dry_run = "none";
  /// `preflight`: the least severity that fails it.
  std::string fail_on = "error";
  /// `preflight`: whose rights are looked at; empty: nobody's.
  std::string rights = {};
  /// `simulate`: one column of the answer each.
  std::vector<std::string> policies = {};
  /// Empty: measured.
  std::string driver_start = {};
  std::string driver_stop = {};
  std::string pod_start = {};
  std::string validation = {};
  std::string pod_stop = {};
  double jitter = 0.2;
  int seeds = 5;
  /// `timeline`: of a simulation.
  bool simulated = false;
  /// `dashboard`: 0 takes any port that is free.
  int port = 0;
  std::string shell = {};
  /// True if the command line names the driver, or the domain.
  bool driver_named = false;
  bool domain_named = false;
  /// Names of the options above that are not from the command line, but from the report of an operator.
  std::set<std::string> reported = {};
  /// Drivers with such a report, as `example.com/fpga`.
  std::set<std::string> reporting_drivers = {};
};

/// The program ends with the command line: help, version, or what is wrong with it.
struct Ending {
  bool failed = false;
  std::string text = {};
};

std::variant<Options, Ending> ParseOptions(int argc, const char* const* argv);

/// Whether the verb needs an option of this name, which begins with its dashes. Verbs accept options that they do not need.
bool TakesOption(const std::string& verb, const std::string& name);

/// The command line itself, for completion and the manual page. `options` must outlive `app`.
void Describe(CLI::App& app, Options& options);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_OPTIONS_H_
