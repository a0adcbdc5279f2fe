// Objects of one kind as watches tell of them: immutable, shared, under their keys.
#ifndef DRIVERUPGRADE_SRC_HOST_COLLECTION_H_
#define DRIVERUPGRADE_SRC_HOST_COLLECTION_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/cluster_types.h"
#include "model/object_key.h"

namespace driverupgrade::internal {

// By key; nullopt until the first list.
template <typename T>
using Collection = std::optional<std::map<std::string, std::shared_ptr<const T>>>;

// Keys in a collection, by the node that the objects belong to.
using KeysByNode = std::map<std::string, std::set<std::string>>;

// Returns whether the collection is another one now.
template <typename T>
bool Put(Collection<T>& collection, T object) {
  if (!collection) collection.emplace();
  std::shared_ptr<const T>& stored = (*collection)[KeyOf(object)];
  if (stored && *stored == object) return false;
  stored = std::make_shared<const T>(std::move(object));
  return true;
}

template <typename Map>
bool Drop(std::optional<Map>& collection, const std::string& key) {
  return collection && collection->erase(key) > 0;
}

// The keys of what is stored but not in the list (api-A18).
template <typename Map, typename T>
std::vector<std::string> Missing(std::optional<Map>& collection, const std::vector<T>& listed) {
  if (!collection) collection.emplace();
  std::set<std::string> keys;
  for (const T& object : listed) keys.insert(KeyOf(object));
  std::vector<std::string> missing;
  for (const auto& [key, object] : *collection) {
    if (!keys.contains(key)) missing.push_back(key);
  }
  return missing;
}

template <typename T>
bool Replace(Collection<T>& collection, std::vector<T> listed) {
  bool changed = false;
  for (const std::string& key : Missing(collection, listed)) changed |= Drop(collection, key);
  for (T& object : listed) changed |= Put(collection, std::move(object));
  return changed;
}

template <typename T>
std::vector<T> Values(const Collection<T>& collection) {
  std::vector<T> values;
  if (!collection) return values;
  for (const auto& [key, object] : *collection) values.push_back(*object);
  return values;
}

template <typename T>
std::vector<T> ValuesOf(const Collection<T>& collection, const KeysByNode& by_node, const std::string& node) {
  std::vector<T> values;
  const auto keys = by_node.find(node);
  if (!collection || keys == by_node.end()) return values;
  for (const std::string& key : keys->second) values.push_back(*collection->at(key));
  return values;
}

inline void Erase(KeysByNode& by_node, const std::string& node, const std::string& key) {
  const auto keys = by_node.find(node);
  if (keys == by_node.end()) return;
  keys->second.erase(key);
  if (keys->second.empty()) by_node.erase(keys);
}

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_HOST_COLLECTION_H_
