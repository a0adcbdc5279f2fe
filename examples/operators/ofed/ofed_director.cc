#include "ofed/ofed_director.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "ofed/driver_sets.h"
#include "ofed/stray_claims.h"
#include "support/spare_skipped_pods.h"

namespace ofed_operator {
namespace {

using driverupgrade::ApiObject;
using driverupgrade::CallContext;
using driverupgrade::EngineSpec;
using driverupgrade::Severity;
using driverupgrade::WatchCache;
using examples::ResourceVerdict;

// Value of `status.state` for a NicClusterPolicy that has no effect. NVIDIA's Network Operator writes the same value.
constexpr char kIgnored[] = "ignore";

OfedDirector::Options Completed(OfedDirector::Options options) {
  if (!options.clock) options.clock = driverupgrade::SystemClock();
  return options;
}

examples::ResourceWatchOptions WatchOptions(const OfedDirector::Options& options) {
  return {.on_change = [bell = options.bell] { bell->Ring(); }, .log = options.log, .clock = options.clock};
}

}  // namespace

OfedDirector::OfedDirector(const examples::Connection& connection, Options options)
    : options_(Completed(std::move(options))),
      cluster_(connection.cluster),
      migration_(connection.cluster, connection.objects, options_.ns, options_.identity, options_.log),
      node_keeper_(connection.cluster, options_.identity, options_.clock),
      config_keeper_(connection.cluster, options_.ns, options_.identity, options_.clock),
      maker_(connection.objects, options_.clock, options_.log, options_.daemon_sets),
      reporter_(connection.objects, kComponent, options_.clock, options_.log),
      policy_watch_(connection.objects, kNicClusterPolicies, WatchOptions(options_)),
      node_watch_(connection.objects, kNicNodePolicies, WatchOptions(options_)) {
  if (options_.policy) Take({.has_driver = true, .upgrade = *options_.policy}, {});
}

void OfedDirector::Start() {
  if (options_.policy) return;
  policy_watch_.Start();
  node_watch_.Start();
}

void OfedDirector::Turn(const CallContext& context) {
  policy_watch_.Turn(context);
  node_watch_.Turn(context);
}

std::optional<std::vector<EngineSpec>> OfedDirector::Wanted() {
  if (!options_.policy && !Read()) return std::nullopt;
  return decision_.engines;
}

bool OfedDirector::Read() {
  auto policies = policy_watch_.Latest();
  auto nodes = node_watch_.Latest();
  if (!policies || !nodes) return false;
  const auto others = std::stable_partition(policies->begin(), policies->end(),
                                            [](const ApiObject& object) { return object.name == kPolicyName; });
  ignored_.assign(others, policies->end());
  policies->erase(others, policies->end());
  if (policy_ && *policies == policies_ && *nodes == nodes_) return true;
  policies_ = *std::move(policies);
  nodes_ = *std::move(nodes);
  const auto read = policy_memory_.Read(policies_, kNicClusterPolicies, ReadNicClusterPolicy);
  Take(read.empty() ? NicClusterPolicy{} : read.front(),
       node_memory_.Read(nodes_, kNicNodePolicies, ReadNicNodePolicy));
  return true;
}

void OfedDirector::Take(NicClusterPolicy policy, std::vector<NicNodePolicy> nodes) {
  decision_ = Decide(policy, nodes, options_.driver_labels);
  claimants_.clear();
  for (const NicNodePolicy& node : nodes) {
    if (node.has_driver || !node.understood) claimants_.insert(node.name);
  }
  if (options_.release_deleted) {
    AddDeparted(policy, nodes, options_.driver_labels, seen_, decision_);
  } else {
    decision_.gone.clear();
  }
  for (EngineSpec& spec : decision_.engines) {
    // If the drain cannot exclude pods with the skip-drain label, upgrades are switched off, because the engine would
    // evict these pods.
    if (!examples::SpareSkippedPods(options_.identity, spec.policy).ok()) spec.policy.auto_upgrade = false;
  }
  maker_.Wish(DriverSets(policy, MadeOf(nodes), options_.ns, options_.init_image));
  policy_ = std::move(policy);
}

// Returns the policies in `nodes` that were not refused.
std::vector<NicNodePolicy> OfedDirector::MadeOf(std::vector<NicNodePolicy> nodes) const {
  std::erase_if(nodes, [this](const NicNodePolicy& node) { return decision_.refused.contains(node.name); });
  return nodes;
}

std::vector<ResourceVerdict> OfedDirector::Verdicts() const {
  std::vector<ResourceVerdict> verdicts;
  for (ResourceVerdict verdict : policy_memory_.verdicts()) {
    if (const auto refused = refused_.find(""); verdict.error.ok() && refused != refused_.end()) {
      verdict.error = refused->second;
    }
    // If the NicClusterPolicy has no driver, the progress belongs to the NicNodePolicies.
    if (policy_ && policy_->has_driver) verdict.standing = examples::StandingOf(progress_, decision_.engines, "");
    if (options_.write_state) verdict.state = examples::StateOf({verdict.standing});
    if (policy_ && policy_->has_driver) AmendByMaker(verdict);
    verdicts.push_back(std::move(verdict));
  }
  for (const ApiObject& object : ignored_) {
    verdicts.push_back({.kind = kNicClusterPolicies,
                        .object = object,
                        .error = absl::FailedPreconditionError(
                            fmt::format("only the NicClusterPolicy named {} takes effect", kPolicyName)),
                        .state = kIgnored});
  }
  for (ResourceVerdict verdict : node_memory_.verdicts()) {
    for (const auto* refusals : {&decision_.refused, &refused_}) {
      const auto refused = refusals->find(verdict.object.name);
      if (verdict.error.ok() && refused != refusals->end()) verdict.error = refused->second;
    }
    verdict.standing = examples::StandingOf(progress_, decision_.engines, verdict.object.name);
    if (options_.write_state) verdict.state = examples::StateOf({verdict.standing});
    if (!policy_ || !policy_->has_driver) AmendByMaker(verdict);
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

// If a DaemonSet of the driver does not match the policy, the policy is not ready, even if all nodes are upgraded.
void OfedDirector::AmendByMaker(ResourceVerdict& verdict) const {
  const absl::Status failure = maker_.Failure(verdict.object.name);
  if (failure.ok() || !verdict.error.ok()) return;
  verdict.error = failure;
  if (options_.write_state) verdict.state = examples::kNotReady;
}

std::vector<EngineSpec> OfedDirector::Gone() { return decision_.gone; }

std::vector<driverupgrade::Finding> OfedDirector::Findings() { return node_keeper_.Findings(); }

absl::Status OfedDirector::OnRefused(const std::map<std::string, absl::Status>& refused) {
  refused_ = refused;
  return absl::OkStatus();
}

void OfedDirector::OnProgress(const std::map<std::string, driverupgrade::EngineProgress>& engines) {
  progress_ = engines;
}

absl::Status OfedDirector::Prepare(const CallContext& context) {
  if (!policy_) return absl::UnavailableError("the policies have not been read yet");
  if (options_.migrate) {
    if (const absl::Status done = migration_.Run(context, policy_->has_driver); !done.ok()) return done;
  }
  return GiveBackStrays(context);
}

absl::Status OfedDirector::GiveBackStrays(const CallContext& context) {
  if (options_.policy || !options_.requestor || !options_.release_deleted) return absl::OkStatus();
  return GiveBackStrayClaims(context, *cluster_, *options_.requestor, claimants_, options_.clock->Now(), options_.log);
}

absl::Time OfedDirector::Work(const CallContext& context, WatchCache* cache, std::size_t scope) {
  absl::Time next = KeepNodes(context, cache, scope);
  // Must come before the report, because the report contains the result.
  next = std::min(next, maker_.Keep(context, [&](const examples::DriverDaemonSet& set) {
    return OnSystems(set, examples::SystemsOf(cache, node_keeper_.names(), set.node_selector));
  }));
  next = std::min(next, reporter_.Report(context, Verdicts()));
  if (!decision_.init_config) return next;
  next = std::min(next, config_keeper_.Keep(context, *decision_.init_config));
  Tell("cannot write the init container's configuration", config_keeper_.status(), config_told_);
  return next;
}

absl::Time OfedDirector::KeepNodes(const CallContext& context, WatchCache* cache, std::size_t scope) {
  if (cache == nullptr) return absl::InfiniteFuture();
  if (std::exchange(cache_, cache) != cache) {
    cache->Subscribe(scope, [bell = options_.bell] { bell->Ring(); });
  }
  const bool wanted = options_.policy || !policy_ || policy_->has_driver || !policy_->understood || !claimants_.empty();
  node_keeper_.Wish({.driver_wanted = wanted, .owners = decision_.owners});
  const absl::Time next = node_keeper_.Keep(context, *cache, scope);
  Tell("cannot update the wait label", node_keeper_.status(), nodes_told_);
  return next;
}

absl::Status OfedDirector::Ready() const {
  if (options_.policy) return absl::OkStatus();
  for (const examples::ResourceWatch* watch : {&policy_watch_, &node_watch_}) {
    if (!watch->Latest() && !watch->status().ok()) return watch->status();
  }
  return absl::OkStatus();
}

// Logs `status` only if it is an error that differs from the previous one, `told`. Conflicts are not logged.
void OfedDirector::Tell(const char* message, const absl::Status& status, absl::Status& told) const {
  if (status != std::exchange(told, status) && !status.ok() && !absl::IsAborted(status)) {
    options_.log(
        {.severity = Severity::kWarning, .message = message, .fields = {{"error", std::string(status.message())}}});
  }
}

}  // namespace ofed_operator
