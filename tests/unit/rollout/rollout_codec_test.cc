#include "policy/rollout_codec.h"

#include <string>
#include <tuple>

#include "driverupgrade/policy_codec.h"
#include "support/catch.h"

namespace driverupgrade::internal {
namespace {

RolloutSections ParsedSections(const std::string& document) {
  const absl::StatusOr<UpgradePolicy> policy = ParseUpgradePolicy(document);
  INFO(policy.status().ToString());
  REQUIRE(policy.ok());
  return {.rollout = policy->rollout,
          .by_class = policy->failure_policy ? policy->failure_policy->by_class : FailureBudgets{}};
}

RolloutPolicy Parsed(const std::string& rollout) { return ParsedSections("rollout: " + rollout).rollout.value(); }

std::string ErrorOf(const std::string& document) {
  const absl::StatusOr<UpgradePolicy> policy = ParseUpgradePolicy(document);
  if (policy.ok()) return "no error";
  CHECK(policy.status().code() == absl::StatusCode::kInvalidArgument);
  return std::string(policy.status().message());
}

// A rollout with nearly every field, based on the example in docs/policy.md.
constexpr const char* kExample = R"(
rollout:
  stages:
  - {name: canary, nodes: 2, maxParallel: 1, soakSeconds: 3600, maxFailures: 0, approval: Manual}
  - {name: pool, nodeSelector: pool=canary}
  - {name: some, nodes: 5%, maxFailures: 10%}
  order: [{label: example.com/priority}, {topology: topology.kubernetes.io/zone}, Name]
  groups: {by: nvidia.com/gpu.clique, mode: Together}
  windows:
  - {days: [Sat, Sun], start: "22:00", durationSeconds: 21600, timeZone: Europe/Berlin}
  - {daysOfMonth: [1, Last], durationSeconds: 3600}
  closed: ["2026-12-24/2027-01-02", 2026-05-01]
  closedTimeZone: Asia/Tokyo
  rollback: Fast
  finishBy: true
  expectedNodeSeconds: 600
  health: {nodeConditions: [{type: GpuHealthy, status: "False"}], maxDriverRestarts: 2, unwellSeconds: 30}
failurePolicy: {byClass: {DriverCrash: 1, ImagePull: 1, Validation: 2, DrainBlocked: 5%, NodeLost: 10}}
)";

RolloutPolicy ExampleRollout() {
  return {
      .stages = {{.name = "canary",
                  .nodes = Count{2},
                  .max_parallel = 1,
                  .soak = absl::Hours(1),
                  .max_failures = Count{0},
                  .approval = Approval::kManual},
                 {.name = "pool", .nodes = LabelSelector::Parse("pool=canary").value()},
                 {.name = "some", .nodes = Percent{5}, .max_failures = Percent{10}}},
      .order = {{.by = OrderBy::kLabel, .label = "example.com/priority"},
                {.by = OrderBy::kTopology, .label = "topology.kubernetes.io/zone"},
                {.by = OrderBy::kName}},
      .groups = NodeGroups{.by = "nvidia.com/gpu.clique", .mode = GroupMode::kTogether},
      .windows = {{.days = {absl::Weekday::saturday, absl::Weekday::sunday},
                   .start = absl::Hours(22),
                   .duration = absl::Hours(6),
                   .time_zone = LoadRolloutTimeZone("Europe/Berlin").value()},
                  {.days_of_month = {1, kLastDayOfMonth}, .duration = absl::Hours(1)}},
      .closed = {{.first = absl::CivilDay(2026, 12, 24), .last = absl::CivilDay(2027, 1, 2)},
                 {.first = absl::CivilDay(2026, 5, 1), .last = absl::CivilDay(2026, 5, 1)}},
      .closed_time_zone = LoadRolloutTimeZone("Asia/Tokyo").value(),
      .rollback = Rollback::kFast,
      .finish_by = true,
      .expected_node_duration = absl::Minutes(10),
      .health = RolloutHealth{.node_conditions = {{.type = "GpuHealthy", .status = "False"}},
                              .max_driver_restarts = 2,
                              .unwell_max = absl::Seconds(30)},
  };
}

TEST_CASE("every field of rollout and of the failure budgets is read") {
  const RolloutSections expected{.rollout = ExampleRollout(),
                                 .by_class = {{FailureClass::kDriverCrash, Count{1}},
                                              {FailureClass::kImagePull, Count{1}},
                                              {FailureClass::kValidation, Count{2}},
                                              {FailureClass::kDrainBlocked, Percent{5}},
                                              {FailureClass::kNodeLost, Count{10}}}};
  CHECK(ParsedSections(kExample) == expected);
}

TEST_CASE("a written rollout section is read back unchanged") {
  const std::string document = GENERATE(as<std::string>(), kExample, "{}", "rollout: {}", "rollout: {health: {}}",
                                        "rollout: {groups: {by: rack, mode: Spread, maxPerGroup: 25%}}",
                                        "rollout: {groups: {by: rack, mode: OneAtATime}}",
                                        "rollout: {stages: [{name: a, nodeSelector: '!b'}], closed: []}");
  const absl::StatusOr<UpgradePolicy> policy = ParseUpgradePolicy(document);
  REQUIRE(policy.ok());
  const std::string written = FormatUpgradePolicy(*policy);
  CAPTURE(written);
  CHECK(ParseUpgradePolicy(written).value() == *policy);
  CHECK(ParseUpgradePolicyJson(written, {}, LoadRolloutTimeZone).value() == *policy);
}

TEST_CASE("an empty rollout section has the defaults, and a missing section means no rollout") {
  CHECK(Parsed("{}") == RolloutPolicy{});
  CHECK(Parsed("{stages: null, groups: ~, finishBy: null}") == RolloutPolicy{});
  CHECK_FALSE(ParsedSections("{}").rollout);
  CHECK_FALSE(ParsedSections("rollout: null").rollout);
}

TEST_CASE("a missing limit of a stage means no limit, and a soak of zero ends immediately") {
  const RolloutPolicy rollout = Parsed("{stages: [{name: a, nodes: 1, soakSeconds: 0}]}");
  CHECK_FALSE(rollout.stages[0].max_parallel);
  CHECK_FALSE(rollout.stages[0].max_failures);
  CHECK(rollout.stages[0].soak == absl::ZeroDuration());
}

TEST_CASE("an error in the rollout section is reported with the path of its field") {
  const auto [document, error] = GENERATE(table<std::string, std::string>({
      // Structure of the document.
      {"{rolout: {}}", "rolout: unknown field (did you mean rollout?)"},
      {"{rollout: 3}", "rollout: must be a mapping, got 3"},
      {"{rollout: {stage: []}}", "rollout.stage: unknown field (did you mean stages?)"},
      {"{rollout: {stages: {}}}", "rollout.stages: must be a list, got a mapping"},
      {"{rollout: {stages: [null]}}", "rollout.stages[0]: must not be null"},
      {"{rollout: {stages: [canary]}}", "rollout.stages[0]: must be a mapping, got canary"},
      // Stages.
      {"{rollout: {stages: [{nodes: 1}]}}", "rollout.stages[0]: name is missing"},
      {"{rollout: {stages: [{name: a}]}}", "rollout.stages[0]: must have either nodes or nodeSelector"},
      {"{rollout: {stages: [{name: a, nodes: 1, nodeSelector: b}]}}",
       "rollout.stages[0]: must have either nodes or nodeSelector"},
      {"{rollout: {stages: [{name: a, nodes: 1}, {name: a, nodes: 1}]}}",
       "rollout.stages[1].name: another stage has the same name"},
      {"{rollout: {stages: [{name: rest, nodes: 1}]}}",
       "rollout.stages[0].name: is reserved for the nodes that no other stage selects"},
      {"{rollout: {stages: [{name: a@b, nodes: 1}]}}",
       "rollout.stages[0].name: must be up to 63 letters, digits, `-`, `_` and `.`, got \"a@b\""},
      {"{rollout: {stages: [{name: 7, nodes: 1}]}}", "rollout.stages[0].name: must be a string, got 7"},
      {"{rollout: {stages: [{name: a, nodes: 0}]}}", "rollout.stages[0].nodes: must be >= 1, got 0"},
      {"{rollout: {stages: [{name: a, nodes: 101%}]}}", "rollout.stages[0].nodes: must be <= 100%"},
      {"{rollout: {stages: [{name: a, nodeSelector: ''}]}}",
       "rollout.stages[0].nodeSelector: must not be empty: it selects every node"},
      {"{rollout: {stages: [{name: a, nodes: 1, maxParallel: 0}]}}",
       "rollout.stages[0].maxParallel: must be >= 1, got 0"},
      {"{rollout: {stages: [{name: a, nodes: 1, soakSeconds: -1}]}}",
       "rollout.stages[0].soakSeconds: must be >= 0, got -1"},
      {"{rollout: {stages: [{name: a, nodes: 1, maxFailures: -1}]}}",
       "rollout.stages[0].maxFailures: must be >= 0, got -1"},
      {"{rollout: {stages: [{name: a, nodes: 1, approval: Yes}]}}",
       "rollout.stages[0].approval: must be one of Automatic, Manual, got Yes"},
      {"{rollout: {stages: [{name: a, nodes: 1, soak: 1}]}}",
       "rollout.stages[0].soak: unknown field (did you mean soakSeconds?)"},
      // Order and groups.
      {"{rollout: {order: [Random]}}", "rollout.order[0]: must be one of Idle, FewestPods, Name, got Random"},
      {"{rollout: {order: [{}]}}", "rollout.order[0]: must have either label or topology"},
      {"{rollout: {order: [Name, {label: a, topology: b}]}}", "rollout.order[1]: must have either label or topology"},
      {"{rollout: {order: [{label: 'a b'}]}}", "rollout.order[0].label: must be the key of a label, got \"a b\""},
      {"{rollout: {order: [{topology: /a}]}}", "rollout.order[0].topology: must be the key of a label, got \"/a\""},
      {"{rollout: {groups: {mode: Together}}}", "rollout.groups.by: must be the key of a label, got \"\""},
      {"{rollout: {groups: {by: a, mode: Both}}}",
       "rollout.groups.mode: must be one of Together, OneAtATime, Spread, got Both"},
      {"{rollout: {groups: {by: a, mode: Together, maxPerGroup: 2}}}",
       "rollout.groups.maxPerGroup: can be set only with mode Spread"},
      {"{rollout: {groups: {by: a, mode: Spread, maxPerGroup: 0}}}", "rollout.groups.maxPerGroup: must be >= 1, got 0"},
      // Windows and closed days.
      {"{rollout: {windows: [{start: \"22:00\"}]}}", "rollout.windows[0]: durationSeconds is missing"},
      {"{rollout: {windows: [{durationSeconds: 59}]}}",
       "rollout.windows[0].durationSeconds: must be 1m to 168h, got 59s"},
      {"{rollout: {windows: [{durationSeconds: 604801}]}}",
       "rollout.windows[0].durationSeconds: must be 1m to 168h, got 168h1s"},
      {"{rollout: {windows: [{start: \"24:00\", durationSeconds: 60}]}}",
       "rollout.windows[0].start: must be a time such as \"22:00\", got \"24:00\""},
      {"{rollout: {windows: [{start: \"2200\", durationSeconds: 60}]}}",
       "rollout.windows[0].start: must be a time such as \"22:00\", got \"2200\""},
      {"{rollout: {windows: [{start: \"7:00\", durationSeconds: 60}]}}",
       "rollout.windows[0].start: must be a time such as \"22:00\", got \"7:00\""},
      {"{rollout: {windows: [{start: 2200, durationSeconds: 60}]}}",
       "rollout.windows[0].start: must be a string, got 2200"},
      {"{rollout: {windows: [{days: [Saturday], durationSeconds: 60}]}}",
       "rollout.windows[0].days[0]: must be one of Mon, Tue, Wed, Thu, Fri, Sat, Sun, got Saturday"},
      {"{rollout: {windows: [{days: [Sat, Sat], durationSeconds: 60}]}}", "rollout.windows[0].days[1]: duplicate day"},
      {"{rollout: {windows: [{durationSeconds: 60, timeZone: Europe/Atlantis}]}}",
       "rollout.windows[0].timeZone: this machine does not know the time zone \"Europe/Atlantis\" (are the time zone "
       "files installed?)"},
      {"{rollout: {windows: [{durationSeconds: 60, timeZone: ../passwd}]}}",
       "rollout.windows[0].timeZone: must be a time zone such as Europe/Berlin or UTC, got \"../passwd\""},
      {"{rollout: {windows: [{durationSeconds: 60, timeZone: localtime}]}}",
       "rollout.windows[0].timeZone: must be a time zone such as Europe/Berlin or UTC, got \"localtime\""},
      {"{rollout: {windows: [{durationSeconds: 60, timeZone: /etc/localtime}]}}",
       "rollout.windows[0].timeZone: must be a time zone such as Europe/Berlin or UTC, got \"/etc/localtime\""},
      {"{rollout: {windows: [{daysOfMonth: [0, 32, first, 3, 3, Last, Last], durationSeconds: 60}]}}",
       "rollout.windows[0].daysOfMonth[2]: must be a decimal integer or Last, got first; "
       "rollout.windows[0].daysOfMonth[4]: duplicate day; rollout.windows[0].daysOfMonth[6]: duplicate day"},
      {"{rollout: {windows: [{daysOfMonth: [0], durationSeconds: 60}]}}",
       "rollout.windows[0].daysOfMonth: must be 1 to 31 or Last, got 0"},
      {"{rollout: {windows: []}}",
       "rollout.windows: must not be empty: omit this field to let nodes start at any time"},
      {"{rollout: {closed: [\"2026-12-24\"], closedTimeZone: Mars}}",
       "rollout.closedTimeZone: this machine does not know the time zone \"Mars\" (are the time zone files "
       "installed?)"},
      {"{rollout: {finishBy: true, expectedNodeSeconds: 3600, windows: [{days: [Sat], durationSeconds: 3600}]}}",
       "rollout.expectedNodeSeconds: must be shorter than the longest window, 1h: with finishBy no node would start"},
      {"{rollout: {closed: [\"2026-02-30\"]}}",
       "rollout.closed[0]: must be days such as \"2026-12-24/2027-01-02\" or \"2026-12-24\", got \"2026-02-30\""},
      {"{rollout: {closed: [\"2026-12-24/\"]}}",
       "rollout.closed[0]: must be days such as \"2026-12-24/2027-01-02\" or \"2026-12-24\", got \"2026-12-24/\""},
      {"{rollout: {closed: [\"2027-01-02/2026-12-24\"]}}", "rollout.closed[0]: ends before it starts"},
      {"{rollout: {finishBy: true, expectedNodeSeconds: 60}}",
       "rollout.finishBy: requires windows or closed: without them, no window ever closes"},
      {"{rollout: {finishBy: true, windows: [{durationSeconds: 60}]}}",
       "rollout.finishBy: needs expectedNodeSeconds, which is used until nodes have been measured"},
      {"{rollout: {expectedNodeSeconds: 0}}", "rollout.expectedNodeSeconds: must be 1s to 596523h14m7s, got 0"},
      // Health and failures.
      {"{rollout: {health: {nodeConditions: [{type: A}]}}}", "rollout.health.nodeConditions[0]: status is missing"},
      {"{rollout: {health: {nodeConditions: [{type: A, status: Sick}]}}}",
       "rollout.health.nodeConditions[0].status: must be one of True, False, Unknown, got Sick"},
      {"{rollout: {health: {nodeConditions: [{type: Ready, status: \"False\"}]}}}",
       "rollout.health.nodeConditions[0].type: Ready belongs to the kubelet: a node that is not ready already counts "
       "as unavailable"},
      {"{rollout: {health: {podSelector: ''}}}", "rollout.health.podSelector: must not be empty: it selects every pod"},
      {"{rollout: {health: {maxDriverRestarts: -2}}}", "rollout.health.maxDriverRestarts: must be >= 0, got -2"},
      {"{rollout: {health: {unwellSeconds: -2}}}", "rollout.health.unwellSeconds: must be >= 0, got -2"},
      {"{failurePolicy: {byClass: {Driver: 1}}}",
       "failurePolicy.byClass.Driver: unknown field (did you mean DriverCrash?)"},
      {"{failurePolicy: {byClass: {NodeLost: 0}}}", "failurePolicy.byClass.NodeLost: must be >= 1, got 0"},
      {"{failurePolicy: {byClass: [NodeLost]}}", "failurePolicy.byClass: must be a mapping, got a list"},
  }));
  CAPTURE(document);
  INFO(ErrorOf(document));
  CHECK(ErrorOf(document).find(error) != std::string::npos);
}

TEST_CASE("all errors in the rollout section are reported together, in the order of the document") {
  CHECK(ErrorOf("rollout: {stages: [{nodes: 1}, {name: b, nodes: x}], windows: [{start: late}]}") ==
        "rollout.stages[0]: name is missing; "
        "rollout.stages[1].nodes: must be an integer or a percentage such as 25%, got x; "
        "rollout.windows[0]: durationSeconds is missing; "
        "rollout.windows[0].start: must be a time such as \"22:00\", got \"late\"");
}

TEST_CASE("Validate checks the same ranges for a policy that is built in code") {
  RolloutPolicy rollout = ExampleRollout();
  CHECK(Validate(rollout).ok());
  rollout.windows[0].start = absl::Seconds(30);
  rollout.order[2].label = "example.com/left";
  rollout.stages.resize(101, {.name = "more"});
  const std::string error(Validate(rollout).message());
  CHECK(error.find("rollout.windows[0].start: must be a whole number of minutes") != std::string::npos);
  CHECK(error.find("rollout.order[2]: only label and topology name a label") != std::string::npos);
  CHECK(error.find("rollout.stages: must have <= 100 items, got 101") != std::string::npos);
}

TEST_CASE("without a time zone reader, a JSON policy may name only UTC") {
  const auto parse = [](const std::string& zone) {
    return ParseUpgradePolicyJson(R"({"rollout": {"windows": [{"durationSeconds": 60, "timeZone": ")" + zone +
                                  R"("}]}})");
  };
  CHECK(parse("UTC").ok());
  CHECK(parse("Europe/Berlin").status().message() ==
        "rollout.windows[0].timeZone: only the time zone UTC is known here, got \"Europe/Berlin\"");
}

}  // namespace
}  // namespace driverupgrade::internal
