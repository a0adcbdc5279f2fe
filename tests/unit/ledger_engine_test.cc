// Tests an engine with an AdmissionLedger on the fake cluster (ADR 0005), with lists and with a cache.
#include <algorithm>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/watch_cache.h"
#include "fmt/format.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using testing::AddFleet;
using testing::Call;
using testing::FakeClock;
using testing::FakeCluster;
using testing::Fleet;

constexpr int kWatches = 5;  // nodes, pods, DaemonSets, revisions, driver pods
constexpr const char* kKey = "nvidia.com_gpu";

enum class Reads { kLists, kCache };

/// Three nodes with outdated driver pods, one slot, and an engine that a test can replace.
struct World {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster = std::make_shared<FakeCluster>(clock);
  UpgradePolicy policy = {.auto_upgrade = true, .max_parallel = 1};
  std::optional<AdmissionLedgerOptions> ledger = AdmissionLedgerOptions{.ns = "ops", .name = "ledger"};
  Reads reads;
  Fleet fleet = {};
  LabelSelector labels = {};
  std::shared_ptr<WatchCache> cache = {};
  std::unique_ptr<UpgradeEngine> engine = {};

  explicit World(Reads from, int nodes = 3) : reads(from) {
    fleet = AddFleet(*cluster, {.node_count = nodes, .node_labels = {{"gpu", "true"}}, .workload = ""});
    labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}});
    cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  }
  ~World() {
    engine.reset();
    if (cache) cache->Stop();
  }
  /// Replaces the engine with a new process, which has no memory of earlier passes.
  void Restart() {
    engine.reset();
    if (cache) cache->Stop();
    if (reads == Reads::kCache) {
      cache = *WatchCache::Create(cluster, {.drivers = {{.ns = fleet.ns, .driver_labels = labels}}, .clock = clock});
      cache->Start();
      Settle();
    }
    EngineOptions options{
        .snapshot = {.ns = fleet.ns, .driver_labels = labels}, .cache = cache, .ledger = ledger, .clock = clock};
    options.executor.calls_in_flight = calls_in_flight;
    auto created = UpgradeEngine::Create(Gpu(), cluster, std::move(options));
    REQUIRE(created.ok());
    engine = *std::move(created);
  }
  Plan Pass() {
    if (!engine) Restart();
    Settle();
    auto result = engine->Reconcile({}, policy);
    REQUIRE(result.ok());
    Settle();
    return result->plan;
  }
  /// Blocks until the cache has seen all changes.
  void Settle() {
    if (cache) cluster->AwaitWatchesIdle(kWatches);
  }
  Plan PassIn(absl::Duration duration) {
    cluster->Advance(duration);
    return Pass();
  }
  void RunUntilDone() {
    for (int i = 0; i < 600 && !AllDone(); ++i) PassIn(absl::Seconds(1));
    REQUIRE(AllDone());
  }
  bool AllDone() const {
    const std::vector<Node> nodes = cluster->nodes();
    return std::all_of(nodes.begin(), nodes.end(),
                       [&](const Node& node) { return State(node.name) == "upgrade-done"; });
  }
  std::string State(const std::string& name) const {
    const Node node = cluster->node(name).value();
    const auto label = node.labels.find(Gpu().StateLabel());
    return label == node.labels.end() ? "" : label->second;
  }
  bool IsBusy(const std::string& name) const {
    const auto state = ParseUpgradeState(State(name));
    return !state || IsInProgress(*state);
  }
  /// Returns the stored grants, each as a line `<node UID> <version>`, or `none` if there is no ConfigMap.
  std::string Stored() const {
    const auto map = cluster->config_map("ops", "ledger");
    return map ? map->data.at(kKey) : "none";
  }
  std::string Line(const std::string& name) const {
    const Node node = cluster->node(name).value();
    return fmt::format("{} {}\n", node.uid, node.resource_version);
  }
  /// Stores grants as an administrator, or another replica that has crashed since then, could have written them.
  void Store(const std::string& text) {
    REQUIRE(cluster->CreateConfigMap({}, {.ns = "ops", .name = "ledger", .data = {{kKey, text}}}).ok());
  }
  std::int64_t Calls(Operation operation) const { return cluster->CallCount(operation); }
  std::int64_t Writes() const { return Calls(Operation::kCreateConfigMap) + Calls(Operation::kPatchConfigMap); }
  void Touch(const std::string& name) {
    cluster->EditNode(name, [&](Node& node) { node.annotations["kubelet"] = std::to_string(cluster_touches++); });
  }
  /// Runs `what` once, just before the next call of `operation`.
  void Before(Operation operation, std::function<void()> what) {
    auto next = std::make_shared<std::function<void()>>(std::move(what));
    cluster->SetFaultHooks(
        [operation, next](const Call& call) -> std::optional<absl::Status> {
          if (call.operation == operation && *next) std::exchange(*next, nullptr)();
          return std::nullopt;
        },
        nullptr);
  }
  int cluster_touches = 0;
  int calls_in_flight = 1;
};

const NodeGate* GateOf(const Plan& plan, const std::string& node) {
  const auto found =
      std::find_if(plan.gates.begin(), plan.gates.end(), [&](const NodeGate& gate) { return gate.node == node; });
  return found == plan.gates.end() ? nullptr : &*found;
}

std::vector<std::string> Findings(const Plan& plan) {
  std::vector<std::string> messages;
  for (const Finding& finding : plan.findings) {
    if (finding.code == FindingCode::kLedger) messages.push_back(finding.message);
  }
  return messages;
}

TEST_CASE(
    "arch-A12: a slot is granted before the node starts, with at most one write per pass, and released at the end") {
  World world(GENERATE(Reads::kLists, Reads::kCache));
  std::vector<Operation> order;
  world.cluster->SetFaultHooks(
      [&](const Call& call) -> std::optional<absl::Status> {
        if (call.operation == Operation::kPatchNode || call.operation == Operation::kCreateConfigMap) {
          order.push_back(call.operation);
        }
        return std::nullopt;
      },
      nullptr);
  const std::string granted = world.Line("node-1");
  world.Pass();
  CHECK(world.Stored() == granted);
  CHECK(world.IsBusy("node-1"));
  CHECK_FALSE(world.IsBusy("node-2"));
  // The other two nodes become upgrade-required, but get no grant, because they come later in name order.
  REQUIRE(order.size() == 4);
  CHECK(order.front() == Operation::kCreateConfigMap);
  for (int i = 0; i < 600 && !world.AllDone(); ++i) {
    const std::int64_t before = world.Writes();
    world.PassIn(absl::Seconds(1));
    CHECK(world.Writes() - before <= 1);
  }
  REQUIRE(world.AllDone());
  world.Pass();
  CHECK(world.Stored().empty());
  CHECK(world.Calls(Operation::kGetConfigMap) == 1);
  CHECK(world.Writes() == 4);  // one slot: start; end and start; end and start; end
  const std::int64_t revision = world.cluster->revision();
  const auto calls = world.cluster->journal().size();
  world.Pass();
  CHECK(world.cluster->revision() == revision);
  if (world.cache) CHECK(world.cluster->journal().size() == calls);
}

TEST_CASE("An engine sends requests for ConfigMaps only if it has a ledger") {
  World world(GENERATE(Reads::kLists, Reads::kCache));
  world.ledger.reset();
  world.RunUntilDone();
  CHECK(world.Calls(Operation::kGetConfigMap) + world.Writes() == 0);
  CHECK(world.Calls(Operation::kPatchNode) ==
        3 * 2 + 2);  // two patches per node, and one more for each node that waits
}

TEST_CASE(
    "After a crash between a grant and its patch, the next engine starts the node with the grant before all others") {
  World world(GENERATE(Reads::kLists, Reads::kCache));
  world.Store(world.Line("node-3"));
  const std::string granted = world.Stored();
  world.Pass();
  CHECK(world.Stored() == granted);
  CHECK(world.IsBusy("node-3"));
  CHECK_FALSE(world.IsBusy("node-1"));
  CHECK(world.Calls(Operation::kPatchConfigMap) == 0);
  CHECK(world.engine->Explain("node-1")->reason == GateReason::kMaxParallel);
  world.RunUntilDone();
}

TEST_CASE("A grant for a node that does not start uses a slot and headroom until the node changes") {
  World world(GENERATE(Reads::kLists, Reads::kCache));
  if (GENERATE(true, false)) {
    world.policy.max_parallel.reset();
    world.policy.max_unavailable = Count{1};
  }
  std::string node = "node-3";
  SECTION("a node that must not be upgraded now") {
    world.cluster->EditNode(node, [](Node& edited) { edited.labels[Gpu().SkipUpgradeLabel()] = "true"; });
  }
  SECTION("a node that has neither driver pod nor label") {
    node = "other";
    world.cluster->AddNode(testing::NodeBuilder(node).Build());
  }
  world.Store(world.Line(node));
  const Plan plan = world.Pass();
  CHECK_FALSE(world.IsBusy("node-1"));
  CHECK(plan.totals.slots == 1);
  CHECK(plan.totals.unavailable == 1);
  world.Touch(node);
  const std::string next = world.Line("node-1");
  world.Pass();
  CHECK(world.IsBusy("node-1"));
  CHECK(world.Stored() == next);
}

TEST_CASE("The grant for a deleted node is released") {
  World world(GENERATE(Reads::kLists, Reads::kCache));
  world.Pass();
  REQUIRE(world.IsBusy("node-1"));
  const std::int64_t lists = world.Calls(Operation::kListNodes);
  world.cluster->RemoveNode("node-1");
  world.PassIn(absl::Seconds(1));
  CHECK(world.IsBusy("node-2"));
  CHECK(world.Stored().find(world.cluster->node("node-2")->uid) == 0);
  // The cache has observed the deletion of the node, so the engine needs no list.
  if (world.cache) CHECK(world.Calls(Operation::kListNodes) == lists);
}

TEST_CASE("A node that is missing from the cache counts as deleted only once a list of nodes shows it") {
  World world(Reads::kCache);
  world.Store("nobody 5\n");
  SECTION("it was deleted") {
    world.Pass();
    CHECK(world.Calls(Operation::kListNodes) == 1);
    CHECK(world.IsBusy("node-1"));
    world.RunUntilDone();
    CHECK(world.Calls(Operation::kListNodes) == 1);
  }
  SECTION("the list fails") {
    world.cluster->FailNext(Operation::kListNodes, absl::UnavailableError("down"));
    const absl::Time began = world.clock->Now();
    CHECK(world.Pass().wake_at == began + absl::Minutes(1));
    world.PassIn(absl::Seconds(59));
    CHECK(world.Calls(Operation::kListNodes) == 1);
    CHECK_FALSE(world.IsBusy("node-1"));
    world.PassIn(absl::Seconds(1));
    CHECK(world.Calls(Operation::kListNodes) == 2);
    CHECK(world.IsBusy("node-1"));
  }
  SECTION("the cache lags") {
    world.Restart();
    world.cluster->PauseWatches();
    const Node late = world.cluster->AddNode(testing::NodeBuilder("late").WithUid("nobody").Build());
    auto result = world.engine->Reconcile({}, world.policy);
    REQUIRE(result.ok());
    CHECK_FALSE(world.IsBusy("node-1"));
    world.cluster->ResumeWatches();
    world.Pass();  // the version of the node is newer than its grant
    CHECK(world.IsBusy("node-1"));
    CHECK(world.Calls(Operation::kListNodes) == 1);
  }
}

TEST_CASE("If the patch that starts a node fails with a conflict, the node's grant is renewed") {
  World world(GENERATE(Reads::kLists, Reads::kCache));
  world.Before(Operation::kPatchNode, [&] { world.Touch("node-1"); });
  const std::string first = world.Line("node-1");
  world.Pass();
  CHECK(world.Stored() == first);
  CHECK_FALSE(world.IsBusy("node-1"));
  const std::string second = world.Line("node-1");
  REQUIRE(first != second);
  world.Pass();
  CHECK(world.Stored() == second);
  CHECK(world.IsBusy("node-1"));
  CHECK(world.Writes() == 2);
}

TEST_CASE("While the ledger is unusable, no node starts, other work continues, and a finding reports the problem") {
  World world(GENERATE(Reads::kLists, Reads::kCache));
  world.policy.max_parallel = 2;
  world.Store("");
  SECTION("it cannot be read") {
    world.cluster->FailNext(Operation::kGetConfigMap, absl::UnavailableError("down"));
    const Plan plan = world.Pass();
    CHECK(Findings(plan) == std::vector<std::string>{"no node starts: the ledger of grants: down"});
    CHECK_FALSE(world.IsBusy("node-1"));
    REQUIRE(GateOf(plan, "node-1") != nullptr);
    CHECK(GateOf(plan, "node-1")->gate.reason == GateReason::kLedger);
    CHECK(GateOf(plan, "node-3")->gate.reason == GateReason::kMaxParallel);
    CHECK(GateOf(plan, "node-1")->gate.not_before == world.clock->Now() + absl::Seconds(1));
    CHECK(plan.wake_at == world.clock->Now() + absl::Seconds(1));
    CHECK(world.engine->Explain("node-1")->reason == GateReason::kLedger);
    CHECK(*GateOf(world.engine->Everything(), "node-1") == *GateOf(plan, "node-1"));
    // The node does not start earlier than its gate allows.
    world.Pass();
    CHECK_FALSE(world.IsBusy("node-1"));
    const Plan next = world.PassIn(absl::Seconds(1));
    CHECK(Findings(next).empty());
    CHECK(world.IsBusy("node-1"));
  }
  SECTION("it cannot be written, then another replica has written it, then the response is lost") {
    world.cluster->FailNext(Operation::kPatchConfigMap, absl::ResourceExhaustedError("slow down"));
    world.cluster->FailNext(Operation::kPatchConfigMap, absl::AbortedError("conflict"));
    world.cluster->FailNextAfterApplying(Operation::kPatchConfigMap, absl::DeadlineExceededError("no answer"));
    for (int failures = 1; failures <= 3; ++failures) {
      const Plan plan = world.Pass();
      CAPTURE(failures);
      CHECK(Findings(plan).size() == 1);
      CHECK_FALSE(world.IsBusy("node-1"));
      CHECK(plan.wake_at == world.clock->Now() + absl::Seconds(1 << (failures - 1)));
      world.cluster->RunUntil(*plan.wake_at);
    }
    const std::int64_t writes = world.Writes();
    world.Pass();
    CHECK(world.IsBusy("node-1"));
    CHECK(world.IsBusy("node-2"));
    CHECK(world.Writes() == writes);  // the write whose response was lost is found and used
  }
  world.RunUntilDone();
}

TEST_CASE("Nodes in progress continue while the ledger fails") {
  World world(GENERATE(Reads::kLists, Reads::kCache), 1);
  world.Pass();
  REQUIRE(world.IsBusy("node-1"));
  world.Restart();
  world.cluster->FailNext(Operation::kGetConfigMap, absl::PermissionDeniedError("no"), 1000);
  world.RunUntilDone();
  CHECK(world.Calls(Operation::kGetConfigMap) < 10);
}

TEST_CASE("If the ledger is full, the remaining nodes wait, and invalid lines in the ledger are reported") {
  World world(GENERATE(Reads::kLists, Reads::kCache));
  world.policy.max_parallel.reset();
  world.ledger->grants_max = 1;
  world.Store("what is this\n");
  const Plan plan = world.Pass();
  CHECK(Findings(plan) ==
        std::vector<std::string>{"config map ops/ledger, nvidia.com_gpu: 1 invalid lines, first: line 1"});
  CHECK(Findings(world.Pass()).empty());
  CHECK(world.IsBusy("node-1"));
  CHECK_FALSE(world.IsBusy("node-2"));
  REQUIRE(GateOf(plan, "node-2") != nullptr);
  CHECK(GateOf(plan, "node-2")->gate.detail.starts_with("the ledger is full: 1 nodes have a grant"));
  world.RunUntilDone();
}

TEST_CASE("Nodes that do not fit into a full ledger are not evaluated in every pass") {
  World world(Reads::kCache, 9);
  world.policy.max_parallel.reset();
  world.ledger->grants_max = 2;
  world.Pass();
  world.Pass();
  world.Pass();
  REQUIRE(world.IsBusy("node-1"));
  REQUIRE(world.IsBusy("node-2"));
  REQUIRE_FALSE(world.IsBusy("node-3"));
  auto result = world.engine->Reconcile({}, world.policy);
  REQUIRE(result.ok());
  CHECK(result->judged <= 2);
  world.RunUntilDone();
}

TEST_CASE("A group that starts together gets grants for all its nodes or for none") {
  World world(Reads::kCache, 6);
  world.policy.max_parallel.reset();
  world.policy.rollout = RolloutPolicy{.groups = NodeGroups{.by = "rack"}};
  for (int i = 1; i <= 6; ++i) {
    world.cluster->EditNode("node-" + std::to_string(i), [&](Node& node) {
      node.labels["rack"] = i <= 2 ? "a" : i <= 4 ? "b" : "c";
    });
  }
  world.ledger->grants_max = 3;
  for (int i = 0; i < 4; ++i) world.Pass();
  CHECK(world.IsBusy("node-1"));
  CHECK(world.IsBusy("node-2"));
  CHECK_FALSE(world.IsBusy("node-3"));
  const Plan plan = world.engine->Everything();
  REQUIRE(GateOf(plan, "node-3") != nullptr);
  CHECK(GateOf(plan, "node-3")->gate.reason == GateReason::kLedger);
  world.RunUntilDone();
}

TEST_CASE("If a group has more nodes than the ledger can grant, its gates report this, and other nodes continue") {
  World world(Reads::kCache, 3);
  world.policy.max_parallel.reset();
  world.policy.rollout = RolloutPolicy{.groups = NodeGroups{.by = "rack"}};
  for (const char* name : {"node-1", "node-2"}) {
    world.cluster->EditNode(name, [](Node& node) { node.labels["rack"] = "a"; });
  }
  world.ledger->grants_max = 1;
  for (int i = 0; i < 4; ++i) world.Pass();
  CHECK_FALSE(world.IsBusy("node-1"));
  CHECK(world.IsBusy("node-3"));
  const Plan plan = world.engine->Everything();
  REQUIRE(GateOf(plan, "node-1") != nullptr);
  CHECK(GateOf(plan, "node-1")->gate.detail.find("2 nodes start together, but at most 1 can have a grant") !=
        std::string::npos);
}

TEST_CASE("While the pods of one node are being read, no node of its group starts") {
  World world(Reads::kCache, 3);
  world.policy.max_parallel.reset();
  world.policy.rollout = RolloutPolicy{.order = {{.by = OrderBy::kFewestPods}}, .groups = NodeGroups{.by = "rack"}};
  for (const char* name : {"node-1", "node-2", "node-3"}) {
    world.cluster->EditNode(name, [](Node& node) { node.labels["rack"] = "a"; });
  }
  world.calls_in_flight = 3;
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  std::promise<void> first;
  world.cluster->SetFaultHooks(
      [released](const Call& call) -> std::optional<absl::Status> {
        if (call.operation == Operation::kListPods && call.object.find("node-3") != std::string::npos) released.wait();
        return std::nullopt;
      },
      [&first, told = false](const Call& call) mutable -> std::optional<absl::Status> {
        const bool is_first = call.operation == Operation::kListPods && call.object.find("node-1") != std::string::npos;
        if (is_first && !std::exchange(told, true)) first.set_value();
        return std::nullopt;
      });
  world.Pass();
  first.get_future().wait();
  const auto busy = [&] { return world.IsBusy("node-1") + world.IsBusy("node-2") + world.IsBusy("node-3"); };
  for (int i = 0; i < 20; ++i) {
    world.Pass();
    CHECK(busy() == 0);
  }
  release.set_value();
  for (int i = 0; i < 10'000 && busy() == 0; ++i) world.Pass();
  world.engine->Quiesce();  // several threads send the requests of that pass
  CHECK(busy() == 3);
}

/// Blocks the calls of one operation until `Release`.
class HeldCalls {
 public:
  HeldCalls(FakeCluster& cluster, Operation operation) : cluster_(cluster) {
    cluster.SetFaultHooks(
        [operation, released = promise_.get_future().share()](const Call& call) -> std::optional<absl::Status> {
          if (call.operation == operation) released.wait();
          return std::nullopt;
        },
        nullptr);
  }
  ~HeldCalls() {
    if (!std::exchange(is_released_, true)) promise_.set_value();
    cluster_.SetFaultHooks(nullptr, nullptr);
  }
  void Release() {
    is_released_ = true;
    promise_.set_value();
  }

 private:
  FakeCluster& cluster_;
  std::promise<void> promise_;
  bool is_released_ = false;
};

TEST_CASE("arch-A11: passes continue while the ledger is being read, and nodes that have started finish") {
  World world(Reads::kCache);
  world.Pass();
  REQUIRE(world.IsBusy("node-1"));
  world.calls_in_flight = 4;
  HeldCalls held(*world.cluster, Operation::kGetConfigMap);
  world.Restart();
  Plan plan;
  for (int i = 0; i < 600 && world.State("node-1") != "upgrade-done"; ++i) {
    plan = world.PassIn(absl::Seconds(1));
  }
  REQUIRE(world.State("node-1") == "upgrade-done");
  world.PassIn(absl::Seconds(1));
  plan = world.engine->Everything();
  CHECK_FALSE(world.IsBusy("node-2"));
  REQUIRE(GateOf(plan, "node-2") != nullptr);
  CHECK(GateOf(plan, "node-2")->gate.detail.find("is being read") != std::string::npos);
  held.Release();
  for (int i = 0; i < 10'000 && !world.AllDone(); ++i) world.PassIn(absl::Seconds(1));
  CHECK(world.AllDone());
}

TEST_CASE("arch-A11: passes continue while revisions are being listed, and nodes that have started finish") {
  World world(Reads::kCache);
  world.Pass();
  REQUIRE(world.IsBusy("node-1"));
  world.calls_in_flight = 4;
  world.Restart();
  world.Pass();
  HeldCalls held(*world.cluster, Operation::kListControllerRevisions);
  world.cluster->EditDaemonSet(world.fleet.ns, world.fleet.daemon_set,
                               [](DaemonSet& edited) { edited.annotations["team"] = "gpu"; });
  for (int i = 0; i < 600 && world.State("node-1") != "upgrade-done"; ++i) world.PassIn(absl::Seconds(1));
  CHECK(world.State("node-1") == "upgrade-done");
}

TEST_CASE("A node that an administrator has cordoned takes no slot and needs no grant") {
  World world(GENERATE(Reads::kLists, Reads::kCache), 1);
  world.cluster->Cordon("node-1");
  world.RunUntilDone();
  CHECK(world.Writes() == 0);
}

TEST_CASE("Invalid options of a ledger are refused when the engine is created") {
  World world(Reads::kLists, 1);
  EngineOptions options{.snapshot = {.ns = world.fleet.ns, .driver_labels = world.labels},
                        .ledger = AdmissionLedgerOptions{.ns = "ops"}};
  CHECK(absl::IsInvalidArgument(UpgradeEngine::Create(Gpu(), world.cluster, options).status()));
  options.ledger->name = "ledger";
  world.cluster->SetSupported(Operation::kPatchConfigMap, false);
  CHECK(absl::IsUnimplemented(UpgradeEngine::Create(Gpu(), world.cluster, options).status()));
}

TEST_CASE("After a restore of the cluster, the stored grants are read before a new grant is written") {
  World world(Reads::kCache);
  world.cluster->BackUp();
  world.Pass();
  REQUIRE(world.IsBusy("node-1"));
  std::vector<Operation> asked;
  world.cluster->SetFaultHooks(
      [&](const Call& call) -> std::optional<absl::Status> {
        for (const Operation operation :
             {Operation::kGetConfigMap, Operation::kCreateConfigMap, Operation::kPatchConfigMap}) {
          if (call.operation == operation) asked.push_back(operation);
        }
        return std::nullopt;
      },
      nullptr);
  REQUIRE(world.cluster->RestoreBackup());
  for (int i = 0; i < 60 && asked.empty(); ++i) {
    world.cluster->Advance(absl::Seconds(1));
    world.Settle();
    (void)world.engine->Reconcile({}, world.policy);  // the watches must start again first
  }
  REQUIRE_FALSE(asked.empty());
  CHECK(asked.front() == Operation::kGetConfigMap);
}

TEST_CASE("After a restore of the cluster, the rollout continues from the restored record") {
  World world(Reads::kCache);
  world.policy.max_parallel.reset();
  world.cluster->EditNode("node-1", [](Node& node) { node.labels["pool"] = "canary"; });
  world.policy.rollout = RolloutPolicy{
      .stages = {
          {.name = "canary", .nodes = LabelSelector::FromMatchLabels({{"pool", "canary"}}), .soak = absl::Minutes(1)}}};
  world.Pass();
  world.cluster->BackUp();
  for (int i = 0; i < 200 && !world.IsBusy("node-2"); ++i) world.PassIn(absl::Seconds(1));
  REQUIRE(world.State("node-1") == "upgrade-done");
  REQUIRE(world.IsBusy("node-2"));
  REQUIRE(world.cluster->RestoreBackup());
  for (int i = 0; i < 50; ++i) {
    world.cluster->Advance(absl::Seconds(1));
    world.Settle();
    (void)world.engine->Reconcile({}, world.policy);  // the watches must start again first
    CHECK_FALSE(world.IsBusy("node-2"));
  }
  CHECK(world.State("node-1") == "upgrade-done");
  world.RunUntilDone();
}

}  // namespace
}  // namespace driverupgrade::tests
