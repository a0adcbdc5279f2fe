// Declares the program as a function, for main and the tests.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_UPGRADECTL_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_UPGRADECTL_H_

#include <functional>
#include <iosfwd>
#include <memory>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "upgradectl/source.h"
#include "upgradectl/table.h"

namespace upgradectl {

/// Exit codes of the program.
inline constexpr int kExitDone = 0;
inline constexpr int kExitOutput = 1;    // the result could not be written
inline constexpr int kExitUsage = 2;     // error in the command line, the cluster or the policy
inline constexpr int kExitUnderWay = 3;  // `status`: the rollout continues
inline constexpr int kExitFailed =
    4;  // `status`: nodes failed; `preflight`: obstacles; `simulate`: a rollout does not finish; or no driver found

struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  /// Properties of `out`.
  Screen screen = {};
  /// True if `in` is a terminal where a user can answer.
  bool interactive = false;
  /// Kubeconfig to use if the command line names no cluster; empty to use no kubeconfig.
  std::string kubeconfig = {};
  /// Minimum time between two outputs of `status -w`.
  absl::Duration between_pictures = absl::Seconds(1);
  /// Stops `dashboard`, which otherwise runs until its process ends.
  std::stop_token stop = {};
  /// Connects to a cluster; null to use Connect.
  std::function<absl::StatusOr<std::shared_ptr<driverupgrade::HttpTransport>>(const SourceOptions&)> connect = {};
};

/// Returns the exit code. After an error, `err` has one line and `out` is empty.
int Run(int argc, const char* const* argv, const Streams& streams);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_UPGRADECTL_H_
