// The objects of a rollout as watches keep them: what `status -w` shows anew whenever something changes.
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

/// Follows nodes, the driver's pods and DaemonSets, the Events of its upgrade and the ledger, each in a thread of its
/// own. What else a status shows is listed when something of these has changed, at most every kListedAtMost; and every
/// kListedAtLeast, as much of it changes alone.
class LiveView {
 public:
  static constexpr absl::Duration kListedAtMost = absl::Seconds(10);
  static constexpr absl::Duration kListedAtLeast = absl::Minutes(1);

  /// `pause`: between two attempts at a watch that fails.
  LiveView(std::shared_ptr<driverupgrade::HttpTransport> transport, driverupgrade::DriverIdentity identity,
           DriverPlace place, absl::Duration pause = absl::Seconds(1));
  ~LiveView();
  LiveView(const LiveView&) = delete;
  LiveView& operator=(const LiveView&) = delete;

  /// Waits until all has been listed and something has changed since the last call, or a watch has begun to fail, or
  /// `patience` is over; none of these is an error. Errors: of a watch that no waiting helps.
  [[nodiscard]] absl::Status Await(absl::Duration patience);
  /// All has been listed: before that, there is nothing to show.
  bool Complete() const;
  /// What goes wrong with the watches now, one text each; those without an answer yet, too.
  std::vector<std::string> Troubles() const;
  /// As ReadLive; `now` counts for what is listed beside the watches. From one thread at a time. After an error it may
  /// be called again.
  [[nodiscard]] absl::StatusOr<std::string> Read(const Wanted& wanted, absl::Time now, std::vector<std::string>& notes);

 private:
  struct Followed;
  class Sink;
  void Follow(Followed& followed, std::stop_token stop);
  /// Under the lock.
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
  std::set<std::string> gone_;  // of all watches, since Read last looked
  /// Of the followed objects, ever.
  std::int64_t changes_ = 0;
  absl::Status failure_ = absl::OkStatus();
  std::vector<std::unique_ptr<Followed>> followed_;
  /// What Read has listed, when, and after how many changes. Of Read alone.
  struct Listed {
    absl::Time at = absl::InfinitePast();
    std::int64_t changes = 0;
    MixedList beside = {};
    std::vector<std::string> notes = {};
    /// By node.
    std::map<std::string, MixedList> pods = {};
    /// What a watch has said to be gone since: it may still be among the pods of a node.
    std::set<std::string> gone = {};
  };
  Listed listed_;
  std::vector<std::jthread> threads_;  // last: they use the rest
};

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_LIVE_VIEW_H_
