// Tests failures: pods that must not be evicted or do not terminate, API server errors, and interruptions at any point.
#include <string>
#include <vector>

#include "driver_manager/uninstall.h"
#include "driverupgrade/driver_identity.h"
#include "examples/operators/driver_manager/node_world.h"
#include "support/catch.h"

namespace driver_manager {
namespace {

using driverupgrade::EvictionAnswer;
using driverupgrade::LabelSelector;
using driverupgrade::Node;
using driverupgrade::Operation;
using driverupgrade::Refusal;
using driverupgrade::testing::Call;
using driverupgrade::testing::PodBuilder;

void AddPodWithEmptyDir(NodeWorld& world) {
  world.cluster->AddPod(PodBuilder("team-b", "notebook-0")
                            .OnNode(kNode)
                            .OwnedByStatefulSet("notebook")
                            .WithEmptyDir()
                            .WithResource("nvidia.com/mig-1g.5gb")
                            .Build());
}

TEST_CASE("if one GPU pod must not be evicted, no GPU pod is evicted, and the node returns to service") {
  NodeWorld world;
  AddPodWithEmptyDir(world);
  world.settings.auto_drain = false;
  const Node before = world.node();

  const absl::Status status = world.Uninstall();

  CHECK(Says(status, "team-b/notebook-0 has emptyDir volumes"));
  CHECK(Says(status, "ENABLE_AUTO_DRAIN is off"));
  CHECK(world.Evictions() == 0);
  CHECK(world.host->done.empty());
  CHECK(IsAsBefore(world.node(), before));
}

TEST_CASE("a pod with emptyDir volumes is evicted if its data may be lost") {
  NodeWorld world;
  AddPodWithEmptyDir(world);
  world.settings.delete_empty_dir = true;
  REQUIRE(world.Uninstall() == absl::OkStatus());
  CHECK(world.Evictions() == 2);
}

TEST_CASE("a pod without a controller is evicted only with force") {
  NodeWorld world;
  world.cluster->AddPod(PodBuilder("team-b", "shell").OnNode(kNode).WithResource("nvidia.com/gpu.shared").Build());
  SECTION("without DRAIN_USE_FORCE") {
    world.settings.auto_drain = false;
    CHECK(Says(world.Uninstall(), "team-b/shell has no controller"));
  }
  SECTION("with DRAIN_USE_FORCE") {
    world.settings.drain_force = true;
    CHECK(world.Uninstall() == absl::OkStatus());
  }
}

TEST_CASE("finished pods are not evicted") {
  NodeWorld world;
  world.cluster->AddPod(PodBuilder("team-b", "batch-1")
                            .OnNode(kNode)
                            .OwnedByJob("batch")
                            .WithResource("nvidia.com/gpu")
                            .Succeeded()
                            .Build());
  world.settings.auto_drain = false;
  world.host->before_unload = nullptr;
  REQUIRE(world.Uninstall() == absl::OkStatus());
  CHECK(world.cluster->pod("team-b", "batch-1").has_value());
}

TEST_CASE("if evictions take too long, the node is drained, except for DaemonSet pods and excluded pods") {
  NodeWorld world;
  driverupgrade::testing::PodBehavior slow{.stop_delay = absl::Minutes(15), .grace_period = absl::Minutes(20)};
  world.cluster->AddPod(
      PodBuilder("team-b", "slow-0").OnNode(kNode).OwnedByStatefulSet("slow").WithResource("nvidia.com/gpu").Build(),
      slow);
  world.cluster->AddPod(
      PodBuilder("team-b", "spared").OnNode(kNode).OwnedByReplicaSet("spared").WithLabel("spare", "true").Build());
  world.settings.drain_selector = *LabelSelector::Parse("spare!=true");

  SECTION("with ENABLE_AUTO_DRAIN") {
    std::set<std::string> on_node;
    world.host->before_unload = [&](const std::string&) {
      on_node = world.AppsOnNode();
      return absl::OkStatus();
    };
    REQUIRE(world.Uninstall() == absl::OkStatus());
    CHECK(on_node == std::set<std::string>{"nvidia-driver-daemonset", "spared"});
    CHECK_FALSE(world.node().unschedulable);
  }
  SECTION("without ENABLE_AUTO_DRAIN") {
    world.settings.auto_drain = false;
    const absl::Status status = world.Uninstall();
    CHECK(Says(status, "not done after 10m"));
    CHECK(Says(status, "team-b/slow-0 (terminating)"));
    CHECK(world.AppsOnNode().contains("web"));
    CHECK_FALSE(world.HasDone("unload nvidia"));
  }
}

// The pod opened the device directly, so no resource request shows that the pod uses the driver.
TEST_CASE("if a driver cannot be unloaded, unloading is retried after a drain") {
  NodeWorld world;
  world.cluster->AddPod(
      PodBuilder("team-b", "miner").OnNode(kNode).OwnedByReplicaSet("miner").WithLabel("opens-devices", "yes").Build());

  SECTION("with ENABLE_AUTO_DRAIN") {
    REQUIRE(world.Uninstall() == absl::OkStatus());
    CHECK(world.HasDone("cannot unload nvidia"));
    CHECK(world.HasDone("unload nvidia"));
    CHECK(world.AppsOnNode().contains("nvidia-driver-daemonset"));
  }
  SECTION("without ENABLE_AUTO_DRAIN") {
    world.settings.auto_drain = false;
    const Node before = world.node();
    CHECK(Says(world.Uninstall(), "unload module nvidia (used 3 times): rmmod: ERROR: Module nvidia is in use"));
    CHECK(IsAsBefore(world.node(), before));
  }
  SECTION("without eviction and drain, a log line gives advice") {
    world.settings.auto_drain = false;
    world.settings.evict_gpu_pods = false;
    REQUIRE_FALSE(world.Uninstall().ok());
    CHECK(world.Evictions() == 0);
    CHECK(world.Logged("set ENABLE_GPU_POD_EVICTION"));
  }
}

TEST_CASE("refused evictions are repeated after pauses until the deadline") {
  NodeWorld world;
  world.cluster->AnswerNextEviction(
      {.refusal = Refusal::kDisruptionBudget, .budget = "training", .message = "no disruption left"}, 3);

  SECTION("all evictions are accepted in the end") {
    REQUIRE(world.Uninstall() == absl::OkStatus());
    std::vector<absl::Time> times;
    for (const Call& call : world.cluster->journal()) {
      if (call.operation == Operation::kEvictPod) times.push_back(call.time);
    }
    REQUIRE(times.size() == 4);
    for (std::size_t i = 1; i < times.size(); ++i) CHECK(times[i] - times[i - 1] >= absl::Seconds(4.5));
  }
  SECTION("the deadline passes first") {
    world.settings.drain_timeout = absl::Seconds(12);
    world.settings.auto_drain = false;
    CHECK(Says(world.Uninstall(), "refused by disruption budget training"));
  }
}

TEST_CASE("the attempt ends after five minutes if an operand does not terminate") {
  NodeWorld world;
  world.cluster->AddDaemonSet({.ns = kOperators,
                               .name = "nvidia-dcgm",
                               .node_selector = {},
                               .behavior = {.stop_delay = absl::InfiniteDuration()}});
  const Node before = world.node();
  const absl::Time begun = world.clock->Now();

  const absl::Status status = world.Uninstall();

  CHECK(Says(status, "nvidia-dcgm"));
  CHECK(Says(status, "5m"));
  CHECK(world.clock->Now() - begun >= absl::Minutes(5));
  CHECK(world.clock->Now() - begun < absl::Minutes(7));
  CHECK(world.Evictions() == 0);
  CHECK(IsAsBefore(world.node(), before));
}

TEST_CASE("brief failures of the API server are tolerated") {
  NodeWorld world;
  const Node before = world.node();
  SECTION("a conflict") { world.cluster->FailNext(Operation::kPatchNode, absl::AbortedError("modified")); }
  SECTION("lost responses") {
    world.cluster->FailNextAfterApplying(Operation::kPatchNode, absl::UnavailableError("reset"), 3);
  }
  SECTION("failed lists") { world.cluster->FailNext(Operation::kListPods, absl::UnavailableError("etcd"), 5); }
  SECTION("failed evictions") { world.cluster->FailNext(Operation::kEvictPod, absl::InternalError("webhook"), 2); }
  SECTION("failed reads of the node") {
    world.cluster->FailNext(Operation::kGetNode, absl::UnavailableError("etcd"), 6);
  }
  REQUIRE(world.Uninstall() == absl::OkStatus());
  CHECK(IsAsBefore(world.node(), before));
}

TEST_CASE("the error reports whether the API server is unavailable or refuses requests") {
  NodeWorld world;
  SECTION("unavailable") {
    world.cluster->FailNext(Operation::kGetNode, absl::UnavailableError("connection refused"), 1000);
    CHECK(Says(world.Uninstall(), "read the node (node gpu-7): connection refused"));
    CHECK(world.cluster->CallCount(Operation::kGetNode) <= 14);
  }
  SECTION("refusing requests") {
    world.cluster->FailNext(Operation::kPatchNode, absl::PermissionDeniedError("nodes is forbidden"), 1000);
    CHECK(Says(world.Uninstall(), "pause the operands (node gpu-7): nodes is forbidden"));
    CHECK(world.Patches() == 1);
  }
  CHECK(world.host->done.empty());
}

// Interrupts the process before each of its requests in turn, as if it were killed or lost its connection. The kubelet
// then restarts the process.
TEST_CASE("if a run is interrupted at any point, the next run succeeds and leaves nothing behind") {
  for (int requests = 0;; ++requests) {
    NodeWorld world;
    const Node before = world.node();
    int left = requests;
    world.cluster->SetFaultHooks(
        [&](const Call&) -> std::optional<absl::Status> {
          if (left-- > 0) return std::nullopt;
          return absl::PermissionDeniedError("killed");
        },
        nullptr);
    const bool undisturbed = world.Uninstall().ok();
    world.cluster->SetFaultHooks(nullptr, nullptr);

    INFO("killed after " << requests << " requests");
    REQUIRE(world.Uninstall() == absl::OkStatus());
    CHECK(IsAsBefore(world.node(), before));
    CHECK(world.HasDone("unload nvidia"));
    if (undisturbed) break;
    REQUIRE(requests < 500);
  }
}

TEST_CASE("if the driver stays loaded after a failure, its ready files stay") {
  NodeWorld world;
  SECTION("an operand does not terminate") {
    world.cluster->AddDaemonSet({.ns = kOperators,
                                 .name = "nvidia-dcgm",
                                 .node_selector = {},
                                 .behavior = {.stop_delay = absl::InfiniteDuration()}});
  }
  SECTION("the driver cannot be unloaded") {
    world.host->before_unload = [](const std::string&) { return absl::FailedPreconditionError("in use"); };
  }
  REQUIRE_FALSE(world.Uninstall().ok());
  CHECK_FALSE(world.HasDone("remove ready files"));
  CHECK(world.Label(kValidator) == "true");
}

TEST_CASE("if a later step fails after the driver was unloaded, its ready files are removed before the clean-up") {
  NodeWorld world;
  std::string validator;
  world.host->before_remove_ready_files = [&] { validator = world.Label(kValidator); };
  SECTION("its root cannot be unmounted") {
    world.host->unmount_status = absl::FailedPreconditionError("target is busy");
  }
  SECTION("nouveau cannot be unloaded") {
    world.host->modules["nouveau"] = 1;
    world.host->before_unload = [](const std::string& module) {
      return module == kNouveauModule ? absl::FailedPreconditionError("in use") : absl::OkStatus();
    };
  }
  REQUIRE_FALSE(world.Uninstall().ok());
  CHECK(validator == kPaused);
  CHECK(world.Label(kValidator) == "true");
}

TEST_CASE("failure to remove a ready file causes only a warning, and the driver is still replaced") {
  NodeWorld world;
  world.host->ready_files_status = absl::FailedPreconditionError("remove driver-ready: read-only");
  CHECK(world.Uninstall() == absl::OkStatus());
  CHECK(world.Logged("remove driver-ready: read-only"));
  CHECK(world.Label(kValidator) == "true");
}

TEST_CASE("W32: failure to unbind a GPU causes only a warning, and the driver is still replaced") {
  NodeWorld world;
  world.host->unbind_status = absl::FailedPreconditionError("unbind NVIDIA's devices: cannot write");
  CHECK(world.Uninstall() == absl::OkStatus());
  CHECK(world.host->done.back() == "unbind devices");
  CHECK_FALSE(world.node().unschedulable);
}

}  // namespace
}  // namespace driver_manager
