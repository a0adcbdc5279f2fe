/// A facade that watches only one node.
///
/// Defines OneNodeFacade.
///
///     OneNodeFacade cluster(MakeRestCluster(transport), transport, "gpu-7");
///     cluster.WatchNodes(context, {.resource_version = node.resource_version}, sink);  // gpu-7 alone
///
/// Thread-safe if the wrapped facade is.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SAFE_LOAD_INIT_ONE_NODE_FACADE_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SAFE_LOAD_INIT_ONE_NODE_FACADE_H_

#include <memory>
#include <string>

#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/kubernetes/object_client.h"

namespace safe_load_init {

/// Watches one node, which the server selects by name. Other facades select nodes only by labels, so every waiting pod
/// would receive the heartbeats of all nodes. Forwards all calls except WatchNodes.
class OneNodeFacade final : public driverupgrade::ForwardingFacade {
 public:
  /// `next` and `transport` must be for the same cluster, and must not be null.
  OneNodeFacade(std::shared_ptr<driverupgrade::ClusterFacade> next,
                std::shared_ptr<driverupgrade::HttpTransport> transport, std::string node_name);
  /// Ignores the label selector of `params`.
  absl::Status WatchNodes(const driverupgrade::CallContext& context, const driverupgrade::WatchParams& params,
                          driverupgrade::WatchSink<driverupgrade::Node>& sink) override;

 private:
  const driverupgrade::ObjectClient objects_;
  const std::string node_name_;
};

}  // namespace safe_load_init

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SAFE_LOAD_INIT_ONE_NODE_FACADE_H_
