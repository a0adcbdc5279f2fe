#include "ofed_operator/ofed_director.h"

#include <algorithm>
#include <utility>

#include "support/spare_skipped_pods.h"

namespace ofed_operator {
namespace {

using driverupgrade::CallContext;
using driverupgrade::Severity;
using driverupgrade::WatchCache;
using examples::EngineSpec;

OfedDirector::Options Completed(OfedDirector::Options options) {
  if (!options.clock) options.clock = driverupgrade::SystemClock();
  return options;
}

}  // namespace

OfedDirector::OfedDirector(const examples::Connection& connection, Options options)
    : options_(Completed(std::move(options))),
      migration_(connection.cluster, connection.objects, options_.ns, options_.identity, options_.log),
      wait_keeper_(connection.cluster, options_.clock),
      config_keeper_(connection.cluster, options_.ns, options_.identity, options_.clock),
      reporter_(connection.objects, kComponent, options_.clock, options_.log),
      watch_(connection.objects, kNicClusterPolicies,
             {.on_change = [bell = options_.bell] { bell->Ring(); }, .log = options_.log, .clock = options_.clock}) {
  if (options_.policy) Take({.has_driver = true, .upgrade = *options_.policy});
}

void OfedDirector::Start() {
  if (!options_.policy) watch_.Start();
}

void OfedDirector::Turn(const CallContext& context) { watch_.Turn(context); }

std::optional<std::vector<EngineSpec>> OfedDirector::Wanted() {
  if (!options_.policy) {
    auto objects = watch_.Latest();
    if (objects && objects != seen_) {
      seen_ = std::move(objects);
      Take(memory_.Read(*seen_));
    }
  }
  if (!policy_) return std::nullopt;
  return specs_;
}

void OfedDirector::Take(NicClusterPolicy policy) {
  // Without a policy an engine runs, frozen: nodes stay where they are, and the wait label true (dep-F9).
  EngineSpec spec{.driver_labels = options_.driver_labels, .policy = policy.upgrade};
  if (!examples::SpareSkippedPods(options_.identity, spec.policy).ok()) spec.policy.auto_upgrade = false;
  specs_ = {std::move(spec)};
  policy_ = std::move(policy);
}

absl::Status OfedDirector::Prepare(const CallContext& context) {
  if (!options_.migrate) return absl::OkStatus();
  if (!policy_) return absl::UnavailableError("the NicClusterPolicy has not been read yet");
  return migration_.Run(context, policy_->has_driver);
}

absl::Time OfedDirector::Work(const CallContext& context, WatchCache* cache, std::size_t scope) {
  absl::Time next = reporter_.Report(context, memory_.verdicts());
  if (policy_ && policy_->has_driver) {
    next = std::min(next, config_keeper_.Keep(context, policy_->upgrade));
    Tell("cannot write the init container's configuration", config_keeper_.status(), config_told_);
  }
  if (cache == nullptr) return next;
  if (std::exchange(cache_, cache) != cache) {
    cache->Subscribe(scope, [bell = options_.bell] { bell->Ring(); });
  }
  next = std::min(next, wait_keeper_.Keep(context, *cache, scope));
  Tell("cannot keep the wait label true", wait_keeper_.status(), wait_told_);
  return next;
}

absl::Status OfedDirector::Ready() const {
  if (options_.policy || watch_.Latest()) return absl::OkStatus();
  return watch_.status();
}

// Once for each reason; a conflict is nothing to tell.
void OfedDirector::Tell(const char* message, const absl::Status& status, absl::Status& told) const {
  if (status != std::exchange(told, status) && !status.ok() && !absl::IsAborted(status)) {
    options_.log(
        {.severity = Severity::kWarning, .message = message, .fields = {{"error", std::string(status.message())}}});
  }
}

}  // namespace ofed_operator
