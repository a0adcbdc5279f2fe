#include "scenarios/scenario_world.h"

#include <algorithm>
#include <utility>

#include "driverupgrade/snapshot_builder.h"
#include "fmt/format.h"
#include "scenarios/scenario_file.h"

namespace driverupgrade::tests {
namespace {

using testing::Actor;
using testing::Change;
using testing::FakeClock;
using testing::FakeCluster;

constexpr absl::Duration kLivenessLimit = absl::Hours(3);
constexpr absl::Duration kStuckFor = absl::Minutes(20);
constexpr int kPassesAtOnce = 20;

void ReplaceAll(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

ScenarioWorld::ScenarioWorld(const testing::FakeClusterOptions& options, const FacadeOver& over, BeforePass before_pass)
    : clock_(std::make_shared<FakeClock>(absl::FromUnixSeconds(1000))),
      cluster_(std::make_shared<FakeCluster>(clock_, options)),
      facade_(over ? over(cluster_) : cluster_),
      before_pass_(std::move(before_pass)) {
  cluster_->SetChangeObserver([this](const Change& change) { Watch(change); });
}

void ScenarioWorld::Watch(const Change& change) {
  const auto& [gone, revision] = change.controller_revision;
  if (gone != nullptr) revisions_.erase(gone->name);
  if (revision != nullptr) revisions_[revision->name] = *revision;
  if (change.actor == Actor::kClient && change.node.before != nullptr && change.node.after != nullptr) {
    commits_.push_back({.before = *change.node.before, .after = *change.node.after});
  }
  if (change.pod.after == nullptr) return;
  const Pod& pod = *change.pod.after;
  const OwnerReference* owner = ControllerOf(pod);
  const bool generated = owner != nullptr && (owner->kind == "ReplicaSet" || owner->kind == "DaemonSet") &&
                         pod.ref.name.size() == owner->name.size() + 6 && pod.ref.name.starts_with(owner->name + "-");
  const std::string alias = generated ? fmt::format("{}/{}-*", pod.ref.ns, owner->name) : pod.ref.ToString();
  if (generated) aliases_[pod.ref.ToString()] = alias;
  aliases_[pod.ref.uid] = fmt::format("<uid of {}>", alias);
}

ScenarioDriver& ScenarioWorld::driver(const std::string& name) {
  const auto found = drivers_.find(name);
  if (found != drivers_.end()) return found->second;
  const absl::StatusOr<DriverIdentity> identity = DriverIdentity::Create("nvidia.com", name);
  if (!identity.ok()) throw ScenarioError(identity.status().ToString());
  return drivers_.emplace(name, ScenarioDriver{.identity = *identity, .ns = name + "-operator"}).first->second;
}

SnapshotOptions ScenarioWorld::Snapshot(const ScenarioDriver& driver) const {
  SnapshotOptions options{.ns = driver.ns, .driver_labels = LabelSelector::FromMatchLabels({{"app", "driver"}})};
  if (driver.policy.isolation.scope != IsolationScope::kNode) options.devices = {kDeviceDriver};
  if (driver.pod_filter) {
    options.uses_driver = [&driver](const CallContext&, const Pod& pod) -> absl::StatusOr<bool> {
      if (driver.pod_filter_failures.contains(pod.ref.ToString())) return absl::UnavailableError("no resource claims");
      return driver.pod_filter->Matches(pod.labels);
    };
  }
  if (driver.restart_only) {
    options.restart_only = [&driver](const CallContext&, const Pod&, const ControllerRevision& running,
                                     const ControllerRevision& wanted) -> absl::StatusOr<bool> {
      if (driver.restart_only_fails) return absl::UnavailableError("no registry");
      return SameTemplate(running, wanted);
    };
  }
  return options;
}

void ScenarioWorld::StartEngine(ScenarioDriver& driver) {
  EngineOptions options{.snapshot = Snapshot(driver), .state_machine = driver.options, .clock = clock_};
  options.executor.calls_in_flight = 1;
  if (driver.has_ledger) options.ledger = AdmissionLedgerOptions{.ns = driver.ns, .name = "ledger"};
  auto engine = UpgradeEngine::Create(driver.identity, facade_, options);
  if (!engine.ok()) throw ScenarioError(engine.status().ToString());
  driver.engine = *std::move(engine);
}

void ScenarioWorld::CheckPurity(const ScenarioDriver& driver) {
  if (faults_used_) return;
  const StateMachine machine(driver.identity, driver.options, driver.pod_filter.has_value());
  SnapshotBuilder builder(driver.identity, cluster_, Snapshot(driver), driver.options.requestor);
  absl::StatusOr<ClusterSnapshot> snapshot = builder.Build({});
  if (!snapshot.ok()) throw ScenarioError(snapshot.status().ToString());
  const absl::Time now = clock_->Now();
  const Plan first = machine.Step(*snapshot, driver.policy, now);
  builder.ReadPods({}, first.pod_interest, *snapshot);
  const Plan second = machine.Step(*snapshot, driver.policy, now);
  if (second != machine.Step(*snapshot, driver.policy, now))
    throw ScenarioError("invariant broken: arch-A1: Step is not pure");
}

void ScenarioWorld::PlanFault(PlannedFault fault) {
  faults_.push_back(std::move(fault));
  cluster_->SetFaultHooks(
      [this](const testing::Call& call) -> std::optional<absl::Status> {
        for (PlannedFault& planned : faults_) {
          if (planned.operation != call.operation || planned.object != call.object || planned.times == 0) continue;
          --planned.times;
          return planned.status;
        }
        return std::nullopt;
      },
      nullptr);
}

PassRecord ScenarioWorld::BeginPass(ScenarioDriver& driver) {
  cluster_->Settle();
  if (driver.engine == nullptr) StartEngine(driver);
  PassRecord record{.identity = driver.identity,
                    .policy = driver.policy,
                    .driver_ns = driver.ns,
                    .now = clock_->Now(),
                    .pods = cluster_->pods()};
  for (const Node& node : cluster_->nodes()) record.nodes[node.name] = node;
  return record;
}

absl::StatusOr<ReconcileResult> ScenarioWorld::Pass(ScenarioDriver& driver) {
  if (driver.released) throw ScenarioError("no pass may follow `release`; `restart-engine` comes first");
  PassRecord record = BeginPass(driver);
  CheckPurity(driver);
  if (before_pass_) before_pass_(driver, *cluster_, revisions_, clock_->Now());
  commits_.clear();
  absl::StatusOr<ReconcileResult> result = driver.engine->Reconcile({}, driver.policy);
  driver.engine->Quiesce();
  if (!result.ok()) return result;
  record.plan = result->plan;
  record.commits = commits_;
  driver.last_plan = result->plan;
  CheckInvariants(record);
  return result;
}

absl::StatusOr<ReconcileResult> ScenarioWorld::Release(ScenarioDriver& driver) {
  PassRecord record = BeginPass(driver);
  driver.released = true;
  commits_.clear();
  absl::StatusOr<ReconcileResult> result = driver.engine->Release({});
  driver.engine->Quiesce();
  if (!result.ok()) return result;
  record.plan = result->plan;
  record.commits = commits_;
  CheckReleased(record);
  return result;
}

std::vector<std::string> ScenarioWorld::Unfinished() {
  std::vector<std::string> names;
  for (const auto& [driver_name, driver] : drivers_) {
    if (driver.released) continue;
    PassRecord world{
        .identity = driver.identity, .policy = driver.policy, .driver_ns = driver.ns, .pods = cluster_->pods()};
    for (const Node& node : cluster_->nodes()) world.nodes[node.name] = node;
    for (const std::string& name : ManagedNodes(world)) {
      const auto node = world.nodes.find(name);
      if (node != world.nodes.end() && StateOf(node->second, driver.identity) != UpgradeState::kDone)
        names.push_back(name);
    }
  }
  return names;
}

bool ScenarioWorld::AllDone() { return Unfinished().empty(); }

// Runs one pass of each driver. Returns when the next pass is due.
absl::Time ScenarioWorld::PassAll() {
  absl::Time next = cluster_->NextEventTime();
  for (auto& [name, driver] : drivers_) {
    if (driver.released) continue;
    const absl::StatusOr<ReconcileResult> result = Pass(driver);
    if (!result.ok()) next = std::min(next, clock_->Now() + absl::Seconds(1));
    if (result.ok() && result->wake_at) next = std::min(next, *result->wake_at);
  }
  return std::min(next, cluster_->NextEventTime());
}

void ScenarioWorld::CheckLiveness() {
  const absl::Time end = clock_->Now() + (stuck_.empty() ? kLivenessLimit : kStuckFor);
  int passes_at_once = 0;
  while (clock_->Now() < end) {
    const absl::Time next = PassAll();
    if (next == absl::InfiniteFuture()) break;
    passes_at_once = next > clock_->Now() ? 0 : passes_at_once + 1;
    if (passes_at_once > kPassesAtOnce) throw ScenarioError("liveness: the passes do not come to rest");
    cluster_->RunUntil(std::max(next, clock_->Now()));
  }
  const std::vector<std::string> unfinished = Unfinished();
  for (const std::string& name : unfinished) {
    if (!stuck_.contains(name))
      throw ScenarioError(fmt::format("liveness: node {} is not done, and nobody comes back to it", name));
  }
  for (const std::string& name : stuck_) {
    if (std::find(unfinished.begin(), unfinished.end(), name) == unfinished.end()) {
      throw ScenarioError(fmt::format("node {} is done, although it is expected to be stuck", name));
    }
  }
}

std::string ScenarioWorld::Readable(std::string text) const {
  for (const auto& [name, alias] : aliases_) ReplaceAll(text, name, alias);
  for (const auto& [name, driver] : drivers_) {
    const std::string prefix = driver.identity.Name() + "-driver-upgrade";
    const std::string shorter = name == "gpu" ? "" : name + ":";
    for (const char* mark : {".", "-"}) ReplaceAll(text, prefix + mark, shorter + mark);
  }
  ReplaceAll(text, std::string(kCordonedByAnnotation), "cordoned-by");
  return text;
}

}  // namespace driverupgrade::tests
