#include <memory>
#include <string>
#include <vector>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"

namespace driverupgrade {
namespace {

using testing::AddFleet;
using testing::Change;
using testing::FakeClock;
using testing::FakeCluster;
using testing::Fleet;
using testing::NodeBuilder;
using testing::PodBuilder;

std::vector<Pod> PodsOn(FakeCluster& cluster, const std::string& node_name) {
  return cluster.ListPods({}, {.node_name = node_name}).value();
}

TEST_CASE("the next event time is the time at which the cluster changes on its own") {
  auto clock = std::make_shared<FakeClock>();
  FakeCluster cluster(clock);
  CHECK(cluster.NextEventTime() == absl::InfiniteFuture());
  cluster.AddNode(NodeBuilder("n1").Build());
  cluster.AddPod(PodBuilder("a", "p").OnNode("n1").Pending().Build(), {.start_delay = absl::Seconds(9)});
  CHECK(cluster.NextEventTime() == clock->Now() + absl::Seconds(9));
  cluster.RunUntil(cluster.NextEventTime());
  CHECK(IsReady(cluster.pod("a", "p").value()));
  CHECK(cluster.NextEventTime() == absl::InfiniteFuture());
}

TEST_CASE("if another client advances the clock, the work that became due is done before the next call") {
  auto clock = std::make_shared<FakeClock>();
  FakeCluster cluster(clock);
  cluster.AddNode(NodeBuilder("n1").Build());
  cluster.AddDaemonSet({.ns = "gpu", .name = "driver"});
  const Pod old_pod = cluster.daemon_set_pods("gpu", "driver").front();
  const CallContext context;
  REQUIRE(cluster.DeletePod(context, {.pod = old_pod.ref}).ok());
  // The old pod stops after two seconds. Its successor then starts and is ready after another five seconds.
  clock->SleepFor(absl::Seconds(7), {});
  const std::vector<Pod> pods = cluster.ListPods(context, {.ns = "gpu"}).value();
  REQUIRE(pods.size() == 1);
  CHECK(pods.front().ref.uid != old_pod.ref.uid);
  CHECK(IsReady(pods.front()));
}

TEST_CASE("when the cluster runs, the observer sees each change at its own time") {
  auto clock = std::make_shared<FakeClock>();
  FakeCluster cluster(clock);
  cluster.AddNode(NodeBuilder("n1").Build());
  for (int i = 3; i > 0; --i) {
    cluster.AddPod(PodBuilder("a", "p" + std::to_string(i)).OnNode("n1").Pending().Build(),
                   {.start_delay = absl::Seconds(i)});
  }
  std::vector<std::string> seen;
  cluster.SetChangeObserver([&](const Change& change) {
    CHECK(change.time == clock->Now());
    seen.push_back(change.pod.after->ref.name);
  });
  cluster.Advance(absl::Hours(1));
  CHECK(seen == std::vector<std::string>{"p1", "p2", "p3"});
  CHECK(clock->Now() == FakeClock::DefaultStart() + absl::Hours(1));
}

TEST_CASE("equal calls create equal clusters, including names, UIDs, and versions") {
  auto run = [] {
    auto clock = std::make_shared<FakeClock>();
    FakeCluster cluster(clock);
    const Fleet fleet = AddFleet(cluster, {.node_count = 8});
    cluster.SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
    const CallContext context;
    for (const std::string& name : fleet.node_names) {
      cluster.Cordon(name);
      for (const Pod& pod : PodsOn(cluster, name)) {
        if (IsDaemonSetPod(pod)) {
          CHECK(cluster.DeletePod(context, {.pod = pod.ref}).ok());
        } else {
          CHECK(cluster.EvictPod(context, {.pod = pod.ref}).ok());
        }
      }
      cluster.Advance(absl::Seconds(11));
      cluster.Uncordon(name);
    }
    return std::tuple(cluster.revision(), clock->Now(), cluster.nodes(), cluster.pods());
  };
  CHECK((run() == run()));
}

TEST_CASE("a whole fleet is upgraded in virtual time") {
  auto clock = std::make_shared<FakeClock>();
  FakeCluster cluster(clock);
  const Fleet fleet = AddFleet(cluster, {.node_count = 20});
  REQUIRE(cluster.SetTemplate(fleet.ns, fleet.daemon_set, "rev-2"));
  const CallContext context;
  for (const std::string& name : fleet.node_names) {
    cluster.Cordon(name);
    for (bool drained = false; !drained;) {
      drained = true;
      for (const Pod& pod : PodsOn(cluster, name)) {
        if (IsDaemonSetPod(pod)) continue;
        drained = false;
        REQUIRE(cluster.EvictPod(context, {.pod = pod.ref}).ok());
      }
      if (!drained) cluster.RunUntil(cluster.NextEventTime());
    }
    for (const Pod& pod : PodsOn(cluster, name)) {
      REQUIRE(cluster.DeletePod(context, {.pod = pod.ref}).ok());
    }
    cluster.Advance(absl::Minutes(1));
    cluster.Uncordon(name);
  }
  for (const Pod& pod : cluster.daemon_set_pods(fleet.ns, fleet.daemon_set)) {
    CHECK(RevisionHash(pod) == "rev-2");
    CHECK(IsReady(pod));
  }
  CHECK(cluster.pods().size() == 40);
  CHECK(cluster.disruption_budgets().front().current_healthy == 20);
}

}  // namespace
}  // namespace driverupgrade
