// Stores packed objects of one kind, for a cache that keeps the objects of all nodes but examines only a few of these
// objects.
#ifndef DRIVERUPGRADE_SRC_READ_PACKED_OBJECTS_H_
#define DRIVERUPGRADE_SRC_READ_PACKED_OBJECTS_H_

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "read/packed.h"

namespace driverupgrade::internal {

// See PackedObject for T. A claim takes about 330 bytes.
template <typename T>
class PackedObjects {
 public:
  // Adds the object to `nodes`. No object with the same name may be present.
  void Put(const T& object, const std::set<std::string>& nodes) {
    const auto stored = objects_.emplace(object).first;
    for (const std::string& node : nodes) by_node_[node].push_back(&*stored);
  }
  // Removes the object with the same name. `nodes` must be the nodes that were passed to Put.
  void Erase(const T& named, const std::set<std::string>& nodes) {
    const auto found = objects_.find(named);
    if (found == objects_.end()) return;
    for (const std::string& node : nodes) {
      const auto of_node = by_node_.find(node);
      std::erase(of_node->second, &*found);
      if (of_node->second.empty()) by_node_.erase(of_node);
    }
    objects_.erase(found);
  }
  bool Contains(const T& named) const { return objects_.contains(named); }
  std::optional<T> Find(const T& named) const {
    const auto found = objects_.find(named);
    return found == objects_.end() ? std::nullopt : std::optional(found->Unpack());
  }
  // Returns the objects of the node, sorted by name.
  std::vector<T> On(const std::string& node) const {
    const auto found = by_node_.find(node);
    if (found == by_node_.end()) return {};
    std::vector<const PackedObject<T>*> sorted = found->second;
    std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return ByName()(*a, *b); });
    std::vector<T> objects;
    objects.reserve(sorted.size());
    for (const PackedObject<T>* object : sorted) objects.push_back(object->Unpack());
    return objects;
  }
  // Returns the stored objects that the list does not contain.
  std::vector<T> Missing(const std::vector<T>& listed) const {
    std::set<QualifiedName> names;
    for (const T& object : listed) names.insert(NameOf(object));
    std::vector<T> missing;
    for (const PackedObject<T>& object : objects_) {
      if (!names.contains(object.name())) missing.push_back(object.Unpack());
    }
    return missing;
  }

 private:
  struct ByName {
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const { return Name(a) < Name(b); }
    static QualifiedName Name(const PackedObject<T>& object) { return object.name(); }
    static QualifiedName Name(const T& object) { return NameOf(object); }
  };

  std::set<PackedObject<T>, ByName> objects_ = {};
  std::map<std::string, std::vector<const PackedObject<T>*>> by_node_ = {};
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_READ_PACKED_OBJECTS_H_
