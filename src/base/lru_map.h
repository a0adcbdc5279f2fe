// A map of limited size. Once it is full, a new entry replaces the least recently used one.
#ifndef DRIVERUPGRADE_SRC_BASE_LRU_MAP_H_
#define DRIVERUPGRADE_SRC_BASE_LRU_MAP_H_

#include <cstddef>
#include <list>
#include <map>
#include <string>
#include <utility>

namespace driverupgrade::internal {

// Not thread-safe.
template <typename Value>
class LruMap {
 public:
  // `size_max`: maximum number of entries, at least 1.
  explicit LruMap(std::size_t size_max) : size_max_(size_max) {}
  LruMap(const LruMap&) = delete;
  LruMap& operator=(const LruMap&) = delete;

  // Returns the value of `key`; inserts `initial` if the key is missing. The reference is valid until the next call.
  Value& Use(const std::string& key, Value initial = {}) {
    const auto found = places_.find(key);
    if (found != places_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return found->second->second;
    }
    if (places_.size() >= size_max_) {
      places_.erase(entries_.back().first);
      entries_.pop_back();
    }
    entries_.emplace_front(key, std::move(initial));
    places_[key] = entries_.begin();
    return entries_.front().second;
  }

 private:
  using Entries = std::list<std::pair<std::string, Value>>;

  const std::size_t size_max_;
  Entries entries_;  // the most recently used entry comes first
  std::map<std::string, typename Entries::iterator> places_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_BASE_LRU_MAP_H_
