#include "driverupgrade/policy_codec.h"

#include <random>
#include <string>
#include <vector>

#include "support/catch.h"

namespace driverupgrade {
namespace {

LabelSelector Selector(const std::string& text) { return LabelSelector::Parse(text).value(); }

std::string ErrorOf(const std::string& document) {
  const absl::StatusOr<UpgradePolicy> policy = ParseUpgradePolicy(document);
  if (policy.ok()) return "no error";
  CHECK(policy.status().code() == absl::StatusCode::kInvalidArgument);
  return std::string(policy.status().message());
}

UpgradePolicy Parsed(const std::string& document, const PolicyDefaults& defaults = {}) {
  const absl::StatusOr<UpgradePolicy> policy = ParseUpgradePolicy(document, defaults);
  INFO(policy.status().ToString());
  REQUIRE(policy.ok());
  CHECK(Validate(*policy).ok());
  return *policy;
}

// The example in the GPU operator's manual, with the section podDeletion under its name in the Helm chart.
constexpr const char* kGpuOperatorManual = R"(
  # autoUpgrade (default=true): Switch which enables / disables the driver upgrade controller.
  #     If set to false all other options are ignored.
  autoUpgrade: true
  # maxParallelUpgrades (default=1): Number of nodes that can be upgraded in parallel. 0 means infinite.
  maxParallelUpgrades: 1
  # maximum number of nodes with the driver installed, that can be unavailable during the upgrade.
  maxUnavailable: 25%

  waitForCompletion:
    # timeoutSeconds (default=0): The length of time to wait before giving up. 0 means infinite.
    timeoutSeconds: 0
    # podSelector (default=""): The label selector defining the group of pods to wait for completion of.
    podSelector: ""

  gpuPodDeletion:
    force: false
    timeoutSeconds: 300
    deleteEmptyDir: false

  drain:
    enable: false
    force: false
    podSelector: ""
    timeoutSeconds: 300
    deleteEmptyDir: false
)";

TEST_CASE("the example in the GPU operator's manual is read") {
  const UpgradePolicy expected{
      .auto_upgrade = true,
      .max_parallel = 1,
      .max_unavailable = Percent{25},
      .wait_for_completion = WaitForCompletionPolicy{},
      .pod_deletion = PodDeletionPolicy{},
      .drain = std::nullopt,
  };
  CHECK(Parsed(kGpuOperatorManual) == expected);
  CHECK(Parsed(kGpuOperatorManual, PolicyDefaults::GpuOperator()) == expected);
}

TEST_CASE("the example in k8s-operator-libs is read") {
  const UpgradePolicy policy = Parsed(R"(
      autoUpgrade: true
      # 0 means no limit, all nodes will be upgraded in parallel
      maxParallelUpgrades: 0
      drain:
        enable: true
        force: false
        podSelector: ""
        timeoutSeconds: 300
        deleteEmptyDir: false
)");
  CHECK(policy == UpgradePolicy{.auto_upgrade = true, .max_parallel = std::nullopt, .drain = DrainPolicy{}});
}

TEST_CASE("the examples in the network operator's manual are read") {
  const PolicyDefaults defaults = PolicyDefaults::NetworkOperator();
  UpgradePolicy expected{
      .auto_upgrade = true,
      .drain = DrainPolicy{.force = true, .delete_empty_dir = true},
  };
  CHECK(Parsed(R"(
    autoUpgrade: true
    maxParallelUpgrades: 1
    drain:
      enable: true
      force: true
      podSelector: ""
      timeoutSeconds: 300
      deleteEmptyDir: true
)",
               defaults) == expected);
  expected.safe_load = true;
  expected.drain = DrainPolicy{.pod_selector = Selector("nvidia.com/ofed-driver-upgrade-drain.skip!=true")};
  CHECK(Parsed(R"({"autoUpgrade":true,"safeLoad":true,
                   "drain":{"podSelector":"nvidia.com/ofed-driver-upgrade-drain.skip!=true"}})",
               defaults) == expected);
}

TEST_CASE("a document without content is refused, because a lost file is not a policy") {
  const std::string document = GENERATE("", "  \n", "# nothing\n", "null", "~", "---\n");
  CAPTURE(document);
  const absl::StatusOr<UpgradePolicy> policy = ParseUpgradePolicy(document, PolicyDefaults::GpuOperator());
  REQUIRE(policy.status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(std::string(policy.status().message()).find("the document is empty") != std::string::npos);
}

TEST_CASE("an empty mapping means that all fields have their defaults") {
  const std::string document = GENERATE("{}", "--- {}\n...\n");
  CAPTURE(document);
  CHECK(Parsed(document) == UpgradePolicy{});
  CHECK(Parsed(document, PolicyDefaults::GpuOperator()) ==
        UpgradePolicy{.auto_upgrade = true, .max_unavailable = Percent{25}});
  CHECK(Parsed(document, PolicyDefaults::NetworkOperator()) == UpgradePolicy{});
}

TEST_CASE("an empty section has the defaults of its fields") {
  const UpgradePolicy policy = Parsed("{waitForCompletion: {}, podDeletion: {}, drain: {enable: true}, deadlines: {}}");
  CHECK(policy.wait_for_completion->timeout == absl::InfiniteDuration());
  CHECK(policy.pod_deletion->timeout == absl::Seconds(300));
  CHECK(policy.drain->timeout == absl::Seconds(300));
  CHECK_FALSE(policy.deadlines.pod_restart);
  CHECK(Parsed("deadlines: {podRestartSeconds: 0}").deadlines.pod_restart == absl::InfiniteDuration());
  CHECK(policy.deadlines.validation == absl::Seconds(600));
}

TEST_CASE("a drain section without enable enables the drain only for the network operator") {
  CHECK_FALSE(Parsed("drain: {force: true}").drain);
  CHECK_FALSE(Parsed("drain: {force: true}", PolicyDefaults::GpuOperator()).drain);
  CHECK(Parsed("drain: {force: true}", PolicyDefaults::NetworkOperator()).drain == DrainPolicy{.force = true});
  CHECK(Parsed("drain: {}", PolicyDefaults::NetworkOperator()).drain == DrainPolicy{});
  CHECK_FALSE(Parsed("drain: {enable: false}", PolicyDefaults::NetworkOperator()).drain);
}

TEST_CASE("null is the same as a missing field") {
  const std::string document = R"(
    autoUpgrade: null
    maxParallelUpgrades: ~
    maxUnavailable:
    waitForCompletion: null
    podDeletion: null
    gpuPodDeletion: {}
    drain: null
    pacing: null
    deadlines: null
)";
  CHECK(Parsed(document, PolicyDefaults::GpuOperator()) ==
        UpgradePolicy{.auto_upgrade = true, .max_unavailable = Percent{25}, .pod_deletion = PodDeletionPolicy{}});
  CHECK(Parsed("drain: {enable: true, timeoutSeconds: null, podSelector: null}").drain == DrainPolicy{});
}

TEST_CASE("every field is read") {
  const UpgradePolicy policy = Parsed(R"yaml(
    autoUpgrade: true
    paused: true
    maxParallelUpgrades: 4
    maxUnavailable: 3
    waitForCompletion: {podSelector: "job in (a,b)", timeoutSeconds: 60}
    podDeletion: {force: true, timeoutSeconds: 0, deleteEmptyDir: true}
    drain: {enable: true, force: true, podSelector: '!keep', timeoutSeconds: 7, deleteEmptyDir: true}
    pacing: EveryState
    cordonedNodes: WithinBudget
    deadlines: {podRestartSeconds: 900, validationSeconds: 0}
    isolation: {scope: Auto, settleSeconds: 0, deviceDrivers: [gpu.example.com], pluginResources: [], schedulerNames: [a, b], validatorTolerates: true}
    safeLoad: true
)yaml");
  const UpgradePolicy expected{
      .auto_upgrade = true,
      .paused = true,
      .max_parallel = 4,
      .max_unavailable = Count{3},
      .wait_for_completion =
          WaitForCompletionPolicy{.pod_selector = Selector("job in (a,b)"), .timeout = absl::Minutes(1)},
      .pod_deletion = PodDeletionPolicy{.force = true, .delete_empty_dir = true, .timeout = absl::InfiniteDuration()},
      .drain =
          DrainPolicy{
              .force = true, .delete_empty_dir = true, .pod_selector = Selector("!keep"), .timeout = absl::Seconds(7)},
      .pacing = Pacing::kEveryState,
      .cordoned_nodes = CordonedNodes::kWithinBudget,
      .deadlines = {.pod_restart = absl::Minutes(15), .validation = absl::InfiniteDuration()},
      .isolation = {.scope = IsolationScope::kAuto,
                    .settle = absl::ZeroDuration(),
                    .device_drivers = {"gpu.example.com"},
                    .plugin_resources = {},
                    .scheduler_names = {"a", "b"},
                    .validator_tolerates = true},
      .safe_load = true,
  };
  CHECK(policy == expected);
}

TEST_CASE("valid forms of maxUnavailable are read") {
  CHECK(Parsed("maxUnavailable: 0").max_unavailable == CountOrPercent(Count{0}));
  CHECK(Parsed("maxUnavailable: 5").max_unavailable == CountOrPercent(Count{5}));
  CHECK(Parsed("maxUnavailable: 2147483647").max_unavailable == CountOrPercent(Count{2147483647}));
  CHECK(Parsed("maxUnavailable: 0%").max_unavailable == CountOrPercent(Percent{0}));
  CHECK(Parsed("maxUnavailable: 25%").max_unavailable == CountOrPercent(Percent{25}));
  CHECK(Parsed("maxUnavailable: \"25%\"").max_unavailable == CountOrPercent(Percent{25}));
  CHECK(Parsed("{\"maxUnavailable\":\"100%\"}").max_unavailable == CountOrPercent(Percent{100}));
  CHECK(Parsed("maxUnavailable: 150%").max_unavailable == CountOrPercent(Percent{150}));
}

struct ErrorRow {
  std::string document;
  std::string error;
};

TEST_CASE("invalid forms of maxUnavailable are refused") {
  const ErrorRow row = GENERATE(values<ErrorRow>({
      {"\"5\"", "must be an integer or a percentage such as 25%, got the string \"5\""},
      {"''", "must be an integer or a percentage such as 25%, got the string \"\""},
      {"-1", "must be >= 0, got -1"},
      {"-25%", "must be >= 0, got -25"},
      {"2147483648", "must be <= 2147483647, got 2147483648"},
      {"99999999999999999999%", "must be <= 2147483647, got 99999999999999999999"},
      {"25 %", "must be an integer or a percentage such as 25%, got 25 %"},
      {"2.5%", "must be an integer or a percentage such as 25%, got 2.5%"},
      {"2.5", "must be an integer or a percentage such as 25%, got 2.5"},
      {"010", "must be an integer or a percentage such as 25%, got 010"},
      {"'%'", "must be an integer or a percentage such as 25%, got the string \"%\""},
      {"half", "must be an integer or a percentage such as 25%, got half"},
      {"true", "must be an integer or a percentage such as 25%, got true"},
      {"[5]", "must be an integer or a percentage such as 25%, got a list"},
      {"{a: 5}", "must be an integer or a percentage such as 25%, got a mapping"},
  }));
  CAPTURE(row.document);
  CHECK(ErrorOf("maxUnavailable: " + row.document) == "maxUnavailable: " + row.error);
}

TEST_CASE("values of the wrong type or out of range are refused") {
  const ErrorRow row = GENERATE(values<ErrorRow>({
      {"autoUpgrade: yes", "autoUpgrade: must be true or false, got yes"},
      {"autoUpgrade: True", "autoUpgrade: must be true or false, got True"},
      {"autoUpgrade: 1", "autoUpgrade: must be true or false, got 1"},
      {"autoUpgrade: \"true\"", "autoUpgrade: must be true or false, got the string \"true\""},
      {"autoUpgrade: [true]", "autoUpgrade: must be true or false, got a list"},
      {"maxParallelUpgrades: -1", "maxParallelUpgrades: must be >= 0, got -1"},
      {"maxParallelUpgrades: \"1\"", "maxParallelUpgrades: must be a decimal integer, got the string \"1\""},
      {"maxParallelUpgrades: 50%", "maxParallelUpgrades: must be a decimal integer, got 50%"},
      {"maxParallelUpgrades: 0x10", "maxParallelUpgrades: must be a decimal integer, got 0x10"},
      {"maxParallelUpgrades: 010", "maxParallelUpgrades: must be a decimal integer, got 010"},
      {"maxParallelUpgrades: 0o10", "maxParallelUpgrades: must be a decimal integer, got 0o10"},
      {"maxParallelUpgrades: 1_000", "maxParallelUpgrades: must be a decimal integer, got 1_000"},
      {"maxParallelUpgrades: +1", "maxParallelUpgrades: must be a decimal integer, got +1"},
      {"maxParallelUpgrades: 1.0", "maxParallelUpgrades: must be a decimal integer, got 1.0"},
      {"maxParallelUpgrades: 1e3", "maxParallelUpgrades: must be a decimal integer, got 1e3"},
      {"maxParallelUpgrades: .inf", "maxParallelUpgrades: must be a decimal integer, got .inf"},
      {"drain: {timeoutSeconds: -5}", "drain.timeoutSeconds: must be >= 0, got -5"},
      {"drain: {timeoutSeconds: 5m}", "drain.timeoutSeconds: must be a decimal integer, got 5m"},
      {"drain: {timeoutSeconds: 2147483648}", "drain.timeoutSeconds: must be <= 2147483647, got 2147483648"},
      {"drain: true", "drain: must be a mapping, got true"},
      {"drain: []", "drain: must be a mapping, got a list"},
      {"drain: ''", "drain: must be a mapping, got the string \"\""},
      {"drain: {podSelector: true}", "drain.podSelector: must be a string, got true"},
      {"drain: {podSelector: 5}", "drain.podSelector: must be a string, got 5"},
      {"drain: {podSelector: {app: web}}", "drain.podSelector: must be a string, got a mapping"},
      {"drain: {podSelector: x==a==b}",
       "drain.podSelector: label selector \"x==a==b\", character 5: expected ',' or the end, found \"==\""},
      {"pacing: chained", "pacing: must be one of Chained, EveryState, got chained"},
      {"pacing: [Chained]", "pacing: must be one of Chained, EveryState, got a list"},
      {"cordonedNodes: None", "cordonedNodes: must be one of Proceed, WithinBudget, Ignore, got None"},
      {"isolation: {scope: Device}", "isolation.scope: must be one of Node, Devices, Auto, got Device"},
      {"isolation: {settleSeconds: 3601}", "isolation.settleSeconds: must be 0 to 1h, got 1h1s"},
      {"isolation: {deviceDrivers: []}", "isolation.deviceDrivers: must list at least one name, and no empty names"},
      {"isolation: {schedulerNames: ['']}",
       "isolation.schedulerNames: must list at least one name, and no empty names"},
      {"maxParallelUpgrades: !!str 1",
       "maxParallelUpgrades: YAML tags are not supported, got \"tag:yaml.org,2002:str\""},
      // If the tag were ignored, the empty selector would drain all pods.
      {"drain: {podSelector: !keep}", "drain.podSelector: YAML tags are not supported, got \"!keep\""},
      {"drain:\n  podSelector: !keep\n  force: true", "drain.podSelector: YAML tags are not supported, got \"!keep\""},
      {"drain: !foo {}", "drain: YAML tags are not supported, got \"!foo\""},
  }));
  CAPTURE(row.document);
  CHECK(ErrorOf(row.document) == row.error);
}

TEST_CASE("fields that are unknown, repeated, or misspelled are refused") {
  const ErrorRow row = GENERATE(values<ErrorRow>({
      {"drain: {timeoutSecond: 5}", "drain.timeoutSecond: unknown field (did you mean timeoutSeconds?)"},
      {"drain: {timeout: 5}", "drain.timeout: unknown field (did you mean timeoutSeconds?)"},
      {"drain: {enabled: true}", "drain.enabled: unknown field (did you mean enable?)"},
      {"podDeletion: {enable: true}", "podDeletion.enable: unknown field"},
      {"drain: {onTimeout: Kill}", "drain.onTimeout: must be one of Fail, Delete, ForceDelete, got Kill"},
      {"podDeletion: {onFailure: Keep}", "podDeletion.onFailure: must be one of Fail, GiveBack, got Keep"},
      {"failurePolicy: {maxFailures: 0}", "failurePolicy.maxFailures: must be >= 1, got 0"},
      {"retry: {maxAttempts: -1}", "retry.maxAttempts: must be >= 0, got -1"},
      {"autoupgrade: true", "autoupgrade: unknown field (did you mean autoUpgrade?)"},
      {"maxParallel: 1", "maxParallel: unknown field (did you mean maxParallelUpgrades?)"},
      {"maxUnavailible: 1", "maxUnavailible: unknown field (did you mean maxUnavailable?)"},
      {"apiVersion: nvidia.com/v1", "apiVersion: unknown field"},
      {"colour: null", "colour: unknown field"},
      {"1: a", "1: unknown field"},
      {"\"a b\": 1", "\"a b\": unknown field"},
      {"'': 1", "\"\": unknown field"},
      {"<<: {autoUpgrade: true}", "\"<<\": unknown field"},
      {"? [a]\n: 1", "upgrade policy: field names must be plain text, got a list"},
      {"drain: {{a: 1}: 1}", "drain: field names must be plain text, got a mapping"},
      {"autoUpgrade: true\nautoUpgrade: true", "autoUpgrade: duplicate field"},
      {"{\"drain\":{\"force\":true,\"force\":false}}", "drain.force: duplicate field"},
      {"podDeletion: {}\ngpuPodDeletion: {}",
       "gpuPodDeletion: must not be set together with podDeletion, which is another name for it"},
      {"gpuPodDeletion: {force: 1}", "gpuPodDeletion.force: must be true or false, got 1"},
  }));
  CAPTURE(row.document);
  CHECK(ErrorOf(row.document) == row.error);
}

TEST_CASE("all errors are reported in the order of the document, including errors in a disabled drain") {
  CHECK(ErrorOf(R"(
drain:
  force: maybe
  enable: false
  timeoutSeconds: -5
maxUnavailable: lots
colour: red
autoUpgrade: 0
)") == "drain.force: must be true or false, got maybe; drain.timeoutSeconds: must be >= 0, got -5; "
       "maxUnavailable: must be an integer or a percentage such as 25%, got lots; colour: unknown field; "
       "autoUpgrade: must be true or false, got 0");
}

TEST_CASE("documents that are not a policy are refused") {
  const ErrorRow row = GENERATE(values<ErrorRow>({
      {"autoUpgrade", "upgrade policy: must be a mapping, got autoUpgrade"},
      {"\"\"", "upgrade policy: must be a mapping, got the string \"\""},
      {"- autoUpgrade: true", "upgrade policy: must be a mapping, got a list"},
      {"paused: true\n---\npaused: true", "upgrade policy: expected one document, found more"},
      {",", "upgrade policy: expected one document, found more"},
      {", autoUpgrade: true", "upgrade policy: expected one document, found more"},
      {"a: b: c", "upgrade policy: line 1, column 5: not YAML: illegal map value"},
      {"{\"paused\\", "upgrade policy: line 1, column 11: not YAML: unknown escape character: \\x04"},
      {"paused: true\ndrain: {", "upgrade policy: line 2, column 1: not YAML: end of map flow not found"},
      {"drain: *nowhere", "upgrade policy: line 1, column 8: not YAML: the referenced anchor is not defined"},
      {"{apiVersion: nvidia.com/v1, kind: ClusterPolicy, spec: {}}",
       "upgrade policy: the document is a complete ClusterPolicy; pass only its upgradePolicy section (ClusterPolicy: "
       "spec.driver.upgradePolicy, NicClusterPolicy: spec.ofedDriver.upgradePolicy)"},
      {"driver: {upgradePolicy: {autoUpgrade: true}}",
       "upgrade policy: driver is not a field of the policy; pass the fields below upgradePolicy alone"},
      {"upgradePolicy: {autoUpgrade: true}",
       "upgrade policy: upgradePolicy is not a field of the policy; pass the fields below upgradePolicy alone"},
      {std::string("paused: true\n\x04 drain: {}", 24),
       "upgrade policy: the document contains control characters; if it is UTF-16, as Windows PowerShell writes it, "
       "save it as UTF-8"},
      {std::string("p\0a\0", 4),
       "upgrade policy: the document contains control characters; if it is UTF-16, as Windows PowerShell writes it, "
       "save it as UTF-8"},
  }));
  CAPTURE(row.document);
  CHECK(ErrorOf(row.document) == row.error);
}

TEST_CASE("documents that would exhaust the parser are refused") {
  const std::string too_long = "{}" + std::string((std::size_t{1} << 20) - 2, ' ');
  CHECK(Parsed(too_long) == UpgradePolicy{});
  CHECK(ErrorOf(too_long + " ") == "upgrade policy: the document has 1048577 bytes, more than the 1048576 allowed");
  CHECK(ErrorOf(std::string(1'000'000, '[')).find("upgrade policy: ") == 0);
  CHECK(ErrorOf("a: " + std::string(40, '[') + std::string(40, ']')).find("nested more than 32 levels deep") !=
        std::string::npos);
  CHECK(ErrorOf("a: &a [*a]").find("nested more than 32 levels deep") != std::string::npos);
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string before = std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + before + ", *a" + before + "]\n";
  }
  CHECK(ErrorOf(bomb).find("more than 100000 values after aliases are expanded") != std::string::npos);
  std::string many;
  for (int i = 0; i < 40'000; ++i) many += "f" + std::to_string(i) + ": 1\n";
  const std::string error = ErrorOf(many);
  CHECK(error.substr(error.rfind(';')) == "; and 39950 more");
}

TEST_CASE("anchors and aliases are read") {
  const UpgradePolicy policy =
      Parsed("{podDeletion: {timeoutSeconds: &t 60}, drain: {enable: true, timeoutSeconds: *t}}");
  CHECK(policy.pod_deletion->timeout == absl::Minutes(1));
  CHECK(policy.drain->timeout == absl::Minutes(1));
}

TEST_CASE("JSON with tabs, escapes, and Windows line endings is read") {
  CHECK(Parsed("\t{\r\n\t\"autoUpgrade\":true,\t\"drain\" : "
               "{\"enable\":true,\"podSelector\":\"a.b\\/c=\\u0064\"}\r\n}")
            .drain->pod_selector == Selector("a.b/c=d"));
}

TEST_CASE("a policy is written with every field") {
  CHECK(
      FormatUpgradePolicy({}) ==
      R"({"autoUpgrade":false,"paused":false,"maxParallelUpgrades":1,"maxUnavailable":null,)"
      R"("waitForCompletion":null,"podDeletion":null,)"
      R"("drain":{"enable":false,"force":false,"podSelector":"","timeoutSeconds":300,"deleteEmptyDir":false,"onTimeout":"Fail","onFailure":"Fail"},)"
      R"("pacing":"Chained","cordonedNodes":"Proceed",)"
      R"("deadlines":{"podRestartSeconds":null,"validationSeconds":600},"onUnscheduledPods":"CountUnavailable",)"
      R"("failurePolicy":null,"retry":{"maxAttempts":0,"backoffSeconds":60},"isolation":null,"safeLoad":false,"rollout":null})");
  CHECK(
      FormatUpgradePolicy(Parsed(kGpuOperatorManual)) ==
      R"({"autoUpgrade":true,"paused":false,"maxParallelUpgrades":1,"maxUnavailable":"25%",)"
      R"("waitForCompletion":{"podSelector":"","timeoutSeconds":0},)"
      R"("podDeletion":{"force":false,"timeoutSeconds":300,"deleteEmptyDir":false,"podSelector":"","onTimeout":"Fail","onFailure":"Fail"},)"
      R"("drain":{"enable":false,"force":false,"podSelector":"","timeoutSeconds":300,"deleteEmptyDir":false,"onTimeout":"Fail","onFailure":"Fail"},)"
      R"("pacing":"Chained","cordonedNodes":"Proceed",)"
      R"("deadlines":{"podRestartSeconds":null,"validationSeconds":600},"onUnscheduledPods":"CountUnavailable",)"
      R"("failurePolicy":null,"retry":{"maxAttempts":0,"backoffSeconds":60},"isolation":null,"safeLoad":false,"rollout":null})");
}

TEST_CASE("fractions of seconds are rounded up, because zero would mean unlimited") {
  const UpgradePolicy policy{.drain = DrainPolicy{.timeout = absl::Milliseconds(1)},
                             .deadlines = {.validation = absl::Milliseconds(1001)}};
  const UpgradePolicy read = Parsed(FormatUpgradePolicy(policy));
  CHECK(read.drain->timeout == absl::Seconds(1));
  CHECK(read.deadlines.validation == absl::Seconds(2));
}

// Generates random policies. Each field takes one of several values, which include the ends of the field's range.
class PolicyGenerator {
 public:
  explicit PolicyGenerator(unsigned seed) : random_(seed) {}

  UpgradePolicy Next() {
    UpgradePolicy policy{.auto_upgrade = Flag(), .paused = Flag()};
    policy.max_parallel = Pick<std::optional<int>>({std::nullopt, 1, 7, 2147483647});
    policy.max_unavailable = Pick<std::optional<CountOrPercent>>(
        {std::nullopt, Count{0}, Count{5}, Percent{0}, Percent{25}, Percent{100}, Percent{2147483647}});
    if (Flag()) policy.wait_for_completion = WaitForCompletionPolicy{.pod_selector = Labels(), .timeout = Timeout()};
    if (Flag()) {
      policy.pod_deletion = PodDeletionPolicy{.force = Flag(),
                                              .delete_empty_dir = Flag(),
                                              .pod_selector = Labels(),
                                              .timeout = Timeout(),
                                              .on_timeout = WhenLate(),
                                              .on_failure = WhenFailed()};
    }
    if (Flag()) {
      policy.drain = DrainPolicy{.force = Flag(),
                                 .delete_empty_dir = Flag(),
                                 .pod_selector = Labels(),
                                 .timeout = Timeout(),
                                 .on_timeout = WhenLate(),
                                 .on_failure = WhenFailed()};
    }
    policy.on_unscheduled_pods =
        Pick<OnUnscheduledPods>({OnUnscheduledPods::kCountUnavailable, OnUnscheduledPods::kIgnore});
    if (Flag())
      policy.failure_policy = FailurePolicy{Pick<CountOrPercent>({Count{1}, Count{9}, Percent{1}, Percent{150}})};
    policy.retry = {.max_attempts = Pick<int>({0, 1, 2147483647}), .backoff = Timeout()};
    policy.pacing = Pick<Pacing>({Pacing::kChained, Pacing::kEveryState});
    policy.cordoned_nodes =
        Pick<CordonedNodes>({CordonedNodes::kProceed, CordonedNodes::kWithinBudget, CordonedNodes::kIgnore});
    if (Flag()) policy.deadlines.pod_restart = Timeout();
    policy.deadlines.validation = Timeout();
    policy.isolation.scope =
        Pick<IsolationScope>({IsolationScope::kNode, IsolationScope::kDevices, IsolationScope::kAuto});
    policy.isolation.settle = Pick<absl::Duration>({absl::ZeroDuration(), absl::Seconds(10), absl::Hours(1)});
    policy.isolation.plugin_resources = Pick<std::vector<std::string>>({{}, {"a/b*"}, {"nvidia.com/gpu"}});
    policy.isolation.validator_tolerates = Flag();
    policy.safe_load = Flag();
    return policy;
  }

 private:
  template <typename T>
  T Pick(const std::vector<T>& choices) {
    return choices[random_() % choices.size()];
  }
  bool Flag() { return random_() % 2 == 0; }
  absl::Duration Timeout() {
    return Pick<absl::Duration>(
        {absl::Seconds(1), absl::Seconds(300), absl::Seconds(2147483647), absl::InfiniteDuration()});
  }
  OnTimeout WhenLate() { return Pick<OnTimeout>({OnTimeout::kFail, OnTimeout::kDelete, OnTimeout::kForceDelete}); }
  OnFailure WhenFailed() { return Pick<OnFailure>({OnFailure::kFail, OnFailure::kGiveBack}); }
  LabelSelector Labels() {
    return Selector(
        Pick<std::string>({"", "a=b", "true", "1", "null", "a in (x,y),!b,c", "n>5,k!=", "a/b notin (,z)"}));
  }

  std::mt19937 random_;
};

TEST_CASE("a formatted policy is read back unchanged, whatever the operator's defaults are") {
  PolicyGenerator generator(20231106);
  PolicyDefaults defaults{.auto_upgrade = true, .drain_enable = true};
  for (int i = 0; i < 2000; ++i) {
    const UpgradePolicy policy = generator.Next();
    const std::string document = FormatUpgradePolicy(policy);
    CAPTURE(i, document);
    REQUIRE(Validate(policy).ok());
    REQUIRE(Parsed(document) == policy);
    REQUIRE(Parsed(document, defaults) == policy);
    REQUIRE(ParseUpgradePolicyJson(document, defaults).value() == policy);
  }
}

TEST_CASE("JSON is read without a YAML library, with the same result as YAML") {
  const auto* const document = GENERATE(
      R"({"autoUpgrade": true, "maxUnavailable": "25%", "drain": {"enable": true, "timeoutSeconds": 300}})", "null",
      "{}", R"({"autoUpgrade": "true", "maxParallelUpgrades": -5, "maxUnavailable": "5", "drain": [1, {"a": 2}]})",
      R"({"maxParallelUpgrades": 1.5, "retry": {"maxAttempts": 1e3}, "pacing": null, "safeload": true})",
      R"({"drain": {"enable": true}, "drain": {"enable": false}})", "[]", "7");
  CAPTURE(document);
  const absl::StatusOr<UpgradePolicy> json = ParseUpgradePolicyJson(document);
  const absl::StatusOr<UpgradePolicy> yaml = ParseUpgradePolicy(document);
  CHECK(json.status() == yaml.status());
  if (json.ok() && yaml.ok()) CHECK(*json == *yaml);
}

TEST_CASE("text that is not valid JSON is refused, even if it is deeply nested or very long") {
  CHECK_FALSE(ParseUpgradePolicyJson("autoUpgrade: true").ok());
  CHECK_FALSE(ParseUpgradePolicyJson("").ok());
  CHECK_FALSE(ParseUpgradePolicyJson("{} {}").ok());
  CHECK_FALSE(ParseUpgradePolicyJson(std::string(100'000, '[')).ok());
  CHECK_FALSE(ParseUpgradePolicyJson(std::string(2'000'000, ' ') + "{}").ok());
  CHECK_FALSE(ParseUpgradePolicyJson("{\"paused\": \"\xff\"}").ok());
}

TEST_CASE("aliases count towards the maximum length of a document") {
  std::string document = "drain: &text \"" + std::string(500'000, 'x') + "\"\n";
  for (int i = 0; i < 3; ++i) document += "field" + std::to_string(i) + ": *text\n";
  const absl::StatusOr<UpgradePolicy> policy = ParseUpgradePolicy(document);
  REQUIRE_FALSE(policy.ok());
  CHECK(std::string(policy.status().message()).find("after aliases are expanded") != std::string::npos);
}

TEST_CASE("damaged documents are either read as a valid policy or refused with a message") {
  std::mt19937 random(20231106);
  const std::string alphabet = "{}[]:,-?&*!|>'\"%@`#\n\t 0a\\<~";
  for (int i = 0; i < 3000; ++i) {
    std::string document = i % 2 == 0 ? kGpuOperatorManual : FormatUpgradePolicy(UpgradePolicy{});
    for (unsigned edits = 1 + random() % 8; edits > 0; --edits) {
      const std::size_t position = random() % document.size();
      const char c = alphabet[random() % alphabet.size()];
      if (random() % 2 == 0) {
        document[position] = c;
      } else {
        document.insert(position, 1, c);
      }
    }
    CAPTURE(i, document);
    for (const absl::StatusOr<UpgradePolicy>& policy :
         {ParseUpgradePolicy(document), ParseUpgradePolicyJson(document)}) {
      REQUIRE((policy.ok() ? Validate(*policy).ok() : !policy.status().message().empty()));
    }
  }
}

}  // namespace
}  // namespace driverupgrade
