// Publishes devices on the nodes of a world, as a DRA driver does, and creates pods that hold these devices by claims.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_DEVICES_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_DEVICES_H_

#include <memory>
#include <string>
#include <string_view>

#include "world.h"

namespace driverupgrade::e2e {

// Kubernetes has served this resource since 1.37.
inline constexpr char kDeviceTaintRules[] = "devicetaintrules.v1.resource.k8s.io";

// Devices of the driver gpu.nvidia.com, and a DeviceClass with the driver's name. Each node has one pool, which has the
// node's name. There is no driver plugin, so a ResourceSlice stays unchanged until a test changes it. The scheduler and
// the controllers for claims and taints are real.
class Devices {
 public:
  // Publishes `per_node` devices on every node of `world`, which must outlive this object. Returns nullptr, after a
  // warning, if Kubernetes does not serve kDeviceTaintRules.
  static std::unique_ptr<Devices> Make(const World& world, int per_node);
  // Deletes all objects that this object has created, and every DeviceTaintRule.
  ~Devices();
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;

  // Creates a pod that can run only on `node`, in the world's namespace for workloads. DeployHolder gives the pod a
  // claim for one device. Does not wait.
  void DeployHolder(const std::string& pod, const std::string& node) const;
  void DeployPod(const std::string& pod, const std::string& node) const;

  // Creates a DeviceTaintRule, named after `node`, for all devices of the node. Values of `effect`: None, NoSchedule or
  // NoExecute.
  void Taint(const std::string& node, const std::string& effect) const;
  void Untaint(const std::string& node) const;

  // Each function waits up to a few seconds. BecomesReady returns whether `pod` became Ready, and IsRefused whether the
  // scheduler found no device for `pod` on its node.
  bool BecomesReady(const std::string& pod) const;
  bool IsRefused(const std::string& pod) const;

 private:
  Devices(const World& world, int per_node);
  void CreatePod(const std::string& pod, const std::string& node, bool holds_device) const;
  // Returns whether `pod` gets a condition with this `type` and `status`, whose message contains `message`, within a
  // few seconds.
  bool EventuallyHas(const std::string& pod, std::string_view type, std::string_view status,
                     std::string_view message) const;
  const Kubectl& admin() const { return world_.control_plane().admin(); }

  const World& world_;
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_DEVICES_H_
