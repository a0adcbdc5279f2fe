#include "property/closed_model.h"

#include <algorithm>
#include <utility>

#include "driverupgrade/testing/builders.h"
#include "fmt/format.h"
#include "property/plan_invariants.h"

namespace driverupgrade::tests {
namespace {

constexpr int kRoundsMax = 600;
// Each quiet round lasts four times as long as the previous one, so ten such rounds last four days.
constexpr int kQuietRounds = 10;
constexpr int kFaultyRounds = 25;
constexpr absl::Duration kGracePeriod = absl::Seconds(30);
// Time at which slow drivers become ready and jobs finish.
const absl::Time kLater = kRandomNow + absl::Minutes(12);

bool IsReadyPod(const Pod& pod) {
  return pod.phase == PodPhase::kRunning && !pod.container_statuses.empty() &&
         std::all_of(pod.container_statuses.begin(), pod.container_statuses.end(),
                     [](const auto& s) { return s.ready; });
}

void MakeReady(Pod& pod) {
  pod.phase = PodPhase::kRunning;
  pod.init_container_statuses.clear();
  pod.container_statuses = {{.name = "main", .ready = true}};
}

bool IsValidator(const Pod& pod) { return pod.labels.contains("app") && pod.labels.at("app") == "validator"; }

std::set<std::string> Uids(const std::vector<Pod>& pods) {
  std::set<std::string> uids;
  for (const Pod& pod : pods) uids.insert(pod.ref.uid);
  return uids;
}

}  // namespace

ClosedModel::ClosedModel(RandomCluster cluster) : seen_(std::move(cluster)), faults_(seen_.seed) {
  for (const auto& view : seen_.snapshot.nodes) {
    World world{.node = view->node, .driver_pods = view->driver_pods, .workloads = seen_.workloads[view->node.name]};
    world.node.resource_version = "100";
    worlds_.emplace(view->node.name, std::move(world));
  }
}

// The random numbers for an object are derived from its name, so that its fate does not depend on the order of events.
SeededRandom ClosedModel::RandomOf(const std::string& key) const {
  std::uint64_t hash = 14695981039346656037ULL ^ seen_.seed;
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return SeededRandom(hash);
}

PodFate ClosedModel::FateOf(const PodRef& pod) const {
  SeededRandom random = RandomOf(pod.uid);
  if (random.Chance(70)) return PodFate::kLeaves;
  return random.Pick({PodFate::kRefused, PodFate::kSeveralBudgets, PodFate::kFails, PodFate::kStuck, PodFate::kStuck});
}

DriverFate ClosedModel::DriverFateOf(const std::string& node) const {
  SeededRandom random = RandomOf("driver of " + node);
  if (random.Chance(70)) return DriverFate::kReady;
  return random.Pick({DriverFate::kSlow, DriverFate::kNeverReady, DriverFate::kCrashes, DriverFate::kNeverMade});
}

bool ClosedModel::JobEnds(const Pod& pod) const { return RandomOf("job " + pod.ref.uid).Chance(70); }

std::string ClosedModel::Settle() {
  while (quiet_ < kQuietRounds) {
    if (++rounds_ > kRoundsMax) return fmt::format("never settles: {}", Describe(plan_));
    if (std::string broken = Round(); !broken.empty()) {
      return fmt::format("round {}, t={}: {}", rounds_, absl::ToUnixSeconds(seen_.now), broken);
    }
  }
  return "";
}

std::string ClosedModel::Round() {
  changed_ = false;
  Read();
  plan_ = seen_.Step();
  if (!plan_.pod_interest.empty()) {
    ReadPods(plan_.pod_interest);
    plan_ = seen_.Step();
  }
  if (std::string broken = BrokenInvariant(seen_, plan_); !broken.empty()) return broken + "\n" + Describe(plan_);
  for (const NodePlan& node : plan_.nodes) Apply(node);
  PassTime();
  quiet_ = changed_ ? 0 : quiet_ + 1;
  return "";
}

// Reads the cluster in the same way as SnapshotBuilder::Build: nodes with a driver pod or a state label.
void ClosedModel::Read() {
  seen_.snapshot.nodes.clear();
  seen_.snapshot.findings.clear();
  for (const auto& [name, world] : worlds_) {
    log_.NodeRead(world.node, nullptr);
    const auto label = world.node.labels.find(seen_.machine.identity().StateLabel());
    const bool labelled = label != world.node.labels.end() && !label->second.empty();
    if (world.driver_pods.empty() && !labelled) continue;
    seen_.snapshot.nodes.push_back(std::make_shared<const NodeView>(
        NodeView{.node = world.node, .driver_pods = world.driver_pods, .attempts = log_.ForNode(world.node.uid)}));
  }
}

void ClosedModel::ReadPods(const std::vector<std::string>& interest) {
  for (auto& view : seen_.snapshot.nodes) {
    if (std::find(interest.begin(), interest.end(), view->node.name) == interest.end()) continue;
    const Workloads& workloads = worlds_.at(view->node.name).workloads;
    NodeView read = *view;
    read.pods = workloads.pods;
    read.pods_using_driver = workloads.using_driver;
    read.hook_errors = workloads.hook_errors;
    std::set<std::string> live = Uids(read.driver_pods);
    live.merge(Uids(*read.pods));
    log_.NodeRead(read.node, &live);
    read.attempts = log_.ForNode(read.node.uid);
    view = std::make_shared<const NodeView>(std::move(read));
  }
}

void ClosedModel::Apply(const NodePlan& plan) {
  World& world = worlds_.at(plan.node);
  if (plan.patch && !ApplyPatch(world, plan))
    return;  // arch-A12: the rest of the plan is dropped unless the patch was acknowledged
  for (const PodRef& pod : plan.evict) Request(world, pod, /*eviction=*/true);
  for (const PodRef& pod : plan.remove) Request(world, pod, /*eviction=*/false);
}

// Applies the patch. Returns whether it was acknowledged: some patches are refused, and some requests or responses are
// lost (arch-A6).
bool ClosedModel::ApplyPatch(World& world, const NodePlan& plan) {
  changed_ = true;
  log_.PatchSent(world.node, *plan.patch, seen_.now);
  Outcome outcome = Outcome::kApplied;
  bool applied = true;
  if (rounds_ < kFaultyRounds && faults_.Chance(10)) {
    outcome = faults_.Pick({Outcome::kNotApplied, Outcome::kUnclear, Outcome::kConflict});
    applied = outcome == Outcome::kUnclear && faults_.Chance(50);
  }
  if (applied && !plan.patch->empty()) {
    world.node = Patched(world.node, *plan.patch);
    world.node.resource_version = fmt::format("{}", std::stoi(world.node.resource_version) + 1);
  }
  log_.PatchAnswered(world.node.uid, outcome, outcome == Outcome::kApplied ? "" : "503", seen_.now);
  return outcome == Outcome::kApplied;
}

Pod* ClosedModel::Find(World& world, const PodRef& ref) {
  for (std::vector<Pod>* pods : {&world.driver_pods, &world.workloads.pods}) {
    for (Pod& pod : *pods) {
      if (pod.ref == ref) return &pod;
    }
  }
  return nullptr;
}

void ClosedModel::Request(World& world, const PodRef& ref, bool eviction) {
  log_.PodRequestSent(world.node.uid, world.node.resource_version, ref.uid, seen_.now);
  PodAttempt answer{.outcome = Outcome::kApplied, .answered_at = seen_.now};
  const PodFate fate = FateOf(ref);
  const bool refused = eviction && fate != PodFate::kLeaves && fate != PodFate::kStuck;
  if (refused) {
    answer.outcome = Outcome::kNotApplied;
    answer.refusal = fate == PodFate::kRefused          ? Refusal::kDisruptionBudget
                     : fate == PodFate::kSeveralBudgets ? Refusal::kSeveralBudgets
                                                        : Refusal::kOther;
    answer.message = "refused";
  } else if (Pod* pod = Find(world, ref); pod != nullptr && !pod->deletion_timestamp) {
    pod->deletion_timestamp = seen_.now + kGracePeriod;
    changed_ = true;
  }
  log_.PodRequestAnswered(world.node.uid, ref.uid, std::move(answer));
}

absl::Time ClosedModel::NextEvent() const {
  absl::Time next = plan_.wake_at.value_or(absl::InfiniteFuture());
  if (seen_.now < kLater) next = std::min(next, kLater);
  for (const auto& [name, world] : worlds_) {
    for (const auto* pods : {&world.driver_pods, &world.workloads.pods}) {
      for (const Pod& pod : *pods) {
        if (pod.deletion_timestamp && *pod.deletion_timestamp > seen_.now)
          next = std::min(next, *pod.deletion_timestamp);
      }
    }
  }
  return next;
}

void ClosedModel::PassTime() {
  absl::Duration step = absl::Milliseconds(100);
  if (!changed_) {
    step = absl::Seconds(1 << (2 * std::min(quiet_, kQuietRounds)));
    const absl::Time next = NextEvent();
    if (next != absl::InfiniteFuture()) step = std::max(next - seen_.now, quiet_ > 4 ? step : absl::Milliseconds(100));
    HeartBeat();
  }
  seen_.now += step;
  for (auto& [name, world] : worlds_) {
    Reap(world);
    Ripen(world);
    RunDaemonSet(world);
  }
}

// Gives each node a newer version, as kubelets do when they report node status. The newer version shows whether a patch
// without a response was applied.
void ClosedModel::HeartBeat() {
  for (auto& [name, world] : worlds_) {
    world.node.resource_version = fmt::format("{}", std::stoi(world.node.resource_version) + 1);
  }
}

// Removes the pods whose grace period has passed, unless they are stuck or the node's kubelet does not work.
void ClosedModel::Reap(World& world) {
  if (!world.node.ready) return;
  for (std::vector<Pod>* pods : {&world.driver_pods, &world.workloads.pods}) {
    const auto ended = [&](const Pod& pod) {
      return pod.deletion_timestamp && *pod.deletion_timestamp <= seen_.now && FateOf(pod.ref) != PodFate::kStuck;
    };
    for (const Pod& pod : *pods) {
      if (ended(pod)) world.workloads.hook_errors.erase(pod.ref.ToString());
    }
    if (std::erase_if(*pods, ended) > 0) changed_ = true;
  }
}

// Lets jobs finish, and slow pods become ready.
void ClosedModel::Ripen(World& world) {
  if (seen_.now < kLater || !world.node.ready) return;
  for (Pod& pod : world.workloads.pods) {
    const bool at_work = pod.phase == PodPhase::kRunning || pod.phase == PodPhase::kPending;
    if (at_work && !IsValidator(pod) && pod.labels["app"] == "job" && JobEnds(pod)) {
      pod.phase = PodPhase::kSucceeded;
      changed_ = true;
    }
    if (IsValidator(pod) && !IsReadyPod(pod) && FateOf(pod.ref) == PodFate::kLeaves) {
      MakeReady(pod);
      changed_ = true;
    }
  }
  const DriverFate fate = DriverFateOf(world.node.name);
  if (fate != DriverFate::kReady && fate != DriverFate::kSlow) return;
  for (Pod& pod : world.driver_pods) {
    if (pod.deletion_timestamp || IsReadyPod(pod)) continue;
    MakeReady(pod);
    changed_ = true;
  }
}

// Creates a pod of the target revision on a node without a driver pod.
void ClosedModel::RunDaemonSet(World& world) {
  const DriverFate fate = DriverFateOf(world.node.name);
  if (!world.driver_pods.empty() || fate == DriverFate::kNeverMade) return;
  if (!seen_.snapshot.driver->daemon_sets.contains(kDaemonSetUid)) return;
  const auto& wanted = seen_.snapshot.driver->daemon_sets.at(kDaemonSetUid).wanted_revision;
  const std::string name = fmt::format("driver-{}-made-{}", world.node.name, ++pods_made_);
  testing::PodBuilder pod("drivers", name);
  pod.WithUid(name + "-uid").OnNode(world.node.name).OwnedByDaemonSet("ds", wanted.value_or("new"), kDaemonSetUid);
  if (fate == DriverFate::kCrashes) pod.Crashing(100);
  if (!world.node.ready || fate == DriverFate::kSlow || fate == DriverFate::kNeverReady) pod.NotReady();
  world.driver_pods.push_back(pod.Build());
  changed_ = true;
}

}  // namespace driverupgrade::tests
