#include "gpu/policy_director.h"

#include "support/spare_skipped_pods.h"

namespace gpu_operator {
namespace {

using driverupgrade::CallContext;
using driverupgrade::EngineSpec;
using driverupgrade::ObjectClient;
using driverupgrade::Severity;
using examples::ResourceWatchOptions;

ClusterPolicyDirector::Options Completed(ClusterPolicyDirector::Options options) {
  if (!options.clock) options.clock = driverupgrade::SystemClock();
  return options;
}

ResourceWatchOptions WatchOptions(const ClusterPolicyDirector::Options& options) {
  return {.on_change = [bell = options.bell] { bell->Ring(); }, .log = options.log, .clock = options.clock};
}

}  // namespace

ClusterPolicyDirector::ClusterPolicyDirector(std::shared_ptr<const ObjectClient> objects, Options options)
    : options_(Completed(std::move(options))),
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
    // It would drain pods that are not to be drained.
    engine.policy.auto_upgrade = false;
  }
  if (!decision_ || decision_->reason != decision.reason) {
    options_.log({.severity = Severity::kInfo, .message = "policy", .fields = {{"by", decision.reason}}});
  }
  decision_ = std::move(decision);
}

absl::Time ClusterPolicyDirector::Work(const CallContext& context, driverupgrade::WatchCache* /*cache*/,
                                       std::size_t /*scope*/) {
  std::vector<examples::ResourceVerdict> verdicts = policy_memory_.verdicts();
  verdicts.insert(verdicts.end(), driver_memory_.verdicts().begin(), driver_memory_.verdicts().end());
  return reporter_.Report(context, verdicts);
}

absl::Status ClusterPolicyDirector::Ready() const {
  for (const examples::ResourceWatch* watch : {&policy_watch_, &driver_watch_}) {
    if (!watch->Latest() && !watch->status().ok()) return watch->status();
  }
  return absl::OkStatus();
}

}  // namespace gpu_operator
