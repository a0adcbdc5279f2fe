// Defines the objects of one kind in an ObjectStore, with an index by node.
#ifndef DRIVERUPGRADE_SRC_READ_COLLECTION_H_
#define DRIVERUPGRADE_SRC_READ_COLLECTION_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driverupgrade/cluster_types.h"
#include "model/object_key.h"

namespace driverupgrade::internal {

template <typename T>
struct Collection {
  std::vector<T> All() const {
    std::vector<T> all;
    if (!objects) return all;
    for (const auto& [key, object] : *objects) all.push_back(object);
    return all;
  }
  std::vector<T> On(const std::string& node) const {
    std::vector<T> found;
    const auto keys = keys_by_node.find(node);
    if (keys == keys_by_node.end()) return found;
    for (const std::string& key : keys->second) found.push_back(objects->at(key));
    return found;
  }

  // The objects by key; nullopt until the first list.
  std::optional<std::map<std::string, T>> objects = std::nullopt;
  // True if `objects` has been listed since the cluster was last restored from a backup. False before the first list,
  // and between a restore and the next list.
  bool is_current = false;
  // Keys of the objects by node. The entry "" contains the keys of objects that belong to no node.
  std::map<std::string, std::set<std::string>> keys_by_node = {};
};

// Returns the keys of the stored objects that the list does not contain.
template <typename Map, typename T>
std::vector<std::string> Missing(const std::optional<Map>& stored, const std::vector<T>& listed) {
  std::vector<std::string> missing;
  if (!stored) return missing;
  std::set<std::string> keys;
  for (const T& object : listed) keys.insert(KeyOf(object));
  for (const auto& [key, object] : *stored) {
    if (!keys.contains(key)) missing.push_back(key);
  }
  return missing;
}

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_READ_COLLECTION_H_
