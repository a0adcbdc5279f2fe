/// The contract of ClusterFacade as a program: for whoever writes another facade, a cache, a decorator or a
/// fake.
///
/// Defines FacadeContract (the cases), ContractCase, and ContractWorld, which you implement: the facade under
/// test and a few ways around it to set the cluster up.
///
///     for (const ContractCase& one : FacadeContract()) {
///       MyWorld world;
///       absl::Status status = one.run(world);
///       if (!status.ok()) std::cerr << one.name << ": " << status << "\n";
///     }
///
/// Needs no test framework. The same cases hold for FakeCluster and for a real API server; those of node
/// maintenances for one that knows the kind, so over one that does not, put a ForwardingFacade that says that
/// they are not supported. Each uses names that start with ContractWorld::prefix(), and reads nothing but its own
/// objects, so the cluster may hold others. A world is used by one thread, and by one case or by many. Watches run
/// on a thread of their own, and end when they have given what the case waits for; one that gives nothing ends at
/// the deadline of the context. Example: tests/contract/fake_cluster_contract_test.cc.
#ifndef DRIVERUPGRADE_TESTING_FACADE_CONTRACT_H_
#define DRIVERUPGRADE_TESTING_FACADE_CONTRACT_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driverupgrade/call_context.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/cluster_types.h"

namespace driverupgrade::inline v1::testing {

/// The facade under test and the cluster behind it. Each hook returns when the facade sees its effect; an
/// error of a hook fails the case.
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
  /// Deletes a node, at once. The default is Unimplemented, and no deletion of a node is asked for then.
  virtual absl::Status RemoveNode(const std::string& name);
};

struct ContractCase {
  /// A sentence.
  std::string name;
  /// Unknown, with what was expected and what was found, if the contract is broken.
  std::function<absl::Status(ContractWorld&)> run;
};

/// All cases, independent of each other. An operation that the facade does not support is not asked for.
std::vector<ContractCase> FacadeContract();

}  // namespace driverupgrade::inline v1::testing

#endif  // DRIVERUPGRADE_TESTING_FACADE_CONTRACT_H_
