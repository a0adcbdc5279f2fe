// Whether what a replica plans, and says, is so.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "decide/rollout/record.h"
#include "decide/rollout/stages.h"
#include "driverupgrade/attempt_log.h"
#include "fmt/format.h"
#include "simulation/opinion/pass_opinion.h"
#include "simulation/opinion/rollout_opinion.h"
#include "simulation/world/replica.h"

namespace driverupgrade::testing::internal {
namespace {

using driverupgrade::internal::ParsedRecord;
using driverupgrade::internal::ParseRecord;
using driverupgrade::internal::RolloutRecord;

constexpr absl::Duration kSayingsApart = absl::Seconds(20);
constexpr absl::Duration kWatchesBeginAgain = absl::Minutes(1);
// Pods that could not be listed are asked for in the next pass.
constexpr absl::Duration kPodsReadAgain = absl::Seconds(30);
// A patch that has to be repeated, and pods that have to be read.
constexpr absl::Duration kRepeatedWithin = absl::Minutes(5);

// Whether the plan takes the node out of upgrade-required.
bool Starts(const NodePlan& plan) {
  const auto required = std::find(plan.path.begin(), plan.path.end(), UpgradeState::kUpgradeRequired);
  if (required != plan.path.end()) return required + 1 != plan.path.end();
  return plan.from == UpgradeState::kUpgradeRequired && !plan.path.empty();
}

std::string GrantsKey(const DriverIdentity& identity) {
  std::string key = identity.Name();
  std::replace(key.begin(), key.end(), '/', '_');
  return key;
}

std::string RecordKey(const DriverIdentity& identity) { return "_rollout_" + GrantsKey(identity); }

std::set<std::string> ApprovalsIn(const FakeCluster& cluster, const OperatorFacts& facts,
                                  const DriverIdentity& identity) {
  std::set<std::string> approvals;
  for (const DaemonSet& daemon_set : cluster.daemon_sets()) {
    if (daemon_set.ns != facts.ns || !Selects(facts.driver_labels, daemon_set.labels)) continue;
    const auto text = daemon_set.annotations.find(identity.ApprovedAnnotation());
    if (text == daemon_set.annotations.end()) continue;
    const std::vector<std::string> found = absl::StrSplit(text->second, ',', absl::SkipEmpty());
    approvals.insert(found.begin(), found.end());
  }
  return approvals;
}

std::string FingerprintOf(const UpgradePolicy& policy) {
  const FailureBudgets budgets = policy.failure_policy ? policy.failure_policy->by_class : FailureBudgets();
  return driverupgrade::internal::RulesOf(*policy.rollout, budgets).fingerprint;
}

}  // namespace

void Replica::CheckWhatItSays() {
  if (process_->controller->status().leading && plan_finished_) CheckRest();
  if (world_.chaos && driver_.setup.AnyFault()) return;
  if (world_.Now() < next_check_ || process_->cluster->crashed() || driver_.setup.SeveralLeaders()) return;
  // A watch that has failed is not begun again at once.
  if (process_->cache && world_.Now() < trouble_until_) return;
  const ControllerStatus status = process_->controller->status();
  if (!status.leading || !status.last_error.ok() || !plan_finished_) return;
  if (!driver_.checker.KnowsAll(*process_->guarded)) return;
  // What is told of all nodes costs as much as there are nodes.
  next_check_ = world_.Now() + std::max(kSayingsApart, driver_.setup.nodes * absl::Milliseconds(20));
  const Plan everything = process_->engine->Everything();
  driver_.checker.CheckGates(*process_->guarded, everything);
  if (const std::string wrong = told_.WhyNot(everything); !wrong.empty()) driver_.checker.Fail("L5", wrong);
  // Whoever asks of one node hears what whoever asks of all does.
  for (const NodeGate& gate : everything.gates) {
    if (process_->engine->Explain(gate.node) == gate.gate) continue;
    driver_.checker.Fail("L5", fmt::format("node {}: {} is not what is said of it alone", gate.node, gate.gate.detail));
  }
  driver_.checker.CheckTotals(everything.totals);
  ++world_.result.checks_of_gates;
}

// Whether the engine knows all that is at the server, as far as anybody can tell.
bool Replica::SeesAll() const {
  if (of_operator_ && world_.releasing) return false;
  if (world_.Now() < settled_at_ || (process_->cache && world_.Now() < trouble_until_)) return false;
  // A call of this very pass may have failed.
  if (process_->cluster->troubles() != pass_troubles_) return false;
  if (driver_.checker.revision() != pass_revision_ || (process_->tasks && !process_->tasks->idle())) return false;
  return !process_->cluster->crashed() && driver_.checker.KnowsAll(*process_->guarded);
}

// Whether the engine knows the nodes and the driver as they are; what it has asked for lately, and workloads, may be
// unknown to it.
bool Replica::SeesNodes() const {
  if (of_operator_ && world_.releasing) return false;
  if (process_->cluster->troubles() != pass_troubles_ || driver_.checker.revision() != pass_revision_) return false;
  // Whoever lists has read all of it in this pass. A watch that has failed is begun again within half a minute.
  const absl::Duration felt = driver_.setup.ByClocks(process_->cache ? kWatchesBeginAgain : absl::ZeroDuration());
  if (world_.Now() < troubled_at_ + felt || (driver_.setup.ClocksJump() && world_.Now() < settled_at_)) return false;
  // One that ends without a word, bookmarks among them, counts as failed and is no trouble: nobody knows when it did.
  const bool may_be_silent =
      process_->cache && driver_.setup.Has(Fault::kNoBookmarks) && world_.Now() < world_.calm_since + felt;
  if (may_be_silent && world_.Now() < world_.driver_changed_at + felt) return false;
  const bool at_rest = !process_->tasks || process_->tasks->idle();
  return at_rest && !process_->cluster->crashed() && driver_.checker.KnowsAll(*process_->guarded);
}

EngineTime Replica::TimeOfEngine() const {
  return {.active = active_since_ ? clock_->Now() - *active_since_ : absl::ZeroDuration(),
          .skew = driver_.setup.ClockSkewMax()};
}

void Replica::NotePass() {
  if (!active_since_ || Term() != term_) active_since_ = pass_began_;
  term_ = Term();
}

// I15.
void Replica::Judge(const Plan& plan) {
  // What a host of the C interface tells of a plan is not all of it.
  if (process_->host) return;
  if (IsInvalid(pass_policy_) && !IsRemoved())
    driver_.checker.Fail("I8", "a plan was made by a policy that is to be refused");
  NotePass();
  JudgeRollout(plan);
  if (plan.nodes.empty()) return;
  if (process_->cache && !process_->cluster->HasListedAll(driver_.setup.requestor)) {
    driver_.checker.Fail("I15", "a plan was made before all had been read once");
  }
  JudgeAge(plan);
  JudgePodsRead(plan);
  if (!SeesAll()) return;
  const WantedRevisions wanted = WantedIn(*world_.cluster, facts_);
  for (const NodePlan& planned : plan.nodes) {
    const std::optional<Node> node = world_.cluster->node(planned.node);
    if (!node || node->resource_version != planned.resource_version) continue;
    const Scene scene(facts_, *world_.cluster, *node, wanted, pass_policy_, clock_->Now());
    const std::string wrong = SecondOpinion(scene, TimeOfEngine()).WhyWrong(planned);
    ++world_.result.plans_judged;
    if (!wrong.empty()) driver_.checker.Fail("I15", fmt::format("{}: {}", driverupgrade::Describe(planned), wrong));
  }
}

void Replica::JudgeAge(const Plan& plan) {
  for (const NodePlan& planned : plan.nodes) {
    const std::string wrong = WhyTooEarly(planned, TimeOfEngine());
    if (!wrong.empty()) driver_.checker.Fail("I15", fmt::format("{}: {}", driverupgrade::Describe(planned), wrong));
  }
}

// Whatever the engine knows: no node leaves drain-required as drained before its pods were read under its cordon.
void Replica::JudgePodsRead(const Plan& plan) {
  if (!pass_policy_.drain) return;
  for (const NodePlan& planned : plan.nodes) {
    const bool drained = planned.from == UpgradeState::kDrainRequired && !planned.path.empty() &&
                         planned.path.front() == UpgradeState::kPodRestartRequired;
    const auto cordoned = world_.cordoned.find(planned.node);
    if (!drained || cordoned == world_.cordoned.end()) continue;
    // It was judged as it was before.
    if (IsOlderVersion(planned.resource_version, cordoned->second.version)) continue;
    const std::int64_t read = std::max(process_->cluster->PodsRead(planned.node), process_->cluster->PodsRead(""));
    if (read >= cordoned->second.revision) continue;
    driver_.checker.Fail("I15", fmt::format("{}: its pods were read at {}, and it was cordoned at {}",
                                            driverupgrade::Describe(planned), read, cordoned->second.revision));
  }
}

// Whether the plan was made by the record that the replica had when the pass began.
bool Replica::KnowsRecord(const Plan& plan) const {
  const FaultyCluster& cluster = *process_->cluster;
  if (!pass_ledger_ || cluster.ledger_news() != pass_ledger_news_) return false;
  // What it has stored since is what it has planned.
  return plan.rollout->record || cluster.ledger() == pass_ledger_;
}

// When the record changes or somebody starts, and else now and then, as it costs as much as there are nodes.
void Replica::JudgeRollout(const Plan& plan) {
  if (!plan.finished || !plan.rollout || !pass_policy_.rollout || !KnowsRecord(plan)) return;
  const bool any_starts = std::any_of(plan.nodes.begin(), plan.nodes.end(), Starts);
  if (!plan.rollout->record && !any_starts && world_.Now() < next_rollout_check_) return;
  const WantedRevisions wanted = WantedIn(*world_.cluster, facts_);
  const bool all_known = std::none_of(wanted.begin(), wanted.end(), [](const auto& one) { return one.second.empty(); });
  if (!SeesNodes() || wanted.empty() || !all_known) return;
  next_rollout_check_ = world_.Now() + kSayingsApart;

  const std::vector<RolloutNodeSeen> nodes = SeeNodes(plan, wanted);
  const RolloutOpinion opinion(*pass_policy_.rollout, nodes);
  const auto text = pass_ledger_->data.find(RecordKey(driver_.identity));
  const ParsedRecord before =
      ParseRecord(text == pass_ledger_->data.end() ? std::nullopt : std::optional<std::string_view>(text->second));
  const RolloutRecord after = plan.rollout->record ? ParseRecord(*plan.rollout->record).record : before.record;
  std::string wrong = opinion.WhyWrongCounts(*plan.rollout);
  if (wrong.empty()) wrong = opinion.WhyInPart();
  if (wrong.empty()) wrong = opinion.WhyWrongTime(*plan.rollout, after, pass_began_, clock_->Now());
  if (wrong.empty()) wrong = opinion.WhyWrongRecord(after);
  if (wrong.empty() && before.error.empty()) {
    wrong = opinion.WhyWrongHalt({.before = before.record,
                                  .after = after,
                                  .approvals = ApprovalsIn(*world_.cluster, facts_, driver_.identity),
                                  .policy = FingerprintOf(pass_policy_)});
  }
  ++world_.result.rollouts_judged;
  if (wrong.empty()) return;
  for (const RolloutNodeSeen& node : nodes) {
    wrong += "; " + driverupgrade::testing::internal::Describe(node);
    if (const auto gate = process_->engine->Explain(node.name)) {
      wrong += fmt::format(", and is told to wait for {} ({})", ToString(gate->reason), gate->detail);
    }
  }
  driver_.checker.Fail("I15", "rollout: " + wrong);
}

// As they are at the server, of those that the driver is on.
std::vector<RolloutNodeSeen> Replica::SeeNodes(const Plan& plan, const WantedRevisions& wanted) const {
  std::set<std::string> starting;
  for (const NodePlan& planned : plan.nodes) {
    if (Starts(planned)) starting.insert(planned.node);
  }
  std::set<std::string> awaited;  // nodes for which Kubernetes cannot schedule a driver pod
  for (const Pod& pod : world_.cluster->pods()) {
    const bool is_driver = pod.ref.ns == facts_.ns && facts_.driver_labels.Matches(pod.labels);
    if (is_driver && pod.node_name.empty()) awaited.insert(pod.affinity_node_name);
  }
  const auto grants = pass_ledger_->data.find(GrantsKey(driver_.identity));
  std::vector<RolloutNodeSeen> nodes;
  for (Node& node : world_.cluster->nodes()) {
    const Scene scene(facts_, *world_.cluster, std::move(node), wanted, pass_policy_, clock_->Now());
    const bool any_label = scene.node.labels.contains(facts_.keys.state);
    // Another client removed its label while the upgrade was in progress.
    const bool is_marked =
        IsMarked(scene.node, facts_.keys) || (scene.node.unschedulable && IsBusy(StateOf(scene.node, facts_.keys)));
    const bool has_driver = !scene.driver_pods.empty() || awaited.contains(scene.node.name);
    if (!has_driver && !any_label && !is_marked && !scene.AnyClaim()) continue;
    const bool has_grant =
        grants != pass_ledger_->data.end() && grants->second.find(scene.node.uid) != std::string::npos;
    const std::optional<Gate> gate = process_->engine->Explain(scene.node.name);
    nodes.push_back(SeeForRollout(scene, TimeOfEngine(), gate, has_grant));
    nodes.back().starts = starting.contains(scene.node.name);
  }
  return nodes;
}

void Replica::JudgeOutcome(const NodePlan& plan, const NodeOutcome& outcome) {
  ++outcomes_;
  const std::string wrong = WhyOtherOutcome(plan, outcome, process_->cluster->evictions());
  if (!wrong.empty()) driver_.checker.Fail("I18", fmt::format("{}: {}", driverupgrade::Describe(plan), wrong));
}

// A cache wakes when there is something to do; and a clock may be set right meanwhile.
void Replica::JudgeHaste(const ControllerStatus& before, bool term_begins, absl::Time next) {
  if (process_->cache || process_->tasks || process_->cluster->crashed() || driver_.setup.ClocksJump()) return;
  const std::string wrong = WhyNotSooner({.before = before,
                                          .after = process_->controller->status(),
                                          .term_begins = term_begins,
                                          .outcomes = outcomes_,
                                          .until_next = next - world_.Now()});
  if (!wrong.empty()) driver_.checker.Fail("I18", wrong);
}

// L7, now and then, as it costs as much as there are nodes.
void Replica::CheckRest() {
  if (world_.Now() < next_rest_check_ || !SeesAll() || !process_->controller->status().last_error.ok()) return;
  if (world_.Now() < process_->cluster->pods_failed() + driver_.setup.ByClocks(kPodsReadAgain)) return;
  next_rest_check_ = world_.Now() + std::max(kSayingsApart, driver_.setup.nodes * absl::Milliseconds(20));
  const Plan everything = process_->engine->Everything();
  const WantedRevisions wanted = WantedIn(*world_.cluster, facts_);
  std::map<std::string, std::optional<Gate>> gates;
  for (const Node& node : world_.cluster->nodes()) gates[node.name] = std::nullopt;
  for (const NodeGate& gate : everything.gates) gates[gate.node] = gate.gate;
  for (const NodePlan& planned : everything.nodes) gates.erase(planned.node);
  std::map<std::string, absl::Time> unread;
  for (const auto& [name, gate] : gates) {
    const std::optional<Node> node = world_.cluster->node(name);
    if (!node || (driver_.setup.selects_nodes && node->labels.contains("pool"))) continue;
    const Scene scene(facts_, *world_.cluster, *node, wanted, pass_policy_, clock_->Now());
    if (scene.driver_pods.empty() && !node->labels.contains(facts_.keys.state)) continue;
    if (gate && gate->reason == GateReason::kPodsUnknown) {
      const auto before = unread_.find(name);
      unread[name] = before == unread_.end() ? world_.Now() : before->second;
    }
    std::string wrong = SecondOpinion(scene, TimeOfEngine()).WhyNotStay(gate);
    // What is repeated waits for minutes at most, whatever becomes of the clock.
    if (gate && gate->reason == GateReason::kUnsettled && gate->not_before > clock_->Now() + kRepeatedWithin) {
      wrong = "the patch is not repeated";
    }
    if (unread.contains(name) && unread[name] + kRepeatedWithin < world_.Now()) wrong = "nobody reads its pods";
    if (wrong.empty()) continue;
    driver_.checker.Fail(
        "L7", fmt::format("node {}, which waits for {}: {}", name,
                          gate ? fmt::format("{} ({})", ToString(gate->reason), gate->detail) : "nothing", wrong));
  }
  unread_ = std::move(unread);
}

}  // namespace driverupgrade::testing::internal
