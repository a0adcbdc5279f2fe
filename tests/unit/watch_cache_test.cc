// Tests how a cache keeps its watches running, in virtual time and without threads.
#include "driverupgrade/watch_cache.h"

#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "read/watch_follower.h"
#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using testing::FakeClock;
using testing::FakeCluster;

struct World {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster =
      std::make_shared<FakeCluster>(clock, testing::FakeClusterOptions{.watches_follow = false});
  std::shared_ptr<WatchCache> cache = {};
  int told = 0;

  explicit World(std::optional<std::string> maintenance_ns = std::nullopt) {
    const LabelSelector labels = LabelSelector::FromMatchLabels({{"app", "driver"}});
    cache = *WatchCache::Create(
        cluster, {.drivers = {{.ns = "gpu", .driver_labels = labels, .maintenance_ns = std::move(maintenance_ns)}},
                  .clock = clock});
    cache->Subscribe(0, [this] { ++told; });
  }
  ~World() { cache->Subscribe(0, nullptr); }
};

TEST_CASE("A cache is synced once each collection has been read, and notifies its subscriber") {
  World world;
  CHECK_FALSE(world.cache->Synced());
  world.cluster->FailNext(Operation::kWatchDaemonSets, absl::UnavailableError("etcd is away"));
  world.cache->Turn({});
  CHECK_FALSE(world.cache->Synced());
  CHECK(world.told == 0);

  world.clock->Advance(absl::Seconds(1));
  world.cache->Turn({});
  CHECK(world.cache->Synced());
  CHECK(world.told == 1);  // even though no object has changed
}

TEST_CASE("A clock that is set back does not delay the restart of a broken watch") {
  World world;
  world.cluster->FailNext(Operation::kWatchDaemonSets, absl::UnavailableError("etcd is away"));
  world.cache->Turn({});
  world.clock->Advance(-absl::Hours(1));
  world.cache->Turn({});
  CHECK(world.cache->Synced());
}

TEST_CASE(
    "A cluster without the kind NodeMaintenance counts as a cluster without such objects until the kind is added") {
  World world("maintenance");
  for (int i = 0; i < 3; ++i) {
    world.cluster->FailNext(Operation::kWatchNodeMaintenances, absl::NotFoundError("no such kind"));
    world.cache->Turn({});
    world.clock->Advance(absl::Minutes(1));
  }
  CHECK(world.cache->Synced());
  CHECK(world.cache->Maintenances(0, "n1") == std::vector<NodeMaintenance>{});
  CHECK(world.cache->Health(absl::ZeroDuration()).ok());
  world.cache->Turn({});
  // Even if a server now reports the kind as missing, known objects are not forgotten, because the server may be wrong.
  world.cluster->FailNext(Operation::kWatchNodeMaintenances, absl::NotFoundError("no such kind"));
  world.cache->Turn({});
  CHECK(world.cache->Health(absl::ZeroDuration()).message().find("no such kind") != std::string::npos);
}

TEST_CASE(
    "api-A16: if the version of a watch is too old, the cache lists the objects immediately, and no change is lost") {
  World world;
  world.cluster->AddNode(testing::NodeBuilder("n1").Build());
  world.cache->Turn({});
  REQUIRE(world.cache->FindNode("n1"));
  world.cache->Take(0);

  world.cluster->AddNode(testing::NodeBuilder("n2").Build());
  world.cluster->RemoveNode("n1");
  world.cluster->CompactLog();
  world.cache->Turn({});  // the watch gets 410 Gone
  world.cache->Turn({});  // the cache lists the nodes again
  CHECK_FALSE(world.cache->FindNode("n1"));
  CHECK(world.cache->FindNode("n2"));
  CHECK(world.cache->Take(0).nodes == std::set<std::string>{"n1", "n2"});
}

TEST_CASE(
    "api-A16: if the version of the DaemonSet watch is too old, the cache also lists immediately, without a failure") {
  World world;
  world.cache->Turn({});
  world.cluster->AddDaemonSet({.ns = "gpu", .name = "driver", .labels = {{"app", "driver"}}});
  world.cluster->AddDaemonSet({.ns = "gpu", .name = "other", .labels = {{"app", "other"}}});
  world.cluster->CompactLog();
  world.cache->Turn({});  // the watch gets 410 Gone
  world.cache->Turn({});  // the cache lists the DaemonSets again
  CHECK(world.cache->DaemonSets(0).size() == 1);
}

TEST_CASE("Pods of many nodes are read with one list, and the result is returned for each node") {
  World world;
  for (const char* node : {"n1", "n2", "n3"}) world.cluster->AddNode(testing::NodeBuilder(node).Build());
  for (const char* pod : {"a", "b"}) world.cluster->AddPod(testing::PodBuilder("team", pod).OnNode("n1").Build());
  world.cache->Turn({});
  world.cache->SetInterest(0, {"n1", "n2"});
  const std::int64_t lists = world.cluster->CallCount(Operation::kListPods);
  const auto read = world.cache->ReadAllPods({}, {"n1", "n2", "n3"});
  CHECK(world.cluster->CallCount(Operation::kListPods) == lists + 1);
  CHECK(read.at("n1").ok());
  CHECK(read.at("n2").ok());
  CHECK(absl::IsAborted(read.at("n3")));
  CHECK(world.cache->PodsOn("n1")->size() == 2);
  CHECK(world.cache->PodsOn("n2")->empty());
  CHECK_FALSE(world.cache->KnowsPodsOn("n3"));

  world.cluster->AddPod(testing::PodBuilder("team", "c").OnNode("n2").Build());
  world.cache->Turn({});
  CHECK(world.cache->PodsOn("n2")->size() == 1);

  world.cache->SetInterest(0, {"n3"});
  world.cluster->FailNext(Operation::kListPods, absl::UnavailableError("503"));
  CHECK(absl::IsUnavailable(world.cache->ReadAllPods({}, {"n3"}).at("n3")));
  CHECK_FALSE(world.cache->KnowsPodsOn("n3"));
}

TEST_CASE("A single failure of the node watch is enough to detect a restore of the cluster") {
  World world;
  world.cluster->AddNode(testing::NodeBuilder("n1").Build());
  world.cache->Turn({});
  world.cluster->BackUp();
  REQUIRE(world.cluster->EditNode("n1", [](Node& node) { node.labels["of"] = "the lost time"; }));
  world.cache->Turn({});
  REQUIRE(world.cache->FindNode("n1")->labels.contains("of"));
  REQUIRE(world.cluster->RestoreBackup());

  // The API server is available again before a second attempt could fail, and soon reaches the versions that existed
  // before the restore.
  for (const char* name : {"n2", "n3", "n4"}) world.cluster->AddNode(testing::NodeBuilder(name).Build());
  world.cluster->FailNext(Operation::kWatchNodes, absl::UnavailableError("connection reset"));
  world.cache->Turn({});
  // The cache still contains data from after the backup. The API server would accept writes that are based on this
  // data, for nodes that had not changed since the backup.
  CHECK_FALSE(world.cache->Synced());
  world.clock->Advance(absl::Seconds(5));
  world.cache->Turn({});
  CHECK_FALSE(world.cache->FindNode("n1")->labels.contains("of"));
  world.cache->Turn({});  // the cache lists the other kinds again
  CHECK(world.cache->Synced());
}

TEST_CASE(
    "After one failure, the watch of a kind other than nodes continues from its version, and the cache stays synced") {
  World world;
  world.cache->Turn({});
  world.cluster->FailNext(Operation::kWatchDaemonSets, absl::UnavailableError("connection reset"));
  world.cache->Turn({});
  CHECK(world.cache->Synced());
}

/// A watch that ends with `next.status`. If `next.lists` is set, the watch reports a list first.
class Scripted final : public internal::WatchFollower {
 public:
  struct Round {
    absl::Status status = absl::OkStatus();
    absl::Duration lives = absl::ZeroDuration();
    bool lists = false;
    bool tells = false;
  };
  Scripted(const WatchCacheOptions& options, FakeClock& clock)
      : WatchFollower("nodes", options, [] {}), clock_(clock) {}

  int anew = 0;
  Round next = {};
  absl::Duration Pause() {
    const absl::Time again = Watch({});
    return again - clock_.Now();
  }

 private:
  absl::Status Call(const CallContext&, absl::Duration) override {
    if (next.lists) NoteListed();
    if (next.tells) NoteProgress();
    clock_.Advance(next.lives);
    return next.status;
  }
  void BeginAnew() override { ++anew; }
  bool TakeAsEmpty(const absl::Status&) override { return false; }

  FakeClock& clock_;
};

struct FollowerWorld {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  WatchCacheOptions options = {.clock = clock};
  Scripted follower = {options, *clock};
};

TEST_CASE(
    "A watch that ends successfully restarts immediately, even without events, unless it ended as soon as it started") {
  FollowerWorld world;
  world.follower.next = {.tells = true};
  CHECK(world.follower.Pause() == absl::ZeroDuration());
  world.follower.next = {.lives = absl::Minutes(5)};
  CHECK(world.follower.Pause() == absl::ZeroDuration());
  CHECK(world.follower.Health(absl::ZeroDuration()).ok());
  world.follower.next = {.lives = absl::Milliseconds(10)};
  CHECK(world.follower.Pause() > absl::Milliseconds(500));
  CHECK(world.follower.Health(absl::ZeroDuration()).message().find("ended immediately after its start") !=
        std::string::npos);
}

TEST_CASE("api-A17: a watch that fails repeatedly is retried after growing pauses up to a limit") {
  FollowerWorld world;
  world.follower.next = {.status = absl::UnavailableError("connection refused")};
  absl::Duration before = absl::ZeroDuration();
  for (int i = 0; i < 5; ++i) {
    const absl::Duration pause = world.follower.Pause();
    CHECK(pause > before * 1.5);
    before = pause;
  }
  for (int i = 0; i < 10; ++i) before = world.follower.Pause();
  CHECK(before < absl::Seconds(34));
}

TEST_CASE("If every list is followed by 410, lists are requested less and less often") {
  FollowerWorld world;
  world.follower.next = {.status = absl::OutOfRangeError("too old"), .lists = true};
  CHECK(world.follower.Pause() == absl::ZeroDuration());  // a single 410 is normal for a watch
  absl::Duration before = absl::ZeroDuration();
  for (int i = 0; i < 4; ++i) {
    const absl::Duration pause = world.follower.Pause();
    CHECK(pause > before * 1.5);
    before = pause;
  }
  CHECK(world.follower.anew == 5);
}

TEST_CASE("A watch that keeps failing at the same resource version is periodically restarted from a new list") {
  FollowerWorld world;
  world.follower.next = {.status = absl::DataLossError("an object that cannot be read")};
  for (int i = 0; i < 10; ++i) world.follower.Pause();
  CHECK(world.follower.anew == 5);
}

TEST_CASE("A watch is healthy again after a list, and progress resets the count of its failures") {
  FollowerWorld world;
  world.follower.next = {.status = absl::UnavailableError("reset")};
  world.follower.Pause();
  const absl::Duration second = world.follower.Pause();
  CHECK_FALSE(world.follower.Health(absl::ZeroDuration()).ok());
  CHECK(world.follower.Health(absl::Minutes(1)).ok());
  world.follower.next = {.lives = absl::Minutes(5), .lists = true};
  world.follower.Pause();
  CHECK(world.follower.Health(absl::ZeroDuration()).ok());
  world.follower.next = {.status = absl::UnavailableError("reset"), .tells = true};
  CHECK(world.follower.Pause() < second);
}

TEST_CASE("Every end of a watch is counted once by its reason") {
  FollowerWorld world;
  const auto after = [&](Scripted::Round round) {
    world.follower.next = std::move(round);
    world.follower.Pause();
    std::vector<std::uint64_t> counts;
    for (const WatchRestart reason : kAllWatchRestarts) counts.push_back(world.follower.restarts(reason));
    return counts;
  };
  using Counts = std::vector<std::uint64_t>;
  CHECK(after({.tells = true}) == Counts{1, 0, 0, 0});
  CHECK(after({.lives = absl::Minutes(5)}) == Counts{2, 0, 0, 0});
  CHECK(after({.status = absl::OutOfRangeError("too old")}) == Counts{2, 1, 0, 0});
  CHECK(after({.status = absl::UnavailableError("reset"), .lives = absl::Minutes(1)}) == Counts{2, 1, 1, 0});
  CHECK(after({}) == Counts{2, 1, 2, 0});  // the watch ended as soon as it started
}

TEST_CASE("A missing kind is not counted as a failure of the watch, and the end of a stopped watch is not counted") {
  World world("maintenance");
  world.cluster->FailNext(Operation::kWatchNodeMaintenances, absl::NotFoundError("no such kind"));
  world.cache->Turn({});
  std::map<WatchRestart, std::uint64_t> restarts = world.cache->Restarts();
  CHECK(restarts.size() == kAllWatchRestarts.size());
  CHECK(restarts.at(WatchRestart::kAbsent) == 1);
  CHECK(restarts.at(WatchRestart::kFailed) == 0);
  std::stop_source stop;
  stop.request_stop();
  world.clock->Advance(absl::Minutes(1));
  world.cache->Turn({.stop = stop.get_token()});
  CHECK(world.cache->Restarts() == restarts);
}

}  // namespace
}  // namespace driverupgrade::tests
