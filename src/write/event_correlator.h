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
  // This many different messages about one object, each within `similar_within` of the previous one, become one Event.
  std::size_t similar_max = 10;
  absl::Duration similar_within = absl::Minutes(10);
  // Events of one type about one object: `burst` without delay, and then one every `refill`.
  int burst = 25;
  absl::Duration refill = absl::Minutes(5);
  // Number of objects, and of Events, that are remembered.
  std::size_t remembered_max = 4096;
};

// Pure: it uses the times of the Events. Not thread-safe.
class EventCorrelator {
 public:
  explicit EventCorrelator(const EventLimits& limits = {});

  // Returns the Event to write for `event`, which has no series: `event` itself, or an Event of a series if it is a
  // repetition or one of too many similar Events. nullopt if the limit of its object is used up.
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
  // Remaining credit, `refill` per Event.
  struct Share {
    absl::Duration credit = {};
    absl::Time at = {};
  };

  // Sets the message of an Event that is one of too many similar ones. Returns the key by which the Event is counted.
  std::string Aggregate(RecordEventParams& event);
  void Count(const std::string& key, RecordEventParams& event);
  bool Spend(const RecordEventParams& event);

  const EventLimits limits_;
  LruMap<Similar> similar_;  // by object, type and reason
  LruMap<Written> written_;  // by these and the message; without the message if they are aggregated
  LruMap<Share> shares_;     // by object and type
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WRITE_EVENT_CORRELATOR_H_
