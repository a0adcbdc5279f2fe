// The objects of a rollout as watches keep them: what `status -w` shows anew whenever something changes.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_LIVE_VIEW_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_LIVE_VIEW_H_

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
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

/// Follows nodes, the driver's pods and DaemonSets, the Events of its upgrade and the ledger, each in a thread of its own. What else a
/// status shows is read when it is asked for. Thread-safe.
class LiveView {
 public:
  LiveView(std::shared_ptr<driverupgrade::HttpTransport> transport, driverupgrade::DriverIdentity identity,
           DriverPlace place);
  ~LiveView();
  LiveView(const LiveView&) = delete;
  LiveView& operator=(const LiveView&) = delete;

  /// Waits until all has been listed and something has changed since the last call, or `patience` is over, which is no
  /// error. Errors: of a watch that no waiting helps.
  [[nodiscard]] absl::Status Await(absl::Duration patience);
  /// As ReadLive.
  [[nodiscard]] absl::StatusOr<std::string> Read(const Wanted& wanted, std::vector<std::string>& notes);

 private:
  struct Followed;
  class Sink;
  void Follow(Followed& followed, std::stop_token stop);
  static absl::Status WatchOnce(const driverupgrade::ObjectClient& objects, const Followed& followed,
                                const driverupgrade::WatchParams& params, const std::stop_token& stop, Sink& sink);

  const std::shared_ptr<driverupgrade::HttpTransport> transport_;
  const driverupgrade::DriverIdentity identity_;
  const DriverPlace place_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool news_ = false;
  absl::Status failure_ = absl::OkStatus();
  std::vector<std::unique_ptr<Followed>> followed_;
  std::vector<std::jthread> threads_;  // last: they use the rest
};

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_LIVE_VIEW_H_
