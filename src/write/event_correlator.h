// Keeps Events that repeat within bounds, as client-go's EventCorrelator does (api-A48).
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
  // So many different messages about one object, each within `similar_within` of the one before, become one Event.
  std::size_t similar_max = 10;
  absl::Duration similar_within = absl::Minutes(10);
  // Events of one type about one object: so many at once, and then one every `refill`.
  int burst = 25;
  absl::Duration refill = absl::Minutes(5);
  // Objects, and Events, that are remembered.
  std::size_t remembered_max = 4096;
};

// Pure: the time is that of the Events. Not thread-safe.
class EventCorrelator {
 public:
  explicit EventCorrelator(const EventLimits& limits = {});

  // What is to be written for `event`, which has no series: itself; one of a series, if it is a repetition or one of
  // too many similar ones; nullopt if its object has had its share.
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
  // What may be spent yet, at `refill` an Event.
  struct Share {
    absl::Duration credit = {};
    absl::Time at = {};
  };

  // Gives the message of an Event that is one of too many similar ones. Returns what the Event is counted by.
  std::string Aggregate(RecordEventParams& event);
  void Count(const std::string& key, RecordEventParams& event);
  bool Spend(const RecordEventParams& event);

  const EventLimits limits_;
  LruMap<Similar> similar_;  // by object, type and reason
  LruMap<Written> written_;  // by these and the message; by these alone if they are aggregated
  LruMap<Share> shares_;     // by object and type
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WRITE_EVENT_CORRELATOR_H_
