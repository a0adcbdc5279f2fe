/// The contract of ClusterFacade as a program: for whoever writes another facade, a cache, a decorator or a
/// fake.
///
/// Defines RunFacadeContract and what it reports, FacadeContract (its cases), and ContractWorld, which you implement:
/// the facade under test and a few ways around it to set the cluster up.
///
///     MyWorld world;
///     const ContractReport report = RunFacadeContract(world);
///     std::cout << report.ToString();
///     return report.Verdict({"a budget refuses an eviction, and two do for good"}).ok();
///
/// Each case ends in one of three ways. *Kept*: the facade did what the name of the case says. *Broken*: it did not.
/// *Skipped*: the case could not be run, as the facade does not support an operation that it needs, or the world has no
/// hook for it; the result names which. What a facade writes is read back by every way to read that it supports, so one
/// without gets is judged by its lists, and one with both must give the same by both.
///
/// Needs no test framework. The same cases hold for FakeCluster and for a real API server; those of node
/// maintenances, device taint rules, resource claims and resource slices for one that serves the kind, so over one that
/// does not, put a ForwardingFacade that says that they are not supported. Each uses names that start with ContractWorld::prefix(), and judges nothing but its own
/// objects, so the cluster may hold others. A world is used by one thread, and by one case or by many. Watches run
/// on a thread of their own, and end when they have given what the case waits for; one that gives nothing ends at
/// the deadline of the context. Example: tests/contract/fake_cluster_contract_test.cc.
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

/// The facade under test and the cluster behind it. Each hook returns when the facade sees its effect. A hook that
/// answers Unimplemented skips the cases that need it; any other error of it breaks them.
class ContractWorld {
 public:
  virtual ~ContractWorld();
  virtual ClusterFacade& facade() = 0;
  /// Of every call: long enough for the slowest answer.
  virtual CallContext context() = 0;
  /// A valid start for names of nodes, another one each time it is called.
  virtual std::string prefix() = 0;
  /// An existing namespace without pods and budgets, another one each time it is called.
  virtual absl::StatusOr<std::string> MakeNamespace() = 0;

  /// Creates a node with the name, labels, annotations and unschedulable of `node`, and returns it as stored.
  virtual absl::StatusOr<Node> MakeNode(const Node& node) = 0;
  /// Changes anything of the node but those, so that it has another resource version.
  virtual absl::Status TouchNode(const std::string& name) = 0;
  /// Creates a pod without owner, with the name, namespace, labels and node of `pod`, and returns it as
  /// stored once it is Running and ready.
  virtual absl::StatusOr<Pod> MakePod(const Pod& pod) = 0;
  /// Creates a budget that allows no disruption of the pods with these labels, ever; by minAvailable, since
  /// maxUnavailable does not work for pods without an owner.
  virtual absl::Status MakeBudget(const std::string& ns, const std::string& name, const StringMap& labels) = 0;
  /// Deletes a node, at once. The default is Unimplemented.
  virtual absl::Status RemoveNode(const std::string& name);
  /// Creates a DaemonSet whose labels and selector are `app=<name>` and whose pods run on no node, and returns it as
  /// stored once its ControllerRevision exists. The default is Unimplemented.
  virtual absl::StatusOr<DaemonSet> MakeDaemonSet(const std::string& ns, const std::string& name);
};

enum class ContractOutcome : std::uint8_t { kKept, kBroken, kSkipped };
/// `kept`, `broken` or `skipped`.
std::string_view ToString(ContractOutcome outcome);

struct ContractResult {
  /// Of the case.
  std::string name;
  ContractOutcome outcome = ContractOutcome::kSkipped;
  /// Broken: what was expected and what was found. Skipped: what the facade or the world lacks. Kept: empty.
  std::string reason;
};

struct ContractCase {
  /// A sentence.
  std::string name;
  std::function<ContractResult(ContractWorld&)> run;
};

struct ContractReport {
  std::vector<ContractResult> results;

  int Count(ContractOutcome outcome) const;
  /// OK if no case is broken, at least one is kept, and each of `demanded`, names of cases, is kept. Otherwise
  /// FailedPrecondition, with all that stands against it.
  absl::Status Verdict(const std::vector<std::string>& demanded = {}) const;
  /// The counts in the first line, then a line for each case: the broken ones first, the kept ones last.
  std::string ToString() const;
};

/// All cases, independent of each other. An operation that the facade does not support is not asked for.
std::vector<ContractCase> FacadeContract();

/// Runs all of them in this one world.
ContractReport RunFacadeContract(ContractWorld& world);

}  // namespace driverupgrade::testing

#endif  // DRIVERUPGRADE_TESTING_FACADE_CONTRACT_H_
