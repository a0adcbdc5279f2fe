// Tests the operator of examples/service on the fake cluster, with the policy in its Deployment.
#include "service/fpga_operator.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
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

std::vector<YAML::Node> Manifest() {
  const std::filesystem::path root = DRIVERUPGRADE_SOURCE_DIR;
  return YAML::LoadAllFromFile((root / "examples/service/deployment.yaml").string());
}

/// A file that is removed at the end of the test.
struct TemporaryFile {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("fpga_operator_test." + std::to_string(getpid()) + ".yaml");
  ~TemporaryFile() { std::filesystem::remove(path); }
  void Write(const std::string& text) const { std::ofstream(path) << text; }
};

struct World {
  int watches = 5;  // nodes, pods, DaemonSets, revisions, driver pods
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster = std::make_shared<FakeCluster>(clock);
  testing::Fleet fleet =
      AddFleet(*cluster, {.node_count = 3, .ns = "fpga-operator", .daemon_set = "fpga-driver", .workload = ""});
  TemporaryFile file = {};
  std::vector<std::string> log = {};
  fpga_operator::PolicyFile policy{*DriverIdentity::Create("example.com", "fpga"), file.path.string(),
                                   [this](const LogRecord& record) { log.push_back(FormatLogfmt(record)); }};

  std::unique_ptr<UpgradeService> MakeService() {
    auto options = fpga_operator::MakeOptions({.ns = "fpga-operator", .pod = "a", .node = "node-1", .identity = "a_1"});
    options->engine.clock = clock;                            // virtual time
    options->engine.executor.calls_in_flight = 1;             // all requests in this thread
    options->health_address = options->metrics_address = "";  // no web server
    options->rollout_address = "";
    return *UpgradeService::Create(cluster, policy, *std::move(options));
  }

  /// Steps the service until `done` returns true, for at most 500 s of virtual time. Returns the last result of `done`.
  bool StepUntil(UpgradeService& service, const std::function<bool()>& done) {
    for (int i = 0; i < 1000 && !done(); ++i) {
      if (!service.Step({}).ok()) return false;
      cluster->AwaitWatchesIdle(watches);
      cluster->Advance(absl::Milliseconds(500));
    }
    return done();
  }

  /// Number of cordoned nodes.
  int cordoned() const {
    int count = 0;
    for (const Node& node : cluster->nodes()) count += node.unschedulable;
    return count;
  }
};

TEST_CASE("the operator of examples/service upgrades every node with the policy in its Deployment") {
  World world;
  world.file.Write(Manifest()[0]["data"]["policy.yaml"].as<std::string>());
  const auto service = world.MakeService();
  world.cluster->SetTemplate("fpga-operator", "fpga-driver", "rev-2");
  REQUIRE(world.StepUntil(*service, [&] { return service->End().has_value(); }));
  CHECK(service->End()->IsGood());
  CHECK(service->totals().done == 3);
  CHECK(world.cordoned() == 0);
  CHECK(world.cluster->lease("fpga-operator", "fpga-driver-upgrade")->holder == "a_1");
  CHECK(world.cluster->config_map("fpga-operator", "fpga-driver-upgrade"));
  service->Stop();
  CHECK(world.cluster->lease("fpga-operator", "fpga-driver-upgrade")->holder.empty());
}

TEST_CASE("the Lease of the operator reports its options to upgradectl (W36)") {
  World world;
  world.file.Write("autoUpgrade: true");
  const auto service = world.MakeService();
  REQUIRE(world.StepUntil(*service, [&] {
    return world.cluster->lease("fpga-operator", "fpga-driver-upgrade")
        ->annotations.contains("example.com/fpga-driver-upgrade.options");
  }));
  CHECK(world.cluster->lease("fpga-operator", "fpga-driver-upgrade")
            ->annotations["example.com/fpga-driver-upgrade.options"] ==
        R"({"namespace":"fpga-operator","driverLabels":"app=fpga-driver",)"
        R"("ledger":{"namespace":"fpga-operator","name":"fpga-driver-upgrade"},"resources":["example.com/fpga"]})");
  service->Stop();
}

TEST_CASE("a policy file with the text uninstall releases the nodes in the middle of a rollout") {
  World world;
  world.file.Write("{autoUpgrade: true, drain: {enable: true}}");
  const auto service = world.MakeService();
  world.cluster->SetTemplate("fpga-operator", "fpga-driver", "rev-2");
  REQUIRE(world.StepUntil(*service, [&] { return world.cordoned() > 0; }));
  world.file.Write("uninstall");
  world.watches = 0;  // without an engine there is no cache
  const std::string label = "example.com/fpga-driver-upgrade-state";
  const auto is_ours = [&](const Node& node) { return node.unschedulable || node.labels.contains(label); };
  REQUIRE(world.StepUntil(*service, [&] {
    const auto nodes = world.cluster->nodes();
    return std::none_of(nodes.begin(), nodes.end(), is_ours);
  }));
  service->Stop();
}

TEST_CASE("a drain does not evict pods with the skip-drain label") {
  World world;
  world.file.Write("{autoUpgrade: true, drain: {enable: true, podSelector: app=web}}");
  REQUIRE(world.policy.Wanted());
  const LabelSelector drained = world.policy.Wanted()->front().policy.drain->pod_selector;
  CHECK(drained.Matches({{"app", "web"}}));
  CHECK_FALSE(drained.Matches({{"app", "web"}, {"example.com/fpga-driver-upgrade-drain.skip", "true"}}));
}

TEST_CASE("an invalid policy is reported once, and the last valid policy stays in effect") {
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

TEST_CASE("Events that are not about a node refer to the operator's own pod") {
  const auto options = fpga_operator::MakeOptions({.ns = "fpga-operator", .pod = "a", .pod_uid = "uid-a"});
  REQUIRE(options.ok());
  CHECK(options->engine.state_machine.own_pod == PodRef{.ns = "fpga-operator", .name = "a", .uid = "uid-a"});
  CHECK(options->engine.executor.events);
}

TEST_CASE("a pod uses the driver if it requests an FPGA") {
  const auto options = fpga_operator::MakeOptions({});
  REQUIRE(options.ok());
  Pod pod;
  CHECK_FALSE(*options->engine.snapshot.uses_driver({}, pod));
  pod.resource_names = {"cpu", "example.com/fpga"};
  CHECK(*options->engine.snapshot.uses_driver({}, pod));
}

TEST_CASE("the Deployment matches the ports, environment variables, and policy file of the program") {
  const auto options = fpga_operator::MakeOptions({});
  REQUIRE(options.ok());
  const YAML::Node container = Manifest()[1]["spec"]["template"]["spec"]["containers"][0];
  std::vector<std::string> ports;
  for (const YAML::Node& port : container["ports"]) {
    ports.push_back(port["name"].as<std::string>() + ":" + port["containerPort"].as<std::string>());
  }
  CHECK(ports == std::vector{"metrics" + options->metrics_address, "health" + options->health_address});
  std::vector<std::string> variables;
  for (const YAML::Node& variable : container["env"]) variables.push_back(variable["name"].as<std::string>());
  CHECK(variables == std::vector<std::string>{"POD_NAME", "POD_UID", "POD_NAMESPACE", "NODE_NAME"});
  CHECK(container["volumeMounts"][0]["mountPath"].as<std::string>() == "/etc/fpga-operator");
}

}  // namespace
}  // namespace driverupgrade::tests
