// Tests how an engine handles an object that cannot be read, from the API server's bytes to the plan. The affected
// nodes wait until the object is readable, while all other nodes continue. The engine reads from lists or from a cache.
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "driverupgrade/kubernetes/rest_cluster.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/watch_cache.h"
#include "simulation/wire/api_server.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using testing::FakeClock;
using testing::FakeCluster;

/// Replaces `from` with `to` in the object, in every server response that contains the object.
struct Damage {
  /// Start of the object's metadata as text, which identifies the object. If empty, nothing is replaced.
  std::string object = {};
  std::string from = {};
  std::string to = {};
  void Do(std::string& body) const {
    for (std::size_t at = 0; !object.empty() && (at = body.find(object, at)) != std::string::npos; ++at) {
      const std::size_t member = body.find(from, at);
      if (member != std::string::npos) body.replace(member, from.size(), to);
    }
  }
};

struct Options {
  bool cached = false;
  int max_parallel = 2;
  bool requestor = false;
};

/// Three nodes with outdated drivers, and an engine that reads the cluster over the wire format, so that `damage` can
/// change what the engine receives.
class World {
 public:
  explicit World(const Options& options) {
    testing::AddFleet(*cluster, {.node_count = 3, .node_labels = {{"gpu", "yes"}}});
    cluster->AddNode({.name = "office", .labels = {{"gpu", "no"}}});
    cluster->SetTemplate("driver-system", "driver", "rev-2");
    policy_.max_parallel = options.max_parallel;
    testing::WireSeam seam{.cluster = cluster};
    seam.list_version = [cluster = cluster] { return std::to_string(cluster->revision()); };
    seam.change_answer = [this](std::string& body) { damage.Do(body); };
    wire_ = MakeRestCluster(std::make_shared<ApiServer>(std::move(seam)), {});
    EngineOptions engine{.snapshot = {.ns = "driver-system", .driver_labels = Selector("app=driver")}, .clock = clock_};
    if (options.requestor) {
      engine.state_machine.requestor = RequestorOptions{.id = "nvidia.gpu", .ns = "maintenance"};
      cluster->RunMaintenanceOperator();
    }
    if (options.cached) {
      DriverScope scope{.ns = engine.snapshot.ns, .driver_labels = engine.snapshot.driver_labels};
      if (options.requestor) scope.maintenance_ns = "maintenance";
      cache = *WatchCache::Create(wire_, {.drivers = {scope}, .clock = clock_});
      engine.cache = cache;
    }
    engine_ = *UpgradeEngine::Create(Gpu(), wire_, std::move(engine));
  }

  /// Runs the given number of passes, five seconds apart.
  void Run(int passes) {
    told.clear();
    for (int i = 0; i < passes; ++i) {
      if (cache) cache->Turn({});
      const absl::StatusOr<ReconcileResult> result = engine_->Reconcile({}, policy_);
      INFO(result.status().ToString());
      REQUIRE(result.ok());
      engine_->Quiesce();
      totals = result->plan.totals;
      for (const Finding& finding : result->plan.findings) {
        if (finding.code == FindingCode::kUnreadable) told.insert(finding.node + "|" + finding.message);
      }
      most_in_progress = std::max(most_in_progress, InProgress());
      cluster->Advance(absl::Seconds(5));
    }
  }
  /// Returns true if the node has been upgraded and returned to service.
  bool IsDone(const std::string& node) const {
    const std::optional<Node> found = cluster->node(node);
    const auto label = found->labels.find(Gpu().StateLabel());
    return label != found->labels.end() && label->second == "upgrade-done" && !found->unschedulable &&
           RevisionHash(DriverPodOn(node)) == "rev-2";
  }
  bool AllDone() const { return IsDone("node-1") && IsDone("node-2") && IsDone("node-3"); }
  Pod DriverPodOn(const std::string& node) const { return PodOn(node, "driver"); }
  Pod WebPodOn(const std::string& node) const { return PodOn(node, "web"); }
  std::string Waits(const std::string& node) const {
    const std::optional<Gate> gate = engine_->Explain(node);
    return gate ? std::string(ToString(gate->reason)) : "";
  }
  absl::StatusOr<ReconcileResult> Release() { return engine_->Release({}); }
  void Touch(const std::string& node) {
    cluster->EditNode(node, [](Node& edited) { edited.annotations["touched"] += "x"; });
  }
  void Touch(const Pod& pod) {
    cluster->EditPod(pod.ref.ns, pod.ref.name, [](Pod& edited) { edited.labels["touched"] += "x"; });
  }

  const std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  const std::shared_ptr<FakeCluster> cluster =
      std::make_shared<FakeCluster>(clock_, testing::FakeClusterOptions{.watches_follow = false});
  std::shared_ptr<WatchCache> cache = {};
  Damage damage = {};
  std::set<std::string> told = {};  // unreadable objects that the last Run reported, as `node|message`
  Tally totals = {};
  int most_in_progress = 0;

 private:
  Pod PodOn(const std::string& node, const std::string& app) const {
    for (const Pod& pod : cluster->pods_on(node)) {
      if (pod.labels.at("app") == app) return pod;
    }
    return {};
  }
  int InProgress() const {
    int count = 0;
    for (const Node& node : cluster->nodes()) {
      const auto label = node.labels.find(Gpu().StateLabel());
      if (label == node.labels.end()) continue;
      const std::optional<UpgradeState> state = ParseUpgradeState(label->second);
      count += state && IsInProgress(*state);
    }
    return count;
  }

  UpgradePolicy policy_ = {.auto_upgrade = true, .drain = DrainPolicy{.timeout = absl::InfiniteDuration()}};
  std::shared_ptr<ClusterFacade> wire_;
  std::unique_ptr<UpgradeEngine> engine_;
};

constexpr int kRollout = 80;  // number of passes in which three nodes can be upgraded in sequence

Damage OfNode(const std::string& name) {
  return {
      .object = "\"name\":\"" + name + "\",\"uid\"", .from = "\"conditions\":[", .to = "\"conditions\":7,\"was\":["};
}
Damage OfPod(const Pod& pod, std::string from, std::string to) {
  return {.object = "\"name\":\"" + pod.ref.name + "\",\"namespace\"", .from = std::move(from), .to = std::move(to)};
}
std::string WithUid(const std::string& name, const std::string& uid) { return name + " (UID " + uid + ")"; }

TEST_CASE("a node that cannot be read holds a slot, and is upgraded after the other nodes, once it can be read again") {
  World world({.cached = GENERATE(false, true)});
  world.damage = OfNode("node-2");
  world.Run(kRollout);
  CHECK(world.IsDone("node-1"));
  CHECK(world.IsDone("node-3"));
  CHECK(world.most_in_progress == 1);  // the unreadable node holds the other slot
  CHECK(world.totals.total == 3);
  CHECK(world.totals.slots == 1);
  CHECK(world.totals.unavailable == 1);
  CHECK(world.Waits("node-2") == "Unreadable");
  const Node node = *world.cluster->node("node-2");
  CHECK(node.annotations.empty());
  CHECK(node.labels == StringMap{{"gpu", "yes"}});
  CHECK(world.told ==
        std::set<std::string>{"node-2|" + WithUid("Node node-2", node.uid) +
                              " cannot be read: status.conditions: expected an array, got a number; it is left alone, "
                              "holds a slot and counts as unavailable"});

  world.damage = {};
  world.Touch("node-2");
  world.Run(kRollout);
  CHECK(world.AllDone());
  CHECK(world.told.empty());
}

TEST_CASE("with one slot, no node starts while another node cannot be read") {
  World world({.cached = GENERATE(false, true), .max_parallel = 1});
  world.damage = OfNode("node-2");
  world.Run(10);
  CHECK(world.most_in_progress == 0);
  CHECK(world.Waits("node-1") == "MaxParallel");
}

TEST_CASE("a node without the driver is not counted, unless its labels cannot be read") {
  World world({.cached = GENERATE(false, true)});
  world.damage = OfNode("office");
  world.Run(kRollout);
  CHECK(world.AllDone());
  CHECK(world.totals.total == 3);
  CHECK(world.totals.slots == 0);
  CHECK(world.told.empty());
  world.damage = {.object = "\"name\":\"office\",\"uid\"", .from = "\"gpu\":\"no\"", .to = "\"gpu\":7"};
  world.Touch("office");
  world.Run(2);
  CHECK(world.totals.total == 4);
  CHECK(world.totals.slots == 1);
  CHECK(world.told.size() == 1);
}

TEST_CASE("a watch continues past an object that cannot be read, and past the deletion of this object") {
  World world({.cached = true});
  world.Run(1);
  world.damage = OfNode("node-2");
  world.Touch("node-2");
  world.Run(2);
  CHECK(world.Waits("node-2") == "Unreadable");
  world.Touch("node-1");
  world.Run(1);
  CHECK(world.cache->FindNode("node-1")->annotations.contains("touched"));
  world.cluster->RemoveNode("node-2");
  world.Run(1);
  CHECK(world.cache->FindNode("node-2") == nullptr);
  CHECK(world.cache->Restarts().at(WatchRestart::kFailed) == 0);
  CHECK(world.told.empty());
}

TEST_CASE("a node is not drained while one of its pods cannot be read") {
  World world({.cached = GENERATE(false, true)});
  const Pod pod = world.WebPodOn("node-2");
  const auto [from, to, why] = GENERATE(values<std::tuple<std::string, std::string, std::string>>(
      {{"\"phase\":\"Running\"", "\"phase\":7", "status.phase: expected a string, got a number"},
       {"\"nodeName\":\"node-2\"", "\"nodeName\":7", "spec.nodeName: expected a string, got a number"}}));
  const bool early = GENERATE(true, false);
  if (early) world.damage = OfPod(pod, from, to);
  world.Run(early ? 0 : 1);
  world.damage = OfPod(pod, from, to);
  world.Touch(pod);
  world.Run(kRollout);
  CHECK(world.IsDone("node-1"));
  CHECK(world.IsDone("node-3"));
  CHECK(world.cluster->pod(pod.ref.ns, pod.ref.name).has_value());
  CHECK(RevisionHash(world.DriverPodOn("node-2")) == "rev-1");
  CHECK(world.Waits("node-2") == "PodsUnknown");
  CHECK(world.told == std::set<std::string>{"node-2|" + WithUid("Pod " + pod.ref.ToString(), pod.ref.uid) +
                                            " cannot be read: " + why});

  world.damage = {};
  world.Run(kRollout);
  CHECK(world.AllDone());
}

TEST_CASE("a node waits while its driver pod cannot be read") {
  World world({.cached = GENERATE(false, true)});
  const Pod pod = world.DriverPodOn("node-2");
  world.damage = OfPod(pod, "\"phase\":\"Running\"", "\"phase\":{}");
  world.Run(kRollout);
  CHECK(world.IsDone("node-1"));
  CHECK(world.IsDone("node-3"));
  CHECK(world.DriverPodOn("node-2").ref == pod.ref);
  CHECK(world.Waits("node-2") == "RevisionUnknown");
  CHECK(world.told == std::set<std::string>{"node-2|" + WithUid("driver pod " + pod.ref.ToString(), pod.ref.uid) +
                                            " cannot be read: status.phase: expected a string, got an object"});
  world.damage = {};
  world.Touch(pod);
  world.Run(kRollout);
  CHECK(world.AllDone());
}

TEST_CASE("W5: a driver pod without a node is not counted for any node") {
  World world({.cached = GENERATE(false, true)});
  const Pod pod = world.DriverPodOn("node-2");
  world.damage = OfPod(pod, "\"nodeName\":\"node-2\"", "\"nodeName\":7");
  world.Run(kRollout);
  CHECK(world.IsDone("node-1"));
  CHECK(world.IsDone("node-3"));
  CHECK(world.DriverPodOn("node-2").ref == pod.ref);
  CHECK(world.totals.unavailable == 0);
  CHECK(world.told == std::set<std::string>{"|" + WithUid("driver pod " + pod.ref.ToString(), pod.ref.uid) +
                                            " cannot be read: spec.nodeName: expected a string, got a number"});
  world.damage = {};
  world.Touch(pod);
  world.Run(kRollout);
  CHECK(world.AllDone());
}

TEST_CASE("the nodes of a DaemonSet wait while the DaemonSet or one of its revisions cannot be read") {
  World world({.cached = GENERATE(false, true)});
  const auto [damage, what, why] = GENERATE(values<std::tuple<Damage, std::string, std::string>>(
      {{{.object = "\"name\":\"driver\",\"namespace\"",
         .from = "\"observedGeneration\":",
         .to = "\"observedGeneration\":\"x\",\"was\":"},
        "DaemonSet driver-system/driver",
        "status.observedGeneration: expected an integer, got a string"},
       {{.object = "\"name\":\"driver-rev-2\",\"namespace\"",
         .from = "\"revision\":",
         .to = "\"revision\":\"x\",\"was\":"},
        "ControllerRevision driver-system/driver-rev-2",
        "revision: expected an integer, got a string"}}));
  world.damage = damage;
  world.Run(10);
  CHECK(world.most_in_progress == 0);
  CHECK(world.Waits("node-1") == "RevisionUnknown");
  REQUIRE(world.told.size() == 1);
  CHECK(world.told.begin()->starts_with("|" + what));
  CHECK(world.told.begin()->ends_with(" cannot be read: " + why));
  world.damage = {};
  world.cluster->SetTemplate("driver-system", "driver", "rev-3");
  world.cluster->SetTemplate("driver-system", "driver", "rev-2");
  world.Run(1);  // the engine starts to list the revisions
  world.Run(kRollout);
  CHECK(world.AllDone());
  CHECK(world.told.empty());
}

TEST_CASE(
    "a node waits while its NodeMaintenance cannot be read, and all nodes wait if it could belong to any of them") {
  World world({.cached = GENERATE(false, true), .requestor = true});
  world.cluster->AddNodeMaintenance(
      {.ns = "maintenance", .name = "other", .requestor_id = "somebody.else", .node_name = "node-2"});
  const bool anybodys = GENERATE(false, true);
  world.damage = {.object = "\"name\":\"other\",\"namespace\"",
                  .from = anybodys ? "\"nodeName\":\"node-2\"" : "\"requestorID\":\"somebody.else\"",
                  .to = anybodys ? "\"nodeName\":7" : "\"requestorID\":7"};
  world.Run(kRollout);
  CHECK(world.IsDone("node-1") == !anybodys);
  CHECK(world.IsDone("node-3") == !anybodys);
  CHECK_FALSE(world.IsDone("node-2"));
  CHECK(world.Waits("node-2") == "Maintenance");
  REQUIRE(world.told.size() == 1);
  CHECK(world.told.begin()->starts_with(anybodys ? "|NodeMaintenance maintenance/other"
                                                 : "node-2|NodeMaintenance maintenance/other"));

  world.damage = {};
  const NodeMaintenance other = *world.cluster->node_maintenance("maintenance", "other");
  REQUIRE(world.cluster->DeleteNodeMaintenance({}, {.ns = other.ns, .name = other.name, .uid = other.uid}).ok());
  world.Run(kRollout);
  CHECK(world.AllDone());
}

TEST_CASE("a node that cannot be read is not released, and Release reports this once all other nodes are released") {
  World world({.cached = GENERATE(false, true)});
  world.Run(kRollout);
  REQUIRE(world.AllDone());
  world.damage = OfNode("node-2");
  const auto first = world.Release();
  REQUIRE(first.ok());
  CHECK(first->plan.nodes.size() == 2);
  CHECK(world.cluster->node("node-2")->labels.contains(Gpu().StateLabel()));
  const auto second = world.Release();
  CHECK(second.status().code() == absl::StatusCode::kUnavailable);
  CHECK(second.status().ToString().find("Node node-2") != std::string::npos);
  world.damage = {};
  REQUIRE(world.Release().ok());
  CHECK_FALSE(world.cluster->node("node-2")->labels.contains(Gpu().StateLabel()));
  CHECK(world.Release().ok());
}

}  // namespace
}  // namespace driverupgrade::tests
