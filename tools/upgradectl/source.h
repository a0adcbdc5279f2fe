// Where the cluster's objects come from: a dump in a file, or the API server. Both are one text, so that what is done with
// them is the same.
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

/// More is no dump, but a mistake that would fill the memory. 5,000 nodes with 150,000 pods of 6.2 kB, as running pods
/// are, make 1.0 GB.
inline constexpr std::size_t kDumpBytesMax = std::size_t{2} << 30;
inline constexpr std::size_t kPolicyBytesMax = std::size_t{1} << 20;

/// Which cluster, as it was typed; with nothing of it, `default_kubeconfig`.
struct SourceOptions {
  /// A dump; `-` is standard input.
  std::string cluster = {};
  std::string kubeconfig = {};
  std::string context = {};
  bool in_cluster = false;
  bool allow_exec = false;
  bool IsDump() const { return !cluster.empty(); }
};

/// What a verb looks at.
struct Wanted {
  /// All pods; otherwise the driver's, and those of nodes in progress.
  bool all_pods = false;
  /// The pods of these nodes, too.
  std::vector<std::string> nodes = {};
  bool events = false;
  /// Events of the scheduler about pods of the driver's namespace.
  bool assignments = false;
  bool budgets = false;
  /// With the Deployments beside them, which tell the operator's version.
  bool leases = false;
  bool webhooks = false;
  /// The custom resource with the policy; of no use to who has been given a file.
  bool policy = true;
  /// Where that has no policy, the Leases, of which one has what the operator reports.
  bool reported = true;
  /// With the record of the rollout.
  bool ledger = true;
  /// ResourceClaims, if a pod that was read has one.
  bool claims = false;
  /// DeviceTaintRules, ResourceClaims and ResourceSlices of the cluster, for a policy that isolates devices.
  bool devices = false;
  /// The document of the operator that leads (OperatorView).
  bool view = false;
};

/// What selects the driver's objects on the server.
struct DriverPlace {
  std::string ns = {};
  std::string labels = {};
  std::string lease_ns = {};
  /// The operator's; empty: what it has and what its name ends in tells.
  std::string lease = {};
  /// The ConfigMap of the grants, which has the record of a rollout, too; empty: it is not read.
  std::string ledger_ns = {};
  std::string ledger = {};
  std::optional<PolicyResource> policy = std::nullopt;
  /// Of the NodeMaintenances; empty: they are not read.
  std::string requestor_ns = {};
};

/// Objects of several kinds as one `List`; of an object that is added twice, the first.
class MixedList {
 public:
  /// `item` is changed: it gets a kind and an apiVersion if it has none, as the items of a server's list.
  void Add(json::Value& item, const std::string& kind, const std::string& api_version,
           json::Document::AllocatorType& allocator);
  /// One object as its JSON text; what is none is left out.
  void AddText(const std::string& object, const std::string& kind, const std::string& api_version);
  /// What the other list has, in its order, but for what `without` names: `Pod/NAMESPACE/NAME`.
  void AddAll(const MixedList& other, const std::set<std::string>& without = {});
  /// Whether the text of some object contains `text`.
  bool Contains(std::string_view text) const;
  /// The whole text.
  std::string Text() const;

 private:
  void Add(const std::string& key, std::string text);

  /// Keys and texts.
  std::vector<std::pair<std::string, std::string>> items_;
  std::set<std::string> known_;
};

/// All of `in`. Errors, beginning with `name`: Unavailable; ResourceExhausted beyond `bytes_max`.
[[nodiscard]] absl::StatusOr<std::string> ReadAll(std::istream& in, std::string_view name, std::size_t bytes_max);
/// As ReadAll; NotFound if it cannot be opened.
[[nodiscard]] absl::StatusOr<std::string> ReadFile(const std::string& path, std::size_t bytes_max);
/// What the options name. Errors: as ReadFile; of a dump that is too long with what to do.
[[nodiscard]] absl::StatusOr<std::string> ReadDump(const SourceOptions& options, std::istream& in,
                                                   std::size_t bytes_max = kDumpBytesMax);

/// Opens no connection. `default_kubeconfig`: the file if the options name none. Errors: those of KubeConfig and of the
/// backend.
[[nodiscard]] absl::StatusOr<std::shared_ptr<driverupgrade::HttpTransport>> Connect(
    const SourceOptions& options, const std::string& default_kubeconfig);

/// A `List` of the objects that are wanted, as `kubectl get -o json` would print it. What is only there for explanations
/// (Events, budgets, leases, webhooks, the policy, NodeMaintenances) may be missing or forbidden: `notes` gets a line
/// then. Errors: `list nodes: 403: ...`.
[[nodiscard]] absl::StatusOr<std::string> ReadLive(driverupgrade::HttpTransport& transport,
                                                   const driverupgrade::DriverIdentity& identity,
                                                   const DriverPlace& place, const Wanted& wanted,
                                                   std::vector<std::string>& notes);

/// A `List` of the DaemonSets of all namespaces that have these labels. Errors: as ReadLive.
[[nodiscard]] absl::StatusOr<std::string> ListDaemonSets(driverupgrade::HttpTransport& transport,
                                                         const std::string& labels);

/// A `List` of the Leases of the namespace, or, if that is empty, of all namespaces except for the nodes' own. Errors: as
/// ReadLive.
[[nodiscard]] absl::StatusOr<std::string> ListLeases(driverupgrade::HttpTransport& transport, const std::string& ns);

/// What ReadLive reads beside the nodes, the driver's pods and DaemonSets, and the Events: revisions, and what is only
/// there for explanations. Notes and errors as ReadLive.
[[nodiscard]] absl::StatusOr<MixedList> ReadBeside(driverupgrade::HttpTransport& transport, const DriverPlace& place,
                                                   const Wanted& wanted, std::vector<std::string>& notes);

/// The nodes of the list whose other pods matter.
[[nodiscard]] absl::StatusOr<std::set<std::string>> NodesOfInterest(std::string_view list,
                                                                    const driverupgrade::DriverIdentity& identity,
                                                                    const Wanted& wanted);
/// Adds the ResourceClaims of the cluster to the list if a pod in it has one. `notes` gets a line if they cannot be read.
void AddClaims(driverupgrade::HttpTransport& transport, MixedList& list, std::vector<std::string>& notes);
/// All pods of a node.
[[nodiscard]] absl::StatusOr<MixedList> ReadPodsOf(driverupgrade::HttpTransport& transport, const std::string& node);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_SOURCE_H_
