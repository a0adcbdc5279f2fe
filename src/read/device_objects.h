// Stores the Dynamic Resource Allocation (DRA) objects that upgrades use, with an index by node.
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

// Names of the nodes whose objects have changed. If kAllNodes is included, the objects of any node may have changed.
using ChangedNodes = std::set<std::string>;
inline constexpr std::string_view kAllNodes = "";

// In the member templates, T is DeviceTaintRule, ResourceClaim or ResourceSlice.
class DeviceObjects {
 public:
  // Also keeps the objects of `drivers`. Must be called before any object is added.
  void Keep(const std::vector<std::string>& drivers) { drivers_.insert(drivers.begin(), drivers.end()); }

  // Accepts a list of all objects of the kind.
  template <typename T>
  ChangedNodes Listed(const std::vector<T>& objects);
  // Changed and Deleted do nothing before the first list, so that a single object is never mistaken for the complete
  // list of its kind.
  template <typename T>
  ChangedNodes Changed(const T& object);
  template <typename T>
  ChangedNodes Deleted(const T& object);
  // Records that the objects of the kind could not be listed. NotFound means that the cluster does not serve the kind.
  template <typename T>
  ChangedNodes Failed(const absl::Status& why);
  // Makes the objects of all kinds unknown until the next list, because the cluster was restored from a backup.
  void Distrust();
  template <typename T>
  bool IsListed() const {
    return std::get<Kind<T>>(kinds_).status.ok();
  }

  // Returns the node's objects that belong to `drivers`. Errors: see WatchCache::Devices.
  absl::StatusOr<NodeDevices> On(const std::string& node, const std::vector<std::string>& drivers) const;
  // Returns false if the claim has not been read, or was not allocated when it was read. Such a claim may contain
  // devices of the DRA drivers that were passed to Keep.
  bool KnowsClaim(const std::string& ns, const std::string& name) const;
  // Returns a finding for each object that cannot be read and may belong to any node.
  std::vector<Finding> Findings() const;

 private:
  template <typename T>
  struct Kind {
    absl::Status status = absl::UnavailableError("has not been read yet");
    PackedObjects<T> objects = {};
  };

  // Returns the nodes to which the object belongs, or kAllNodes if it may belong to any node. The result is empty if
  // the object does not need to be kept.
  std::set<std::string> NodesOf(const DeviceTaintRule& rule) const;
  std::set<std::string> NodesOf(const ResourceClaim& claim) const;
  std::set<std::string> NodesOf(const ResourceSlice& slice) const;
  // Remembers the claim if all its devices belong to other DRA drivers, and otherwise forgets the claim.
  void NoteOther(const ResourceClaim& claim);
  template <typename T>
  void Put(const T& object, ChangedNodes& changed);
  template <typename T>
  void Drop(const T& named, ChangedNodes& changed);

  std::set<std::string> drivers_ = {};
  // Name hashes of claims whose devices all belong to other DRA drivers. Only hashes are kept, because a cluster can
  // have many such claims.
  std::unordered_set<std::uint64_t> other_claims_ = {};
  std::tuple<Kind<DeviceTaintRule>, Kind<ResourceClaim>, Kind<ResourceSlice>> kinds_ = {};
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_READ_DEVICE_OBJECTS_H_
