/// A client for one node, which retries requests and waits for the API server.
///
/// Defines Parts, Lookups, NodeClient, MayPass.
///
///     NodeClient node(parts, "gpu-7", stop);
///     absl::StatusOr<Node> after =
///         node.Edit("pause the operands", [](const Node& node) { return PauseOperands(node, ""); });
///
/// Not thread-safe. Blocks; after a stop request, every wait returns Cancelled.
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

/// Queries that the library's facade does not support. Both are optional: if `is_gpu_claim` is not set, no claims are
/// found; if `daemon_sets_selecting` is not set, no DaemonSets are found.
struct Lookups {
  /// Returns true if a ResourceClaim holds a GPU; false if the claim was deleted.
  std::function<absl::StatusOr<bool>(const driverupgrade::CallContext&, const std::string& ns, const std::string& name)>
      is_gpu_claim = nullptr;
  /// Returns the UIDs of the DaemonSets that select nodes by the label `key`.
  std::function<absl::StatusOr<std::set<std::string>>(const driverupgrade::CallContext&, const std::string& key)>
      daemon_sets_selecting = nullptr;
};

/// The dependencies of the manager. All members except `lookups` are required.
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
  /// `parts` must outlive the client.
  NodeClient(const Parts& parts, std::string name, std::stop_token stop)
      : parts_(parts), name_(std::move(name)), stop_(std::move(stop)) {}

  const std::string& name() const { return name_; }

  absl::StatusOr<driverupgrade::Node> Get();

  /// Reads the node, and sends the result of `change` as a patch for exactly the version that was read. Retries after a
  /// conflict or a temporary server error, with up to seven attempts in total. Does not send an empty patch.
  absl::StatusOr<driverupgrade::Node> Edit(std::string_view what, const NodeChange& change);

  /// Returns the pods on the node. An empty `ns` means all namespaces.
  absl::StatusOr<std::vector<driverupgrade::Pod>> Pods(const std::string& ns = {},
                                                       const driverupgrade::LabelSelector& selector = {});

  /// Returns the context for one request.
  driverupgrade::CallContext Context() const;

  /// Returns Cancelled if a stop is requested before the time has passed.
  absl::Status Sleep(absl::Duration duration);

 private:
  absl::StatusOr<driverupgrade::Node> TryToEdit(const NodeChange& change);
  absl::StatusOr<driverupgrade::Node> Repeated(std::string_view what,
                                               const std::function<absl::StatusOr<driverupgrade::Node>()>& request);

  const Parts& parts_;
  const std::string name_;
  const std::stop_token stop_;
};

/// Returns true for errors that may be temporary: a retry of the request may succeed.
bool MayPass(const absl::Status& status);

}  // namespace driver_manager

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_NODE_CLIENT_H_
