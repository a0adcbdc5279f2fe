// Limits repeated Events, like client-go's EventCorrelator (api-A48).
#ifndef DRIVERUPGRADE_SRC_WRITE_EVENT_CORRELATOR_H_
#define DRIVERUPGRADE_SRC_WRITE_EVENT_CORRELATOR_H_

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "base/lru_map.h"
#include "driverupgrade/cluster_writes.h"

namespace driverupgrade::internal {

struct EventLimits {
  // If this many different messages about one object follow each other within `similar_within`, the last of them and
  // all further new messages are combined into one Event.
  std::size_t similar_max = 10;
  absl::Duration similar_within = absl::Minutes(10);
  // Limit for Events of one type about one object: `burst` Events without delay, then one Event every `refill`.
  int burst = 25;
  absl::Duration refill = absl::Minutes(5);
  // Maximum number of remembered objects, and of remembered Events.
  std::size_t remembered_max = 4096;
};

// Does not read a clock, but uses the times of the Events. Not thread-safe.
class EventCorrelator {
 public:
  explicit EventCorrelator(const EventLimits& limits = {});

  // Returns the Event to write for `event`, which must not have a series. The result is an Event of a series if `event`
  // is repeated or must be aggregated, and otherwise `event` itself. Returns nullopt if the object has reached its
  // limit.
  std::optional<RecordEventParams> Correlate(RecordEventParams event);

 private:
  struct Similar {
    std::set<std::string> messages = {};
    absl::Time last = absl::InfinitePast();
  };
  struct Written {
    int count = 0;
    absl::Time first_time = {};
    std::string first_message = {};
  };
  // Remaining credit. Each Event costs `refill`.
  struct Share {
    absl::Duration credit = {};
    absl::Time at = {};
  };

  // Replaces the message of `event` if too many similar Events have occurred. Returns the key under which the Event is
  // counted.
  std::string Aggregate(RecordEventParams& event);
  void Count(const std::string& key, RecordEventParams& event);
  bool Spend(const RecordEventParams& event);

  const EventLimits limits_;
  LruMap<Similar> similar_;  // by object, type and reason
  LruMap<Written> written_;  // by the key of `similar_` and the message; for aggregated Events, only by the key
  LruMap<Share> shares_;     // by object and type
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WRITE_EVENT_CORRELATOR_H_
