// Tests both sides of a safe load: the init container sets the annotation, and the engine evacuates the node and allows
// the driver to load (T39, T43).
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "driverupgrade/driver_identity.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_engine.h"
#include "safe_load_init/safe_load.h"
#include "support/catch.h"

namespace driverupgrade {
namespace {

using testing::FakeClock;
using testing::FakeCluster;

TEST_CASE("the engine evacuates a node whose driver waits, and then the driver is loaded") {
  const auto clock = std::make_shared<FakeClock>();
  const auto cluster = std::make_shared<FakeCluster>(clock, testing::FakeClusterOptions{.watches_follow = false});
  const testing::Fleet fleet = AddFleet(*cluster, {.node_count = 3});
  const std::string node = cluster->nodes().front().name;
  const DriverIdentity identity = *DriverIdentity::Create("nvidia.com", "ofed");
  const std::string config =
      R"({"safeDriverLoad":{"enable":true,"annotation":")" + identity.SafeLoadAnnotation() + R"("}})";
  REQUIRE(cluster->CreateConfigMap({}, {.ns = fleet.ns, .name = "init", .data = {{"config.json", config}}}).ok());
  const auto engine = UpgradeEngine::Create(
      identity, cluster,
      {.snapshot = {.ns = fleet.ns, .driver_labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}})},
       .clock = clock});
  REQUIRE(engine.ok());

  std::set<std::string> pods;
  for (const Pod& pod : cluster->pods_on(node)) {
    if (pod.ref.ns == "team-a") pods.insert(pod.ref.uid);
  }
  REQUIRE_FALSE(pods.empty());
  int releases = 0;
  cluster->SetChangeObserver([&](const testing::Change& change) {
    if (change.pod.before != nullptr && change.pod.after == nullptr) pods.erase(change.pod.before->ref.uid);
    if (change.node.before == nullptr || change.node.after == nullptr || change.node.after->name != node) return;
    const std::string key = identity.SafeLoadAnnotation();
    if (!change.node.before->annotations.contains(key) || change.node.after->annotations.contains(key)) return;
    ++releases;
    CHECK(change.node.before->unschedulable);
    CHECK(pods.empty());
  });
  // The engine runs a pass whenever the init container watches its node.
  bool in_turn = false;
  cluster->SetFaultHooks(
      [&](const testing::Call& call) -> std::optional<absl::Status> {
        if (in_turn || call.operation != Operation::kWatchNodes) return std::nullopt;
        in_turn = true;
        CHECK((*engine)->Reconcile({}, {.auto_upgrade = true, .drain = DrainPolicy{}}).ok());
        in_turn = false;
        return std::nullopt;
      },
      {});
  const absl::Status loaded = safe_load_init::AwaitSafeLoad(
      {.node_name = node, .configmap_ns = fleet.ns, .configmap_name = "init", .timeout = absl::Hours(1)}, *cluster,
      *clock, [](const LogRecord&) {}, {});
  CHECK(loaded == absl::OkStatus());
  CHECK(releases == 1);
}

}  // namespace
}  // namespace driverupgrade
