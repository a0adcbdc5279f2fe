/// Which cluster a tool talks to: its options, and the way there.
///
/// Defines ClusterArguments, AddClusterArguments, LoadKubeConfig and ConnectTo.
///
///     ClusterArguments cluster;
///     AddClusterArguments(app, cluster);
///     app.parse(argc, argv);
///     absl::StatusOr<std::shared_ptr<HttpTransport>> transport = ConnectTo(cluster);
///
/// The options: --kubeconfig or --in-cluster, one of them required, --allow-exec and --transport.
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
  /// As KubeConfig::ParseOptions has it.
  bool allow_exec = false;
  /// One of TransportNames.
  std::string transport = {};
};

/// `arguments` must outlive the parsing.
void AddClusterArguments(CLI::App& app, ClusterArguments& arguments);

/// Of the file, or of the pod's environment. Errors: those of KubeConfig.
absl::StatusOr<driverupgrade::KubeConfig> LoadKubeConfig(const ClusterArguments& arguments);

/// A transport that repeats what may be repeated. `warn`, if not empty, is told what is odd about the kubeconfig.
/// Errors: those of KubeConfig and of the backend; nothing has been sent.
absl::StatusOr<std::shared_ptr<driverupgrade::HttpTransport>> ConnectTo(
    const ClusterArguments& arguments, const std::function<void(const std::string&)>& warn = {});

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_CLUSTER_ARGUMENTS_H_
