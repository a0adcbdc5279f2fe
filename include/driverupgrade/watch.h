/// Following a collection of objects: what a watch takes and gives.
///
/// Defines WatchParams and WatchSink.
///
///     class Printer final : public WatchSink<Node> {
///       bool OnList(std::vector<Node> nodes, std::string_view) override { ...; return true; }
///       bool OnChange(Node node, std::string_view) override { fmt::print("{}\n", node.name); return true; }
///       bool OnDelete(Node node, std::string_view) override { ...; return true; }
///       bool OnBookmark(std::string_view) override { return true; }
///     };
///     absl::Status ended = cluster->WatchNodes(context, {}, printer);
///
/// See ClusterReader (cluster_facade.h) for the calls. The rules are those of Kubernetes' watches.
#ifndef DRIVERUPGRADE_WATCH_H_
#define DRIVERUPGRADE_WATCH_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/cluster_reads.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/label_selector.h"

namespace driverupgrade {

struct WatchParams {
  /// Empty: all namespaces. Of no meaning for nodes.
  std::string ns = {};
  LabelSelector label_selector = {};
  /// Goes on after this version, as the last call of the sink gave it. Empty: begins anew, with OnList.
  std::string resource_version = {};
  /// False: begins anew without reading the objects that exist; OnList then has none, and says from where on changes
  /// follow.
  bool list = true;
  /// After so long the server ends the watch. The deadline of the context should lie further.
  absl::Duration timeout = absl::Minutes(5);
  /// With kMark a watch goes past an object that cannot be read; with kFail it ends there, and fails anew from the same
  /// version.
  OnUnreadable on_unreadable = OnUnreadable::kFail;
};

/// Takes what one watch sees. Called on the thread that called Watch..., one call at a time; while a call runs, nothing
/// more is read (back-pressure). Each returns whether to go on; false ends the watch with OK. `resource_version` is
/// where to go on if the watch breaks after that call.
template <typename T>
class WatchSink {
 public:
  virtual ~WatchSink() = default;
  /// The whole collection; what was known before and is not in it is gone.
  virtual bool OnList(std::vector<T> objects, std::string_view resource_version) = 0;
  /// Added or modified, or begins to match the selector.
  virtual bool OnChange(T object, std::string_view resource_version) = 0;
  /// Deleted, or matches no longer; its last state.
  virtual bool OnDelete(T object, std::string_view resource_version) = 0;
  /// Nothing that concerns us has changed up to here.
  virtual bool OnBookmark(std::string_view resource_version) = 0;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_WATCH_H_
