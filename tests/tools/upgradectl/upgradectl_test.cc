// Tests upgradectl as users and scripts see it. The input is a command line, a dump, and a policy; the output is text
// and an exit code.
#include "upgradectl/upgradectl.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/rapidjson.h"
#include "fmt/format.h"
#include "support/catch.h"
#include "upgradectl/request.h"
#include "upgradectl/source.h"
#include "upgradectl/text.h"
#include "upgradectl_support.h"

namespace upgradectl {
namespace {

const std::vector<std::string> kFive = {"--driver",        "gpu",        "--namespace", "gpu-operator",
                                        "--driver-labels", "app=driver", "--at",        "2026-01-02T12:05:00Z"};

std::vector<std::string> PlanOf(const std::string& cluster, const std::string& policy,
                                std::initializer_list<std::string> more = {}) {
  std::vector<std::string> arguments = {"plan", "--cluster", cluster, "--policy", policy};
  arguments.insert(arguments.end(), kFive.begin(), kFive.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::string FleetPath() { return (kTestData / "fleet.json").string(); }
std::string PolicyPath() { return (kTestData / "policy.yaml").string(); }

// Returns a dump with one node, its driver pod (revision `hash`, target `new`), and the items in `more`.
std::string Dump(std::string_view node_metadata, std::string_view node_spec = "{}", std::string_view hash = "old",
                 std::string_view more = "") {
  constexpr std::string_view kOwner =
      R"("ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"driver","uid":"ds","controller":true}])";
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"List","items":[
{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"n1","uid":"u1","resourceVersion":"5",{}}},"spec":{}}},
{{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{{"namespace":"gpu-operator","name":"driver","uid":"ds",
  "generation":1,"labels":{{"app":"driver"}}}},"spec":{{"selector":{{}},"updateStrategy":{{"type":"OnDelete"}}}},
  "status":{{"observedGeneration":1}}}},
{{"apiVersion":"apps/v1","kind":"ControllerRevision","revision":1,"metadata":{{"namespace":"gpu-operator",
  "name":"driver-new","labels":{{"controller-revision-hash":"new"}},{}}}}},
{{"apiVersion":"v1","kind":"Pod","metadata":{{"namespace":"gpu-operator","name":"driver-n1","uid":"p1",
  "labels":{{"app":"driver","controller-revision-hash":"{}"}},{}}},"spec":{{"nodeName":"n1"}},
  "status":{{"phase":"Running","containerStatuses":[{{"name":"driver","ready":true}}]}}}}{}]}})",
      node_metadata, node_spec, kOwner, hash, kOwner, more);
}

std::string State(std::string_view state) {
  return fmt::format(R"("labels":{{"nvidia.com/gpu-driver-upgrade-state":"{}"}})", state);
}

std::string WorkloadPod(std::string_view name, std::string_view labels, std::string_view resources = "{}") {
  return fmt::format(
      R"(,{{"apiVersion":"v1","kind":"Pod","metadata":{{"namespace":"lab","name":"{}","labels":{},
  "ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"r","controller":true}}]}},
  "spec":{{"nodeName":"n1","containers":[{{"name":"c","resources":{}}}]}},"status":{{"phase":"Running"}}}})",
      name, labels, resources);
}

// The only node in the output.
class OneNode {
 public:
  OneNode(const std::string& policy, const std::string& dump, std::initializer_list<std::string> more = {}) {
    const ScratchFile file(policy);
    std::vector<std::string> arguments = PlanOf("-", file.path(), more);
    arguments.insert(arguments.end(), {"-o", "json"});
    const Answer answer = RunWith(arguments, dump);
    INFO(answer.err);
    REQUIRE(answer.exit_code == 0);
    CHECK(answer.err.empty());
    document_.Parse(answer.out.c_str());
    REQUIRE(document_.IsObject());
    REQUIRE(document_["nodes"].Size() == 1);
  }
  std::string Text(const char* key) const { return node()[key].GetString(); }
  std::vector<std::string> Texts(const char* key) const {
    std::vector<std::string> texts;
    for (const auto& text : node()[key].GetArray()) texts.emplace_back(text.GetString());
    return texts;
  }
  std::string Reason() const { return node()["gate"].IsNull() ? "" : node()["gate"]["reason"].GetString(); }
  const json::Value& node() const { return document_["nodes"][0]; }

 private:
  json::Document document_;
};

void CheckRefused(const Answer& answer, std::string_view error) {
  CHECK(answer.exit_code == kExitUsage);
  CHECK(answer.out.empty());
  CHECK(answer.err == fmt::format("upgradectl: {}\n", error));
}

using Texts = std::vector<std::string>;

TEST_CASE("A plan as JSON contains the stages of the rollout, and the reason why the next stage waits") {
  const ScratchFile dump(DumpOfRollout(""));
  const Answer answer = RunWith({"plan", "--cluster", dump.path(), "-o", "json"});
  INFO(answer.err);
  REQUIRE(answer.exit_code == kExitDone);
  json::Document plan;
  plan.Parse(answer.out.c_str());
  const json::Value& rollout = plan["rollout"];
  CHECK(Text(rollout, {"revision"}) == "new");
  CHECK(Text(rollout, {"stage"}) == "canary");
  REQUIRE(rollout["stages"].Size() == 2);
  CHECK(Text(rollout["stages"][0], {"name"}) == "canary");
  CHECK(rollout["stages"][0]["done"].GetInt() == 2);
  CHECK(rollout["stages"][1]["nodes"].GetInt() == 2);
  CHECK_FALSE(Text(rollout, {"waitsFor", "reason"}).empty());
}

TEST_CASE("A fleet with nodes in every situation is printed in JSON, byte for byte") {
  const Answer answer = RunWith(PlanOf(FleetPath(), PolicyPath(), {"--gpu-pods", "-o", "json"}));
  CHECK(answer.exit_code == 0);
  CHECK(answer.err.empty());
  CheckGolden("fleet.expected.json", answer.out);
}

TEST_CASE("A fleet with nodes in every situation is shown as a table") {
  const Answer answer = RunWith(PlanOf(FleetPath(), PolicyPath(), {"--gpu-pods"}));
  CHECK(answer.exit_code == 0);
  CheckGolden("fleet.expected.txt", answer.out);
  CHECK(answer.out == RunWith(PlanOf(FleetPath(), PolicyPath(), {"--gpu-pods", "-o", "table"})).out);
  CHECK(answer.out.find('\x1b') == std::string::npos);
}

TEST_CASE("A dump on standard input works like a file, and the order of its items does not matter") {
  const std::string from_file = RunWith(PlanOf(FleetPath(), PolicyPath(), {"-o", "json"})).out;
  CHECK_FALSE(from_file.empty());
  CHECK(RunWith(PlanOf("-", PolicyPath(), {"-o", "json"}), ContentOf(FleetPath())).out == from_file);

  json::Document dump;
  dump.Parse(ContentOf(FleetPath()).c_str());
  REQUIRE(dump.IsObject());
  json::Value reversed(json::kArrayType);
  for (json::SizeType i = dump["items"].Size(); i > 0; --i) {
    reversed.PushBack(dump["items"][i - 1], dump.GetAllocator());
  }
  dump["items"] = reversed;
  json::StringBuffer buffer;
  json::Writer<json::StringBuffer> writer(buffer);
  dump.Accept(writer);
  CHECK(RunWith(PlanOf("-", PolicyPath(), {"-o", "json"}), buffer.GetString()).out == from_file);
}

TEST_CASE("The plan of an admitted node contains its path, and the patch that an engine would send") {
  const OneNode node("{autoUpgrade: true, drain: {enable: true, timeoutSeconds: 60}}", Dump(State("upgrade-required")),
                     {"--no-gpu-pods"});
  CHECK(node.Text("state") == "upgrade-required");
  CHECK(node.Texts("path") == Texts{"cordon-required", "wait-for-jobs-required", "drain-required"});
  CHECK(node.Text("next") == "drain-required");
  const json::Value& patch = node.node()["patch"];
  CHECK(std::string(patch["metadata"]["uid"].GetString()) == "u1");
  CHECK(std::string(patch["metadata"]["resourceVersion"].GetString()) == "5");
  CHECK(std::string(patch["metadata"]["labels"]["nvidia.com/gpu-driver-upgrade-state"].GetString()) ==
        "drain-required");
  CHECK(patch["spec"]["unschedulable"].IsTrue());
  // The pods in the dump were read before the cordon (arch-A11).
  CHECK(node.Reason() == "PodsUnknown");
  CHECK(node.Texts("evict").empty());
}

TEST_CASE("An uncordon is shown as null, because a merge patch removes a field with null") {
  const OneNode node("autoUpgrade: true", Dump(State("uncordon-required") +
                                                   R"(,"annotations":{"driverupgrade/cordoned-by":"nvidia.com/gpu"})",
                                               R"({"unschedulable":true})", "new"));
  CHECK(node.Text("next") == "upgrade-done");
  CHECK(node.node()["patch"]["spec"]["unschedulable"].IsNull());
  CHECK(node.node()["patch"]["metadata"]["annotations"]["driverupgrade/cordoned-by"].IsNull());
  CHECK(node.node()["gate"].IsNull());
}

TEST_CASE("Pods that request a GPU are evicted, and with --no-gpu-pods only the drain decides") {
  const std::string pods = WorkloadPod("gpu", "{}", R"({"limits":{"nvidia.com/gpu":"1"}})") + WorkloadPod("web", "{}");
  const std::string dump = Dump(State("pod-deletion-required"), R"({"unschedulable":true})", "old", pods);
  const OneNode with("autoUpgrade: true", dump);
  CHECK(with.Texts("evict") == Texts{"lab/gpu"});
  CHECK(with.Text("next") == "pod-deletion-required");
  CHECK(OneNode("autoUpgrade: true", dump, {"--gpu-pods"}).Texts("evict") == Texts{"lab/gpu"});
  const OneNode without("autoUpgrade: true", dump, {"--no-gpu-pods"});
  CHECK(without.Texts("evict").empty());
  CHECK(without.Texts("path") == Texts{"drain-required", "pod-restart-required"});
  CHECK(without.Texts("delete") == Texts{"gpu-operator/driver-n1"});
}

TEST_CASE("With --no-gpu-pods only podDeletion.podSelector selects pods, and otherwise GPU requests do as well") {
  const std::string pods = WorkloadPod("gpu", "{}", R"({"limits":{"nvidia.com/gpu":"1"}})") +
                           WorkloadPod("monitor", R"({"uses":"driver"})") + WorkloadPod("web", "{}");
  const std::string dump = Dump(State("pod-deletion-required"), R"({"unschedulable":true})", "old", pods);
  const std::string policy = "{autoUpgrade: true, podDeletion: {podSelector: uses=driver}}";
  CHECK(OneNode(policy, dump, {"--no-gpu-pods"}).Texts("evict") == Texts{"lab/monitor"});
  CHECK(OneNode(policy, dump).Texts("evict") == Texts{"lab/gpu", "lab/monitor"});
}

TEST_CASE("drain-D68: a drain does not evict pods with the skip-drain label, like the drains of our operators") {
  const std::string pods = WorkloadPod("spared", R"({"nvidia.com/gpu-driver-upgrade-drain.skip":"true"})") +
                           WorkloadPod("web", R"({"app":"web"})") + WorkloadPod("db", R"({"app":"db"})");
  const std::string dump = Dump(State("drain-required"), R"({"unschedulable":true})", "old", pods);
  CHECK(OneNode("{autoUpgrade: true, drain: {enable: true}}", dump).Texts("evict") == Texts{"lab/db", "lab/web"});
  CHECK(OneNode("{autoUpgrade: true, drain: {enable: true, podSelector: app!=db}}", dump).Texts("evict") ==
        Texts{"lab/web"});
}

TEST_CASE(
    "Deadlines are evaluated at --at, and --active-since simulates an engine that has just become active (dep-F4)") {
  const std::string dump =
      Dump(State("drain-required") +
               R"(,"annotations":{"nvidia.com/gpu-driver-upgrade.stage":"drain-required@1767355200@new"})",
           R"({"unschedulable":true})", "old", WorkloadPod("web", "{}"));
  const std::string policy = "{autoUpgrade: true, drain: {enable: true, timeoutSeconds: 300}}";
  // The stage started at 12:00:00, and kFive is 12:05:00.
  CHECK(OneNode(policy, dump).Text("next") == "upgrade-failed");
  const OneNode young(policy, dump, {"--active-since", "2026-01-02T13:04:30.5+01:00"});
  CHECK(young.Text("next") == "drain-required");
  CHECK(young.Texts("evict") == Texts{"lab/web"});
  CHECK(std::string(young.node()["gate"]["notBefore"].GetString()) == "2026-01-02T12:05:30.5Z");
}

TEST_CASE("A node waits for the validation pods of the GPU operator, for other pods, or for no pods") {
  const std::string dump = Dump(State("validation-required"), R"({"unschedulable":true})", "new");
  CHECK(OneNode("autoUpgrade: true", dump, {"--validation-selector", "app=validator"}).Reason() == "Validation");
  const auto validator = [](const std::string& app, bool ready) {
    return fmt::format(
        R"(,{{"kind":"Pod","metadata":{{"namespace":"gpu-operator","name":"{0}","labels":{{"app":"{0}"}}}},
"spec":{{"nodeName":"n1"}},"status":{{"phase":"Running","containerStatuses":[{{"name":"c","ready":{1}}}]}}}})",
        app, ready);
  };
  CHECK(OneNode("autoUpgrade: true", dump).Reason() == "Validation");
  const std::string done = Dump(State("validation-required"), R"({"unschedulable":true})", "new",
                                validator("nvidia-operator-validator", true) + validator("other", false));
  CHECK(OneNode("autoUpgrade: true", done).Text("next") != "validation-required");
  CHECK(OneNode("autoUpgrade: true", dump, {"--validation-selector", ""}).Text("next") != "validation-required");
}

TEST_CASE("For other drivers, GPU pods and validation are used only on request") {
  const auto machine = [](const Options& options) {
    const absl::StatusOr<Request> request = LoadDriver(options);
    REQUIRE(request.ok());
    return std::pair(request->question.snapshot.uses_driver != nullptr,
                     request->question.machine.validation_selector.has_value());
  };
  Options options;
  options.driver = "ofed";
  CHECK(machine(options) == std::pair(false, false));
  options.gpu_pods = true;
  options.validation_selector = "app=validator";
  CHECK(machine(options) == std::pair(true, true));
  Options elsewhere;
  elsewhere.domain = "example.com";
  elsewhere.ns = "drivers";
  elsewhere.driver_labels = "app=driver";
  CHECK(machine(elsewhere) == std::pair(false, false));
}

TEST_CASE("A plan reports the data that could not be read") {
  const auto server = std::make_shared<DumpServer>(DumpOfRollout(""));
  server->Forbid("/api/v1/namespaces/gpu-operator/configmaps");
  for (const Texts& verb : {Texts{"plan"}, Texts{"timeline"}, Texts{"timeline", "--simulate"}}) {
    Texts arguments = verb;
    arguments.insert(arguments.end(), {"--kubeconfig", "any"});
    const Answer answer = RunIn(arguments, {.server = server});
    CAPTURE(verb.front());
    CHECK(answer.exit_code == kExitDone);
    CHECK(answer.err.find("not read: list /api/v1/namespaces/gpu-operator/configmaps: 403: not for you\n") !=
          std::string::npos);
  }
}

TEST_CASE("The option --defaults selects the defaults of fields that a policy omits") {
  const std::string dump = Dump(State("upgrade-required"));
  CHECK(OneNode("{}", dump).Reason() == "Frozen");
  CHECK(OneNode("{}", dump, {"--defaults", "network-operator"}).Reason() == "Frozen");
  CHECK(OneNode("{}", dump, {"--defaults", "gpu-operator"}).Text("next") != "upgrade-required");
}

TEST_CASE("Another driver and domain have their own labels") {
  const std::string dump = Dump(R"("labels":{"example.com/ofed-driver-upgrade-state":"upgrade-required"})");
  const ScratchFile policy("autoUpgrade: true");
  const Answer answer =
      RunWith({"plan", "--cluster", "-", "--policy", policy.path(), "--driver", "ofed", "--domain", "example.com",
               "--namespace", "gpu-operator", "--driver-labels", "app in (driver)", "-o", "json"},
              dump);
  CHECK(answer.exit_code == 0);
  CHECK(answer.out.find(R"("example.com/ofed-driver-upgrade-state": "pod-restart-required")") != std::string::npos);
}

// Returns the NodeMaintenance of n1, with the name that all requestors use.
std::string Maintenance(std::string_view metadata, std::string_view spec, std::string_view reason = "Ready") {
  return fmt::format(
      R"(,{{"apiVersion":"maintenance.nvidia.com/v1alpha1","kind":"NodeMaintenance","metadata":{{"namespace":"default",
  "name":"nvidia-operator-n1","uid":"m1","resourceVersion":"9"{}}},"spec":{{"nodeName":"n1",{}}},
  "status":{{"conditions":[{{"type":"Ready","status":"{}","reason":"{}"}}]}}}})",
      metadata, spec, reason == "Ready" ? "True" : "False", reason);
}

TEST_CASE("In requestor mode the node's maintenance is requested, and its NodeMaintenance determines the next steps") {
  const std::string policy = "{autoUpgrade: true, drain: {enable: true}}";
  const auto answer = [&](std::string_view state, std::string_view hash, const std::string& object) {
    const std::string metadata =
        State(state) + R"(,"annotations":{"nvidia.com/gpu-driver-upgrade-requestor-mode":"true"})";
    return OneNode(policy, Dump(metadata, R"({"unschedulable":true})", hash, object),
                   {"--requestor-id", "nvidia.gpu-operator"});
  };
  const std::string ours = R"("requestorID":"nvidia.gpu-operator")";
  const std::string shared = R"("requestorID":"other.example.com","additionalRequestors":["nvidia.gpu-operator"])";

  const OneNode absent = answer("node-maintenance-required", "old", "");
  CHECK(absent.Texts("maintenance") == Texts{"create default/nvidia-operator-n1"});
  CHECK(absent.Reason() == "Maintenance");
  const OneNode draining = answer("node-maintenance-required", "old", Maintenance("", ours, "Draining"));
  CHECK(draining.Texts("maintenance").empty());
  CHECK(std::string(draining.node()["gate"]["detail"].GetString()).find("Draining") != std::string::npos);
  const OneNode ready = answer("node-maintenance-required", "old", Maintenance("", ours));
  CHECK(ready.Texts("path") == Texts{"pod-restart-required"});
  const OneNode foreign =
      answer("node-maintenance-required", "old", Maintenance("", R"("requestorID":"other.example.com")"));
  CHECK(foreign.Texts("maintenance") == Texts{"join default/nvidia-operator-n1"});

  CHECK(answer("uncordon-required", "new", Maintenance("", ours)).Texts("maintenance") ==
        Texts{"delete default/nvidia-operator-n1"});
  CHECK(answer("uncordon-required", "new", Maintenance("", shared)).Texts("maintenance") ==
        Texts{"leave default/nvidia-operator-n1"});
  const OneNode released =
      answer("uncordon-required", "new", Maintenance(R"(,"deletionTimestamp":"2026-01-02T12:04:00Z")", ours));
  CHECK(released.Text("next") == "uncordon-required");
  CHECK(released.Texts("maintenance").empty());
  CHECK(answer("uncordon-required", "new", "").Text("next") == "upgrade-done");
}

TEST_CASE(
    "The table shows the calls of requestor mode, with the object's name from --requestor-namespace and -prefix") {
  const ScratchFile policy("autoUpgrade: true");
  const std::string dump = Dump(State("node-maintenance-required"));
  const Answer answer = RunWith(PlanOf("-", policy.path(),
                                       {"--requestor-id", "nvidia.gpu-operator", "--requestor-namespace", "maintenance",
                                        "--requestor-prefix", "gpu"}),
                                dump);
  CHECK(answer.exit_code == 0);
  CHECK(answer.out.find("create NodeMaintenance maintenance/gpu-n1  ") != std::string::npos);
  // Without these options the node is left alone, because an unknown mode is not the same as in-place mode.
  CHECK(OneNode("autoUpgrade: true", dump).Reason() == "UnhandledState");
}

TEST_CASE("The plan for an empty dump is empty, and reports that no node has the driver") {
  const Answer answer = RunWith(PlanOf("-", PolicyPath(), {"-o", "json"}), R"({"kind":"List","items":[]})");
  CHECK(answer.exit_code == 4);
  json::Document document;
  document.Parse(answer.out.c_str());
  REQUIRE(document.IsObject());
  CHECK(document["nodes"].Empty());
  REQUIRE(document["findings"].Size() == 1);
  CHECK(std::string(document["findings"][0]["code"].GetString()) == "NoDaemonSet");
  CHECK(document["totals"]["total"].GetInt() == 0);
}

TEST_CASE("A malformed dump causes a one-line error with the path in the document, and exit code 2") {
  const auto refused = [](const std::string& dump) { return RunWith(PlanOf("-", PolicyPath()), dump); };
  CheckRefused(refused(R"({"kind":"List","items":[{"kind":"Node","metadata":{"name":["a"]}}]})"),
               "standard input: items[0].metadata.name: expected a string, got an array");
  CheckRefused(refused(R"({"kind":"Node","metadata":{"name":"a"}})"),
               R"(standard input: kind: expected "List", got "Node")");
  const Answer empty = refused("");
  CHECK(empty.exit_code == kExitUsage);
  CHECK(empty.err.starts_with("upgradectl: standard input: malformed JSON at byte 0: "));
  const ScratchFile cut(ContentOf(FleetPath()).substr(0, 4000));
  const Answer from_file = RunWith(PlanOf(cut.path(), PolicyPath()));
  CHECK(from_file.exit_code == kExitUsage);
  CHECK(from_file.out.empty());
  CHECK(from_file.err.starts_with(fmt::format("upgradectl: {}: malformed JSON at byte 4000: ", cut.path())));
  CHECK(std::count(from_file.err.begin(), from_file.err.end(), '\n') == 1);
}

TEST_CASE("An unreadable object in a dump is a finding, and the other objects are planned") {
  const std::string more = R"(,{"kind":"Node","metadata":{"name":"n2","uid":"u2","labels":["x"]}},)"
                           R"({"kind":"Pod","metadata":{"name":"web","namespace":"lab"},"spec":{"nodeName":7}})";
  std::vector<std::string> arguments = PlanOf("-", PolicyPath(), {"-o", "json"});
  const Answer answer = RunWith(arguments, Dump(State("drain-required"), R"({"unschedulable":true})", "old", more));
  INFO(answer.err);
  REQUIRE(answer.exit_code == 0);
  json::Document document;
  document.Parse(answer.out.c_str());
  REQUIRE(document["nodes"].Size() == 2);
  const json::Value& n1 = document["nodes"][0];
  // The unreadable pod could be on either node.
  CHECK(std::string(n1["gate"]["reason"].GetString()) == "PodsUnknown");
  CHECK(std::string(n1["findings"][0]["code"].GetString()) == "Unreadable");
  CHECK(std::string(n1["findings"][0]["message"].GetString()) ==
        "Pod lab/web (UID lab/web) cannot be read: spec.nodeName: expected a string, got a number");
  const json::Value& n2 = document["nodes"][1];
  CHECK(std::string(n2["gate"]["reason"].GetString()) == "Unreadable");
  CHECK(std::string(n2["gate"]["detail"].GetString()) == "metadata.labels: expected an object, got an array");
}

TEST_CASE("A malformed policy causes a one-line error with the paths of all errors, and exit code 2") {
  const ScratchFile policy("autoUpgrade: true\nmaxUnavailable: \"5\"\ndrain:\n  timeoutSeconds: -5\n  oops: 1\n");
  const Answer answer = RunWith(PlanOf(FleetPath(), policy.path()));
  CHECK(answer.exit_code == kExitUsage);
  CHECK(answer.out.empty());
  CHECK(answer.err.starts_with(fmt::format("upgradectl: {}: ", policy.path())));
  for (const char* path : {"maxUnavailable: ", "drain.timeoutSeconds: ", "drain.oops: "}) {
    CHECK(answer.err.find(path) != std::string::npos);
  }
  CHECK(std::count(answer.err.begin(), answer.err.end(), '\n') == 1);
}

TEST_CASE("Files that cannot be read are named in the error") {
  CheckRefused(RunWith(PlanOf("/nowhere/dump.json", PolicyPath())), "/nowhere/dump.json: cannot be opened");
  CheckRefused(RunWith(PlanOf(FleetPath(), "/nowhere/policy.yaml")), "/nowhere/policy.yaml: cannot be opened");
  CheckRefused(RunWith(PlanOf(kTestData.string(), PolicyPath())), kTestData.string() + ": cannot be read");
}

TEST_CASE("Input has a size limit") {
  std::istringstream fits("12345678");
  CHECK(*ReadAll(fits, "dump", 8) == "12345678");
  std::istringstream longer("123456789");
  const absl::StatusOr<std::string> refused = ReadAll(longer, "dump", 8);
  CHECK(refused.status().code() == absl::StatusCode::kResourceExhausted);
  CHECK(Message(refused.status()) == "dump: longer than 8 bytes");
}

TEST_CASE("The error for a dump that is too large suggests a remedy") {
  std::istringstream in("123456789");
  const absl::StatusOr<std::string> refused = ReadDump({.cluster = "-"}, in, 8);
  CHECK(refused.status().code() == absl::StatusCode::kResourceExhausted);
  CHECK(Message(refused.status()) ==
        "standard input: longer than 8 bytes; leave out namespaces whose pods do not matter, or let upgradectl read "
        "the cluster itself: --kubeconfig FILE, --in-cluster");
  // 5,000 nodes with 150,000 pods of 6.2 kB.
  CHECK(kDumpBytesMax > 2 * std::size_t{930'000'000});
}

// An option with an invalid value. The error message starts with `error`.
struct Mistake {
  std::string option;
  std::string value;
  std::string error;
};

TEST_CASE("An invalid option causes a one-line error that names the option, and exit code 2") {
  const std::vector<Mistake> mistakes = {
      {"--driver", "GPU", "--driver, --domain: "},
      {"--driver", "fourteen-chars", "--driver, --domain: "},
      {"--domain", "not_a_domain", "--driver, --domain: "},
      {"--namespace", "", "--namespace: must not be empty"},
      {"--driver-labels", "", "--driver-labels: must not be empty"},
      {"--driver-labels", "a=b=c", "--driver-labels: "},
      {"--validation-selector", "x in", "--validation-selector: "},
      {"--at", "yesterday", "--at: `yesterday` is not an RFC 3339 time"},
      {"--at", "infinite-future", "--at: `infinite-future` is not an RFC 3339 time"},
      {"--active-since", "2026-01-02", "--active-since: `2026-01-02` is not an RFC 3339 time"},
      {"--defaults", "mine", "--defaults: "},
      {"-o", "yaml", "--output: "},
      {"--requestor-id", "", "--requestor-id: "},
      {"--requestor-id", "not_a_domain", "--requestor-id: requestor options: id: "},
      {"--requestor-prefix", "nvidia-operator", "--requestor-prefix requires --requestor-id"},
      {"--no-such-option", "x", "The following arguments were not expected: "},
  };
  for (const Mistake& mistake : mistakes) {
    std::vector<std::string> arguments = PlanOf(FleetPath(), PolicyPath());
    const auto given = std::find(arguments.begin(), arguments.end(), mistake.option);
    if (given != arguments.end()) arguments.erase(given, given + 2);
    arguments.insert(arguments.end(), {mistake.option, mistake.value});
    const Answer answer = RunWith(arguments);
    CAPTURE(mistake.option, mistake.value, answer.err);
    CHECK(answer.exit_code == kExitUsage);
    CHECK(answer.out.empty());
    CHECK(answer.err.starts_with("upgradectl: " + mistake.error));
    CHECK(std::count(answer.err.begin(), answer.err.end(), '\n') == 1);
  }
}

TEST_CASE("An invalid option of requestor mode causes a one-line error that names the option, and exit code 2") {
  const std::vector<Mistake> mistakes = {
      {"--requestor-namespace", "", "--requestor-namespace: requestor options: namespace: "},
      {"--requestor-namespace", "Nowhere", "--requestor-namespace: requestor options: namespace: "},
      {"--requestor-prefix", "a_b", "--requestor-prefix: requestor options: name prefix: "},
  };
  for (const Mistake& mistake : mistakes) {
    const Answer answer = RunWith(
        PlanOf(FleetPath(), PolicyPath(), {"--requestor-id", "nvidia.gpu-operator", mistake.option, mistake.value}));
    CAPTURE(mistake.option, mistake.value, answer.err);
    CHECK(answer.exit_code == kExitUsage);
    CHECK(answer.out.empty());
    CHECK(answer.err.starts_with("upgradectl: " + mistake.error));
    CHECK(std::count(answer.err.begin(), answer.err.end(), '\n') == 1);
  }
}

TEST_CASE("Missing options and subcommands are usage errors, but help and version are not") {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{}, {"plan"}, {"simulate"}, {"plan", "--cluster", "x", "--policy", "y"}}) {
    const Answer answer = RunWith(arguments);
    CHECK(answer.exit_code == kExitUsage);
    CHECK(answer.out.empty());
    CHECK(answer.err.starts_with("upgradectl: "));
  }
  for (const std::vector<std::string>& arguments : {Texts{"--help"}, Texts{"plan", "--help"}, Texts{"--version"}}) {
    const Answer answer = RunWith(arguments);
    CHECK(answer.exit_code == kExitDone);
    CHECK(answer.err.empty());
    CHECK_FALSE(answer.out.empty());
  }
}

TEST_CASE("Control characters in the dump reach neither the terminal nor the next line of the table") {
  const Answer answer = RunWith(PlanOf("-", PolicyPath()), Dump(State(R"(\u001b[31mred\nx\u009by)")));
  CHECK(answer.exit_code == 0);
  CHECK(answer.out.find('\x1b') == std::string::npos);
  CHECK(answer.out.find("\xc2\x9b") == std::string::npos);
  CHECK(answer.out.find(R"(\x1b[31mred\x0ax\xc2\x9by)") != std::string::npos);
  const Answer json_answer = RunWith(PlanOf("-", PolicyPath(), {"-o", "json"}), Dump(State(R"(\u001b[31mred\n\"x)")));
  json::Document document;
  document.Parse(json_answer.out.c_str());
  REQUIRE(document.IsObject());
  CHECK(std::string(document["nodes"][0]["gate"]["detail"].GetString()) ==
        "label nvidia.com/gpu-driver-upgrade-state=\x1b[31mred\n\"x");
}

TEST_CASE("If the output cannot be written, the command fails") {
  std::vector<std::string> arguments = PlanOf(FleetPath(), PolicyPath());
  std::vector<const char*> argv = {"upgradectl"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  out.setstate(std::ios::badbit);
  CHECK(Run(static_cast<int>(argv.size()), argv.data(), {.in = in, .out = out, .err = err}) == kExitOutput);
}

}  // namespace
}  // namespace upgradectl
