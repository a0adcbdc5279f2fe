#include "driver_manager/uninstall.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "driver_manager/cordon_mark.h"
#include "driver_manager/evacuation.h"
#include "driver_manager/operand_labels.h"
#include "driver_manager/status_text.h"
#include "fmt/ranges.h"

namespace driver_manager {
namespace {

using driverupgrade::Node;
using driverupgrade::PatchNodeParams;
using driverupgrade::Pod;
using driverupgrade::Severity;

constexpr absl::Duration kMofedPoll = absl::Seconds(5);
// Time for the DaemonSet controller to remove the driver pod after the label has changed.
constexpr absl::Duration kLeavePatience = absl::Seconds(60);

class Flow {
 public:
  Flow(const Settings& settings, const Parts& parts, std::stop_token stop)
      : settings_(settings), parts_(parts), host_(*parts.host), node_(parts, settings.node_name, std::move(stop)) {}

  absl::Status Run() {
    const absl::StatusOr<bool> preinstalled = host_.HasPreinstalledDriver();
    if (!preinstalled.ok()) return preinstalled.status();
    if (*preinstalled) return LeaveToHost();
    const absl::StatusOr<Node> node = node_.Get();
    if (!node.ok()) return node.status();
    Begin(*node);
    const absl::Status status = host_.UseCount(kNvidiaModule) ? ReplaceDriver() : PrepareFreshNode();
    if (!status.ok()) CleanUp();
    return status;
  }

 private:
  void Say(std::string message, std::vector<std::pair<std::string, std::string>> fields = {}) const {
    parts_.log({.message = std::move(message), .fields = std::move(fields)});
  }

  void Begin(const Node& node) {
    start_ = node;
    const auto annotation = node.annotations.find(kPolicyAnnotation);
    policy_on_ = annotation != node.annotations.end() && annotation->second == "true";
    evicts_ = settings_.evict_gpu_pods && !policy_on_;
    drains_ = settings_.auto_drain && !policy_on_;
    Say("begin", {{"node", node.name},
                  {"policy", policy_on_ ? "on" : "off"},
                  {"evicts", evicts_ ? "true" : "false"},
                  {"drains", drains_ ? "true" : "false"}});
  }

  absl::Status LeaveToHost() {
    const absl::StatusOr<Node> labelled = node_.Edit("leave the node to the host's own driver", [](const Node& node) {
      PatchNodeParams patch;
      const auto found = node.labels.find(kDriverLabel);
      if (found == node.labels.end() || found->second != "pre-installed") patch.labels[kDriverLabel] = "pre-installed";
      return patch;
    });
    if (!labelled.ok()) return labelled.status();
    Say("the host has its own driver", {{"label", fmt::format("{}=pre-installed", kDriverLabel)}});
    if (absl::Status slept = node_.Sleep(kLeavePatience); !slept.ok()) return slept;
    return absl::FailedPreconditionError("the host has its own driver: no driver is installed in a container");
  }

  // Prepares a node without a loaded driver, for example after a reboot. Evicts nothing, because no pod can be using
  // the driver.
  absl::Status PrepareFreshNode() {
    Say("no driver is loaded");
    if (absl::Status status = StopKubeletPlugin(); !status.ok()) return status;
    if (absl::Status status = RemoveRemains(host_); !status.ok()) return status;
    // If no earlier run has paused the operands, the validation pods are still running. They would not write the files
    // again, so later operands would wait for the files indefinitely.
    if (IsAnyOperandPaused(start_, settings_.custom_label)) RemoveReadyFiles();
    return Finish();
  }

  absl::Status ReplaceDriver() {
    if (absl::Status status = StopOperands(); !status.ok()) return status;
    if (IsInstalledAlready()) return KeepDriver();
    if (absl::Status status = FreeGpus(); !status.ok()) return status;
    if (absl::Status status = StopKubeletPlugin(); !status.ok()) return status;
    if (absl::Status status = CheckArrivals(); !status.ok()) return status;
    const absl::Status unloaded = Unload();
    // After this point, the clean-up must not let operands use the driver, not even if its mounts stay.
    if (!host_.UseCount(kNvidiaModule)) RemoveReadyFiles();
    if (!unloaded.ok()) return unloaded;
    Say("the driver is unloaded");
    return Finish();
  }

  absl::Status StopOperands() {
    Say("pause the operands");
    const absl::StatusOr<Node> paused = node_.Edit(
        "pause the operands", [this](const Node& node) { return PauseOperands(node, settings_.custom_label); });
    if (!paused.ok()) return paused.status();
    Evacuation evacuation(settings_, parts_, node_);
    for (const std::string& app : AwaitedApps(start_)) {
      if (absl::Status status = evacuation.AwaitAppGone(app); !status.ok()) return status;
    }
    if (!IsSet(start_, kClientLabel) || !parts_.lookups.daemon_sets_selecting) return absl::OkStatus();
    return evacuation.AwaitGone("the clients of the driver", [this] { return ClientPods(); });
  }

  absl::StatusOr<std::vector<Pod>> ClientPods() {
    const absl::StatusOr<std::set<std::string>> owners =
        parts_.lookups.daemon_sets_selecting(node_.Context(), kClientLabel);
    if (!owners.ok()) return owners.status();
    absl::StatusOr<std::vector<Pod>> pods = node_.Pods();
    if (!pods.ok()) return pods;
    std::erase_if(*pods, [&](const Pod& pod) {
      const driverupgrade::OwnerReference* owner = ControllerOf(pod);
      return owner == nullptr || !owners->contains(owner->uid);
    });
    return pods;
  }

  bool IsInstalledAlready() {
    return !settings_.force_reinstall && !settings_.config_digest.empty() &&
           host_.InstalledDigest() == settings_.config_digest;
  }

  // Keeps the loaded driver and the workloads, but removes the mounts and the PID file of the former container, because
  // they would block the new container.
  absl::Status KeepDriver() {
    Say("the loaded driver has the target version, and stays", {{"digest", settings_.config_digest}});
    if (absl::Status status = StopKubeletPlugin(); !status.ok()) return status;
    if (absl::Status status = RemoveRemains(host_); !status.ok()) return status;
    RemoveReadyFiles();
    return GiveBack(node_);
  }

  // The preStop hooks that remove these files do not run if the containers are removed without the kubelet, for example
  // when an upgrade of the container runtime deletes all sandboxes. Operands that are resumed would then start before
  // the new driver is installed. While the operands are paused, no pod writes the files again. If the former driver
  // stays loaded after a failure, the files stay, too.
  void RemoveReadyFiles() {
    const absl::Status status = host_.RemoveReadyFiles();
    if (status.ok()) return;
    parts_.log({.severity = Severity::kWarning,
                .message = "operands may start before the driver is installed",
                .fields = {{"error", std::string(status.message())}}});
  }

  bool HasKubeletPlugin() const { return IsSet(start_, kKubeletPluginLabel); }

  absl::Status FreeGpus() {
    if (evicts_ || (HasKubeletPlugin() && drains_)) {
      if (absl::Status status = EvictOrDrain(); !status.ok()) return status;
    }
    if (!HasKubeletPlugin()) return absl::OkStatus();
    return Evacuation(settings_, parts_, node_).CheckNoClaimHolders(/*with_pending=*/true);
  }

  // Fails if a pod started after the first check and before the plugin stopped, because such a pod would lose its
  // driver while running. The clean-up then restarts the plugin, without which the pod cannot terminate.
  absl::Status CheckArrivals() {
    if (!HasKubeletPlugin()) return absl::OkStatus();
    return Evacuation(settings_, parts_, node_).CheckNoClaimHolders(/*with_pending=*/false);
  }

  absl::Status EvictOrDrain() {
    if (absl::Status status = Cordon(); !status.ok()) return status;
    const absl::Status evicted = Evacuation(settings_, parts_, node_).EvictGpuPods();
    if (evicted.ok() || absl::IsCancelled(evicted)) return evicted;
    if (!drains_) return Named("some pods still use a GPU, and ENABLE_AUTO_DRAIN is off", evicted);
    parts_.log({.severity = Severity::kWarning,
                .message = "eviction failed; draining the node",
                .fields = {{"error", std::string(evicted.message())}}});
    return Evacuation(settings_, parts_, node_).Drain();
  }

  absl::Status Cordon() { return node_.Edit("cordon", CordonPatch).status(); }

  absl::Status StopKubeletPlugin() {
    if (!HasKubeletPlugin()) return absl::OkStatus();
    const absl::StatusOr<Node> paused = node_.Edit("pause the DRA kubelet plugin", PauseKubeletPlugin);
    if (!paused.ok()) return paused.status();
    return Evacuation(settings_, parts_, node_).AwaitAppGone(kKubeletPluginApp);
  }

  absl::Status Unload() {
    const absl::Status unloaded = UnloadDriver(host_);
    if (unloaded.ok() || !drains_) return unloaded;
    parts_.log({.severity = Severity::kWarning,
                .message = "unloading failed; draining the node",
                .fields = {{"error", std::string(unloaded.message())}}});
    if (absl::Status status = Cordon(); !status.ok()) return status;
    if (absl::Status status = Evacuation(settings_, parts_, node_).Drain(); !status.ok()) return status;
    return UnloadDriver(host_);
  }

  absl::Status Finish() {
    if (absl::Status status = UnloadIfLoaded(host_, kNouveauModule); !status.ok()) return status;
    if (const absl::Status status = host_.UnbindDevices(); !status.ok()) {
      parts_.log({.severity = Severity::kWarning,
                  .message = "a device stays bound to its driver",
                  .fields = {{"error", std::string(status.message())}}});
    }
    if (absl::Status status = AwaitNetworkDriver(); !status.ok()) return status;
    return GiveBack(node_);
  }

  // Waits for the network driver without a time limit, because RDMA cannot work with the GPU driver until the network
  // driver is ready.
  absl::Status AwaitNetworkDriver() {
    if (!settings_.gpu_direct_rdma || !host_.HasPciDevice(kMellanoxVendor)) return absl::OkStatus();
    while (settings_.use_host_mofed ? !host_.UseCount(kMlx5Module) : !host_.IsNetworkDriverReady()) {
      Say("wait for the network driver", {{"of", settings_.use_host_mofed ? "the host" : "a container"}});
      if (absl::Status slept = node_.Sleep(kMofedPoll); !slept.ok()) return slept;
    }
    return absl::OkStatus();
  }

  absl::Status GiveBack(NodeClient& node) {
    Say("resume the operands, and lift our cordon if there is one");
    return node
        .Edit("release the node",
              [this](const Node& current) {
                PatchNodeParams patch = UncordonPatch(current);
                patch.labels.merge(ResumeAll(current, settings_.custom_label).labels);
                return patch;
              })
        .status();
  }

  // Uses its own client, because the clean-up must also run after a stop request has ended the work.
  void CleanUp() {
    NodeClient unstopped(parts_, settings_.node_name, std::stop_token());
    if (const absl::Status status = GiveBack(unstopped); !status.ok()) {
      parts_.log({.severity = Severity::kError,
                  .message = "the node is not released",
                  .fields = {{"error", std::string(status.message())}}});
    }
    if (evicts_ || drains_) return;
    for (const std::string& advice : Guidance()) {
      parts_.log({.severity = Severity::kWarning, .message = "advice", .fields = {{"advice", advice}}});
    }
  }

  std::vector<std::string> Guidance() const {
    if (!policy_on_) {
      return {"stop the pods on the node that use a GPU",
              "set ENABLE_GPU_POD_EVICTION or ENABLE_AUTO_DRAIN to evict them"};
    }
    return {"the upgrade controller evicts the pods, because autoUpgrade is on: wait for it",
            "stop the pods on the node that use a GPU",
            fmt::format("request an upgrade of the node: kubectl label node {} --overwrite "
                        "nvidia.com/gpu-driver-upgrade-state=upgrade-required",
                        settings_.node_name),
            "or switch the upgrade policy off and set ENABLE_GPU_POD_EVICTION"};
  }

  const Settings& settings_;
  const Parts& parts_;
  HostDriver& host_;
  NodeClient node_;
  Node start_;
  bool policy_on_ = false;
  bool evicts_ = false;
  bool drains_ = false;
};

}  // namespace

absl::Status UninstallDriver(const Settings& settings, const Parts& parts, std::stop_token stop) {
  return Flow(settings, parts, std::move(stop)).Run();
}

}  // namespace driver_manager
