/// A cluster of which only one node is followed.
///
/// Defines OneNodeFacade.
///
///     OneNodeFacade cluster(MakeRestCluster(transport), transport, "gpu-7");
///     cluster.WatchNodes(context, {.resource_version = node.resource_version}, sink);  // gpu-7 alone
///
/// Thread-safe as the facade beneath is.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SAFE_LOAD_INIT_ONE_NODE_FACADE_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SAFE_LOAD_INIT_ONE_NODE_FACADE_H_

#include <memory>
#include <string>

#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/kubernetes/object_client.h"

namespace safe_load_init {

/// The seam's WatchNodes selects by labels, and every node that waits would be told of every heartbeat of all nodes.
/// This one has the server select by name; the rest goes to the facade beneath.
class OneNodeFacade final : public driverupgrade::ForwardingFacade {
 public:
  /// `next` and `transport`, which lead to the same cluster, are not null.
  OneNodeFacade(std::shared_ptr<driverupgrade::ClusterFacade> next,
                std::shared_ptr<driverupgrade::HttpTransport> transport, std::string node_name);
  /// The label selector of `params` is of no meaning.
  absl::Status WatchNodes(const driverupgrade::CallContext& context, const driverupgrade::WatchParams& params,
                          driverupgrade::WatchSink<driverupgrade::Node>& sink) override;

 private:
  const driverupgrade::ObjectClient objects_;
  const std::string node_name_;
};

}  // namespace safe_load_init

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SAFE_LOAD_INIT_ONE_NODE_FACADE_H_
