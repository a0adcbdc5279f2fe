// Runs a credential plugin (api-A73). Private to src/kubernetes.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_EXEC_PLUGIN_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_EXEC_PLUGIN_H_

#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/kubernetes/kube_config.h"

namespace driverupgrade {

struct ExecCredential {
  Secret token = {};
  absl::Time expires = absl::InfiniteFuture();
};

// Parses a plugin's output, which must have the given API version. Errors: InvalidArgument, with a message that
// contains none of the output; Unimplemented for a client certificate.
absl::StatusOr<ExecCredential> ParseExecCredential(std::string_view json, std::string_view api_version);

// Runs the plugin without a terminal, with the environment of this process and the plugin's own variables. The plugin
// and its child processes are killed after `timeout`, or at `stop`. Errors: Unauthenticated with the message
// "credential plugin COMMAND: why", which contains none of the plugin's output; Cancelled.
absl::StatusOr<ExecCredential> RunExecPlugin(const ExecPlugin& plugin, absl::Duration timeout,
                                             std::stop_token stop = {});

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_EXEC_PLUGIN_H_
