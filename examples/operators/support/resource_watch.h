/// Follows all objects of a kind that the facade does not support, such as an operator's custom resources.
///
/// Defines ResourceWatch and ResourceWatchOptions.
///
///     ResourceWatch policies(objects, {.group_version = "nvidia.com/v1", .resource = "clusterpolicies",
///                                      .namespaced = false}, {.on_change = [bell] { bell->Ring(); }, .log = log});
///     policies.Start();
///     ...
///     if (const auto now = policies.Latest()) Use(*now);
///
/// Starts with a list, then receives changes. A watch that ends resumes from its version or, if the version is too old
/// (410), starts again from a list. A watch that fails is retried with growing pauses (api-A12 to api-A18). A kind that
/// the cluster does not serve counts as an empty set, and is checked again periodically. Suitable only for a small
/// number of objects, because each change copies all of them.
///
/// Latest, status and Stop may be called from any thread. Between Start and Stop, a ResourceWatch uses one thread.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_RESOURCE_WATCH_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_RESOURCE_WATCH_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/kubernetes/object_client.h"
#include "driverupgrade/observer.h"

namespace examples {

struct ResourceWatchOptions {
  driverupgrade::LabelSelector label_selector = {};
  /// Called on the watch's thread when Latest has changed. May be null.
  std::function<void()> on_change = nullptr;
  /// Receives a record for each new reason why the watch fails, and a record when the watch recovers. May be null.
  driverupgrade::LogSink log = nullptr;
  /// Time after which the server ends a watch (api-A15).
  absl::Duration watch_timeout = absl::Minutes(5);
  absl::Duration retry_first = absl::Seconds(1);
  absl::Duration retry_max = absl::Seconds(30);
  /// Null: SystemClock().
  std::shared_ptr<driverupgrade::Clock> clock = nullptr;
};

class ResourceWatch {
 public:
  using Objects = std::vector<driverupgrade::ApiObject>;

  ResourceWatch(std::shared_ptr<const driverupgrade::ObjectClient> objects, driverupgrade::ObjectKind kind,
                ResourceWatchOptions options);
  ~ResourceWatch();

  /// Starts the thread that follows the objects. Must be called only once.
  void Start();
  /// Stops within the time that a call needs to notice its stop token. Latest keeps its value.
  void Stop();
  /// Replaces Start: runs one watch until it ends. Returns the pause before the next watch.
  absl::Duration Turn(const driverupgrade::CallContext& context);

  /// Returns all objects, by namespace and name; nullopt until they have been read once.
  std::optional<Objects> Latest() const;
  /// Returns why the last watch ended early; OK if there is no problem, or if the cluster does not serve the kind.
  absl::Status status() const;

 private:
  class Sink;
  using Key = std::pair<std::string, std::string>;

  void Listed(Objects objects, std::string_view version);
  void Changed(driverupgrade::ApiObject object, std::string_view version);
  void Deleted(const driverupgrade::ApiObject& object, std::string_view version);
  void Moved(std::string_view version);
  void Tell() const;
  absl::Duration Failed(const absl::Status& status);
  void Recovered();

  const std::shared_ptr<const driverupgrade::ObjectClient> client_;
  const driverupgrade::ObjectKind kind_;
  const ResourceWatchOptions options_;
  const std::shared_ptr<driverupgrade::Clock> clock_;
  std::string version_;  // version to resume from; empty to start with a list
  int failures_ = 0;
  bool moved_ = false;  // the current watch has delivered an event

  mutable std::mutex mutex_;
  std::optional<std::map<Key, driverupgrade::ApiObject>> known_;
  absl::Status status_ = absl::OkStatus();
  std::jthread thread_;  // last: joined before other members are destroyed
};

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_RESOURCE_WATCH_H_
