#include "write/event_correlator.h"

#include <string>
#include <vector>

#include "fmt/format.h"
#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using internal::EventCorrelator;
using internal::EventLimits;
using internal::LruMap;

const absl::Time kBegin = absl::FromUnixSeconds(1'000);

RecordEventParams Warning(std::string message, absl::Time time = kBegin) {
  return {.node_name = "n1",
          .node_uid = "u1",
          .type = EventType::kWarning,
          .reason = "GPUDriverUpgrade",
          .message = std::move(message),
          .time = time};
}

// Sends `count` Events with different messages at intervals of `apart`. Returns the number of Events that are written.
int Written(EventCorrelator& correlator, int count, absl::Duration apart = absl::ZeroDuration()) {
  int written = 0;
  for (int i = 0; i < count; ++i) {
    written += correlator.Correlate(Warning(fmt::format("message {}", i), kBegin + i * apart)).has_value();
  }
  return written;
}

TEST_CASE("api-A48: a new Event is written unchanged") {
  EventCorrelator correlator;
  CHECK(correlator.Correlate(Warning("blocked")) == Warning("blocked"));
}

TEST_CASE("api-A48: a repeated Event is counted in a series with the time and the message of the first Event") {
  EventCorrelator correlator;
  (void)correlator.Correlate(Warning("blocked"));
  for (int count = 2; count <= 4; ++count) {
    RecordEventParams expected = Warning("blocked", kBegin + absl::Seconds(count));
    expected.series = {.count = count, .first_time = kBegin, .first_message = "blocked"};
    CHECK(correlator.Correlate(Warning("blocked", kBegin + absl::Seconds(count))) == expected);
  }
}

TEST_CASE("api-A48: only Events that differ in nothing but their time are counted in one series") {
  EventCorrelator correlator;
  (void)correlator.Correlate(Warning("blocked"));
  struct Row {
    const char* what;
    RecordEventParams event;
  };
  std::vector<Row> rows(6, {"", Warning("blocked")});
  rows[0] = {"message", Warning("blocked otherwise")};
  rows[1].what = "node", rows[1].event.node_name = "n2";
  rows[2].what = "UID", rows[2].event.node_uid = "u2";
  rows[3].what = "type", rows[3].event.type = EventType::kNormal;
  rows[4].what = "reason", rows[4].event.reason = "OFEDDriverUpgrade";
  rows[5].what = "pod", rows[5].event.pod = PodRef{"shop", "web-1", "u1"};
  for (const Row& row : rows) {
    CAPTURE(row.what);
    CHECK(correlator.Correlate(row.event) == row.event);
  }
}

TEST_CASE("api-A48: from the tenth different message on, new messages are combined into one Event") {
  EventCorrelator correlator;
  for (int i = 1; i <= 9; ++i)
    CHECK(correlator.Correlate(Warning(fmt::format("{}", i)))->message == fmt::format("{}", i));
  CHECK(correlator.Correlate(Warning("10")) == Warning("(combined from similar events): 10"));
  RecordEventParams next = Warning("(combined from similar events): 11", kBegin + absl::Seconds(600));
  next.series = {.count = 2, .first_time = kBegin, .first_message = "(combined from similar events): 10"};
  CHECK(correlator.Correlate(Warning("11", kBegin + absl::Seconds(600))) == next);
  // An earlier message continues its own series.
  const auto known = correlator.Correlate(Warning("3", kBegin + absl::Seconds(601)));
  CHECK(known->message == "3");
  CHECK(known->series->count == 2);
  // After a pause of more than 600 s the next message starts a new Event.
  CHECK(correlator.Correlate(Warning("12", kBegin + absl::Seconds(1202)))->message == "12");
}

TEST_CASE("api-A48: the limit on different messages applies per object, type, and reason") {
  EventCorrelator correlator;
  for (int i = 0; i < 9; ++i) (void)correlator.Correlate(Warning(fmt::format("{}", i)));
  RecordEventParams other = Warning("of another object");
  other.node_name = "n2";
  CHECK(correlator.Correlate(other) == other);
  other = Warning("for information");
  other.type = EventType::kNormal;
  CHECK(correlator.Correlate(other) == other);
}

TEST_CASE("api-A48: of the first 26 Events of an object and type, 25 are written, and after that one every 300 s") {
  EventCorrelator correlator;
  CHECK(Written(correlator, 26) == 25);
  RecordEventParams other = Warning("of another type");
  other.type = EventType::kNormal;
  CHECK(correlator.Correlate(other).has_value());
  CHECK_FALSE(correlator.Correlate(Warning("again", kBegin + absl::Seconds(299))).has_value());
  const auto refilled = correlator.Correlate(Warning("again", kBegin + absl::Seconds(300)));
  REQUIRE(refilled.has_value());
  CHECK(refilled->series->count == 19);  // messages 10 to 26 and two later Events, some of them dropped
  CHECK_FALSE(correlator.Correlate(Warning("again", kBegin + absl::Seconds(301))).has_value());
}

TEST_CASE("api-A48: Events that arrive every 300 s are never dropped") {
  EventCorrelator correlator;
  CHECK(Written(correlator, 200, absl::Seconds(300)) == 200);
}

TEST_CASE(
    "api-A48: setting the clock back does not add to the allowance, and does not block Events after the next 300 s") {
  EventCorrelator correlator;
  CHECK(Written(correlator, 26) == 25);
  const absl::Time before = kBegin - absl::Hours(1000);
  CHECK_FALSE(correlator.Correlate(Warning("x", before)).has_value());
  CHECK(correlator.Correlate(Warning("x", before + absl::Seconds(300))).has_value());
}

TEST_CASE("api-A48: the memory is limited, and keeps the most recently used entries") {
  EventCorrelator correlator(EventLimits{.remembered_max = 2});
  const auto on = [](std::string node) {
    RecordEventParams event = Warning("blocked");
    event.node_name = std::move(node);
    return event;
  };
  for (const char* node : {"a", "b", "a", "c"}) (void)correlator.Correlate(on(node));
  CHECK(correlator.Correlate(on("a"))->series->count == 3);
  CHECK_FALSE(correlator.Correlate(on("b"))->series.has_value());
}

TEST_CASE("A map of limited size drops the least recently used entries") {
  LruMap<int> map(2);
  map.Use("a") = 1;
  CHECK(map.Use("b", 2) == 2);
  CHECK(map.Use("a", 7) == 1);
  map.Use("c");
  CHECK(map.Use("a") == 1);
  CHECK(map.Use("b", 9) == 9);
}

}  // namespace
}  // namespace driverupgrade::tests
