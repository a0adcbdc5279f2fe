/// The parts of Dynamic Resource Allocation (`resource.k8s.io/v1`) that an upgrade uses to isolate devices instead of
/// nodes.
///
/// Defines DeviceTaintRule, ResourceClaim, ResourceSlice and their parts: plain value types. See cluster_types.h for
/// `unreadable`. Fields are named after the Kubernetes fields that they contain.
///
///     const DeviceTaintRule rule{.name = "gpu.nvidia.com-gpu-7", .driver = "gpu.nvidia.com", .pool = "gpu-7"};
///
/// Kubernetes serves claims and slices in version v1 from 1.34 on, and device taint rules in v1 from 1.37 on.
#ifndef DRIVERUPGRADE_DEVICE_TYPES_H_
#define DRIVERUPGRADE_DEVICE_TYPES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/cluster_types.h"

namespace driverupgrade {

enum class DeviceTaintEffect : std::uint8_t {
  kNone,        ///< Taints nothing; the rule's status reports what the other effects would do.
  kNoSchedule,  ///< New claims are not allocated unless they tolerate the taint; existing allocations stay.
  kNoExecute,   ///< Pods are also deleted, regardless of disruption budgets. Never used by this library.
};
/// Returns `None`, `NoSchedule` or `NoExecute`.
std::string_view ToString(DeviceTaintEffect effect);

/// Taints all devices of a driver in a pool, including devices that are published later. Cluster-scoped.
struct DeviceTaintRule {
  std::string name = {};
  std::string uid = {};
  std::string resource_version = {};
  /// Incremented by each change to `spec`; each condition names the generation it refers to.
  std::int64_t generation = 0;
  StringMap labels = {};
  /// Name and UID of the Node that owns the rule; both empty if no Node owns it. The rule is deleted with its Node.
  std::string node_name = {};
  std::string node_uid = {};
  /// spec.deviceSelector. An empty field selects everything, so neither may be empty when a rule is created.
  std::string driver = {};
  std::string pool = {};
  /// spec.taint.
  std::string key = {};
  std::string value = {};
  DeviceTaintEffect effect = DeviceTaintEffect::kNone;
  /// spec.taint.timeAdded, set by the server, in whole seconds.
  std::optional<absl::Time> time_added = {};
  /// Set once the rule is being deleted.
  std::optional<absl::Time> deletion_timestamp = {};
  std::vector<Condition> conditions = {};
  std::string unreadable = {};
  friend bool operator==(const DeviceTaintRule&, const DeviceTaintRule&) = default;
};

/// One entry of a claim's `status.reservedFor`.
struct ClaimConsumer {
  /// `pods`, or another resource such as `podgroups`.
  std::string resource = {};
  std::string name = {};
  std::string uid = {};
  friend bool operator==(const ClaimConsumer&, const ClaimConsumer&) = default;
  friend auto operator<=>(const ClaimConsumer&, const ClaimConsumer&) = default;
};

/// A pool from which devices were allocated to a claim. Devices of one pool are not distinguished.
struct AllocatedPool {
  std::string driver = {};
  std::string pool = {};
  /// True if the claim has admin access, for example for monitoring. Its devices may then be shared with other claims.
  bool admin_access = false;
  friend bool operator==(const AllocatedPool&, const AllocatedPool&) = default;
  friend auto operator<=>(const AllocatedPool&, const AllocatedPool&) = default;
};

struct ResourceClaim {
  std::string ns = {};
  std::string name = {};
  std::string uid = {};
  std::string resource_version = {};
  /// UID of the controlling owner if it is a Pod; empty otherwise. A claim without a controlling Pod can be shared by
  /// several pods.
  std::string pod_uid = {};
  /// status.allocation.devices.results, sorted, without duplicates; empty if nothing is allocated.
  std::vector<AllocatedPool> allocated = {};
  /// status.allocation.allocationTimestamp, in whole seconds; nullopt if nothing is allocated, or before Kubernetes
  /// 1.36.
  std::optional<absl::Time> allocation_time = {};
  /// Users of the claim. A pod is listed before it is bound, and stays listed until it has finished or is deleted.
  /// Sorted by UID.
  std::vector<ClaimConsumer> reserved_for = {};
  std::optional<absl::Time> deletion_timestamp = {};
  std::string unreadable = {};
  friend bool operator==(const ResourceClaim&, const ResourceClaim&) = default;
};

/// A device that a driver has published.
struct PublishedDevice {
  std::string name = {};
  /// Attribute `driverVersion`, of type version or string; empty if it is missing.
  std::string driver_version = {};
  friend bool operator==(const PublishedDevice&, const PublishedDevice&) = default;
};

/// A part of a device pool that a driver publishes; there is usually one pool for each node.
struct ResourceSlice {
  std::string name = {};
  std::string uid = {};
  std::string resource_version = {};
  /// spec.nodeName; empty for devices that do not belong to a single node.
  std::string node_name = {};
  std::string driver = {};
  std::string pool = {};
  /// Only the slices with a pool's highest generation count; the pool is complete once there are `pool_slices` of them.
  std::int64_t pool_generation = 0;
  std::int64_t pool_slices = 0;
  /// In the order in which they are published.
  std::vector<PublishedDevice> devices = {};
  std::string unreadable = {};
  friend bool operator==(const ResourceSlice&, const ResourceSlice&) = default;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_DEVICE_TYPES_H_
