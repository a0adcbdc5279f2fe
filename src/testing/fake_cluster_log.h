// The history of the objects of one kind, for watches.
#ifndef DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_LOG_H_
#define DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_LOG_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

namespace driverupgrade::testing::internal {

/// Lowest revision of an empty cluster.
inline constexpr std::int64_t kFirstRevision = 1000;

/// A change to one object. `before` is null if the change created the object; `after` is null if the change deleted it.
template <class T>
struct LogEntry {
  std::int64_t revision = 0;
  std::shared_ptr<const T> before = {};
  std::shared_ptr<const T> after = {};
};

/// The changes to all objects of one kind, in order of revision. Shares the objects with the store. Not thread-safe.
template <class T>
class ObjectLog {
 public:
  /// Appends the entry, then drops the oldest entries beyond `limit`.
  void Append(LogEntry<T> entry, std::size_t limit) {
    entries_.push_back(std::move(entry));
    while (entries_.size() > limit) DropFirst();
  }

  /// Drops the entries up to `revision`. A watch can no longer start from an earlier revision.
  void Compact(std::int64_t revision) {
    while (!entries_.empty() && entries_.front().revision <= revision) DropFirst();
    compacted_ = std::max(compacted_, revision);
  }

  /// Returns true if a watch can start after `revision`.
  bool CanBegin(std::int64_t revision) const { return revision >= compacted_; }
  /// Returns true if a running watch can continue after `revision`, because no later entry has been dropped.
  bool CanGoOn(std::int64_t revision) const { return revision >= dropped_; }

  /// Returns the first entry after `revision`, or null. The pointer is valid until the next Append or Compact.
  const LogEntry<T>* After(std::int64_t revision) const {
    auto found = std::upper_bound(entries_.begin(), entries_.end(), revision,
                                  [](std::int64_t left, const LogEntry<T>& right) { return left < right.revision; });
    return found == entries_.end() ? nullptr : &*found;
  }

 private:
  void DropFirst() {
    dropped_ = entries_.front().revision;
    compacted_ = std::max(compacted_, dropped_);
    entries_.pop_front();
  }

  std::deque<LogEntry<T>> entries_;
  /// Revision of the last dropped entry.
  std::int64_t dropped_ = kFirstRevision;
  std::int64_t compacted_ = kFirstRevision;
};

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_LOG_H_
