#include "write/event_correlator.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

// Joins the parts of a key with NUL as the separator. Only the message, which comes last in a key, can contain a NUL.
std::string Key(std::initializer_list<std::string_view> parts) {
  std::string key;
  for (const std::string_view part : parts) {
    key += part;
    key += '\0';
  }
  return key;
}

std::string ObjectAndType(const RecordEventParams& event) {
  const std::string_view type = event.type == EventType::kWarning ? "Warning" : "Normal";
  if (event.pod) return Key({"Pod", event.pod->ns, event.pod->name, event.pod->uid, type});
  return Key({"Node", event.node_name, event.node_uid, type});
}

}  // namespace

EventCorrelator::EventCorrelator(const EventLimits& limits)
    : limits_(limits),
      similar_(limits.remembered_max),
      written_(limits.remembered_max),
      shares_(limits.remembered_max) {}

std::optional<RecordEventParams> EventCorrelator::Correlate(RecordEventParams event) {
  const std::string key = Aggregate(event);
  Count(key, event);
  if (!Spend(event)) return std::nullopt;
  return event;
}

std::string EventCorrelator::Aggregate(RecordEventParams& event) {
  std::string key = ObjectAndType(event) + Key({event.reason});
  Similar& similar = similar_.Use(key);
  if (event.time - similar.last > limits_.similar_within) similar.messages.clear();
  similar.last = event.time;
  // Messages that occurred before the limit was reached keep their own Events; only new messages are aggregated.
  const bool known = similar.messages.contains(event.message);
  if (!known && similar.messages.size() + 1 >= limits_.similar_max) {
    event.message = fmt::format("(combined from similar events): {}", event.message);
    return key;
  }
  if (!known) similar.messages.insert(event.message);
  return key + Key({event.message});
}

void EventCorrelator::Count(const std::string& key, RecordEventParams& event) {
  Written& written = written_.Use(key);
  if (++written.count == 1) {
    written.first_time = event.time;
    written.first_message = event.message;
    return;
  }
  event.series = {.count = written.count, .first_time = written.first_time, .first_message = written.first_message};
}

bool EventCorrelator::Spend(const RecordEventParams& event) {
  const absl::Duration full = limits_.burst * limits_.refill;
  Share& share = shares_.Use(ObjectAndType(event), {.credit = full, .at = event.time});
  // If the clock is set back, no credit is added or removed.
  const absl::Duration since = std::max(absl::ZeroDuration(), event.time - share.at);
  share.at = event.time;
  share.credit = std::min(full, share.credit + since);
  if (share.credit < limits_.refill) return false;
  share.credit -= limits_.refill;
  return true;
}

}  // namespace driverupgrade::internal
