/// One node of the cluster, and the patience that its manager has with the API server.
///
/// Defines Parts, Lookups, NodeClient, MayPass.
///
///     NodeClient node(parts, "gpu-7", stop);
///     absl::StatusOr<Node> after =
///         node.Edit("pause the operands", [](const Node& node) { return PauseOperands(node, ""); });
///
/// Not thread-safe. Blocks; a request of a stop ends every wait with Cancelled.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_NODE_CLIENT_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_NODE_CLIENT_H_

#include <functional>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driver_manager/host_driver.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/observer.h"

namespace driver_manager {

/// What the seam of the library does not know. Either may be left out: no claims then, and nothing of the clients.
struct Lookups {
  /// Whether a ResourceClaim holds a GPU. One that is gone does not.
  std::function<absl::StatusOr<bool>(const driverupgrade::CallContext&, const std::string& ns, const std::string& name)>
      is_gpu_claim = nullptr;
  /// UIDs of the DaemonSets that select nodes by the label `key`.
  std::function<absl::StatusOr<std::set<std::string>>(const driverupgrade::CallContext&, const std::string& key)>
      daemon_sets_selecting = nullptr;
};

/// What the manager works with; all but `lookups` must be given.
struct Parts {
  std::shared_ptr<driverupgrade::ClusterFacade> cluster;
  std::shared_ptr<HostDriver> host;
  std::shared_ptr<driverupgrade::Clock> clock;
  driverupgrade::LogSink log;
  Lookups lookups = {};
};

using NodeChange = std::function<driverupgrade::PatchNodeParams(const driverupgrade::Node&)>;

class NodeClient {
 public:
  /// `parts` must outlive it.
  NodeClient(const Parts& parts, std::string name, std::stop_token stop)
      : parts_(parts), name_(std::move(name)), stop_(std::move(stop)) {}

  const std::string& name() const { return name_; }

  absl::StatusOr<driverupgrade::Node> Get();

  /// Reads the node and sends what `change` makes of it as one patch, that applies to this version alone; again if
  /// somebody else was faster or the server had a moment's trouble, seven times in all. Nothing is sent for an empty
  /// patch.
  absl::StatusOr<driverupgrade::Node> Edit(std::string_view what, const NodeChange& change);

  /// The pods on the node; `ns` may be empty for all.
  absl::StatusOr<std::vector<driverupgrade::Pod>> Pods(const std::string& ns = {},
                                                       const driverupgrade::LabelSelector& selector = {});

  /// For one request.
  driverupgrade::CallContext Context() const;

  /// Cancelled if a stop was requested before the time was over.
  absl::Status Sleep(absl::Duration duration);

 private:
  absl::StatusOr<driverupgrade::Node> TryToEdit(const NodeChange& change);
  absl::StatusOr<driverupgrade::Node> Repeated(std::string_view what,
                                               const std::function<absl::StatusOr<driverupgrade::Node>()>& request);

  const Parts& parts_;
  const std::string name_;
  const std::stop_token stop_;
};

/// Whether the same request may succeed a little later.
bool MayPass(const absl::Status& status);

}  // namespace driver_manager

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_NODE_CLIENT_H_
