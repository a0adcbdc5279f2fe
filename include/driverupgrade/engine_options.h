/// Options for three parts of an engine: its requests, its ledger, and requestor mode.
///
/// Defines ExecutorOptions with TaskRunner, AdmissionLedgerOptions and RequestorOptions.
///
///     EngineOptions options{.executor = {.calls_in_flight = 8, .call_timeout = absl::Seconds(10)},
///                           .ledger = AdmissionLedgerOptions{.ns = "gpu-operator", .name = "driver-upgrades"}};
///
/// Plain value types, except TaskRunner.
#ifndef DRIVERUPGRADE_ENGINE_OPTIONS_H_
#define DRIVERUPGRADE_ENGINE_OPTIONS_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace driverupgrade {

/// Runs the requests of engines in a program that has its own thread pool or event loop. Thread-safe.
///
///     struct PoolRunner final : driverupgrade::TaskRunner {
///       void Submit(std::function<void()> task) override { asio::post(pool, std::move(task)); }
///     };
///
/// A task makes blocking calls to the facade. Once its engine has been destroyed, the task does nothing.
class TaskRunner {
 public:
  virtual ~TaskRunner() = default;
  /// Runs the task, now or later, on any thread. Tasks may run in any order, and at the same time.
  virtual void Submit(std::function<void()> task) = 0;
  /// Called on a thread that is about to wait for all tasks. A runner without threads runs the tasks here.
  virtual void BeforeWait() {}
};

/// Options of the requests that an engine makes.
struct ExecutorOptions {
  /// Maximum number of calls in flight: calls for nodes, background reads for a cache, and the ledger's requests, but
  /// not Events. Each node has at most one call in flight. 1: the calling thread makes all calls, in the plan's order.
  int calls_in_flight = 32;
  /// Runs the calls that count against `calls_in_flight`, instead of the engine's threads. The runner then decides how
  /// many of these calls are in flight. Events still use the engine's own threads. Null: no runner.
  std::shared_ptr<TaskRunner> runner = nullptr;
  /// Time limit for each call. The deadline of the context also applies.
  absl::Duration call_timeout = absl::Seconds(30);
  /// True to write Events. Events are best effort and off the critical path.
  bool events = true;
  /// True to write the Events in NodePlan::events, unaggregated. Requires `events`.
  bool transition_events = true;
  /// True to write Events for findings, for gates that require an administrator's action, and for refused requests.
  /// These Events are rate-limited and aggregated as in client-go. Requires `events`.
  bool finding_events = true;
};

/// Location of the grants, which guarantee the budgets even if two replicas believe that they are the leader, or if a
/// replica crashes during a write (ADR 0005).
///
/// The grants are stored in a ConfigMap, in the entry `<domain>_<driver>`; several drivers, and several owners of one
/// driver's nodes, may share the ConfigMap. The engine keeps the other entries, and recreates a deleted ConfigMap with
/// the grants that it remembers. If the ConfigMap, or a line in it, is deleted while two replicas lead or a write is in
/// progress, the guarantee no longer holds for the affected nodes.
struct AdmissionLedgerOptions {
  /// Namespace and name of the ConfigMap. The same for all replicas.
  std::string ns = {};
  std::string name = {};
  /// Owner of the nodes in these grants, if several engines share a driver's nodes. Each owner has its own entry,
  /// `<domain>_<driver>_<owner>`, so no other driver may be named `<driver>_<owner>`. A DNS subdomain, like the names
  /// of Kubernetes objects. Empty: one engine upgrades all nodes.
  std::string owner = {};
  /// Maximum number of grants; further nodes wait. A grant takes about 50 bytes, and the size of a Kubernetes object is
  /// limited to 1 MiB.
  std::size_t grants_max = 5000;
};

/// Requestor mode: NVIDIA's maintenance operator evacuates and releases the nodes; the engine requests the evacuation
/// and waits.
struct RequestorOptions {
  /// The engine's id as a requestor: a domain name of 2 to 63 characters. Must not be shared with another driver or
  /// program: the engine treats every claim with this id as its own, and withdraws the claim when the node is done.
  std::string id = {};
  /// Namespace of the NodeMaintenances.
  std::string ns = {};
  /// Requestors share an object only if they use the same prefix; the Go library's shared prefix is `nvidia-operator`.
  std::string name_prefix = "nvidia-operator";
  /// With pod deletion enabled, the maintenance operator evicts only pods that request a resource matched by one of
  /// these unanchored regular expressions. Empty: all pods that the drain section selects.
  std::vector<std::string> resource_name_filters = {};
  /// False: new upgrades run in place; nodes that started with a NodeMaintenance still finish with it.
  bool enabled = true;
};
/// Returns InvalidArgument, with the name of the field, for values that the API server would refuse.
[[nodiscard]] absl::Status Validate(const RequestorOptions& options);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_ENGINE_OPTIONS_H_
