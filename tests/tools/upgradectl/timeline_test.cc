// Tests `upgradectl timeline`, which draws a rollout.
#include "upgradectl/timeline.h"

#include <string>
#include <vector>

#include "fmt/format.h"
#include "upgradectl_support.h"

namespace upgradectl {
namespace {

using driverupgrade::UpgradeState;

const std::string kTrouble = (kTestData / "trouble.json").string();

std::string TimelineAs(const std::string& output, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"timeline", "--cluster", kTrouble, "--at", "2026-01-02T12:05:00Z",
                                        "-o",       output};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Answer answer = RunWith(arguments);
  INFO(answer.err);
  REQUIRE(answer.exit_code == kExitDone);
  return answer.out;
}

Timeline Made() {
  return {.driver = "nvidia.com/gpu",
          .origin = "from Events",
          .length = absl::Seconds(30),
          .slots_max = 2,
          .nodes = {{.name = "a",
                     .spans = {{UpgradeState::kDrainRequired, absl::Seconds(0), absl::Seconds(10)},
                               {UpgradeState::kDone, absl::Seconds(10), absl::Seconds(30)}}},
                    {.name = "b<script>",
                     .spans = {{UpgradeState::kUpgradeRequired, absl::Seconds(0), absl::Seconds(10)},
                               {UpgradeState::kDrainRequired, absl::Seconds(10), absl::Seconds(20)},
                               {UpgradeState::kFailed, absl::Seconds(20), absl::Seconds(30)}},
                     .notes = {{absl::Seconds(12), "</script><b>"}}}}};
}

std::vector<std::pair<int, int>> Slots(const Timeline& timeline) {
  std::vector<std::pair<int, int>> slots;
  for (const SlotsTaken& taken : SlotsOver(timeline)) {
    slots.emplace_back(static_cast<int>(absl::ToInt64Seconds(taken.at)), taken.slots);
  }
  return slots;
}

TEST_CASE("A node in progress takes a slot, and a failed node holds its slot unless failures are counted separately") {
  Timeline timeline = Made();
  CHECK(Slots(timeline) == std::vector<std::pair<int, int>>{{0, 1}});
  timeline.failed_hold_slots = false;
  CHECK(Slots(timeline) == std::vector<std::pair<int, int>>{{0, 1}, {20, 0}});
}

TEST_CASE("The bars of a rollout come from its Events, or from the state label if the Events have expired") {
  json::Document timeline;
  timeline.Parse(TimelineAs("json").c_str());
  REQUIRE(timeline.IsObject());
  CHECK(Text(timeline, {"origin"}) == "from Events");
  REQUIRE(timeline["nodes"].Size() > 0);
  bool failed = false;
  for (const json::Value& node : timeline["nodes"].GetArray()) {
    const auto spans = node["spans"].GetArray();
    REQUIRE_FALSE(spans.Empty());
    CAPTURE(Text(node, {"name"}));
    for (json::SizeType i = 0; i + 1 < spans.Size(); ++i) CHECK(spans[i][2].GetInt64() == spans[i + 1][1].GetInt64());
    CHECK(spans[spans.Size() - 1][2].GetInt64() == timeline["length"].GetInt64());
    if (Text(node, {"name"}) == "failed") {
      failed = spans[spans.Size() - 1][0].GetInt() == static_cast<int>(UpgradeState::kFailed);
    }
  }
  CHECK(failed);
}

TEST_CASE("A simulation has a timeline with the gate of each node") {
  const ScratchFile policy("{autoUpgrade: true, maxParallelUpgrades: 1, maxUnavailable: 100%, drain: {enable: true}}");
  const std::string text = TimelineAs("json", {"--simulate", "--policy", policy.path()});
  json::Document timeline;
  timeline.Parse(text.c_str());
  CHECK(Text(timeline, {"origin"}) == "simulated");
  CHECK(timeline["slotsMax"].GetInt() == 1);
  CHECK(timeline["nodes"].Size() > 0);
  CHECK(text.find("MaxParallel: ") != std::string::npos);
}

// Returns the names of the bands, each with its times in seconds.
std::vector<std::string> Bands(const json::Value& bands) {
  std::vector<std::string> texts;
  for (const json::Value& band : bands.GetArray()) {
    texts.push_back(
        fmt::format("{} {} to {}", band[0].GetString(), band[1].GetInt64() / 1000, band[2].GetInt64() / 1000));
  }
  return texts;
}

TEST_CASE("The stages of the rollout, and the times at which no node may start, are drawn above the bars") {
  const ScratchFile policy(R"(autoUpgrade: true
maxParallelUpgrades: 1
maxUnavailable: 100%
drain: {enable: true}
rollout:
  stages: [{name: canary, nodes: 1, soakSeconds: 60}]
  windows: [{days: [Fri], start: "12:10", durationSeconds: 3600, timeZone: UTC}]
)");
  json::Document timeline;
  timeline.Parse(
      TimelineAs("json", {"--simulate", "--policy", policy.path(), "--jitter", "0", "--driver-start", "2m"}).c_str());
  // 2026-01-02 is a Friday, and the rollout starts at 12:05.
  const std::vector<std::string> closed = Bands(timeline["closed"]);
  REQUIRE_FALSE(closed.empty());
  CHECK(closed.front() == "no start 0 to 300");
  const json::Value& stages = timeline["stages"];
  REQUIRE(stages.Size() == 2);
  CHECK(std::string(stages[0][0].GetString()) == "canary");
  CHECK(stages[0][1].GetInt64() >= 300'000);
  CHECK(std::string(stages[1][0].GetString()) == "the rest");
  // The stage soaks for a minute.
  CHECK(stages[1][1].GetInt64() >= stages[0][2].GetInt64() + 60'000);
  const std::string svg = TimelineAs("svg", {"--simulate", "--policy", policy.path()});
  CHECK(svg.find(">canary<") != std::string::npos);
  CHECK(svg.find("grey: no start") != std::string::npos);
}

TEST_CASE("Without a rollout in the policy, or without a known policy, only slots are drawn above the bars") {
  json::Document timeline;
  timeline.Parse(TimelineAs("json").c_str());
  CHECK(timeline["stages"].Empty());
  CHECK(timeline["closed"].Empty());
  CHECK(TimelineAs("svg").find("grey") == std::string::npos);
}

TEST_CASE("Texts from the cluster never become markup in the page or in the drawing") {
  const std::string page = FormatTimelineHtml(Made());
  CHECK(page.find("b<script>") == std::string::npos);
  CHECK(page.find("</script><b>") == std::string::npos);
  CHECK(page.find("{{TIMELINE}}") == std::string::npos);
  const std::string drawing = FormatTimelineSvg(Made());
  CHECK(drawing.find("b<script>") == std::string::npos);
  CHECK(drawing.find("b&lt;script&gt;") != std::string::npos);
}

TEST_CASE("The page loads no other resources, and its content security policy forbids them") {
  const std::string page = TimelineAs("html");
  CHECK(page.find("default-src 'none'") != std::string::npos);
  for (const char* word : {"http://", "https://", " src=", "<link", "import "}) {
    CAPTURE(word);
    CHECK(page.find(word) == std::string::npos);
  }
}

}  // namespace
}  // namespace upgradectl
