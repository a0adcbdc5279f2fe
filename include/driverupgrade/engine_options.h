/// Options of three parts of an engine: of its requests, of its ledger, and of requestor mode.
///
/// Defines ExecutorOptions, AdmissionLedgerOptions and RequestorOptions.
///
///     EngineOptions options{.executor = {.calls_in_flight = 8, .call_timeout = absl::Seconds(10)},
///                           .ledger = AdmissionLedgerOptions{.ns = "gpu-operator", .name = "driver-upgrades"}};
///
/// Values.
#ifndef DRIVERUPGRADE_ENGINE_OPTIONS_H_
#define DRIVERUPGRADE_ENGINE_OPTIONS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace driverupgrade {

/// How an engine makes its requests.
struct ExecutorOptions {
  /// Nodes worked on at once, each with one call in flight, and what is given to Submit. 1: everything in the calling
  /// thread, in the plan's order.
  int calls_in_flight = 32;
  /// For each call, within the deadline of the context.
  absl::Duration call_timeout = absl::Seconds(30);
  /// Whether to write Events. They are best effort and off the critical path.
  bool events = true;
  /// Of these: what NodePlan::events has, each as it is.
  bool transition_events = true;
  /// And: findings, gates that somebody has to act on, and requests that were refused. Limited and aggregated as
  /// client-go does it.
  bool finding_events = true;
};

/// Where the grants are kept that let the budgets hold although two replicas believe that they lead, or one crashes with
/// a write under way (ADR 0005).
///
/// The grants are one entry of a ConfigMap, `<domain>_<driver>`; drivers, and owners of one driver's nodes, may share
/// one. Its other entries are kept. A ConfigMap that is deleted is made anew with the grants that are remembered;
/// deleting it, or lines from it, while two replicas lead or a write is under way takes the guarantee away for the
/// nodes concerned.
struct AdmissionLedgerOptions {
  /// Of the ConfigMap. The same for all replicas.
  std::string ns = {};
  std::string name = {};
  /// Whose nodes the grants are about, if several engines share a driver's nodes: each owner has an entry of its own,
  /// `<domain>_<driver>_<owner>`, and no other driver may be named `<driver>_<owner>`. A DNS subdomain, as Kubernetes
  /// names objects. Empty: one engine has all nodes.
  std::string owner = {};
  /// No more grants than that are made; further nodes wait. A grant has about 50 bytes, an object 1 MiB at most.
  std::size_t grants_max = 5000;
};

/// Requestor mode: NVIDIA's maintenance operator evacuates the nodes and gives them back; the engine asks it to, and waits.
struct RequestorOptions {
  /// Who we are among the requestors: 2 to 63 characters, a domain name. Not shared with another driver or program:
  /// what carries it is taken for ours, and given back when our node is done.
  std::string id = {};
  /// Namespace of the NodeMaintenances.
  std::string ns = {};
  /// Requestors share an object only if they agree on this; the Go library's shared one is `nvidia-operator`.
  std::string name_prefix = "nvidia-operator";
  /// With pod deletion on, the operator is asked to evict only pods that request a resource which one of these
  /// unanchored regular expressions matches; none: whatever the drain section selects.
  std::vector<std::string> resource_name_filters = {};
  /// False: nodes start in place, and those that began by a NodeMaintenance end by it.
  bool enabled = true;
};
/// InvalidArgument, naming the field, for what the API server would refuse.
[[nodiscard]] absl::Status Validate(const RequestorOptions& options);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_ENGINE_OPTIONS_H_
