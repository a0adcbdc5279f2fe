// The command line of openshift_preflight.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_OPTIONS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_OPTIONS_H_

#include <string>
#include <variant>

#include "openshift_preflight/collect.h"
#include "support/cluster_arguments.h"

namespace openshift_preflight {

/// Exit codes of the program.
inline constexpr int kExitGood = 0;      // no finding above info
inline constexpr int kExitFindings = 1;  // warnings or errors
inline constexpr int kExitUsage = 2;     // usage or configuration error
inline constexpr int kExitRefused = 3;   // the cluster refused a request, or cannot be reached

struct Options {
  examples::ClusterArguments cluster = {};
  CollectOptions collect = {};
  /// `text` or `json`.
  std::string output = "text";
};

/// Returns the options, or the exit code if the program must exit after having printed its help, its version, or an
/// error.
std::variant<Options, int> ParseOptions(int argc, const char* const* argv);

}  // namespace openshift_preflight

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_OPTIONS_H_
