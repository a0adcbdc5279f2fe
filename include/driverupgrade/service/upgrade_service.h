/// The main loop of an operator: elects a leader, runs the engines that its director requests, and serves health probes
/// and metrics.
///
/// Defines UpgradeService, ServiceOptions, ReaderCheck, ReportedOptions, OptionsAnnotation and RolloutEnd.
///
///     ServiceOptions options{.identity = *DriverIdentity::Create("example.com", "fpga")};
///     options.engine.snapshot.ns = "fpga-operator";
///     options.election = {.ns = "fpga-operator", .name = "fpga-driver-upgrade", .identity = pod_name};
///     options.health_address = ":8081";
///     auto service = UpgradeService::Create(cluster, director, std::move(options));
///     if (!service.ok()) return service.status();
///     return (*service)->Run({.stop = stop});  // until a stop is requested
///
/// All engines share one cache, one election, and one thread that steps them. Each engine has its own policy, its own
/// ledger entry, and its share of a limit over all engines. Complete program: examples/service. Explanation of each
/// step: docs/write-your-operator.md.
///
/// Run is a loop around Step, which never waits; a program with its own loop calls Step, Wait and Stop. Run, Step,
/// Wait, Stop and End must be called by one thread; all other functions may be called by any thread. The service owns
/// the threads of a WatchCache from the first Step until Stop, and the threads of its web servers from Create until its
/// destruction. The service does not handle signals, print, or end the process.
#ifndef DRIVERUPGRADE_SERVICE_UPGRADE_SERVICE_H_
#define DRIVERUPGRADE_SERVICE_UPGRADE_SERVICE_H_

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/observer.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/prometheus/metrics_collector.h"
#include "driverupgrade/service/director.h"
#include "driverupgrade/upgrade_controller.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/watch_cache.h"

namespace driverupgrade {

/// Data in the service's report for `upgradectl` that the service cannot derive from its other options.
///
/// A leader writes two annotations to its Lease: the policies in effect (DriverIdentity::PolicyAnnotation), and the
/// options of its engines (OptionsAnnotation). With these annotations, `upgradectl` needs no options on its command
/// line. The second annotation is one JSON object, in which members without a value are left out:
///
///     {"namespace": "fpga-operator",             // EngineOptions::snapshot
///      "driverLabels": "app=fpga-driver",        // requirements that the EngineSpecs of all engines share
///      "ledger": {"namespace": "fpga-operator", "name": "fpga-driver-upgrade"},
///      "validation": {"selector": "app=fpga-check", "early": "Restart"},
///      "requestor": {"id": "fpga.example.com", "namespace": "default", "namePrefix": "example"},
///      "resources": ["example.com/fpga"],        // this member and the next two: ServiceOptions::reported
///      "gpuPods": true,
///      "defaults": "plain",
///      "policyResource": "example.com/v1/fpgas/fpga:spec.upgradePolicy",  // EngineSpec
///      "rolloutPort": 8443}                      // ServiceOptions::rollout_secure_address
///
/// A requestor or a policy resource that differs between engines is left out. While no engine runs, the last report is
/// kept. Neither annotation is secret: every client that may read Leases can read them.
///
///     options.reported = {.resources = {"example.com/fpga"}};
struct ReportedOptions {
  /// Names of resources. A pod that requests one of them uses the driver. Must match SnapshotOptions::uses_driver.
  std::vector<std::string> resources = {};
  /// True if every pod that uses an NVIDIA GPU, through a resource or a claim, counts as using the driver.
  bool gpu_pods = false;
  /// Default values of policy fields: `plain`, `gpu-operator` or `network-operator` (PolicyDefaults). Empty: not
  /// reported.
  std::string defaults = {};
};

/// Key of the annotation with the reported options: `<domain>/<driver>-driver-upgrade.options`.
inline std::string OptionsAnnotation(const DriverIdentity& identity) { return identity.KeyPrefix() + ".options"; }

/// Returns OK if the owner of the bearer token may read the rollout page. The token is empty if the reader sent none.
/// Called for each request, by several threads at the same time. Errors: Unauthenticated (the reader gets 401),
/// PermissionDenied (403), ResourceExhausted (429), any other error (503).
using ReaderCheck = std::function<absl::Status(const std::string& token)>;

struct ServiceOptions {
  DriverIdentity identity;
  /// Options that all engines have in common: the namespace of the driver's DaemonSets, the filter for pods that use
  /// the driver, the operator's own pod, the ledger, the clock. Labels, node selector and policy come from the
  /// director's specs; the cache comes from the service.
  EngineOptions engine = {};
  /// Election of a leader among the replicas: passes are made only while this replica holds the Lease. An election
  /// without a clock uses the clock of `engine`. nullopt: there is only one replica.
  std::optional<LeaderElectionOptions> election = std::nullopt;
  /// Maximum number of nodes in progress at the same time over all engines; nullopt: only the limits of the engines
  /// apply. An engine keeps the slots that its nodes hold. Free slots go to the engines in the order of the director's
  /// specs.
  std::optional<int> parallel_total = std::nullopt;
  /// Additional scopes that the cache follows, for Director::Work. They come after the scopes of the engines.
  std::vector<DriverScope> more_scopes = {};
  /// Additions to the report for `upgradectl`. The report needs `election`.
  ReportedOptions reported = {};
  /// `health_address`: listen address for /healthz and /readyz. `metrics_address`: listen address for /metrics. Form:
  /// `host:port`, for example `[::1]:8081`, or `:8081` for all interfaces; port 0 selects any free port, which the log
  /// names. Both addresses may be the same. Empty: the paths are not served.
  std::string health_address = {};
  std::string metrics_address = {};
  /// Listen address in the form `host:port`, for example `127.0.0.1:8082`. The service serves the rollout page there
  /// under `/`, and the rollout document under `/rollout` (docs/monitoring.md). The host must be a loopback address,
  /// because readers are not asked for credentials; `kubectl port-forward` reaches such an address. Empty: nothing is
  /// served.
  std::string rollout_address = {};
  /// Listen address for remote readers in the form `host:port`, for example `:8443`. The service serves the same page
  /// and document there, over TLS with its self-signed certificate, to readers that `rollout_readers` accepts. The
  /// leader reports the port in its Lease, where `upgradectl` finds it. Empty: nothing is served to remote readers.
  std::string rollout_secure_address = {};
  /// Required with `rollout_secure_address`; usually AccessReview::Check for `/rollout`.
  ReaderCheck rollout_readers = nullptr;
  /// For /metrics: metrics that are also exported under the names that existing dashboards use.
  std::vector<MetricAlias> aliases = {};
  /// For /metrics: the requests of the transport. Null: not exported.
  std::shared_ptr<const RequestMeter> requests = nullptr;
  /// The bell that the director rings when something has changed. Null: nothing changes before the times that
  /// Director::Work returns.
  std::shared_ptr<Doorbell> bell = nullptr;
  /// Null: nothing is logged.
  LogSink log = nullptr;
};

/// The state of a rollout that has ended: nothing more happens unless an administrator acts.
struct RolloutEnd {
  /// Number of running engines; 0: no policy applies.
  int engines = 0;
  /// Number of engines that the director requested but that could not be created.
  int refused = 0;
  /// Number of running engines whose autoUpgrade is on.
  int upgrading = 0;
  /// Number of nodes that an administrator has excluded: by the skip label, or by a cordon that the policy respects.
  int left_out = 0;
  /// Number of nodes that belong to engines whose autoUpgrade is off. It is unknown whether the drivers of these nodes
  /// are up to date.
  int frozen = 0;
  Tally totals = {};
  /// Returns true if every node has the target revision, except for nodes that an administrator has excluded.
  bool IsGood() const { return engines > 0 && refused == 0 && frozen == 0 && totals.done + left_out == totals.total; }
  friend bool operator==(const RolloutEnd&, const RolloutEnd&) = default;
};

class UpgradeService {
 public:
  /// Creates a service, which immediately starts to serve its pages. Makes no calls to the cluster. `director` must
  /// outlive the service. Errors: InvalidArgument for options that cannot work; Unimplemented, with the name of the
  /// operation, if `cluster` lacks an operation that the election needs; Unavailable if the service cannot listen on an
  /// address.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<UpgradeService>> Create(std::shared_ptr<ClusterFacade> cluster,
                                                                              Director& director,
                                                                              ServiceOptions options);
  ~UpgradeService();

  /// Steps until a stop is requested, then stops. Returns OK after a stop. Errors: DeadlineExceeded after the context's
  /// deadline, and the errors of Step.
  [[nodiscard]] absl::Status Run(const CallContext& context);

  /// Performs the work that is due: an attempt to lead, the director's work, and passes of the engines. Returns the
  /// time at which to call Step again, unless Wait returns earlier. Errors: the errors of engines that cannot work at
  /// all, as returned by Director::OnRefused; the service is then unusable. Problems in the cluster are not errors:
  /// they are logged, counted, reported by Ready, and retried.
  [[nodiscard]] absl::StatusOr<absl::Time> Step(const CallContext& context);
  /// Waits in real time until `until`, the result of Step. Returns earlier if there is work to do or a stop is
  /// requested.
  void Wait(absl::Time until, const std::stop_token& stop);
  /// Shuts down cleanly: waits for requests and Events in progress, stops the cache, and releases the Lease, so that
  /// the next leader can start immediately. Step must not be called afterwards.
  void Stop();

  /// For a liveness probe: returns OK unless a step of the service, or a pass of an engine, takes too long.
  absl::Status Healthy() const;
  /// For a readiness probe: returns OK once the policies and the cluster have been read, and either a pass has
  /// succeeded since then or another replica leads.
  absl::Status Ready() const;
  /// Returns the text of /metrics, of type MetricsCollector::kContentType, for programs with their own web server.
  std::string Metrics() const;
  /// Returns the JSON document of /rollout, for a web server of the embedding program. The program must check which
  /// clients may read the document. Empty without `rollout_address` and `rollout_secure_address`.
  std::string Rollout() const;
  /// Returns the sums over all engines, as of their last passes.
  Tally totals() const;
  /// Returns nullopt while there is still work to do.
  std::optional<RolloutEnd> End() const;

 private:
  class Impl;
  explicit UpgradeService(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SERVICE_UPGRADE_SERVICE_H_
