/// The contract of ClusterFacade as a set of executable checks, for authors of a facade, cache, decorator or fake.
///
/// Defines RunFacadeContract and its report, FacadeContract (its cases), and ContractWorld, which you implement. A
/// world provides the facade under test, and hooks that set up the cluster without this facade.
///
///     MyWorld world;
///     const ContractReport report = RunFacadeContract(world);
///     std::cout << report.ToString();
///     return report.Verdict({"a budget refuses an eviction, and two refuse it permanently"}).ok();
///
/// A case is *kept* if the facade did what the name of the case says, and *broken* if it did not. It is *skipped* if
/// the facade lacks an operation or the world lacks a hook, which the result then names. Each write through the facade
/// is read back in every way that the facade supports. A facade without gets is checked through its lists; a facade
/// with both must return the same data from both.
///
/// No test framework is needed. FakeCluster and a real API server pass the same cases. The cases for node maintenances,
/// device taint rules, resource claims and resource slices need a server that serves these kinds. For other servers,
/// wrap the facade in a ForwardingFacade that reports the operations on these kinds as unsupported. Each case uses
/// names that start with ContractWorld::prefix(), and checks only its own objects, so the cluster may contain other
/// objects. A world is used by one thread, for one case or for many. Watches run on a separate thread, and end once
/// they have reported the change for which the case waits; a silent watch ends at the context's deadline. Example:
/// tests/contract/fake_cluster_contract_test.cc.
#ifndef DRIVERUPGRADE_TESTING_FACADE_CONTRACT_H_
#define DRIVERUPGRADE_TESTING_FACADE_CONTRACT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/cluster_types.h"

namespace driverupgrade::testing {

/// The facade under test, and the cluster behind it. Each hook returns once its effect is visible through the facade.
/// If a hook returns Unimplemented, the cases that need it are skipped; if it returns any other error, they are broken.
class ContractWorld {
 public:
  virtual ~ContractWorld();
  virtual ClusterFacade& facade() = 0;
  /// Returns the context for the next call, with enough time for the slowest response.
  virtual CallContext context() = 0;
  /// Returns a valid prefix for node names; each call returns a different prefix.
  virtual std::string prefix() = 0;
  /// Returns an existing namespace without pods and budgets; each call returns a different namespace.
  virtual absl::StatusOr<std::string> MakeNamespace() = 0;

  /// Creates a node with the name, labels, annotations and `unschedulable` of `node`, and returns the node as stored.
  virtual absl::StatusOr<Node> MakeNode(const Node& node) = 0;
  /// Changes a field that MakeNode does not set, so that the node's resource version changes.
  virtual absl::Status TouchNode(const std::string& name) = 0;
  /// Creates a pod without an owner, with the name, namespace, labels and node of `pod`, and returns it as stored once
  /// it is Running and ready.
  virtual absl::StatusOr<Pod> MakePod(const Pod& pod) = 0;
  /// Creates a budget that never allows a disruption of the pods with these labels. The budget must use minAvailable,
  /// because maxUnavailable does not work for pods without an owner.
  virtual absl::Status MakeBudget(const std::string& ns, const std::string& name, const StringMap& labels) = 0;
  /// Deletes a node immediately. Returns Unimplemented by default.
  virtual absl::Status RemoveNode(const std::string& name);
  /// Creates a DaemonSet whose labels and selector are `app=<name>` and whose pods run on no node, and returns it as
  /// stored once its ControllerRevision exists. Returns Unimplemented by default.
  virtual absl::StatusOr<DaemonSet> MakeDaemonSet(const std::string& ns, const std::string& name);
};

enum class ContractOutcome : std::uint8_t { kKept, kBroken, kSkipped };
/// Returns `kept`, `broken` or `skipped`.
std::string_view ToString(ContractOutcome outcome);

struct ContractResult {
  std::string name;
  ContractOutcome outcome = ContractOutcome::kSkipped;
  /// Broken: what was expected and what was found. Skipped: what the facade or the world lacks. Kept: empty.
  std::string reason;
};

struct ContractCase {
  /// A sentence that states what the facade must do.
  std::string name;
  std::function<ContractResult(ContractWorld&)> run;
};

struct ContractReport {
  std::vector<ContractResult> results;

  int Count(ContractOutcome outcome) const;
  /// Returns OK if no case is broken, at least one is kept, and each of the cases named in `demanded` is kept.
  /// Otherwise FailedPrecondition, with all reasons.
  absl::Status Verdict(const std::vector<std::string>& demanded = {}) const;
  /// Returns the counts in the first line, followed by one line for each case: broken cases first, kept cases last.
  std::string ToString() const;
};

/// Returns all cases, which are independent of each other. An operation that the facade does not support is not called.
std::vector<ContractCase> FacadeContract();

ContractReport RunFacadeContract(ContractWorld& world);

}  // namespace driverupgrade::testing

#endif  // DRIVERUPGRADE_TESTING_FACADE_CONTRACT_H_
