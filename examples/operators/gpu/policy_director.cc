#include "gpu/policy_director.h"

#include <algorithm>
#include <utility>

#include "gpu/driver_sets.h"
#include "support/spare_skipped_pods.h"

namespace gpu_operator {
namespace {

using driverupgrade::CallContext;
using driverupgrade::EngineSpec;
using driverupgrade::ObjectClient;
using driverupgrade::Severity;
using examples::ResourceVerdict;
using examples::ResourceWatchOptions;
using examples::StandingOf;
using examples::StateOf;

// Value of `status.state` for a ClusterPolicy that is not active. NVIDIA's GPU Operator writes the same value.
constexpr char kIgnored[] = "ignored";

ClusterPolicyDirector::Options Completed(ClusterPolicyDirector::Options options) {
  if (!options.clock) options.clock = driverupgrade::SystemClock();
  return options;
}

ResourceWatchOptions WatchOptions(const ClusterPolicyDirector::Options& options) {
  return {.on_change = [bell = options.bell] { bell->Ring(); }, .log = options.log, .clock = options.clock};
}

}  // namespace

FileDirector::FileDirector(EngineSpec spec, NodeKeeper nodes, std::shared_ptr<driverupgrade::Doorbell> bell)
    : specs_({std::move(spec)}), nodes_(std::move(nodes)), bell_(std::move(bell)) {
  nodes_.Wish({.upgraded = specs_.front().policy.auto_upgrade});
}

absl::Time FileDirector::Work(const CallContext& context, driverupgrade::WatchCache* cache, std::size_t scope) {
  return nodes_.Keep(context, cache, scope, [bell = bell_] { bell->Ring(); });
}

ClusterPolicyDirector::ClusterPolicyDirector(std::shared_ptr<const ObjectClient> objects,
                                             std::shared_ptr<driverupgrade::ClusterFacade> cluster, Options options)
    : options_(Completed(std::move(options))),
      nodes_(std::move(cluster), options_.identity, options_.mark_nodes, options_.clock),
      maker_(objects, options_.clock, options_.log, options_.daemon_sets),
      reporter_(objects, kComponent, options_.clock, options_.log),
      policy_watch_(objects, kClusterPolicies, WatchOptions(options_)),
      driver_watch_(objects, kNvidiaDrivers, WatchOptions(options_)) {}

void ClusterPolicyDirector::Start() {
  policy_watch_.Start();
  driver_watch_.Start();
}

void ClusterPolicyDirector::Turn(const CallContext& context) {
  policy_watch_.Turn(context);
  driver_watch_.Turn(context);
}

std::optional<std::vector<EngineSpec>> ClusterPolicyDirector::Wanted() {
  auto policies = policy_watch_.Latest();
  auto drivers = driver_watch_.Latest();
  if (!policies || !drivers) return std::nullopt;
  if (!decision_ || *policies != policies_ || *drivers != drivers_) {
    policies_ = *std::move(policies);
    drivers_ = *std::move(drivers);
    Decide();
  }
  return decision_->engines;
}

void ClusterPolicyDirector::Decide() {
  Decision decision =
      gpu_operator::Decide(policy_memory_.Read(policies_, kClusterPolicies, ReadClusterPolicy),
                           driver_memory_.Read(drivers_, kNvidiaDrivers, ReadNvidiaDriver), options_.labels);
  for (EngineSpec& engine : decision.engines) {
    if (const absl::Status spared = examples::SpareSkippedPods(options_.identity, engine.policy); spared.ok()) continue;
    // If the drain cannot exclude pods with the skip-drain label, upgrades are switched off, because the engine would
    // evict these pods.
    engine.policy.auto_upgrade = false;
  }
  if (!decision_ || decision_->reason != decision.reason) {
    options_.log({.severity = Severity::kInfo, .message = "policy", .fields = {{"by", decision.reason}}});
  }
  decision_ = std::move(decision);
  nodes_.Wish(decision_->nodes);
  for (examples::DriverDaemonSet& set : decision_->daemon_sets) set.ns = options_.ns;
  maker_.Wish(decision_->daemon_sets);
}

std::vector<driverupgrade::Finding> ClusterPolicyDirector::Findings() { return nodes_.Findings(); }

// Releases no node before each node has its owner label, because an owner finishes upgrades that another policy started
// on its nodes.
std::vector<EngineSpec> ClusterPolicyDirector::Gone() {
  if (!decision_ || !options_.release_deleted) return {};
  const bool all_known = decision_->nodes.owners.empty() || nodes_.Settled();
  return all_known ? decision_->gone : std::vector<EngineSpec>();
}

absl::Status ClusterPolicyDirector::OnRefused(const std::map<std::string, absl::Status>& refused) {
  refused_ = refused;
  return absl::OkStatus();
}

void ClusterPolicyDirector::OnProgress(const std::map<std::string, driverupgrade::EngineProgress>& engines) {
  progress_ = engines;
}

std::vector<ResourceVerdict> ClusterPolicyDirector::Verdicts() const {
  std::vector<ResourceVerdict> verdicts;
  if (!decision_) return verdicts;
  for (ResourceVerdict verdict : policy_memory_.verdicts()) {
    const bool active = verdict.object.name == decision_->active;
    if (!active) verdict.state = kIgnored;
    if (active) verdict.standing = StandingOf(progress_, decision_->engines, "");
    if (active && options_.write_state) verdict.state = StateOfActive();
    if (active && decision_->engines.empty() && !decision_->gone.empty() && !decision_->nodes.by_owners) {
      verdict.standing = {
          .done = true, .reason = "Done", .message = "spec.driver.enabled is false: nothing to upgrade"};
      if (options_.write_state) verdict.state = examples::kReady;
    }
    Amend(decision_->idle_policies, active ? "" : verdict.object.name, verdict);
    if (active && !decision_->nodes.by_owners) AmendByMaker(verdict);
    verdicts.push_back(std::move(verdict));
  }
  const auto conflicts = nodes_.Conflicts();
  for (ResourceVerdict verdict : driver_memory_.verdicts()) {
    verdict.standing = StandingOf(progress_, decision_->engines, verdict.object.name);
    if (options_.write_state) verdict.state = StateOf({verdict.standing});
    if (const auto conflict = conflicts.find(verdict.object.name); conflict != conflicts.end()) {
      if (verdict.error.ok()) verdict.error = absl::InvalidArgumentError("spec.nodeSelector: " + conflict->second);
      if (options_.write_state) verdict.state = examples::kNotReady;
    }
    Amend(decision_->idle_drivers, verdict.object.name, verdict);
    if (decision_->nodes.by_owners) AmendByMaker(verdict);
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

// Returns the overall state of all engines, including the engines of NVIDIADrivers.
std::string ClusterPolicyDirector::StateOfActive() const {
  if (!nodes_.Conflicts().empty()) return examples::kNotReady;
  std::vector<std::optional<examples::UpgradeStanding>> standings;
  for (const EngineSpec& engine : decision_->engines) {
    standings.push_back(StandingOf(progress_, decision_->engines, engine.name));
  }
  return StateOf(standings);
}

// Amends the verdict on a valid policy if the policy is not in effect, or if its engine `engine` cannot be created.
void ClusterPolicyDirector::Amend(const std::map<std::string, std::string>& idle, const std::string& engine,
                                  ResourceVerdict& verdict) const {
  if (!verdict.error.ok()) return;
  const auto why = idle.find(verdict.object.name);
  const auto refused = refused_.find(engine);
  if (why != idle.end()) {
    verdict.error = absl::FailedPreconditionError(why->second);
  } else if (refused != refused_.end()) {
    verdict.error = refused->second;
  }
}

// If a DaemonSet of the driver does not match the policy, the policy is not ready, even if all nodes are upgraded.
void ClusterPolicyDirector::AmendByMaker(ResourceVerdict& verdict) const {
  const absl::Status failure = maker_.Failure(verdict.object.name);
  if (failure.ok() || !verdict.error.ok()) return;
  verdict.error = failure;
  if (options_.write_state) verdict.state = examples::kNotReady;
}

absl::Time ClusterPolicyDirector::Work(const CallContext& context, driverupgrade::WatchCache* cache,
                                       std::size_t scope) {
  if (!decision_) return absl::InfiniteFuture();
  const bool was_settled = nodes_.Settled();
  absl::Time next = nodes_.Keep(context, cache, scope, [bell = options_.bell] { bell->Ring(); });
  if (!was_settled && nodes_.Settled()) next = options_.clock->Now();  // Gone may now return engines
  // Logs an error only when it differs from the previous one. Conflicts are not logged.
  if (nodes_.status() != std::exchange(nodes_told_, nodes_.status()) && !nodes_told_.ok() &&
      !absl::IsAborted(nodes_told_)) {
    options_.log({.severity = Severity::kWarning,
                  .message = "cannot mark a node",
                  .fields = {{"error", std::string(nodes_told_.message())}}});
  }
  // Must come before the report, because the report contains the result.
  const absl::Time made = maker_.Keep(context, [&](const examples::DriverDaemonSet& set) {
    return OnSystems(set, examples::SystemsOf(cache, nodes_.names(), set.node_selector));
  });
  return std::min({next, made, reporter_.Report(context, Verdicts())});
}

absl::Status ClusterPolicyDirector::Ready() const {
  for (const examples::ResourceWatch* watch : {&policy_watch_, &driver_watch_}) {
    if (!watch->Latest() && !watch->status().ok()) return watch->status();
  }
  return absl::OkStatus();
}

}  // namespace gpu_operator
