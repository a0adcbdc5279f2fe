#include "service/giving_back.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

// Pause after a pass without failures. The next pass checks whether any node is left, because another client may have
// changed the nodes in the meantime.
constexpr absl::Duration kLookAgain = absl::Seconds(1);
constexpr absl::Duration kTryAgain = absl::Seconds(10);

// Returns the error of the first failed request.
absl::Status FailureOf(const std::vector<NodeOutcome>& outcomes) {
  for (const NodeOutcome& outcome : outcomes) {
    if (!outcome.status.ok()) return outcome.status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Time GivingBack::Step(const CallContext& context, const std::vector<EngineSpec>& gone) {
  std::erase_if(owners_, [&](const Owner& owner) {
    return std::none_of(gone.begin(), gone.end(), [&](const auto& spec) { return SameEngines({spec}, {owner.spec}); });
  });
  for (const EngineSpec& spec : gone) {
    const bool known = std::any_of(owners_.begin(), owners_.end(),
                                   [&](const Owner& owner) { return SameEngines({spec}, {owner.spec}); });
    if (!known) owners_.push_back({.spec = spec});
  }
  absl::Time next = absl::InfiniteFuture();
  int left = 0;
  for (Owner& owner : owners_) {
    next = std::min(next, StepOne(context, owner));
    left += owner.left;
  }
  left_ = left;
  return next;
}

absl::Time GivingBack::StepOne(const CallContext& context, Owner& owner) {
  if (owner.done) return absl::InfiniteFuture();
  const absl::Time now = options_.clock->Now();
  if (now < owner.again) return owner.again;
  const absl::StatusOr<ReconcileResult> pass = Pass(context, owner);
  if (pass.ok() && pass->plan.nodes.empty()) {
    if (!owner.nodes.empty()) {
      Tell(Severity::kInfo, owner, "nodes released", {{"nodes", fmt::format("{}", owner.nodes.size())}});
    }
    owner.left = 0;
    owner.engine.reset();
    owner.done = true;
    return absl::InfiniteFuture();
  }
  if (pass.ok()) {
    owner.left = static_cast<int>(pass->plan.nodes.size());
    for (const NodePlan& node : pass->plan.nodes) owner.nodes.insert(node.node);
  }
  const absl::Status failure = pass.ok() ? FailureOf(pass->outcomes) : pass.status();
  if (!failure.ok() && failure != owner.told) {
    Tell(Severity::kWarning, owner, "nodes are not released yet",
         {{"left", fmt::format("{}", owner.left)}, {"error", std::string(failure.message())}});
  }
  owner.told = failure;
  return owner.again = now + (failure.ok() ? kLookAgain : kTryAgain);
}

absl::StatusOr<ReconcileResult> GivingBack::Pass(const CallContext& context, Owner& owner) const {
  if (!owner.engine) {
    EngineOptions options = EngineOptionsOf(options_.engine, owner.spec);
    options.clock = options_.clock;
    options.ledger.reset();
    options.observer = MakeLoggingObserver(options_.identity, options_.log);
    auto made = UpgradeEngine::Create(options_.identity, options_.cluster, std::move(options));
    if (!made.ok()) return made.status();
    owner.engine = *std::move(made);
  }
  return owner.engine->Release(context);
}

void GivingBack::Tell(Severity severity, const Owner& owner, std::string message,
                      std::vector<std::pair<std::string, std::string>> fields) const {
  fields.insert(fields.begin(), {"selector", owner.spec.node_selector.ToString()});
  if (!owner.spec.name.empty()) fields.insert(fields.begin(), {"owner", owner.spec.name});
  options_.log({.severity = severity, .message = std::move(message), .fields = std::move(fields)});
}

}  // namespace driverupgrade::internal
