// Stores nodes, pods and DRA objects in a fraction of the usual memory, for a cache that keeps many objects but
// examines only a few.
#ifndef DRIVERUPGRADE_SRC_READ_PACKED_H_
#define DRIVERUPGRADE_SRC_READ_PACKED_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/device_types.h"

namespace driverupgrade::internal {

// All data of a node except for the node name, which the owner of this object stores. Uses one allocation.
class PackedNode {
 public:
  explicit PackedNode(const Node& node);
  Node Unpack(const std::string& name) const;
  std::string_view uid() const;
  std::string_view resource_version() const;
  bool unschedulable() const;

 private:
  std::unique_ptr<const char[]> bytes_;
};

// All data of a readable pod except for its node name, which the owner of this object stores. Uses one allocation.
class PackedPod {
 public:
  explicit PackedPod(const Pod& pod);
  Pod Unpack(const std::string& node_name) const;
  std::string_view uid() const;
  std::string_view resource_version() const;

 private:
  std::unique_ptr<const char[]> bytes_;
};

// The pods of one node.
class PackedPods {
 public:
  // Adds or replaces the pod. Returns false if the pod is already present in the same or a newer version.
  bool Put(const Pod& pod);
  // Removes the pod. Returns true if the pod was present.
  bool Erase(std::string_view uid);
  void clear() { pods_.clear(); }
  // Returns the pods sorted by UID.
  std::vector<Pod> Unpack(const std::string& node_name) const;

 private:
  std::vector<PackedPod> pods_ = {};  // sorted by UID
};

// Namespace and name. The namespace is empty for a kind without namespaces.
using QualifiedName = std::pair<std::string_view, std::string_view>;
template <typename T>
QualifiedName NameOf(const T& object) {
  if constexpr (requires { object.ns; }) return {object.ns, object.name};
  return {{}, object.name};
}

// All data of an object, which may be unreadable. Uses one allocation. T is DeviceTaintRule, ResourceClaim or
// ResourceSlice.
template <typename T>
class PackedObject {
 public:
  explicit PackedObject(const T& object);
  T Unpack() const;
  QualifiedName name() const;

 private:
  std::unique_ptr<const char[]> bytes_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_READ_PACKED_H_
