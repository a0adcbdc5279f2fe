// The operator of examples/service on the fake cluster, by the policy of its Deployment.
#include "service/fpga_operator.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"
#include "yaml-cpp/yaml.h"

namespace driverupgrade::tests {
namespace {

using testing::FakeClock;
using testing::FakeCluster;

constexpr int kWatches = 5;  // nodes, pods, DaemonSets, revisions, driver pods

std::vector<YAML::Node> Manifest() {
  const std::filesystem::path root = DRIVERUPGRADE_SOURCE_DIR;
  return YAML::LoadAllFromFile((root / "examples/service/deployment.yaml").string());
}

/// A file that goes with the test.
struct TemporaryFile {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("fpga_operator_test." + std::to_string(getpid()) + ".yaml");
  ~TemporaryFile() { std::filesystem::remove(path); }
  void Write(const std::string& text) const { std::ofstream(path) << text; }
};

struct World {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster = std::make_shared<FakeCluster>(clock);
  testing::Fleet fleet =
      AddFleet(*cluster, {.node_count = 3, .ns = "fpga-operator", .daemon_set = "fpga-driver", .workload = ""});
  TemporaryFile file = {};
  std::vector<std::string> log = {};
  fpga_operator::PolicyFile policy{file.path.string(),
                                   [this](const LogRecord& record) { log.push_back(FormatLogfmt(record)); }};
};

TEST_CASE("the operator of examples/service upgrades every node by the policy of its Deployment") {
  World world;
  world.file.Write(Manifest()[0]["data"]["policy.yaml"].as<std::string>());
  auto options = fpga_operator::MakeOptions({.ns = "fpga-operator", .pod = "a", .node = "node-1", .identity = "a_1"});
  REQUIRE(options.ok());
  options->engine.clock = world.clock;
  options->engine.executor.calls_in_flight = 1;
  options->health_address = options->metrics_address = "";
  const auto service = UpgradeService::Create(world.cluster, world.policy, *std::move(options));
  REQUIRE(service.ok());
  world.cluster->SetTemplate("fpga-operator", "fpga-driver", "rev-2");
  for (int i = 0; i < 1000 && !(*service)->End(); ++i) {
    REQUIRE((*service)->Step({}).ok());
    world.cluster->AwaitWatchesIdle(kWatches);
    world.cluster->Advance(absl::Milliseconds(500));
  }
  REQUIRE((*service)->End());
  CHECK((*service)->End()->IsGood());
  CHECK((*service)->totals().done == 3);
  CHECK(world.cluster->lease("fpga-operator", "fpga-driver-upgrade")->holder == "a_1");
  CHECK(world.cluster->config_map("fpga-operator", "fpga-driver-upgrade"));
  (*service)->Stop();
  CHECK(world.cluster->lease("fpga-operator", "fpga-driver-upgrade")->holder.empty());
}

TEST_CASE("a policy that is not understood is told once, and the last one that was goes on") {
  World world;
  CHECK_FALSE(world.policy.Wanted());
  world.file.Write("autoUpgrade: true");
  REQUIRE(world.policy.Wanted());
  CHECK(world.policy.Wanted()->front().policy.auto_upgrade);
  world.file.Write("autoUpgrade: perhaps");
  for (int i = 0; i < 3; ++i) CHECK(world.policy.Wanted()->front().policy.auto_upgrade);
  CHECK(world.log.size() == 1);
  world.file.Write("autoUpgrade: false");
  CHECK_FALSE(world.policy.Wanted()->front().policy.auto_upgrade);
}

TEST_CASE("a pod uses the driver if it asks for an FPGA") {
  const auto options = fpga_operator::MakeOptions({});
  REQUIRE(options.ok());
  Pod pod;
  CHECK_FALSE(*options->engine.snapshot.uses_driver({}, pod));
  pod.resource_names = {"cpu", "example.com/fpga"};
  CHECK(*options->engine.snapshot.uses_driver({}, pod));
}

TEST_CASE("the Deployment has the ports and the policy file that the program has") {
  const auto options = fpga_operator::MakeOptions({});
  REQUIRE(options.ok());
  const YAML::Node container = Manifest()[1]["spec"]["template"]["spec"]["containers"][0];
  std::vector<std::string> ports;
  for (const YAML::Node& port : container["ports"]) {
    ports.push_back(port["name"].as<std::string>() + ":" + port["containerPort"].as<std::string>());
  }
  CHECK(ports == std::vector{"metrics" + options->metrics_address, "health" + options->health_address});
  CHECK(container["volumeMounts"][0]["mountPath"].as<std::string>() == "/etc/fpga-operator");
}

}  // namespace
}  // namespace driverupgrade::tests
