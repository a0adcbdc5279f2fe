// Keeps the objects of a rollout up to date with watches, so that `status -w` can show the status again after each
// change.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_LIVE_VIEW_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_LIVE_VIEW_H_

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/kubernetes/object_client.h"
#include "upgradectl/source.h"

namespace upgradectl {

/// Watches nodes, the driver's pods and DaemonSets, the Events of the upgrade, and the ledger, each on its own thread.
/// Lists the other objects of a status after a change, but no sooner than kListedAtMost after the last list, and at
/// least every kListedAtLeast, because these objects can change even if no watched object changes.
class LiveView {
 public:
  static constexpr absl::Duration kListedAtMost = absl::Seconds(10);
  static constexpr absl::Duration kListedAtLeast = absl::Minutes(1);

  /// `pause` is the time between two attempts of a failing watch.
  LiveView(std::shared_ptr<driverupgrade::HttpTransport> transport, driverupgrade::DriverIdentity identity,
           DriverPlace place, absl::Duration pause = absl::Seconds(1));
  ~LiveView();
  LiveView(const LiveView&) = delete;
  LiveView& operator=(const LiveView&) = delete;

  /// Blocks until each watch has listed its objects or has failed, and something has changed since the last call. Also
  /// returns OK once `patience` has passed. Returns the error of a watch that cannot recover.
  [[nodiscard]] absl::Status Await(absl::Duration patience);
  /// Returns true once everything has been listed. Until then, there is no status to show.
  bool Complete() const;
  /// Returns the current problem of each watch, including watches without a response yet.
  std::vector<std::string> Troubles() const;
  /// Same as ReadLive; `now` is the time at which the objects without a watch are listed. Must be called from one
  /// thread at a time, and may be called again after an error.
  [[nodiscard]] absl::StatusOr<std::string> Read(const Wanted& wanted, absl::Time now, std::vector<std::string>& notes);

 private:
  struct Followed;
  class Sink;
  void Follow(Followed& followed, std::stop_token stop);
  /// Requires the lock.
  void Recovered(Followed& followed);
  static absl::Status WatchOnce(const driverupgrade::ObjectClient& objects, const Followed& followed,
                                const driverupgrade::WatchParams& params, const std::stop_token& stop, Sink& sink);

  const std::shared_ptr<driverupgrade::HttpTransport> transport_;
  const driverupgrade::DriverIdentity identity_;
  const DriverPlace place_;
  const absl::Duration pause_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool news_ = false;
  std::set<std::string> gone_;  // objects that, according to the watches, were deleted since the last Read
  /// Number of all changes to the watched objects so far.
  std::int64_t changes_ = 0;
  absl::Status failure_ = absl::OkStatus();
  std::vector<std::unique_ptr<Followed>> followed_;
  /// Results of the last lists that Read made, with their time and the number of changes before them. Used only by
  /// Read.
  struct Listed {
    absl::Time at = absl::InfinitePast();
    std::int64_t changes = 0;
    MixedList beside = {};
    std::vector<std::string> notes = {};
    /// Pods by node.
    std::map<std::string, MixedList> pods = {};
    /// Objects that were deleted after the lists, according to the watches. `pods` may still contain these objects.
    std::set<std::string> gone = {};
  };
  Listed listed_;
  std::vector<std::jthread> threads_;  // last, because they use the other members
};

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_LIVE_VIEW_H_
