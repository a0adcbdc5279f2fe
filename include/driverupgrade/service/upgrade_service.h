/// An operator's main loop: leads, runs the engines that its director wants, and is seen by the kubelet and Prometheus.
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
/// One cache follows the cluster for all engines, one election leads for all, one thread steps them. An engine has its
/// own policy, its own entry of the ledger, and its share of a limit over all engines. The whole program:
/// examples/service; step by step: docs/write-your-operator.md.
///
/// Run is a loop around Step, which never waits: a program with its own loop calls Step, Wait and Stop. Run, Step, Wait,
/// Stop and End are called by one thread; the rest by any. Between the first Step and Stop the service holds the threads
/// of a WatchCache, and from Create to its end those of its web servers. It neither takes signals nor prints, and does
/// not end the process.
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
#include "driverupgrade/metrics_snapshot.h"
#include "driverupgrade/observer.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/prometheus/metrics_collector.h"
#include "driverupgrade/service/director.h"
#include "driverupgrade/upgrade_controller.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/watch_cache.h"

namespace driverupgrade {

/// Facts that the service adds to its report for `upgradectl` because it cannot derive them from its other options.
///
/// A leader writes two annotations to its Lease: the policies in effect (DriverIdentity::PolicyAnnotation), and the options
/// of its engines (OptionsAnnotation). `upgradectl` needs no options on its command line then. The second
/// annotation is one JSON object. Members without a value are left out:
///
///     {"namespace": "fpga-operator",             // EngineOptions::snapshot
///      "driverLabels": "app=fpga-driver",        // requirements that the EngineSpecs of all engines share
///      "ledger": {"namespace": "fpga-operator", "name": "fpga-driver-upgrade"},
///      "validation": {"selector": "app=fpga-check", "early": "Restart"},
///      "requestor": {"id": "fpga.example.com", "namespace": "default", "namePrefix": "example"},
///      "resources": ["example.com/fpga"],        // this and the next two: ServiceOptions::reported
///      "gpuPods": true,
///      "defaults": "plain",
///      "policyResource": "example.com/v1/fpgas/fpga:spec.upgradePolicy",  // EngineSpec
///      "rolloutPort": 8443}                      // ServiceOptions::rollout_secure_address
///
/// A requestor or a policy resource that differs between engines is left out. While no engine runs, the last report stays.
/// Neither annotation is secret: every client that may read Leases reads them.
///
///     options.reported = {.resources = {"example.com/fpga"}};
struct ReportedOptions {
  /// Names of resources whose pods use the driver, as in SnapshotOptions::uses_driver.
  std::vector<std::string> resources = {};
  /// True if pods that use an NVIDIA GPU, through a resource or a claim, use the driver.
  bool gpu_pods = false;
  /// Default values of policy fields: `plain`, `gpu-operator` or `network-operator` (PolicyDefaults). Empty: not reported.
  std::string defaults = {};
};

/// Key of the annotation with the reported options: `<domain>/<driver>-driver-upgrade.options`.
inline std::string OptionsAnnotation(const DriverIdentity& identity) { return identity.KeyPrefix() + ".options"; }

/// Returns OK if the owner of the bearer token, which is empty if the reader sent none, may read the page of the rollout. Called by several
/// threads at once, for each request. Errors: Unauthenticated (the reader gets 401), PermissionDenied (403), ResourceExhausted
/// (429), all others (503).
using ReaderCheck = std::function<absl::Status(const std::string& token)>;

struct ServiceOptions {
  DriverIdentity identity;
  /// What all engines have in common: the namespace of the driver's DaemonSets, who uses the driver, the operator's own
  /// pod, the ledger, the clock. Labels, node selector and policy are of the director's specs; the cache is the
  /// service's.
  EngineOptions engine = {};
  /// Passes are made only while this replica holds the Lease. Without a clock it gets that of `engine`. nullopt: there
  /// is only one replica.
  std::optional<LeaderElectionOptions> election = std::nullopt;
  /// Nodes in progress at once over all engines; nullopt: no limit beyond their own. An engine may hold what it has,
  /// and what the limit leaves; engines take in the order of the director's specs.
  std::optional<int> parallel_total = std::nullopt;
  /// More for the cache to follow, after the engines' own: for Director::Work.
  std::vector<DriverScope> more_scopes = {};
  /// Additions to the report for `upgradectl`, which needs `election`.
  ReportedOptions reported = {};
  /// `host:port` of /healthz and /readyz, and of /metrics: `:8081` for all interfaces, `[::1]:8081`; port 0 takes any
  /// that is free, and the log names it. Both may be the same. Empty: not served.
  std::string health_address = {};
  std::string metrics_address = {};
  /// `host:port` of the page of the rollout, `/`, and of its document, `/rollout` (docs/rollout-page.md): `127.0.0.1:8082`,
  /// which `kubectl port-forward` reaches. The host must be a loopback address, because readers are asked for no
  /// credentials. Empty: not served.
  std::string rollout_address = {};
  /// `host:port` of the same page for readers elsewhere: `:8443`. It is served with TLS, by a certificate that the service makes for
  /// itself, to readers that `rollout_readers` accepts. The leader reports the port in its Lease, where `upgradectl` finds it.
  /// Empty: not served.
  std::string rollout_secure_address = {};
  /// Needed with `rollout_secure_address`; usually AccessReview::Check for `/rollout`.
  ReaderCheck rollout_readers = nullptr;
  /// For /metrics: figures under names that somebody's dashboards know.
  std::vector<MetricAlias> aliases = {};
  /// For /metrics: the requests of the transport. Null: not shown.
  std::shared_ptr<const RequestMeter> requests = nullptr;
  /// Rung by a director that has news. Null: the director has none before the times that its Work returns.
  std::shared_ptr<Doorbell> bell = nullptr;
  /// Null: nobody.
  LogSink log = nullptr;
};

/// What a rollout has come to when nothing more happens in it unless a person does something.
struct RolloutEnd {
  /// Engines that run; 0: no policy applies.
  int engines = 0;
  /// Engines that are wanted and could not be made.
  int refused = 0;
  /// Of them, those whose autoUpgrade is on.
  int upgrading = 0;
  /// Nodes that somebody has left out: by the skip label, or by a cordon that the policy minds.
  int left_out = 0;
  /// Nodes of engines whose autoUpgrade is off. Nobody has looked whether their drivers are the newest.
  int frozen = 0;
  Tally totals = {};
  /// Every node has the newest driver, but for those that somebody has left out.
  bool IsGood() const { return engines > 0 && refused == 0 && frozen == 0 && totals.done + left_out == totals.total; }
  friend bool operator==(const RolloutEnd&, const RolloutEnd&) = default;
};

class UpgradeService {
 public:
  /// Makes no call; the pages are served from now on. `director` outlives the service. Errors: InvalidArgument for
  /// options that cannot work; Unimplemented, naming it, if `cluster` lacks an operation of the election; Unavailable
  /// if an address cannot be listened on.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<UpgradeService>> Create(std::shared_ptr<ClusterFacade> cluster,
                                                                              Director& director,
                                                                              ServiceOptions options);
  ~UpgradeService();

  /// Steps until a stop is requested, then stops. OK after a stop; errors: DeadlineExceeded after the context's
  /// deadline, and those of Step.
  [[nodiscard]] absl::Status Run(const CallContext& context);

  /// What is due: a try to lead, the director's work, passes of the engines. Returns when to call again, unless Wait
  /// returns earlier. Errors: of engines that cannot work at all, as Director::OnRefused returns them; the service is of
  /// no use then. What goes wrong in the cluster is no error: it is logged, counted, told by Ready, and tried again.
  [[nodiscard]] absl::StatusOr<absl::Time> Step(const CallContext& context);
  /// Waits until `until`, as Step returned it, until there is something to do earlier, or until a stop is requested; in
  /// real time.
  void Wait(absl::Time until, const std::stop_token& stop);
  /// Ends cleanly: waits for requests and Events under way, ends the cache, and gives the Lease back, so that the next
  /// leader need not wait. Step may not follow.
  void Stop();

  /// OK while the loop turns: for a liveness probe.
  absl::Status Healthy() const;
  /// OK once the policies and the cluster have been read, and a pass has succeeded since or another replica leads: for
  /// a readiness probe.
  absl::Status Ready() const;
  /// What /metrics serves, of type MetricsCollector::kContentType: for who has a web server already.
  std::string Metrics() const;
  /// Returns the JSON document of /rollout, for a web server of the embedding program, which must check who may read it. Empty
  /// without `rollout_address` and `rollout_secure_address`.
  std::string Rollout() const;
  /// Of all engines, as their last passes found them.
  Tally totals() const;
  /// nullopt: something is left to do, now or by waiting.
  std::optional<RolloutEnd> End() const;

 private:
  class Impl;
  explicit UpgradeService(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SERVICE_UPGRADE_SERVICE_H_
