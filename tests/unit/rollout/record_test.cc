#include "decide/rollout/record.h"

#include <string>

#include "property/seeded_random.h"
#include "support/catch.h"

namespace driverupgrade::internal {
namespace {

using tests::SeededRandom;

DurationSketch Measured(int nodes, absl::Duration took) {
  DurationSketch sketch;
  for (int i = 0; i < nodes; ++i) sketch.Add(took);
  return sketch;
}

RolloutRecord Full() {
  return {.revision = "5d8f",
          .began = absl::FromUnixSeconds(1'799'000'000),
          .stages = "00c0ffee",
          .stage = "canary",
          .soak_since = absl::FromUnixSeconds(1'800'000'000),
          .halt = Halt{.stage = "canary",
                       .reason = "n1 is \"sick\"",
                       .policy = "abc",
                       .seen = {"canary@5d8f"},
                       .revisions = {"5d8f"}},
          .waived = {"n1", "n2"},
          .durations = Measured(7, absl::Minutes(9))};
}

TEST_CASE("a written record is read back unchanged") {
  for (const RolloutRecord& record : {RolloutRecord{}, Full(), RolloutRecord{.revision = "\n\x7f\""}}) {
    const std::string text = FormatRecord(record);
    CAPTURE(text);
    const ParsedRecord parsed = ParseRecord(text);
    CHECK(parsed.record == record);
    CHECK(parsed.error.empty());
  }
}

TEST_CASE("without a record the rollout is at its start, and is not halted") {
  const ParsedRecord parsed = ParseRecord(std::nullopt);
  CHECK(parsed.record == RolloutRecord{});
  CHECK(parsed.error.empty());
}

TEST_CASE("a record that cannot be read halts the rollout at its start") {
  const std::string text =
      GENERATE(as<std::string>(), "", "garbage", "{", "[]", "7", R"({"version":2})", R"({"version":"1"})", "{}",
               R"({"version":1,"halt":null,"halt":{"reason":"sick"}})", std::string(300'000, '['));
  CAPTURE(text);
  const ParsedRecord parsed = ParseRecord(text);
  REQUIRE(parsed.record.halt);
  CHECK(parsed.record.halt->reason.find("cannot be read") != std::string::npos);
  CHECK(parsed.record == RolloutRecord{.halt = parsed.record.halt});
  CHECK_FALSE(parsed.error.empty());
}

TEST_CASE("a halt that cannot be read still halts the rollout, and the rest of the record remains valid") {
  const std::string halt = GENERATE("true", "\"\"", "[]", "{}", R"({"stage":"a"})", R"({"reason":7})",
                                    R"({"reason":"x","seen":"y"})", R"({"reason":"x","reason":"y"})");
  CAPTURE(halt);
  const ParsedRecord parsed = ParseRecord(R"({"version":1,"revision":"r","stage":"some","halt":)" + halt + "}");
  CHECK(parsed.record ==
        RolloutRecord{.revision = "r",
                      .stage = "some",
                      .halt = Halt{.reason = "the rollout was halted, but the reason cannot be read"}});
  CHECK(parsed.error == "invalid members: halt");
}

TEST_CASE("an invalid member is replaced with a safe value") {
  const ParsedRecord parsed = ParseRecord(
      R"({"version":1,"revision":"r","stage":3,"soakSince":"long ago","waived":["n1",2],"durations":{"x":1},"new":1})");
  CHECK(parsed.record == RolloutRecord{.revision = "r"});
  CHECK(parsed.error == "invalid members: stage, soakSince, waived, durations");
}

TEST_CASE("a damaged record is read as a valid record, which stays the same when it is written and read again") {
  const std::string whole = FormatRecord(Full());
  SeededRandom random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string text = whole;
    for (int change = random.Between(1, 4); change > 0; --change) {
      const auto at = static_cast<std::size_t>(random.Below(static_cast<int>(text.size())));
      if (random.Chance(50)) {
        text[at] = static_cast<char>(random.Below(256));
      } else {
        text.erase(at, static_cast<std::size_t>(random.Between(1, 20)));
      }
      if (text.empty()) break;
    }
    const ParsedRecord parsed = ParseRecord(text);
    // Writing and reading the record again does not change the record, so passes do not keep rewriting it.
    CHECK(ParseRecord(FormatRecord(parsed.record)).record == parsed.record);
  }
}

TEST_CASE("the estimate of a quantile of durations is never too short, and at most a fifth too long") {
  SeededRandom random(2);
  for (int round = 0; round < 200; ++round) {
    const int seconds = random.Between(1, random.Pick({20, 600, 500'000}));
    const std::optional<absl::Duration> quantile = Measured(10, absl::Seconds(seconds)).Quantile(95);
    REQUIRE(quantile);
    CHECK(*quantile >= absl::Seconds(seconds));
    CHECK(*quantile <= absl::Seconds(seconds) * 1.2 + absl::Seconds(1));
  }
  DurationSketch sketch = Measured(95, absl::Minutes(1));
  for (int i = 0; i < 5; ++i) sketch.Add(absl::Hours(1));
  CHECK(*sketch.Quantile(95) < absl::Minutes(2));
  CHECK(*sketch.Quantile(96) >= absl::Hours(1));
}

TEST_CASE("too few measurements yield no estimate") {
  CHECK_FALSE(Measured(4, absl::Minutes(1)).Quantile(95));
  CHECK(Measured(5, absl::Minutes(1)).Quantile(95));
}

TEST_CASE("recent measurements outweigh old ones, so a slower driver raises the estimate") {
  DurationSketch sketch = Measured(2000, absl::Minutes(1));
  for (int i = 0; i < 600; ++i) sketch.Add(absl::Hours(1));
  CHECK(*sketch.Quantile(50) >= absl::Hours(1));
}

TEST_CASE("extreme durations are counted in the outermost buckets") {
  for (const absl::Duration took : {absl::InfiniteDuration(), -absl::InfiniteDuration(), absl::Hours(10'000)}) {
    CHECK(Measured(5, took).Quantile(95));
  }
  CHECK(DurationSketch::FromCounts({{-1, 5}, {76, 5}, {3, -5}, {4, 2'000'000'000}}) == DurationSketch());
}

}  // namespace
}  // namespace driverupgrade::internal
