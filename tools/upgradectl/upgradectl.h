// The program without its process: what main calls, and the tests.
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
inline constexpr int kExitOutput = 1;    // the answer could not be written
inline constexpr int kExitUsage = 2;     // the command line, the cluster or the policy
inline constexpr int kExitUnderWay = 3;  // `status`: the rollout goes on
inline constexpr int kExitFailed =
    4;  // `status`: nodes have failed; `preflight`: it found something; `simulate`: a rollout does not finish; no driver

struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  /// What `out` is.
  Screen screen = {};
  /// A person sits at `in`, who can be asked.
  bool interactive = false;
  /// The kubeconfig if the command line names no cluster; empty: none.
  std::string kubeconfig = {};
  /// `status -w` shows no two pictures in less.
  absl::Duration between_pictures = absl::Seconds(1);
  /// Ends `dashboard`, which otherwise runs until its process ends.
  std::stop_token stop = {};
  /// How a cluster is reached; null: Connect.
  std::function<absl::StatusOr<std::shared_ptr<driverupgrade::HttpTransport>>(const SourceOptions&)> connect = {};
};

/// Returns the exit code. What is wrong is one line on `err`, and then `out` has nothing.
int Run(int argc, const char* const* argv, const Streams& streams);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_UPGRADECTL_H_
