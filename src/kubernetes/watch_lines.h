// Converts the lines of a watch response to sink calls.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_WATCH_LINES_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_WATCH_LINES_H_

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driverupgrade/cluster_reads.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "kubernetes/rest_cluster_status.h"

namespace driverupgrade::internal {

// Must be used for one stream only. `attempted` and `sink` must outlive the object.
template <typename T>
class WatchLines final : public LineSink {
 public:
  WatchLines(std::string_view attempted, WatchSink<T>& sink, OnUnreadable on_unreadable = OnUnreadable::kFail)
      : attempted_(attempted), sink_(sink), on_unreadable_(on_unreadable) {}

  bool OnLine(std::string_view line) override {
    absl::StatusOr<WatchEvent<T>> event = ParseWatchEvent<T>(line, on_unreadable_);
    if (!event.ok()) return End(NotUnderstood(attempted_, event.status()));
    using Type = typename WatchEvent<T>::Type;
    switch (event->type) {
      case Type::kAdded:
      case Type::kModified: return sink_.OnChange(std::move(event->object), event->resource_version);
      case Type::kDeleted: return sink_.OnDelete(std::move(event->object), event->resource_version);
      case Type::kBookmark: return sink_.OnBookmark(event->resource_version);
      case Type::kError: return End(WatchFailureOf(attempted_, event->error));
      case Type::kUnknown: return true;
    }
    return true;
  }

  // Returns why a line ended the stream, or OK if no line ended it.
  const absl::Status& status() const { return status_; }

 private:
  bool End(absl::Status status) {
    status_ = std::move(status);
    return false;
  }

  const std::string_view attempted_;
  WatchSink<T>& sink_;
  const OnUnreadable on_unreadable_;
  absl::Status status_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_WATCH_LINES_H_
