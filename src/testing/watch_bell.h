// Wakes watches when there may be new changes.
#ifndef DRIVERUPGRADE_SRC_TESTING_WATCH_BELL_H_
#define DRIVERUPGRADE_SRC_TESTING_WATCH_BELL_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>

namespace driverupgrade::testing::internal {

/// Counts the rings, and the watches that have found nothing new since the last ring. Thread-safe. A WatchBell calls no
/// other code while it holds its lock, so Ring may be called with any other lock held.
class WatchBell {
 public:
  void Ring();
  /// Returns once at least `count` watches are running and all running watches wait. A ring in the meantime prolongs
  /// the call.
  void AwaitIdle(int count);

  /// Represents one running watch, and is used by the watch's thread:
  ///     for (;;) {
  ///       const std::uint64_t rings = watcher.rings();
  ///       if (!LookForMore()) watcher.Wait(rings, stop);
  ///     }
  class Watcher {
   public:
    explicit Watcher(WatchBell& bell);
    ~Watcher();
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;

    std::uint64_t rings() const;
    /// Returns when the bell has been rung since rings() returned `rings`, or when a stop is requested.
    void Wait(std::uint64_t rings, const std::stop_token& stop);

   private:
    WatchBell& bell_;
  };

 private:
  mutable std::mutex mutex_;
  std::condition_variable_any rung_;
  std::condition_variable idle_changed_;
  // Guarded by mutex_.
  std::uint64_t rings_ = 0;
  int running_ = 0;
  /// Number of running watches that wait for the next ring.
  int idle_ = 0;
};

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_SRC_TESTING_WATCH_BELL_H_
