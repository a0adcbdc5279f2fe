// Tests rollouts on the fake cluster: how an engine handles the record, and how two engines behave if both believe that
// they lead.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "decide/rollout/record.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_engine.h"
#include "fmt/format.h"
#include "property/seeded_random.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using testing::Change;
using testing::FakeClock;
using testing::FakeCluster;

constexpr const char* kRecordKey = "_rollout_nvidia.com_gpu";
constexpr const char* kGrantsKey = "nvidia.com_gpu";

RolloutPolicy CanaryFirst(absl::Duration soak) {
  return {.stages = {{.name = "canary", .nodes = LabelSelector::Parse("pool=canary").value(), .soak = soak}},
          .health = RolloutHealth{.node_conditions = {{.type = "GpuHealthy", .status = "False"}}}};
}

std::optional<UpgradeState> StateOf(const Node& node) {
  const auto label = node.labels.find(Gpu().StateLabel());
  return ParseUpgradeState(label == node.labels.end() ? "" : label->second);
}

// Canaries c0 and c1, some other nodes, and any number of independent engines.
struct World {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster;
  std::shared_ptr<ClusterFacade> facade = cluster;
  testing::Fleet fleet = {};
  UpgradePolicy policy = {.auto_upgrade = true, .max_parallel = std::nullopt};
  std::string sick = {};

  explicit World(int others, const testing::FakeClusterOptions& options = {})
      : cluster(std::make_shared<FakeCluster>(clock, options)) {
    fleet = AddFleet(*cluster, {.node_count = 0, .workload = ""});
    for (int i = 0; i < 2; ++i) {
      cluster->AddNode(testing::NodeBuilder(fmt::format("c{}", i)).WithLabel("pool", "canary").Build());
    }
    for (int i = 0; i < others; ++i) cluster->AddNode(testing::NodeBuilder(fmt::format("n{}", i)).Build());
    cluster->Advance(absl::Minutes(1));
    cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
    policy.rollout = CanaryFirst(absl::ZeroDuration());
  }

  std::unique_ptr<UpgradeEngine> Engine(bool has_ledger = true) {
    EngineOptions options{
        .snapshot = {.ns = fleet.ns, .driver_labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}})},
        .rollout_sick = [this] { return sick; },
        .clock = clock};
    options.executor = {.calls_in_flight = 1, .events = false};
    if (has_ledger) options.ledger = AdmissionLedgerOptions{.ns = "ops", .name = "ledger"};
    auto created = UpgradeEngine::Create(Gpu(), facade, std::move(options));
    REQUIRE(created.ok());
    return *std::move(created);
  }
  Plan Pass(UpgradeEngine& engine) {
    const absl::StatusOr<ReconcileResult> result = engine.Reconcile({}, policy);
    REQUIRE(result.ok());
    return result->plan;
  }
  void RunUntil(UpgradeEngine& engine, const std::function<bool()>& reached) {
    for (int i = 0; i < 300 && !reached(); ++i) {
      static_cast<void>(Pass(engine));
      cluster->Advance(absl::Seconds(1));
    }
    REQUIRE(reached());
  }
  bool IsDone(const std::string& node) const { return StateOf(*cluster->node(node)) == UpgradeState::kDone; }
  int Begun() const {
    int begun = 0;
    for (const Node& node : cluster->nodes()) {
      const auto state = StateOf(node);
      begun += state && (IsInProgress(*state) || state == UpgradeState::kDone);
    }
    return begun;
  }
};

GateReason GateOf(const Plan& plan, const std::string& node) {
  const auto found =
      std::find_if(plan.gates.begin(), plan.gates.end(), [&](const NodeGate& gate) { return gate.node == node; });
  REQUIRE(found != plan.gates.end());
  return found->gate.reason;
}

TEST_CASE("a failure at the previous revision does not halt the rollout, even while the node has no driver pod") {
  for (const bool halts : {false, true}) {
    INFO(halts);
    World world(1, {.controller_delay = absl::Seconds(2)});
    world.policy.rollout->stages.front().max_failures = Count{0};
    world.cluster->EditNode("c0", [&](Node& node) {
      node.labels[Gpu().StateLabel()] = "upgrade-failed";
      node.annotations[Gpu().FailedRevisionAnnotation()] = halts ? "rev-2" : "rev-1";
    });
    for (const Pod& pod : world.cluster->daemon_set_pods(world.fleet.ns, world.fleet.daemon_set)) {
      if (pod.node_name == "c0") world.cluster->RemovePod(pod.ref.ns, pod.ref.name);
    }
    const auto result = world.Engine()->Reconcile({}, world.policy);
    REQUIRE(result.ok());
    REQUIRE(result->plan.rollout);
    REQUIRE_FALSE(result->plan.rollout->revision.empty());
    CHECK(result->plan.rollout->halted.has_value() == halts);
    CHECK(result->plan.rollout->stages.front().failed == (halts ? 1 : 0));
    CHECK(result->plan.rollout->stages.front().nodes == 2);
  }
}

TEST_CASE("a policy with a rollout needs a ledger, and under other policies an engine requests no ConfigMap") {
  World world(1);
  const auto engine = world.Engine(/*has_ledger=*/false);
  const absl::Status status = engine->Reconcile({}, world.policy).status();
  CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
  CHECK(status.message().find("rollout") != absl::string_view::npos);
  CHECK(world.Begun() == 0);
  world.policy.rollout.reset();
  CHECK(engine->Reconcile({}, world.policy).ok());
  CHECK(world.Begun() == 3);
  CHECK_FALSE(world.cluster->config_map("ops", "ledger"));
}

TEST_CASE("no record is stored while the target revision is unknown") {
  World world(1);
  const auto engine = world.Engine();
  REQUIRE(world.cluster->RemoveDaemonSet(world.fleet.ns, world.fleet.daemon_set, /*orphan=*/true));
  const Plan plan = world.Pass(*engine);
  REQUIRE(plan.rollout);
  CHECK(plan.rollout->revision.empty());
  const auto ledger = world.cluster->config_map("ops", "ledger");
  CHECK((!ledger || !ledger->data.contains(kRecordKey)));
}

TEST_CASE("no node starts while the target revision of one of the DaemonSets is unknown") {
  World world(1, {.template_delay = absl::Seconds(10)});
  world.cluster->Advance(absl::Minutes(1));
  const auto engine = world.Engine();
  world.policy.paused = true;
  static_cast<void>(world.Pass(*engine));
  world.policy.paused = false;
  world.cluster->AddDaemonSet({.ns = world.fleet.ns,
                               .name = "of-another-system",
                               .labels = {{"app", world.fleet.daemon_set}},
                               .match_labels = {{"app", world.fleet.daemon_set}, {"system", "other"}},
                               .node_selector = {{"system", "other"}}});
  world.cluster->SetTemplate(world.fleet.ns, "of-another-system", "rev-2");
  CHECK(GateOf(world.Pass(*engine), "c0") == GateReason::kStage);
  CHECK(world.Begun() == 0);
  world.cluster->Advance(absl::Minutes(1));
  static_cast<void>(world.Pass(*engine));
  CHECK(world.Begun() == 2);
}

// Returns how many more pod lists a pass needs for an order by `by` than for an order by name.
std::int64_t ListsToOrder(int nodes, OrderBy by) {
  const auto lists = [&](std::vector<RolloutOrder> order) {
    World world(nodes - 2);
    world.policy.max_parallel = 1;
    world.policy.rollout = RolloutPolicy{.order = std::move(order)};
    const auto engine = world.Engine();
    const std::int64_t before = world.cluster->CallCount(Operation::kListPods);
    static_cast<void>(world.Pass(*engine));
    CHECK(world.Begun() == 1);
    return world.cluster->CallCount(Operation::kListPods) - before;
  };
  return lists({{.by = by}}) - lists({});
}

TEST_CASE(
    "to order up to 10 nodes by their pods, a pass sends one list per node, and for more nodes a single list of all "
    "pods") {
  CHECK(ListsToOrder(10, OrderBy::kFewestPods) == 10);
  CHECK(ListsToOrder(11, OrderBy::kFewestPods) == 1);
  CHECK(ListsToOrder(40, OrderBy::kIdle) == 1);
  CHECK(ListsToOrder(40, OrderBy::kName) == 0);
}

// Returns the upgrade duration of a node according to the record.
std::optional<absl::Duration> Measured(const World& world) {
  const std::optional<ConfigMap> ledger = world.cluster->config_map("ops", "ledger");
  if (!ledger || !ledger->data.contains(kRecordKey)) return std::nullopt;
  return internal::ParseRecord(ledger->data.at(kRecordKey)).record.durations.Quantile(95);
}

TEST_CASE("the durations of nodes are measured and stored in the record, even after a failure to store the record") {
  World world(3);
  const auto engine = world.Engine();
  const auto all_done = [&] {
    return world.IsDone("c0") && world.IsDone("c1") && world.IsDone("n0") && world.IsDone("n1") && world.IsDone("n2");
  };
  world.RunUntil(*engine, [&] { return world.IsDone("c0") && world.IsDone("c1"); });
  CHECK_FALSE(Measured(world));  // two finished nodes are too few for an estimate
  world.cluster->FailNext(Operation::kPatchConfigMap, absl::UnavailableError("patch: 503"), 2);
  world.RunUntil(*engine, all_done);
  for (int i = 0; i < 60 && !Measured(world); ++i) {
    static_cast<void>(world.Pass(*engine));
    world.cluster->Advance(absl::Seconds(10));
  }
  REQUIRE(Measured(world));
  CHECK(*Measured(world) >= absl::Seconds(5));
  CHECK(*Measured(world) <= absl::Minutes(2));
}

TEST_CASE("no duration is measured for a node whose upgrade fails") {
  World world(0);
  world.policy.deadlines.pod_restart = absl::Minutes(1);
  world.cluster->AddCrashRule(world.fleet.ns, world.fleet.daemon_set, "rev-2", "c0");
  const auto engine = world.Engine();
  world.RunUntil(*engine, [&] { return StateOf(*world.cluster->node("c0")) == UpgradeState::kFailed; });
  world.cluster->ClearCrashRules(world.fleet.ns, world.fleet.daemon_set);
  world.RunUntil(*engine, [&] { return world.IsDone("c0") && world.IsDone("c1"); });
  for (int i = 0; i < 3; ++i) {
    static_cast<void>(world.Pass(*engine));
    world.cluster->Advance(absl::Seconds(10));
  }
  int measured = 0;
  const ConfigMap ledger = *world.cluster->config_map("ops", "ledger");
  const internal::ParsedRecord read = internal::ParseRecord(ledger.data.at(kRecordKey));
  for (const auto& [step, count] : read.record.durations.counts()) measured += count;
  CHECK(measured == 1);  // only c1 is measured
}

TEST_CASE(
    "a node's duration is measured only by the replica that started the node, and only if this replica has led ever "
    "since") {
  World world(3);
  world.policy.rollout = RolloutPolicy{};
  const auto first = world.Engine();
  const auto second = world.Engine();
  const auto all_done = [&] {
    const std::vector<Node> nodes = world.cluster->nodes();
    return std::all_of(nodes.begin(), nodes.end(), [&](const Node& node) { return world.IsDone(node.name); });
  };
  const auto lead_until_done = [&](UpgradeEngine& engine) {
    engine.Resume();
    world.RunUntil(engine, all_done);
    for (int i = 0; i < 10; ++i) static_cast<void>(world.Pass(engine));
  };
  const auto begin = [&](UpgradeEngine& engine, const char* revision) {
    world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, revision);
    world.RunUntil(engine, [&] { return world.Begun() == 5 && !all_done(); });
    world.cluster->Advance(absl::Hours(1));
  };
  // The second engine sees only the end of upgrades that the first engine started.
  begin(*first, "rev-3");
  lead_until_done(*second);
  CHECK_FALSE(Measured(world));
  // The first engine leads again. Long ago, it saw nodes with these names start.
  begin(*second, "rev-4");
  lead_until_done(*first);
  CHECK_FALSE(Measured(world));
  // Upgrades that a freeze has interrupted are not measured.
  begin(*first, "rev-5");
  world.policy.auto_upgrade = false;
  static_cast<void>(world.Pass(*first));
  world.policy.auto_upgrade = true;
  world.RunUntil(*first, all_done);
  CHECK_FALSE(Measured(world));
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-6");
  world.RunUntil(*first, [&] { return Measured(world).has_value(); });
  CHECK(*Measured(world) <= absl::Minutes(2));
}

TEST_CASE("the embedding operator can halt a rollout, and the halt stays in effect after the problem has ended") {
  World world(1);
  auto engine = world.Engine();
  world.RunUntil(*engine, [&] { return world.IsDone("c0") && world.IsDone("c1"); });
  world.sick = "the dashboards are red";
  CHECK(GateOf(world.Pass(*engine), "n0") == GateReason::kHalted);
  world.sick.clear();
  engine = world.Engine();
  world.cluster->Advance(absl::Hours(1));
  CHECK(GateOf(world.Pass(*engine), "n0") == GateReason::kHalted);
  world.cluster->EditDaemonSet(world.fleet.ns, world.fleet.daemon_set, [](DaemonSet& daemon_set) {
    daemon_set.annotations[Gpu().ApprovedAnnotation()] = "canary@rev-2";
  });
  world.RunUntil(*engine, [&] { return world.IsDone("n0"); });
}

TEST_CASE("a replica that missed a halt starts no node, with or without a grant") {
  // A node that an administrator has cordoned needs no slot, and therefore no grant.
  const bool cordoned = GENERATE(false, true);
  World world(2);
  if (cordoned) world.cluster->Cordon("n0"), world.cluster->Cordon("n1");
  const auto first = world.Engine();
  const auto second = world.Engine();
  world.RunUntil(*second, [&] { return world.IsDone("c0") && world.IsDone("c1"); });
  // The canaries are done, but the record that both engines have read does not show it yet.
  static_cast<void>(world.Pass(*first));
  world.sick = "a canary is sick";
  CHECK(GateOf(world.Pass(*first), "n0") == GateReason::kHalted);
  world.sick.clear();
  const int begun = world.Begun();
  for (int i = 0; i < 5; ++i) {
    static_cast<void>(world.Pass(*second));
    world.cluster->Advance(absl::Seconds(1));
    CHECK(world.Begun() == begun);
  }
}

TEST_CASE("a lost record restarts the rollout at its first stage, and an invalid record halts the rollout") {
  World world(2);
  world.policy.rollout = CanaryFirst(absl::Minutes(10));
  auto engine = world.Engine();
  world.RunUntil(*engine, [&] { return world.IsDone("c0") && world.IsDone("c1"); });
  CHECK(GateOf(world.Pass(*engine), "n0") == GateReason::kSoak);
  world.cluster->Advance(absl::Minutes(9));
  const auto edit = [&](std::optional<std::string> record) {
    const ConfigMap map = *world.cluster->config_map("ops", "ledger");
    REQUIRE(world.cluster
                ->PatchConfigMap({}, {.ns = "ops",
                                      .name = "ledger",
                                      .uid = map.uid,
                                      .resource_version = map.resource_version,
                                      .data = {{kRecordKey, std::move(record)}}})
                .ok());
    engine = world.Engine();
  };
  edit(std::nullopt);
  static_cast<void>(world.Pass(*engine));
  world.cluster->Advance(absl::Minutes(2));
  CHECK(GateOf(world.Pass(*engine), "n0") == GateReason::kSoak);
  edit("{\"revision\": \"rev-2\", \"sta");
  const Plan plan = world.Pass(*engine);
  CHECK(GateOf(plan, "n0") == GateReason::kHalted);
  CHECK(std::any_of(plan.findings.begin(), plan.findings.end(),
                    [](const Finding& finding) { return finding.code == FindingCode::kRollout; }));
}

TEST_CASE(
    "while a node of a later stage waits, a missing approval causes a finding with the command for the approval") {
  World world(1);
  world.policy.rollout->stages[0].approval = Approval::kManual;
  const auto engine = world.Engine();
  const auto asked = [&](const Plan& plan) {
    std::string texts;
    for (const Finding& finding : plan.findings) {
      if (finding.code == FindingCode::kRollout) texts += finding.message;
    }
    return texts;
  };
  CHECK(asked(world.Pass(*engine)) == "");
  world.RunUntil(*engine, [&] { return world.IsDone("c0") && world.IsDone("c1"); });
  const std::string command = fmt::format("kubectl annotate daemonset -n {} {} --overwrite {}=canary@rev-2",
                                          world.fleet.ns, world.fleet.daemon_set, Gpu().ApprovedAnnotation());
  const Plan plan = world.Pass(*engine);
  CHECK(asked(plan) == "stage canary waits for the approval canary@rev-2: " + command);
  CHECK(GateOf(plan, "n0") == GateReason::kApproval);

  // While the rollout is halted, the finding is about the halt, and explains how to lift it.
  world.sick = "the operator says so";
  CHECK(asked(world.Pass(*engine)).find("is halted") != std::string::npos);
  CHECK(asked(world.Pass(*engine)).find("waits for the approval") == std::string::npos);
  world.sick = "";
  // This approval lifts the halt and approves the stage.
  world.cluster->EditDaemonSet(world.fleet.ns, world.fleet.daemon_set, [](DaemonSet& daemon_set) {
    daemon_set.annotations[Gpu().ApprovedAnnotation()] = "canary@rev-2";
  });
  world.RunUntil(*engine, [&] { return world.IsDone("n0"); });
  CHECK(asked(world.Pass(*engine)) == "");
}

TEST_CASE("no approval is requested while no node waits for it") {
  World world(0);
  world.policy.rollout->stages[0].approval = Approval::kManual;
  const auto engine = world.Engine();
  world.RunUntil(*engine, [&] { return world.IsDone("c0") && world.IsDone("c1"); });
  const std::vector<Finding> findings = world.Pass(*engine).findings;
  CHECK(std::none_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.code == FindingCode::kRollout; }));
}

// Two engines that both believe that they lead. Each engine may run a pass in the middle of the other engine's pass.
// Calls and responses get lost, engines crash, and the record is lost occasionally.
class RolloutDuel {
 public:
  explicit RolloutDuel(std::uint64_t seed) : random_(seed), world_(random_.Between(2, 4)) {
    soak_ = absl::Seconds(random_.Pick({0, 5, 20}));
    world_.policy.rollout = CanaryFirst(soak_);
    if (random_.Chance(50)) world_.policy.max_parallel = random_.Between(1, 2);
    fault_percent_ = random_.Pick({0, 10, 40});
    world_.facade = std::make_shared<Line>(*this, world_.cluster);
    world_.cluster->SetChangeObserver([this](const Change& change) { Watch(change); });
    for (auto& engine : engines_) engine = world_.Engine();
  }
  ~RolloutDuel() { world_.cluster->SetChangeObserver(nullptr); }

  std::string Run() {
    for (int i = 0; i < 120 && broken_.empty(); ++i) Tick();
    calm_ = true;
    for (int i = 0; i < 400 && broken_.empty() && !AllDone(); ++i) Tick();
    if (broken_.empty() && !AllDone() && !halted_) broken_ = "it does not come to an end";
    return broken_;
  }
  int late_starts() const { return late_starts_; }

 private:
  class Line final : public ForwardingFacade {
   public:
    Line(RolloutDuel& duel, std::shared_ptr<ClusterFacade> cluster)
        : ForwardingFacade(std::move(cluster)), duel_(duel) {}
    absl::StatusOr<std::vector<Node>> ListNodes(const CallContext& context, const ListNodesParams& params) override {
      duel_.Interleave();
      return ForwardingFacade::ListNodes(context, params);
    }
    absl::StatusOr<ConfigMap> GetConfigMap(const CallContext& context, const GetConfigMapParams& params) override {
      duel_.Interleave();
      if (duel_.Fails()) return absl::UnavailableError("down");
      return ForwardingFacade::GetConfigMap(context, params);
    }
    absl::StatusOr<ConfigMap> CreateConfigMap(const CallContext& context, const ConfigMap& map) override {
      return duel_.Write<ConfigMap>([&] { return ForwardingFacade::CreateConfigMap(context, map); });
    }
    absl::StatusOr<ConfigMap> PatchConfigMap(const CallContext& context, const PatchConfigMapParams& params) override {
      return duel_.Write<ConfigMap>([&] { return ForwardingFacade::PatchConfigMap(context, params); });
    }
    absl::StatusOr<Node> PatchNode(const CallContext& context, const PatchNodeParams& params) override {
      return duel_.Write<Node>([&] { return ForwardingFacade::PatchNode(context, params); });
    }

   private:
    RolloutDuel& duel_;
  };

  bool Fails() { return !calm_ && random_.Chance(fault_percent_); }
  void Interleave() {
    if (calm_ || nested_ || !passing_ || !random_.Chance(15)) return;
    nested_ = true;
    Pass(1 - *passing_);
    nested_ = false;
  }
  template <typename T>
  absl::StatusOr<T> Write(const std::function<absl::StatusOr<T>()>& call) {
    Interleave();
    if (!Fails()) return call();
    if (random_.Chance(50)) return absl::UnavailableError("lost before");
    static_cast<void>(call());
    return absl::DeadlineExceededError("lost after");
  }

  void Pass(std::size_t engine) {
    const auto outer = std::exchange(passing_, engine);
    static_cast<void>(engines_[engine]->Reconcile({}, world_.policy));
    passing_ = outer;
  }

  void Tick() {
    world_.cluster->Advance(absl::Milliseconds(random_.Between(100, 1000)));
    if (!calm_) Disturb();
    Pass(static_cast<std::size_t>(random_.Below(2)));
  }

  void Disturb() {
    const int dice = random_.Below(100);
    if (dice < 8) {
      engines_[static_cast<std::size_t>(random_.Below(2))] = world_.Engine();
    } else if (dice < 11) {
      LoseRecord();
    } else if (dice < 13 && random_.Chance(20) && world_.IsDone("c0")) {
      world_.cluster->EditNode("c0", [](Node& node) { node.conditions["GpuHealthy"] = "False"; });
    } else if (dice < 30) {
      world_.cluster->EditNode("n1", [&](Node& node) { node.annotations["kubelet"] = std::to_string(++touches_); });
    }
  }

  void LoseRecord() {
    const auto map = world_.cluster->config_map("ops", "ledger");
    if (!map) return;
    static_cast<void>(world_.cluster->PatchConfigMap({}, {.ns = "ops",
                                                          .name = "ledger",
                                                          .uid = map->uid,
                                                          .resource_version = map->resource_version,
                                                          .data = {{kRecordKey, std::nullopt}}}));
  }

  void Watch(const Change& change) {
    if (change.node.after != nullptr) WatchNode(change.node.before, *change.node.after, change.time);
    if (change.config_map.after != nullptr) WatchLedger(change.config_map.before, *change.config_map.after);
  }

  void WatchNode(const Node* before, const Node& after, absl::Time time) {
    states_[after.name] = StateOf(after);
    if (states_["c0"] == UpgradeState::kDone && states_["c1"] == UpgradeState::kDone && !canaries_done_) {
      canaries_done_ = time;
    }
    const auto was = before == nullptr ? std::nullopt : StateOf(*before);
    const auto is = StateOf(after);
    const bool starts = is && IsInProgress(*is) && !(was && IsInProgress(*was));
    if (!starts || after.name.front() == 'c') return;
    ++late_starts_;
    if (!canaries_done_) broken_ = after.name + " starts before the canaries are done";
    if (canaries_done_ && time < *canaries_done_ + soak_)
      broken_ = after.name + " starts before the canaries have soaked";
  }

  // Checks that no grants are added after a halt has been stored.
  void WatchLedger(const ConfigMap* before, const ConfigMap& after) {
    const auto entry = [](const ConfigMap* map, const char* key) {
      return map != nullptr && map->data.contains(key) ? std::optional(map->data.at(key)) : std::nullopt;
    };
    const auto is_halted = [&](const ConfigMap* map) {
      const auto record = entry(map, kRecordKey);
      return record && internal::ParseRecord(*record).record.halt.has_value();
    };
    halted_ |= is_halted(&after);
    if (!is_halted(before) || !is_halted(&after)) return;
    const auto lines = [](const std::optional<std::string>& text) {
      return text ? std::count(text->begin(), text->end(), '\n') : 0;
    };
    if (lines(entry(&after, kGrantsKey)) > lines(entry(before, kGrantsKey)))
      broken_ = "a halted rollout grants a start";
  }

  bool AllDone() const {
    return std::all_of(states_.begin(), states_.end(),
                       [](const auto& state) { return state.second == UpgradeState::kDone; });
  }

  SeededRandom random_;
  World world_;
  absl::Duration soak_;
  int fault_percent_ = 0;
  std::vector<std::unique_ptr<UpgradeEngine>> engines_{2};
  std::optional<std::size_t> passing_;
  bool nested_ = false;
  bool calm_ = false;
  bool halted_ = false;
  int touches_ = 0;
  std::map<std::string, std::optional<UpgradeState>> states_;
  std::optional<absl::Time> canaries_done_;
  int late_starts_ = 0;
  std::string broken_;
};

TEST_CASE("two engines that both lead start other nodes only after the canaries have soaked, and finish the rollout") {
  int late_starts = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    RolloutDuel duel(seed);
    REQUIRE(duel.Run() == "");
    late_starts += duel.late_starts();
  }
  CHECK(late_starts > 300);
}

}  // namespace
}  // namespace driverupgrade::tests
