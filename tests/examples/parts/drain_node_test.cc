// Runs the program examples/parts/drain_node, which drains a node over HTTP, against an in-memory API server.
#include <cstdio>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "fmt/format.h"
#include "simulation/wire/api_server.h"
#include "support/catch.h"
#include "unit/kubernetes/temporary_file.h"
#include "unit/kubernetes/transport_server.h"

namespace driverupgrade::tests {
namespace {

using testing::FakeCluster;
using testing::NodeBuilder;
using testing::PodBuilder;
using testing_support::TemporaryFile;
using testing_support::TransportServer;

struct Ended {
  int code = 0;
  std::string output = {};
};

Ended Run(const std::string& command) {
  Ended ended;
  FILE* program = popen((command + " 2>&1").c_str(), "r");
  REQUIRE(program);
  for (char buffer[256]; fgets(buffer, sizeof buffer, program) != nullptr;) ended.output += buffer;
  ended.code = WEXITSTATUS(pclose(program));
  return ended;
}

/// A cluster of two nodes behind an API server on a socket. Its clock runs automatically, twenty times as fast as real
/// time.
class World {
 public:
  World() {
    for (const char* name : {"n1", "n2"}) cluster->AddNode(NodeBuilder(name).Build());
    cluster->AddDaemonSet({.ns = "fpga", .name = "driver"});
    REQUIRE(cluster->Cordon("n2"));  // so that the pods start on n1
    cluster->AddWorkload({.ns = "team-a", .name = "web", .replicas = 2});
    REQUIRE(cluster->Uncordon("n2"));
    REQUIRE(cluster->pods_on("n1").size() == 3);
  }

  Ended Drain(const std::string& node) {
    const std::jthread time([this](const std::stop_token& stop) {
      for (; !stop.stop_requested(); std::this_thread::sleep_for(std::chrono::milliseconds(50))) {
        cluster->Advance(absl::Seconds(1));
      }
    });
    return Run(fmt::format("{} {} {}", DRIVERUPGRADE_DRAIN_NODE, kubeconfig_.path(), node));
  }

  const std::shared_ptr<FakeCluster> cluster = std::make_shared<FakeCluster>(std::make_shared<testing::FakeClock>());

 private:
  testing::WireSeam Seam() {
    return {.cluster = cluster, .list_version = [this] { return std::to_string(cluster->revision()); }};
  }

  TransportServer server_{std::make_shared<ApiServer>(Seam())};
  const TemporaryFile kubeconfig_{fmt::format(R"({{"current-context": "test",
    "contexts": [{{"name": "test", "context": {{"cluster": "test", "user": "test"}}}}],
    "clusters": [{{"name": "test", "cluster": {{"server": "{}"}}}}], "users": [{{"name": "test", "user": {{}}}}]}})",
                                              server_.url())};
};

TEST_CASE("drain_node cordons the node, and evicts its pods as fast as the disruption budget allows") {
  World world;
  world.cluster->AddDisruptionBudget({.ns = "team-a", .name = "web", .max_unavailable = 1});
  const Ended ended = world.Drain("n1");
  INFO(ended.output);
  CHECK(ended.code == 0);
  CHECK(ended.output.find("refused by disruption budget web") != std::string::npos);
  CHECK(ended.output.ends_with("\ndrained\n"));
  CHECK(world.cluster->node("n1")->unschedulable);
  const std::vector<Pod> stay = world.cluster->pods_on("n1");
  REQUIRE(stay.size() == 1);
  CHECK(IsDaemonSetPod(stay[0]));
  CHECK(world.cluster->pods_on("n2").size() == 3);
}

TEST_CASE("drain_node evicts no pods if a pod on the node has no controller to replace it") {
  World world;
  world.cluster->AddPod(PodBuilder("team-b", "bare").OnNode("n1").Build());
  const Ended ended = world.Drain("n1");
  CHECK(ended.code == 1);
  CHECK(ended.output == "pod team-b/bare has no controller to replace it, and force is off\n");
  CHECK(world.cluster->pods_on("n1").size() == 4);
  CHECK(world.cluster->CallCount(Operation::kEvictPod) == 0);
}

TEST_CASE("drain_node reports a node that does not exist") {
  World world;
  const Ended ended = world.Drain("n3");
  CHECK(ended.code == 1);
  INFO(ended.output);
  CHECK(ended.output.starts_with("get node n3: 404 NotFound"));
}

}  // namespace
}  // namespace driverupgrade::tests
