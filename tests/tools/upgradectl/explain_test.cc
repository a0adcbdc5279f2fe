// Tests that `upgradectl explain` shows the cause of each problem, and the command that helps.
#include "upgradectl/explain.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "driverupgrade/gate.h"
#include "fmt/format.h"
#include "upgradectl/json_view.h"
#include "upgradectl/options.h"
#include "upgradectl/request.h"
#include "upgradectl_support.h"

namespace upgradectl {
namespace {

using Texts = std::vector<std::string>;

const driverupgrade::GateSubject kWeb(driverupgrade::GateSubjectKind::kPod, "shop", "web-1");
const driverupgrade::GateSubject kNic(driverupgrade::GateSubjectKind::kDriver, "", "example.org/nic");

std::string Explained(const std::string& node, const Texts& more = {}) {
  Texts arguments = {
      "explain", node, "--cluster", (kTestData / "trouble.json").string(), "--at", "2026-01-02T12:05:00Z"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Answer answer = RunWith(arguments);
  CHECK(answer.exit_code == kExitDone);
  CHECK(answer.err.empty());
  return answer.out;
}

void CheckNames(const std::string& text, const Texts& wanted) {
  for (const std::string& part : wanted) {
    CAPTURE(part, text);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("The explanation of a blocked drain names the budget, its other pods, and the pods that do not terminate") {
  CheckGolden("trouble.explain-budget.txt", Explained("budget"));
}

TEST_CASE("The explanation of an image that cannot be pulled contains the pull error") {
  CheckGolden("trouble.explain-image.txt", Explained("image"));
}

TEST_CASE("The explanation of each problem names the cause and the command that helps") {
  CheckNames(Explained("failed"), {"failed 1 time", "an emptyDir that the policy does not let go",
                                   "upgradectl retry failed\n", "docs/runbooks/node-failed.md"});
  CheckNames(Explained("cordoned"), {"Cordoned: ", "cordoned by an administrator", "kubectl uncordon cordoned\n"});
  CheckNames(Explained("skipped"), {"SkipLabel: ", "upgradectl unskip skipped\n"});
  CheckNames(Explained("waiting"), {"MaxParallel: ", "upgradectl status\n"});
  CheckNames(Explained("done-1"), {"Waits for\n  nothing\n", "No action is needed."});
}

TEST_CASE("The explanation of a node that failed because of a disruption budget names the pod and the budget") {
  std::string dump = ContentOf(kTestData / "trouble.json");
  const auto replace = [&](const std::string& old, const std::string& text) {
    REQUIRE(dump.find(old) != std::string::npos);
    dump.replace(dump.find(old), old.size(), text);
  };
  // Another pod on the node has a name that starts with the name of the pod that causes the problem.
  replace(R"("spec": {"nodeName": "budget", "terminationGracePeriodSeconds": 60)",
          R"("spec": {"nodeName": "failed", "terminationGracePeriodSeconds": 60)");
  replace(R"("name": "db-0", "uid": "uid-db-0")", R"("name": "web-12", "uid": "uid-db-0")");
  replace(R"("spec": {"nodeName": "budget", "terminationGracePeriodSeconds": 120)",
          R"("spec": {"nodeName": "failed", "terminationGracePeriodSeconds": 120)");
  const std::string cause = "drain timed out: shop/web-1 (refused by disruption budget web)";
  replace(R"("nvidia.com/gpu-driver-upgrade.failures")", R"("nvidia.com/gpu-driver-upgrade.failure-cause": ")" + cause +
                                                             R"(", "nvidia.com/gpu-driver-upgrade.failures")");
  const ScratchFile file(dump);
  const Answer answer = RunWith({"explain", "failed", "--cluster", file.path(), "--at", "2026-01-02T12:05:00Z"});
  CheckNames(answer.out, {"Pods in the way\n  shop/web-1: ReplicaSet web\n", "it never allows an eviction",
                          "Change disruption budget web, which never allows an eviction. Then retry the node.\n"
                          "    kubectl edit poddisruptionbudget -n shop web\n"
                          "    upgradectl retry failed\n"});
  CAPTURE(answer.out);
  CHECK(answer.out.find("web-12") == std::string::npos);
}

TEST_CASE("The explanation of a node that another driver is using names the other driver") {
  // A slot is free; otherwise the node would wait for a slot first.
  const ScratchFile policy("{autoUpgrade: true, maxParallelUpgrades: 9}");
  CheckNames(Explained("other", {"--policy", policy.path()}),
             {"OtherDriver: ", "nvidia.com/ofed is in drain-required", "upgradectl explain other --driver ofed\n"});
}

TEST_CASE("If the policy stops the rollout, the explanation names the policy") {
  const ScratchFile paused("{autoUpgrade: true, paused: true}");
  CheckNames(Explained("waiting", {"--policy", paused.path()}),
             {"Paused: ", "opened by an administrator", "upgradectl resume\n"});
  const ScratchFile frozen("autoUpgrade: false");
  CheckNames(
      Explained("waiting", {"--policy", frozen.path()}),
      {"Frozen: ",
       R"(kubectl patch clusterpolicies.nvidia.com/cluster-policy --type=merge -p '{"spec": {"driver": {"upgradePolicy": {"autoUpgrade": true}}}}')"});
  const ScratchFile halted("{autoUpgrade: true, failurePolicy: {maxFailures: 1}, maxParallelUpgrades: 9}");
  CheckNames(Explained("waiting", {"--policy", halted.path()}), {"MaxFailures: ", "upgradectl retry FAILED-NODE\n"});
}

TEST_CASE("States within one second are listed in the order in which they were written") {
  json::Document dump;
  dump.Parse(ContentOf(kTestData / "trouble.json").c_str());
  const auto add = [&](const std::string& name, const std::string& version, const std::string& message) {
    json::Document event(&dump.GetAllocator());
    event.Parse(fmt::format(
                    R"({{"apiVersion": "v1", "kind": "Event", "metadata": {{"namespace": "default", "name": "{}",
"resourceVersion": "{}"}}, "involvedObject": {{"kind": "Node", "name": "waiting"}}, "reason": "GPUDriverUpgrade",
"type": "Normal", "message": "{}", "count": 1, "lastTimestamp": "2026-01-02T12:00:00Z"}})",
                    name, version, message)
                    .c_str());
    dump["items"].PushBack(event, dump.GetAllocator());
  };
  // Lists are sorted by name, and the names of Events do not show the order in which the Events were written.
  add("waiting.a", "101", "the third");
  add("waiting.b", "99", "the first");
  add("waiting.c", "100", "the second");
  const ScratchFile file(Compact(dump));
  const std::string text =
      RunWith({"explain", "waiting", "--cluster", file.path(), "--at", "2026-01-02T12:05:00Z"}).out;
  const std::size_t first = text.find("the first");
  const std::size_t second = text.find("the second");
  const std::size_t third = text.find("the third");
  CAPTURE(text);
  REQUIRE(third != std::string::npos);
  CHECK(first < second);
  CHECK(second < third);
}

TEST_CASE("If a node is not part of the rollout, the error names the node, and the exit code is 2") {
  const Answer answer = RunWith({"explain", "nobody", "--cluster", (kTestData / "trouble.json").string()});
  CHECK(answer.exit_code == kExitUsage);
  CHECK(answer.err == "upgradectl: nobody: has neither a driver pod nor a label of nvidia.com/gpu\n");
}

TEST_CASE("The advice for a node that is halted or waits for an approval is to approve the stage") {
  const absl::StatusOr<Request> request = LoadDriver({.verb = "explain"});
  REQUIRE(request.ok());
  NodeStatus node{.name = "n1"};
  const auto commands = [&](driverupgrade::GateReason reason,
                            const std::optional<driverupgrade::GateSubject>& subject) {
    node.gate = driverupgrade::Gate{.reason = reason, .subject = subject};
    return HelpFor(*request, node).commands;
  };
  using driverupgrade::GateReason;
  using driverupgrade::GateSubjectKind;
  CHECK(commands(GateReason::kApproval, driverupgrade::GateSubject(GateSubjectKind::kApproval, "", "canary@new")) ==
        Texts{"upgradectl status", "upgradectl approve canary"});
  CHECK(commands(GateReason::kHalted, driverupgrade::GateSubject(GateSubjectKind::kApproval, "", "rest@new")) ==
        Texts{"upgradectl status", "upgradectl approve rest"});
  CHECK(commands(GateReason::kHalted, std::nullopt).back() == "upgradectl approve STAGE");
}

TEST_CASE("W23: windows that never open, and a stage without nodes, must be changed by an administrator") {
  const absl::StatusOr<Request> request = LoadDriver({.verb = "explain"});
  REQUIRE(request.ok());
  NodeStatus node{.name = "n1", .gate = driverupgrade::Gate{.reason = driverupgrade::GateReason::kNoWindow}};
  CHECK(HelpFor(*request, node).text.starts_with("Change windows, closed or finishBy"));
  node.gate->reason = driverupgrade::GateReason::kStage;
  node.gate->count = driverupgrade::GateCount{};
  CHECK(HelpFor(*request, node).text.starts_with("The open stage has no node that counts"));
  node.gate->count->limit = 1;
  CHECK(HelpFor(*request, node).text.starts_with("Wait for the nodes that start earlier"));
}

TEST_CASE("W23: the advice explains that a group never fits, or that a node is about to fail") {
  const absl::StatusOr<Request> request = LoadDriver({.verb = "explain"});
  REQUIRE(request.ok());
  NodeStatus node{
      .name = "n1",
      .gate = driverupgrade::Gate{.reason = driverupgrade::GateReason::kMaxUnavailable,
                                  .subject = driverupgrade::GateSubject(driverupgrade::GateSubjectKind::kGroup, "", ""),
                                  .count = driverupgrade::GateCount{.used = 4, .limit = 3}}};
  CHECK(HelpFor(*request, node).text.starts_with("Its 4 nodes start together and exceed the limit of 3"));
  node.gate = driverupgrade::Gate{.reason = driverupgrade::GateReason::kDriverPodNotReady,
                                  .fails_at = request->question.at + absl::Minutes(2)};
  CHECK(HelpFor(*request, node).text.find("The node fails in 2m unless this is resolved") != std::string::npos);
  node.gate->fails_at = request->question.at + absl::Hours(1);
  CHECK(HelpFor(*request, node).text.find("The node fails") == std::string::npos);
}

TEST_CASE("W23: there is specific advice for a driver that crashes and for an image that cannot be pulled") {
  absl::StatusOr<Request> request = LoadDriver({.verb = "explain"});
  REQUIRE(request.ok());
  const NodeStatus node{.name = "n1",
                        .gate = driverupgrade::Gate{.reason = driverupgrade::GateReason::kDriverPodNotReady},
                        .pod = "gpu-operator/driver-1"};
  CHECK(HelpFor(*request, node).text.starts_with("Check the image and the log of the driver pod"));
  PodFacts& facts = request->facts.pods["gpu-operator/driver-1"];
  facts.waiting = {{.container = "nvidia-driver-ctr", .reason = "CrashLoopBackOff"}};
  CHECK(HelpFor(*request, node).text.starts_with("Container nvidia-driver-ctr of the driver keeps crashing"));
  CHECK(HelpFor(*request, node).commands.front() ==
        "kubectl logs --previous -c nvidia-driver-ctr -n gpu-operator driver-1");
  facts.waiting.front().reason = "ImagePullBackOff";
  CHECK(HelpFor(*request, node).text.starts_with("The image of container nvidia-driver-ctr cannot be pulled"));
}

TEST_CASE("W23: the advice starts with the operator if it does not respond or is missing") {
  absl::StatusOr<Request> request = LoadDriver({.verb = "explain"});
  REQUIRE(request.ok());
  const absl::Time now = absl::FromUnixSeconds(1'000'000);
  const NodeStatus node{.name = "n1", .gate = driverupgrade::Gate{.reason = driverupgrade::GateReason::kMaxParallel}};
  const std::string usual = HelpFor(*request, node).text;
  LeaseFact lease{.ns = "gpu-operator",
                  .name = "nvidia-gpu-driver-upgrade",
                  .holder = "operator-7",
                  .renewed = now - absl::Seconds(5),
                  .duration = absl::Seconds(15)};
  const auto advice = [&](const std::vector<LeaseFact>& leases) {
    request->facts.leases = leases;
    return HelpFor(*request, node).text;
  };
  CHECK(advice({}) == usual);  // the Leases were not read
  request->leases_at = now;
  CHECK(advice({lease}) == usual);
  CHECK(advice({}).starts_with(
      "First start the operator: no operator of nvidia.com/gpu is installed in namespace gpu-operator"));
  LeaseFact other = lease;
  other.name = "53822513.nvidia.com";
  CHECK(advice({other}) == usual);
  lease.renewed = now - absl::Hours(3);
  CHECK(
      advice({lease}).starts_with("First start the operator: no operator has renewed its Lease since "
                                  "1970-01-12T10:46:40Z (3h00m): no upgrade will"));
  lease.holder.clear();
  CHECK(advice({lease}).starts_with(
      "First start the operator: there has been no leader since 1970-01-12T10:46:40Z (3h00m)"));
}

TEST_CASE("Every gate has advice, and commands that name the node or the driver") {
  Options options;
  options.driver = "ofed";
  options.verb = "explain";
  const absl::StatusOr<Request> request = LoadDriver(options);
  REQUIRE(request.ok());
  for (const driverupgrade::GateTraits& traits : driverupgrade::kGates) {
    NodeStatus node{.name = "n1"};
    node.gate = driverupgrade::Gate{.reason = traits.reason, .subject = kWeb};
    const driverupgrade::internal::Advice help = HelpFor(*request, node);
    CAPTURE(std::string(traits.name));
    CHECK_FALSE(help.text.empty());
    CHECK(help.page.starts_with("docs/"));
    for (const std::string& command : help.commands) {
      const bool ours = command.starts_with("upgradectl ");
      CHECK((ours || command.starts_with("kubectl ")));
      // Commands of upgradectl must name the driver.
      CHECK((!ours || command.find("--driver") != std::string::npos ||
             traits.reason == driverupgrade::GateReason::kOtherDriver));
    }
  }
}

// Splits a command into words in the same way as a shell.
Texts Words(const std::string& command) {
  Texts words(1);
  bool quoted = false;
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (command[i] == '\'') {
      quoted = !quoted;
    } else if (command[i] == '\\' && !quoted) {
      words.back() += command[++i];
    } else if (command[i] == ' ' && !quoted) {
      words.emplace_back();
    } else {
      words.back() += command[i];
    }
  }
  return words;
}

Options Parsed(const Texts& words) {
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  const std::variant<Options, Ending> parsed = ParseOptions(static_cast<int>(argv.size()), argv.data());
  const Ending* ending = std::get_if<Ending>(&parsed);
  INFO((ending == nullptr ? "" : ending->text));
  REQUIRE(ending == nullptr);
  return std::get<Options>(parsed);
}

// Returns the commands in the advice for every gate, as `explain n1` prints them with the options `given`.
std::vector<std::string> CommandsAfter(const Texts& given) {
  Texts words = {"upgradectl", "explain", "n1"};
  words.insert(words.end(), given.begin(), given.end());
  const absl::StatusOr<Request> request = LoadDriver(Parsed(words));
  REQUIRE(request.ok());
  std::vector<std::string> commands;
  for (const driverupgrade::GateTraits& traits : driverupgrade::kGates) {
    NodeStatus node{.name = "n1"};
    const bool other = traits.reason == driverupgrade::GateReason::kOtherDriver;
    node.gate = driverupgrade::Gate{.reason = traits.reason, .subject = other ? kNic : kWeb};
    const driverupgrade::internal::Advice help = HelpFor(*request, node);
    commands.insert(commands.end(), help.commands.begin(), help.commands.end());
  }
  return commands;
}

TEST_CASE("Every printed command refers to the same cluster, driver, and policy, and can be run without changes") {
  const Texts given = {"--driver",      "nic",           "--domain",        "example.com",
                       "--namespace",   "drivers",       "--driver-labels", "app in (a, b)",
                       "--kubeconfig",  "it's.yaml",     "--context",       "prod",
                       "--policy",      "policy.yaml",   "--gpu-pods",      "--validation-selector",
                       "app=v",         "--ledger-name", "ledger",          "--requestor-id",
                       "me.example.com"};
  for (const std::string& command : CommandsAfter(given)) {
    CAPTURE(command);
    if (command.starts_with("kubectl ")) {
      CHECK(command.ends_with(R"( --kubeconfig 'it'\''s.yaml' --context prod)"));
      continue;
    }
    if (!command.starts_with("upgradectl ")) continue;
    const Options options = Parsed(Words(command));
    CHECK(options.source.kubeconfig == "it's.yaml");
    CHECK(options.source.context == "prod");
    CHECK(LoadDriver(options).ok());
    if (options.domain == "example.org") continue;  // the command is for the other driver, which has another location
    CHECK(options.driver == "nic");
    CHECK(options.ns == "drivers");
    CHECK(options.driver_labels == "app in (a, b)");
    CHECK(options.validation_selector == "app=v");
    CHECK(options.gpu_pods == true);
    if (options.verb != "status" && options.verb != "approve") continue;
    CHECK(options.policy == "policy.yaml");
    CHECK(options.ledger_name == "ledger");
  }
}

TEST_CASE("Commands omit redundant options, and keep options that disable features") {
  for (const std::string& command : CommandsAfter({"--gpu-pods", "--at", "2026-01-02T12:05:00Z"})) {
    CAPTURE(command);
    CHECK(command.find("--gpu-pods") == std::string::npos);
    CHECK(command.find("--at") == std::string::npos);
  }
  for (const std::string& command : CommandsAfter({"--no-gpu-pods", "--validation-selector", ""})) {
    if (!command.starts_with("upgradectl ") || command.find("--domain") != std::string::npos) continue;
    const Options options = Parsed(Words(command));
    CAPTURE(command);
    CHECK(options.gpu_pods == false);
    CHECK(options.validation_selector == "");
  }
}

}  // namespace
}  // namespace upgradectl
