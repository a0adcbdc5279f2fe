/// How many requests went to the API server, how they ended, and how long they took.
///
/// Defines RequestMeter, RequestFigures and RequestKind.
///
///     auto meter = std::make_shared<RequestMeter>();
///     auto cluster = MakeRestCluster(MakeMeteredTransport(transport, meter));
///     ...
///     RequestFigures now = meter->Snapshot();
///
/// Who has a transport or a client of another kind tells the meter by itself; see kubernetes/transport_decorators.h for
/// ours. Values are to be of closed sets, never names of objects: each new combination is kept for ever. Counters begin
/// at 0 with the meter. Thread-safe.
#ifndef DRIVERUPGRADE_REQUEST_METER_H_
#define DRIVERUPGRADE_REQUEST_METER_H_

#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "driverupgrade/metrics_snapshot.h"

namespace driverupgrade {

struct RequestKind {
  /// As RBAC spells it: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`.
  std::string verb = {};
  /// With its subresource: `nodes`, `pods/eviction`.
  std::string resource = {};
  /// The HTTP status, or why there was none.
  std::string code = {};
  friend auto operator<=>(const RequestKind&, const RequestKind&) = default;
};

struct RequestFigures {
  std::map<RequestKind, std::uint64_t> requests = {};
  /// How long answers took, in seconds, by verb; without watches, which last as long as they are wanted.
  std::map<std::string, Histogram> seconds = {};
};

class RequestMeter {
 public:
  void Count(const RequestKind& kind);
  void Time(std::string_view verb, absl::Duration taken);
  RequestFigures Snapshot() const;

 private:
  mutable std::mutex mutex_;
  RequestFigures figures_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_REQUEST_METER_H_
