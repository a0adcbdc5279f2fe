// Reads the cluster's objects from a dump or from the API server. Both sources provide a single string, so that all
// further steps are the same.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_SOURCE_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_SOURCE_H_

#include <cstddef>
#include <istream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "upgradectl/facts.h"
#include "upgradectl/json_view.h"

namespace upgradectl {

/// Maximum size of a dump. Longer input is probably not a dump, and would exhaust memory. For example, 5,000 nodes with
/// 150,000 running pods of 6.2 kB each need 1.0 GB.
inline constexpr std::size_t kDumpBytesMax = std::size_t{2} << 30;
inline constexpr std::size_t kPolicyBytesMax = std::size_t{1} << 20;

/// The options that select the cluster, as typed. If all fields are empty, `default_kubeconfig` selects it.
struct SourceOptions {
  /// File with a dump; `-` is standard input.
  std::string cluster = {};
  std::string kubeconfig = {};
  std::string context = {};
  bool in_cluster = false;
  bool allow_exec = false;
  bool IsDump() const { return !cluster.empty(); }
};

/// The objects that a verb reads.
struct Wanted {
  /// True to read all pods; false to read only the driver's pods and the pods on nodes in progress.
  bool all_pods = false;
  /// Additional nodes whose pods are read.
  std::vector<std::string> nodes = {};
  bool events = false;
  /// Events from the scheduler for pods in the driver's namespace.
  bool assignments = false;
  bool budgets = false;
  /// Leases and Deployments in the operator's namespace. A Deployment contains the operator's version.
  bool leases = false;
  bool webhooks = false;
  /// The custom resource with the policy. Not needed if the user names a policy file.
  bool policy = true;
  /// The Leases, one of which may contain the operator's report, if the custom resource does not contain a policy.
  bool reported = true;
  /// ConfigMap with the grants and the rollout record.
  bool ledger = true;
  /// ResourceClaims, if a pod has a claim.
  bool claims = false;
  /// DeviceTaintRules, ResourceClaims and ResourceSlices of the cluster, if the policy isolates devices.
  bool devices = false;
  /// The leading operator's rollout document (OperatorView).
  bool view = false;
};

/// Location of the driver's objects in the cluster.
struct DriverPlace {
  std::string ns = {};
  std::string labels = {};
  std::string lease_ns = {};
  /// Name of the operator's Lease. If empty, the Lease is identified by its content and the end of its name.
  std::string lease = {};
  /// ConfigMap of the grants, which also contains the record of a rollout; empty if the ConfigMap is not read.
  std::string ledger_ns = {};
  std::string ledger = {};
  std::optional<PolicyResource> policy = std::nullopt;
  /// Namespace of the NodeMaintenances; empty if NodeMaintenances are not read.
  std::string requestor_ns = {};
};

/// Collects objects of several kinds in one `List`. If an object is added twice, only the first copy counts.
class MixedList {
 public:
  /// Adds `item`. Sets the kind and the apiVersion if they are missing, as they are in lists from a server.
  void Add(json::Value& item, const std::string& kind, const std::string& api_version,
           json::Document::AllocatorType& allocator);
  /// Adds an object given as JSON text. Ignores any other text.
  void AddText(const std::string& object, const std::string& kind, const std::string& api_version);
  /// Adds the objects of `other`, in the same order, except for those named in `without` in the form
  /// `Pod/NAMESPACE/NAME`.
  void AddAll(const MixedList& other, const std::set<std::string>& without = {});
  /// Returns true if an object's JSON contains `text`.
  bool Contains(std::string_view text) const;
  /// Returns the entire list as text.
  std::string Text() const;

 private:
  void Add(const std::string& key, std::string text);

  /// Keys and JSON of the objects.
  std::vector<std::pair<std::string, std::string>> items_;
  std::set<std::string> known_;
};

/// Returns the entire input. Errors start with `name`: Unavailable, or ResourceExhausted if the input is longer than
/// `bytes_max`.
[[nodiscard]] absl::StatusOr<std::string> ReadAll(std::istream& in, std::string_view name, std::size_t bytes_max);
/// Same as ReadAll, but returns NotFound if the file cannot be opened.
[[nodiscard]] absl::StatusOr<std::string> ReadFile(const std::string& path, std::size_t bytes_max);
/// Returns the dump that the options name. Errors: same as ReadFile. If the dump is too long, the error suggests a
/// remedy.
[[nodiscard]] absl::StatusOr<std::string> ReadDump(const SourceOptions& options, std::istream& in,
                                                   std::size_t bytes_max = kDumpBytesMax);

/// Creates a transport without opening a connection. `default_kubeconfig` is the file to use if the options name none.
/// Errors: the errors of KubeConfig and of the backend.
[[nodiscard]] absl::StatusOr<std::shared_ptr<driverupgrade::HttpTransport>> Connect(
    const SourceOptions& options, const std::string& default_kubeconfig);

/// Returns a `List` of the wanted objects, as `kubectl get -o json` prints it. If objects that only explanations need
/// (Events, budgets, leases, webhooks, the policy, NodeMaintenances) are missing or forbidden, adds a line to `notes`.
/// Errors have the form `list nodes: 403: ...`.
[[nodiscard]] absl::StatusOr<std::string> ReadLive(driverupgrade::HttpTransport& transport,
                                                   const driverupgrade::DriverIdentity& identity,
                                                   const DriverPlace& place, const Wanted& wanted,
                                                   std::vector<std::string>& notes);

/// Returns a `List` of the DaemonSets in all namespaces with these labels. Errors: same as ReadLive.
[[nodiscard]] absl::StatusOr<std::string> ListDaemonSets(driverupgrade::HttpTransport& transport,
                                                         const std::string& labels);

/// Returns a `List` of the Leases in the namespace. If `ns` is empty, includes all namespaces except for the namespace
/// of the nodes' own Leases. Errors: same as ReadLive.
[[nodiscard]] absl::StatusOr<std::string> ListLeases(driverupgrade::HttpTransport& transport, const std::string& ns);

/// Reads the same objects as ReadLive, except for the nodes, the driver's pods and DaemonSets, and the Events. Notes
/// and errors: same as ReadLive.
[[nodiscard]] absl::StatusOr<MixedList> ReadBeside(driverupgrade::HttpTransport& transport, const DriverPlace& place,
                                                   const Wanted& wanted, std::vector<std::string>& notes);

/// Returns the nodes of the list whose non-driver pods must be read.
[[nodiscard]] absl::StatusOr<std::set<std::string>> NodesOfInterest(std::string_view list,
                                                                    const driverupgrade::DriverIdentity& identity,
                                                                    const Wanted& wanted);
/// Adds the cluster's ResourceClaims to the list if a pod in the list has a claim. Adds a line to `notes` if the claims
/// cannot be read.
void AddClaims(driverupgrade::HttpTransport& transport, MixedList& list, std::vector<std::string>& notes);
/// Returns all pods of a node.
[[nodiscard]] absl::StatusOr<MixedList> ReadPodsOf(driverupgrade::HttpTransport& transport, const std::string& node);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_SOURCE_H_
