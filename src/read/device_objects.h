// The objects of Dynamic Resource Allocation that upgrades use, by the node that they concern.
#ifndef DRIVERUPGRADE_SRC_READ_DEVICE_OBJECTS_H_
#define DRIVERUPGRADE_SRC_READ_DEVICE_OBJECTS_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/device_types.h"
#include "driverupgrade/gate.h"
#include "read/packed_objects.h"

namespace driverupgrade::internal {

// Nodes whose objects have changed; kAllNodes among them means all nodes.
using ChangedNodes = std::set<std::string>;
inline constexpr std::string_view kAllNodes = "";

// T is DeviceTaintRule, ResourceClaim or ResourceSlice.
class DeviceObjects {
 public:
  // Also keeps the objects of these DRA drivers. Must be called before any object is added.
  void Keep(const std::vector<std::string>& drivers) { drivers_.insert(drivers.begin(), drivers.end()); }

  // Accepts a list of all objects of the kind.
  template <typename T>
  ChangedNodes Listed(const std::vector<T>& objects);
  // Both ignore a change that comes before the first list: a single object must not be mistaken for the complete list
  // of its kind.
  template <typename T>
  ChangedNodes Changed(const T& object);
  template <typename T>
  ChangedNodes Deleted(const T& object);
  // Notes that the objects of the kind could not be listed; NotFound: the cluster does not serve the kind.
  template <typename T>
  ChangedNodes Failed(const absl::Status& why);
  template <typename T>
  bool IsListed() const {
    return std::get<Kind<T>>(kinds_).status.ok();
  }

  // Returns the objects of the node, of these drivers. Errors: see WatchCache::Devices.
  absl::StatusOr<NodeDevices> On(const std::string& node, const std::vector<std::string>& drivers) const;
  // Returns true unless the claim may have devices of these drivers that are not known yet: it has not been read, or was
  // not allocated when it was read.
  bool KnowsClaim(const std::string& ns, const std::string& name) const;
  // Returns a finding for each object that cannot be read and may belong to any node.
  std::vector<Finding> Findings() const;

 private:
  template <typename T>
  struct Kind {
    absl::Status status = absl::UnavailableError("has not been read yet");
    PackedObjects<T> objects = {};
  };

  // Returns the nodes of an object that is kept, and kAllNodes if it may belong to any node. Empty: the object is not
  // kept.
  std::set<std::string> NodesOf(const DeviceTaintRule& rule) const;
  std::set<std::string> NodesOf(const ResourceClaim& claim) const;
  std::set<std::string> NodesOf(const ResourceSlice& slice) const;
  // Remembers a claim that is allocated by other drivers only.
  void NoteOther(const ResourceClaim& claim);
  template <typename T>
  void Put(const T& object, ChangedNodes& changed);
  template <typename T>
  void Drop(const T& named, ChangedNodes& changed);

  std::set<std::string> drivers_ = {};
  // Hashes of the names of claims that are allocated by other drivers only: a cluster may have many of them.
  std::unordered_set<std::uint64_t> other_claims_ = {};
  std::tuple<Kind<DeviceTaintRule>, Kind<ResourceClaim>, Kind<ResourceSlice>> kinds_ = {};
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_READ_DEVICE_OBJECTS_H_
