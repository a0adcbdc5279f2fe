// Tests the complete uninstallation with a fake cluster and a fake host.
#include "driver_manager/uninstall.h"

#include <string>
#include <vector>

#include "driver_manager/cordon_mark.h"
#include "driver_manager/operand_labels.h"
#include "driverupgrade/driver_identity.h"
#include "examples/operators/driver_manager/node_world.h"
#include "support/catch.h"

namespace driver_manager {
namespace {

using driverupgrade::Node;
using driverupgrade::Operation;
using driverupgrade::testing::PodBuilder;
using Apps = std::set<std::string>;
using Lines = std::vector<std::string>;

TEST_CASE("a driver is unloaded once no pod uses it, and then the node is restored") {
  NodeWorld world;
  const Node before = world.node();
  bool cordoned = false;
  Apps on_node;
  const auto kernel = world.host->before_unload;
  world.host->before_unload = [&](const std::string& module) {
    cordoned = world.node().unschedulable;
    on_node = world.AppsOnNode();
    return kernel(module);
  };

  REQUIRE(world.Uninstall() == absl::OkStatus());

  CHECK(cordoned);
  CHECK(on_node == Apps{"nvidia-driver-daemonset", "web"});
  CHECK(world.host->done == Lines{"unload nvidia_modeset", "unload nvidia_uvm", "unload nvidia", "unmount",
                                  "remove PID file", "remove ready files", "unbind devices"});
  CHECK(world.Evictions() == 1);
  CHECK(world.cluster->CallCount(Operation::kDeletePod) == 0);
  CHECK(IsAsBefore(world.node(), before));
}

TEST_CASE("operands are paused with one patch, whatever their labels are") {
  NodeWorld world;
  world.cluster->EditNode(kNode, [](Node& node) {
    node.labels[kToolkit] = "false";
    node.labels["nvidia.com/gpu.deploy.dcgm"] = "custom";
    node.labels["example.com/gpu-client"] = "true";
  });
  world.settings.custom_label = "example.com/gpu-client";
  world.settings.evict_gpu_pods = false;
  world.settings.auto_drain = false;
  Node paused;
  world.host->before_unload = [&](const std::string&) {
    paused = world.node();
    return absl::OkStatus();
  };
  const Node before = world.node();

  REQUIRE(world.Uninstall() == absl::OkStatus());

  CHECK(paused.labels[kPlugin] == kPaused);
  CHECK(paused.labels[kValidator] == kPaused);
  CHECK(paused.labels[kToolkit] == "false");
  CHECK(paused.labels["nvidia.com/gpu.deploy.dcgm"] == std::string("custom_") + kPaused);
  CHECK(paused.labels["example.com/gpu-client"] == kPaused);
  CHECK_FALSE(paused.labels.contains("nvidia.com/gpu.deploy.dcgm-exporter"));
  CHECK(IsAsBefore(world.node(), before));
  CHECK(world.Patches() == 2);
}

TEST_CASE("a label that an administrator changes meanwhile keeps the new value") {
  NodeWorld world;
  const auto kernel = world.host->before_unload;
  world.host->before_unload = [&](const std::string& module) {
    world.cluster->EditNode(kNode, [](Node& node) { node.labels[kValidator] = "false"; });
    return kernel(module);
  };

  REQUIRE(world.Uninstall() == absl::OkStatus());

  CHECK(world.Label(kValidator) == "false");
  CHECK(world.Label(kPlugin) == "true");
}

TEST_CASE("if no driver is loaded, no pod is evicted") {
  NodeWorld world;
  world.host->modules = {{"nouveau", 0}};
  const Node before = world.node();
  const Apps apps = world.AppsOnNode();

  REQUIRE(world.Uninstall() == absl::OkStatus());

  CHECK(world.host->done == Lines{"unmount", "remove PID file", "unload nouveau", "unbind devices"});
  CHECK(world.Evictions() == 0);
  CHECK(world.node() == before);
  CHECK(world.AppsOnNode() == apps);
}

TEST_CASE("if no driver is loaded, operands and a cordon of an earlier run are restored") {
  NodeWorld world;
  const Node before = world.node();
  world.cluster->EditNode(kNode, [](Node& node) {
    node = Patched(node, PauseOperands(node, ""));
    node = Patched(node, CordonPatch(node));
  });
  world.host->modules = {};

  REQUIRE(world.Uninstall() == absl::OkStatus());

  CHECK(IsAsBefore(world.node(), before));
  CHECK(world.HasDone("remove ready files"));
}

TEST_CASE("if no driver is loaded and only the DRA kubelet plugin is paused, the ready files stay") {
  NodeWorld world;
  world.cluster->EditNode(kNode, [](Node& node) {
    node.labels[kKubeletPluginLabel] = "true";
    node = Patched(node, PauseKubeletPlugin(node));
  });
  world.host->modules = {};

  REQUIRE(world.Uninstall() == absl::OkStatus());

  CHECK_FALSE(world.HasDone("remove ready files"));  // the validation pods still run, and would not write them again
  CHECK(world.Label(kKubeletPluginLabel) == "true");
}

// Follows https://github.com/NVIDIA/k8s-driver-manager/pull/263.
TEST_CASE("the ready files of the former driver are removed before the operands are resumed") {
  NodeWorld world;
  const bool keeps_driver = GENERATE(false, true);
  if (keeps_driver) world.settings.config_digest = world.host->digest = "d-1";
  std::string validator;
  bool is_loaded = false;
  Apps on_node;
  world.host->before_remove_ready_files = [&] {
    validator = world.Label(kValidator);
    is_loaded = world.host->modules.contains(kNvidiaModule);
    on_node = world.AppsOnNode();
  };

  REQUIRE(world.Uninstall() == absl::OkStatus());

  CHECK(validator == kPaused);
  CHECK(is_loaded == keeps_driver);
  CHECK_FALSE(on_node.contains("nvidia-operator-validator"));
  CHECK(world.Label(kValidator) == "true");
}

TEST_CASE("a driver with the target digest stays loaded, and the pods that use it stay") {
  NodeWorld world;
  world.settings.config_digest = "d-1";
  world.host->digest = "d-1";

  SECTION("unless FORCE_REINSTALL is set") {
    world.settings.force_reinstall = true;
    REQUIRE(world.Uninstall() == absl::OkStatus());
    CHECK(world.HasDone("unload nvidia"));
  }
  SECTION("unless the digest belongs to another driver") {
    world.host->digest = "d-0";
    REQUIRE(world.Uninstall() == absl::OkStatus());
    CHECK(world.HasDone("unload nvidia"));
  }
  SECTION("only the remains of the driver's container are removed") {
    const Node before = world.node();
    REQUIRE(world.Uninstall() == absl::OkStatus());
    CHECK(world.host->done == Lines{"unmount", "remove PID file", "remove ready files"});
    CHECK(world.Evictions() == 0);
    CHECK(world.AppsOnNode().contains("training"));
    CHECK(IsAsBefore(world.node(), before));
  }
}

TEST_CASE("with an upgrade policy, the upgrade controller is responsible for the pods and the cordon") {
  NodeWorld world;
  world.cluster->EditNode(kNode, [](Node& node) { node.annotations[kPolicyAnnotation] = "true"; });
  bool cordoned = false;
  const auto kernel = world.host->before_unload;
  world.host->before_unload = [&](const std::string& module) {
    cordoned |= world.node().unschedulable;
    return kernel(module);
  };

  SECTION("the controller has evicted the pods") {
    world.cluster->Cordon(kNode);
    for (const auto& pod : world.cluster->pods_on(kNode)) {
      if (examples::AsksForGpu(pod)) world.cluster->RemovePod(pod.ref.ns, pod.ref.name);
    }
    REQUIRE(world.Uninstall() == absl::OkStatus());
    CHECK(cordoned);
    CHECK(world.node().unschedulable);
    CHECK(world.Evictions() == 0);
  }
  SECTION("the controller has not evicted the pods") {
    const absl::Status status = world.Uninstall();
    CHECK(Says(status, "nvidia"));
    CHECK(Says(status, "in use"));
    CHECK_FALSE(cordoned);
    CHECK(world.Evictions() == 0);
    CHECK(world.Label(kPlugin) == "true");
    CHECK(world.Logged("because autoUpgrade is on"));
    CHECK(world.Logged("upgrade-required"));
  }
}

TEST_CASE("an administrator's cordon stays") {
  NodeWorld world;
  world.cluster->Cordon(kNode);
  const Node before = world.node();

  SECTION("after a success") { REQUIRE(world.Uninstall() == absl::OkStatus()); }
  SECTION("after a failure") {
    world.host->before_unload = [](const std::string&) { return absl::FailedPreconditionError("in use"); };
    REQUIRE_FALSE(world.Uninstall().ok());
  }

  CHECK(IsAsBefore(world.node(), before));
}

TEST_CASE("a cordon stays if another driver's upgrade has joined it") {
  NodeWorld world;
  const auto kernel = world.host->before_unload;
  world.host->before_unload = [&](const std::string& module) {
    world.cluster->EditNode(kNode, [](Node& node) {
      std::string& names = node.annotations[std::string(driverupgrade::kCordonedByAnnotation)];
      if (names.find("ofed") == std::string::npos) names += ",nvidia.com/ofed";
      node.labels["nvidia.com/ofed-driver-upgrade-state"] = "drain-required";
    });
    return kernel(module);
  };

  REQUIRE(world.Uninstall() == absl::OkStatus());

  CHECK(world.node().unschedulable);
  CHECK(world.node().annotations.at(std::string(driverupgrade::kCordonedByAnnotation)) == "nvidia.com/ofed");
}

TEST_CASE("with GPUDirect RDMA, the manager waits until the network driver is ready") {
  NodeWorld world;
  world.settings.gpu_direct_rdma = true;
  world.host->vendors = {"0x10de", kMellanoxVendor};
  const absl::Time ready_at = world.clock->Now() + absl::Hours(3);

  SECTION("the driver in a container becomes ready") {
    world.host->network_driver_ready = [&] { return world.clock->Now() >= ready_at; };
    REQUIRE(world.Uninstall() == absl::OkStatus());
    CHECK(world.clock->Now() >= ready_at);
  }
  SECTION("the driver on the host is ready already") {
    world.settings.use_host_mofed = true;
    world.host->modules[kMlx5Module] = 0;
    REQUIRE(world.Uninstall() == absl::OkStatus());
    CHECK(world.clock->Now() < ready_at);
  }
  SECTION("a node without a Mellanox device does not wait") {
    world.host->vendors = {"0x10de"};
    REQUIRE(world.Uninstall() == absl::OkStatus());
    CHECK(world.clock->Now() < ready_at);
  }
  SECTION("a stop ends the wait, and restores the node") {
    const Node before = world.node();
    world.host->network_driver_ready = [&] {
      if (world.clock->Now() >= ready_at) world.stop.request_stop();
      return false;
    };
    CHECK(absl::IsCancelled(world.Uninstall()));
    CHECK(IsAsBefore(world.node(), before));
  }
}

TEST_CASE("a host with a preinstalled driver is left alone") {
  NodeWorld world;
  world.host->preinstalled = true;
  const absl::Time begun = world.clock->Now();

  const absl::Status status = world.Uninstall();

  CHECK(Says(status, "the host has its own driver"));
  CHECK(world.Label(kDriverLabel) == "pre-installed");
  CHECK(world.host->done.empty());
  CHECK(world.clock->Now() - begun == absl::Seconds(60));

  CHECK_FALSE(world.Uninstall().ok());
  CHECK(world.Patches() == 1);
}

TEST_CASE("the DRA kubelet plugin is removed after the pods with claims and before the driver") {
  NodeWorld world;
  world.cluster->EditNode(kNode, [](Node& node) { node.labels[kKubeletPluginLabel] = "true"; });
  world.AddOperand(kKubeletPluginApp, kKubeletPluginLabel);
  driverupgrade::Pod pod = PodBuilder("team-b", "render-0").OnNode(kNode).OwnedByReplicaSet("render").Build();
  pod.resource_claims = {"gpu-claim"};
  world.cluster->AddPod(pod);
  world.lookups.is_gpu_claim = [](const auto&, const std::string& ns, const std::string& name) {
    return ns == "team-b" && name == "gpu-claim";
  };
  Apps with_plugin_paused;
  world.cluster->SetFaultHooks(
      [&](const driverupgrade::testing::Call& call) -> std::optional<absl::Status> {
        if (call.operation == Operation::kPatchNode && call.parameters.find("dra-driver") != std::string::npos &&
            with_plugin_paused.empty()) {
          with_plugin_paused = world.AppsOnNode();
        }
        return std::nullopt;
      },
      nullptr);

  SECTION("the pods are evicted") {
    REQUIRE(world.Uninstall() == absl::OkStatus());
    CHECK(with_plugin_paused == Apps{"nvidia-driver-daemonset", kKubeletPluginApp, "web"});
    CHECK(world.Label(kKubeletPluginLabel) == "true");
  }
  SECTION("without permission to evict the pods") {
    world.settings.evict_gpu_pods = false;
    world.settings.auto_drain = false;
    CHECK(Says(world.Uninstall(), "team-b/render-0"));
    CHECK(with_plugin_paused.empty());
    CHECK_FALSE(world.HasDone("unload nvidia"));
  }
}

TEST_CASE("A-11: if a pod with a claim started before the DRA kubelet plugin was removed, the driver stays loaded") {
  NodeWorld world;
  world.cluster->EditNode(kNode, [](Node& node) { node.labels[kKubeletPluginLabel] = "true"; });
  world.AddOperand(kKubeletPluginApp, kKubeletPluginLabel);
  world.lookups.is_gpu_claim = [](const auto&, const std::string&, const std::string& name) {
    return name == "late-claim";
  };
  const bool has_started = GENERATE(true, false);
  bool has_come = false;
  // The pod is added after the search for pods with claims, immediately before the plugin is paused.
  world.cluster->SetFaultHooks(
      [&](const driverupgrade::testing::Call& call) -> std::optional<absl::Status> {
        const bool pauses = call.operation == Operation::kPatchNode &&
                            call.parameters.find("dra-driver") != std::string::npos && !has_come;
        if (!pauses) return std::nullopt;
        has_come = true;
        PodBuilder builder = PodBuilder("team-b", "late").OnNode(kNode).OwnedByReplicaSet("late");
        if (!has_started) builder.Pending();
        driverupgrade::Pod pod = builder.Build();
        pod.resource_claims = {"late-claim"};
        // The pod does not start until the plugin runs again.
        world.cluster->AddPod(pod, {.start_delay = absl::Hours(1)});
        return std::nullopt;
      },
      nullptr);

  const absl::Status status = world.Uninstall();

  REQUIRE(has_come);
  CHECK(world.Label(kKubeletPluginLabel) == "true");
  if (has_started) {
    CHECK(Says(status, "pods use GPUs through resource claims: team-b/late"));
    CHECK_FALSE(world.HasDone("unload nvidia"));
  } else {
    CHECK(status == absl::OkStatus());
    CHECK(world.HasDone("unload nvidia"));
  }
}

TEST_CASE("the pods of every DaemonSet that selects GPU clients are awaited") {
  NodeWorld world;
  world.cluster->EditNode(kNode, [](Node& node) { node.labels[kClientLabel] = "true"; });
  const auto client = world.cluster->AddDaemonSet({.ns = "team-c",
                                                   .name = "exporter",
                                                   .node_selector = {{kClientLabel, "true"}},
                                                   .behavior = {.stop_delay = absl::Minutes(2)}});
  world.lookups.daemon_sets_selecting = [&](const auto&, const std::string& key) {
    return key == kClientLabel ? std::set<std::string>{client.uid} : std::set<std::string>{};
  };
  Apps on_node;
  world.host->before_unload = [&](const std::string&) {
    on_node = world.AppsOnNode();
    return absl::OkStatus();
  };

  REQUIRE(world.Uninstall() == absl::OkStatus());

  CHECK_FALSE(on_node.contains("exporter"));
  CHECK(world.Label(kClientLabel) == "true");
}

}  // namespace
}  // namespace driver_manager
