// Devices as a DRA driver publishes them, on the nodes of a world, and pods that hold them by claim.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_DEVICES_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_DEVICES_H_

#include <memory>
#include <string>
#include <string_view>

#include "world.h"

namespace driverupgrade::e2e {

// Served from Kubernetes 1.37 on.
inline constexpr char kDeviceTaintRules[] = "devicetaintrules.v1.resource.k8s.io";

// Devices of the driver and the DeviceClass gpu.nvidia.com, in one pool for each node, which has the node's name. There
// is no driver plugin, so a slice stays unchanged until a test changes it. The scheduler and the controllers for claims
// and taints are real.
class Devices {
 public:
  // Publishes `per_node` devices on every node of `world`, which must outlive this. Returns nullptr, after a warning,
  // if Kubernetes does not serve kDeviceTaintRules.
  static std::unique_ptr<Devices> Make(const World& world, int per_node);
  // Deletes everything that it has created, and every DeviceTaintRule.
  ~Devices();
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;

  // Creates a pod that may run only on `node`, in the world's namespace for workloads. A holder claims one device. Does
  // not wait.
  void DeployHolder(const std::string& pod, const std::string& node) const;
  void DeployPod(const std::string& pod, const std::string& node) const;

  // Creates a DeviceTaintRule, named after `node`, for all devices of the node. `effect`: None, NoSchedule or
  // NoExecute.
  void Taint(const std::string& node, const std::string& effect) const;
  void Untaint(const std::string& node) const;

  // Wait for a few seconds. Return whether `pod` became Ready, or whether the scheduler found no device for the pod on
  // its node.
  bool BecomesReady(const std::string& pod) const;
  bool IsRefused(const std::string& pod) const;

 private:
  Devices(const World& world, int per_node);
  void CreatePod(const std::string& pod, const std::string& node, bool holds_device) const;
  // Returns whether `pod` gets a condition of `type` with `status`, and `message` in its message, within a few seconds.
  bool EventuallyHas(const std::string& pod, std::string_view type, std::string_view status,
                     std::string_view message) const;
  const Kubectl& admin() const { return world_.control_plane().admin(); }

  const World& world_;
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_DEVICES_H_
