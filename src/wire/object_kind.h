// Defines the `kind` of each type that has a JSON form.
#ifndef DRIVERUPGRADE_SRC_WIRE_OBJECT_KIND_H_
#define DRIVERUPGRADE_SRC_WIRE_OBJECT_KIND_H_

#include <string_view>

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/device_types.h"
#include "driverupgrade/wire/kubernetes_json.h"

namespace driverupgrade::internal {

template <typename T>
constexpr std::string_view KindOf();
template <>
constexpr std::string_view KindOf<Node>() {
  return "Node";
}
template <>
constexpr std::string_view KindOf<Pod>() {
  return "Pod";
}
template <>
constexpr std::string_view KindOf<DaemonSet>() {
  return "DaemonSet";
}
template <>
constexpr std::string_view KindOf<ControllerRevision>() {
  return "ControllerRevision";
}
template <>
constexpr std::string_view KindOf<PodDisruptionBudget>() {
  return "PodDisruptionBudget";
}
template <>
constexpr std::string_view KindOf<NodeMaintenance>() {
  return "NodeMaintenance";
}
template <>
constexpr std::string_view KindOf<DeviceTaintRule>() {
  return "DeviceTaintRule";
}
template <>
constexpr std::string_view KindOf<ResourceClaim>() {
  return "ResourceClaim";
}
template <>
constexpr std::string_view KindOf<ResourceSlice>() {
  return "ResourceSlice";
}
template <>
constexpr std::string_view KindOf<Lease>() {
  return "Lease";
}
template <>
constexpr std::string_view KindOf<ConfigMap>() {
  return "ConfigMap";
}
// Empty, because an ApiObject may have any kind.
template <>
constexpr std::string_view KindOf<ApiObject>() {
  return "";
}

template <typename T>
constexpr std::string_view ApiVersionOf() {
  if (KindOf<T>() == "PodDisruptionBudget") return "policy/v1";
  if (KindOf<T>() == "NodeMaintenance") return "maintenance.nvidia.com/v1alpha1";
  const bool of_devices =
      KindOf<T>() == "DeviceTaintRule" || KindOf<T>() == "ResourceClaim" || KindOf<T>() == "ResourceSlice";
  if (of_devices) return "resource.k8s.io/v1";
  if (KindOf<T>() == "Lease") return "coordination.k8s.io/v1";
  const bool core = KindOf<T>() == "Node" || KindOf<T>() == "Pod" || KindOf<T>() == "ConfigMap";
  return core ? "v1" : "apps/v1";
}

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WIRE_OBJECT_KIND_H_
