/// Parses the options that select a tool's cluster, and connects to the cluster.
///
/// Defines ClusterArguments, AddClusterArguments, LoadKubeConfig and ConnectTo.
///
///     ClusterArguments cluster;
///     AddClusterArguments(app, cluster);
///     app.parse(argc, argv);
///     absl::StatusOr<std::shared_ptr<HttpTransport>> transport = ConnectTo(cluster);
///
/// The options: --kubeconfig or --in-cluster, one of which is required; --allow-exec; --transport.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_CLUSTER_ARGUMENTS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_CLUSTER_ARGUMENTS_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/kubernetes/kube_config.h"

namespace CLI {
class App;
}

namespace examples {

struct ClusterArguments {
  std::string kubeconfig = {};
  bool in_cluster = false;
  /// True to accept a kubeconfig that runs a credential plugin (KubeConfig::ParseOptions).
  bool allow_exec = false;
  /// One of TransportNames.
  std::string transport = {};
};

/// Adds the options that set `arguments`, which must outlive the parsing.
void AddClusterArguments(CLI::App& app, ClusterArguments& arguments);

/// Loads the configuration from the file, or from the pod's environment. Errors: the errors of KubeConfig.
absl::StatusOr<driverupgrade::KubeConfig> LoadKubeConfig(const ClusterArguments& arguments);

/// Returns a transport that retries requests that may be retried. `warn`, if set, receives warnings about the
/// kubeconfig. Sends nothing. Errors: the errors of KubeConfig and of the backend.
absl::StatusOr<std::shared_ptr<driverupgrade::HttpTransport>> ConnectTo(
    const ClusterArguments& arguments, const std::function<void(const std::string&)>& warn = {});

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_CLUSTER_ARGUMENTS_H_
