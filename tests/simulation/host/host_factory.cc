#include "simulation/host/host_factory.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "c/engine_host.h"
#include "driverupgrade/policy_codec.h"
#include "fmt/format.h"
#include "simulation/wire/api_server.h"

namespace driverupgrade::tests {
namespace {

std::string OptionsOf(const testing::HostSeam& seam) {
  const EngineOptions& options = seam.options;
  std::string text = fmt::format(
      R"({{"identity":{{"domain":"{}","driver":"{}"}},"namespace":"{}","driverLabels":"{}","spareSkippedPods":false)",
      seam.identity.domain(), seam.identity.driver(), options.snapshot.ns, options.snapshot.driver_labels.ToString());
  if (options.snapshot.uses_driver) text += R"(,"podDeletion":true)";
  if (options.snapshot.restart_only) text += R"(,"restartOnly":true)";
  if (const auto& validation = options.state_machine.validation_selector) {
    text += fmt::format(R"(,"validationSelector":"{}","earlyValidation":"{}")", validation->ToString(),
                        ToString(options.state_machine.early_validation));
  }
  if (const auto& requestor = options.state_machine.requestor) {
    text += fmt::format(R"(,"requestor":{{"id":"{}","namespace":"{}"}})", requestor->id, requestor->ns);
  }
  if (const auto& ledger = options.ledger) {
    text += fmt::format(R"(,"ledger":{{"namespace":"{}","name":"{}","owner":"{}","grantsMax":{}}})", ledger->ns,
                        ledger->name, ledger->owner, ledger->grants_max);
  }
  if (!options.snapshot.devices.empty()) text += R"(,"devices":["gpu.nvidia.com"])";
  return text + "}";
}

HostedDriver DriverOf(const testing::HostSeam& seam) {
  HostedDriver driver{.options = OptionsOf(seam),
                      .ns = seam.options.snapshot.ns,
                      .driver_labels = seam.options.snapshot.driver_labels.ToString(),
                      .clock = seam.options.clock,
                      .attempts = 1};
  if (const auto& requestor = seam.options.state_machine.requestor) driver.maintenance_ns = requestor->ns;
  driver.has_devices = !seam.options.snapshot.devices.empty();
  if (const auto& uses_driver = seam.options.snapshot.uses_driver) {
    driver.uses_driver = [uses_driver](const Pod& pod) { return uses_driver({}, pod); };
  }
  return driver;
}

class Host final : public testing::HostedEngine {
 public:
  explicit Host(testing::HostSeam seam)
      : election_(seam.election),
        on_new_engine_(std::move(seam.on_new_engine)),
        clock_(seam.options.clock),
        poll_interval_(seam.poll_interval),
        host_(DriverOf(seam), std::make_shared<ApiServer>(std::move(seam.wire))),
        restart_only_(seam.options.snapshot.restart_only) {
    host_.SetObserver(seam.options.observer);
    if (election_) host_.SetLeadsUntil([this] { return LeadsUntil(); });
  }

  absl::Time Step(const UpgradePolicy& policy, absl::Time now) override {
    if (election_) renewal_ = election_->Step({});
    if (election_ && !Leads()) return renewal_;
    if (now < std::exchange(looked_at_, now)) due_ = now;  // the clock was set back
    if (due_ <= now) due_ = std::min(MakePass(policy, now), now + poll_interval_);
    return std::min(renewal_, due_);
  }

  absl::StatusOr<bool> Release(absl::Time now) override {
    host_.SetLeadsUntil(nullptr);  // all other replicas have stopped
    try {
      return host_.Release(now);
    } catch (const std::runtime_error& failure) {
      return absl::UnavailableError(failure.what());
    }
  }

  void Stop() override {
    if (election_) election_->Release({}).IgnoreError();
  }

 private:
  // Returns true if this replica is the leader. At the start of a term, replaces the engine, because the old engine's
  // data may not include the actions of other leaders in the meantime.
  bool Leads() {
    if (!election_->IsLeader()) return false;
    if (const std::int64_t term = election_->terms(); term != std::exchange(term_, term)) {
      host_.Restart();
      if (on_new_engine_) on_new_engine_();
      due_ = absl::InfinitePast();
    }
    return true;
  }

  // Returns the time until which the requests of this pass may be sent, or nullopt if its term has ended. Renews the lease
  // during the pass, as client-go does. Otherwise, the first requests of many nodes would use up the lease, and their
  // second requests would never be sent.
  std::optional<absl::Time> LeadsUntil() {
    if (renewal_ <= clock_->Now()) renewal_ = election_->Step({});
    return election_->terms() == term_ ? election_->LeadsUntil() : std::nullopt;
  }

  // Normalizes each policy only once, as a real host would, instead of in every pass.
  const std::string& Normalized(const std::string& policy) {
    if (policy != std::exchange(policy_, policy)) normalized_ = Call(du_policy_normalize, Str(policy)).text;
    return normalized_;
  }

  // Runs a pass. Returns the time at which the next pass is due if nothing changes.
  absl::Time MakePass(const UpgradePolicy& policy, absl::Time now) {
    try {
      if (restart_only_) {
        host_.AnswerQuestions(now,
                              [&](const Pod& pod, const ControllerRevision& running, const ControllerRevision& wanted) {
                                return restart_only_({}, pod, running, wanted);
                              });
      }
      host_.PutTimeZones(policy);
      host_.Pass(std::nullopt, Normalized(FormatUpgradePolicy(policy)), now);
      return host_.wake_at().value_or(absl::InfiniteFuture());
    } catch (const std::runtime_error&) {
      return absl::InfiniteFuture();  // the next poll of the cluster starts another pass
    }
  }

  const std::shared_ptr<LeaderElection> election_;
  const std::function<void()> on_new_engine_;
  const std::shared_ptr<Clock> clock_;
  const absl::Duration poll_interval_;
  std::int64_t term_ = 0;
  absl::Time renewal_ = absl::InfiniteFuture();
  absl::Time looked_at_ = absl::InfinitePast();
  absl::Time due_ = absl::InfinitePast();
  std::string policy_;
  std::string normalized_;
  EngineHost host_;
  const RestartOnlyPredicate restart_only_;
};

}  // namespace

testing::HostFactory MakeHostFactory() {
  return [](testing::HostSeam seam) { return std::make_unique<Host>(std::move(seam)); };
}

}  // namespace driverupgrade::tests
