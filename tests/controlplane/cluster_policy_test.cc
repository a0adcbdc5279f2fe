// Tests gpu_operator with policies in custom resources, and the administrators' commands from NVIDIA's documentation.
#include <algorithm>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "json.h"
#include "metrics_page.h"
#include "operator_program.h"
#include "policies.h"
#include "rollout_expectations.h"
#include "service_account.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"
#include "support/http_get.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Returns the output of a command from NVIDIA's documentation. Only the shell quotes and the line break of the command
// are omitted.
std::vector<std::string> NodesAsTheSeedsListThem(const World& world) {
  return Lines(world.control_plane().admin().Must(
      {"get", "node", "-l", "nvidia.com/gpu.present",
       R"(-ojsonpath={range .items[*]}{.metadata.name}{"\t"}{.metadata.labels.nvidia\.com/gpu-driver-upgrade-state}{"\n"}{end})"}));
}

// Returns the output of `kubectl get events --sort-by='.lastTimestamp' | grep GPUDriverUpgrade`.
std::vector<std::string> EventsAsTheSeedsListThem(const World& world) {
  std::vector<std::string> lines =
      Lines(world.control_plane().admin().Must({"get", "events", "--sort-by=.lastTimestamp"}));
  std::erase_if(lines, [](const std::string& line) { return line.find("GPUDriverUpgrade") == std::string::npos; });
  return lines;
}

// Returns the states of `node` that the lines of `events` report, in the same order.
std::vector<std::string> StatesTold(const std::vector<std::string>& events, const std::string& node) {
  // 10m  Normal  GPUDriverUpgrade  node/k8s-node-1  Successfully updated node state label to upgrade-required
  const std::regex line(
      R"(^\S+\s+Normal\s+GPUDriverUpgrade\s+node/(\S+)\s+Successfully updated node state label to (\S+)$)");
  std::vector<std::string> states;
  for (const std::string& event : events) {
    std::smatch match;
    if (std::regex_match(event, match, line) && match[1] == node) states.push_back(match[2]);
  }
  return states;
}

std::string LastLine(const std::string& text) {
  const std::vector<std::string> lines = Lines(text);
  return lines.empty() ? "" : lines.back();
}

void ExpectTranscripts(const World& world, const std::string& log) {
  std::vector<std::string> expected;
  for (const std::string& node : world.nodes()) expected.push_back(node + "\tupgrade-done");
  CHECK(NodesAsTheSeedsListThem(world) == expected);
  // Event times are in whole seconds, so the order of the Events is unknown.
  const std::vector<std::string> told = StatesTold(EventsAsTheSeedsListThem(world), world.nodes().front());
  const std::set<std::string> states(told.begin(), told.end());
  CHECK(states == std::set<std::string>{"cordon-required", "pod-deletion-required", "pod-restart-required",
                                        "uncordon-required", "upgrade-done", "upgrade-required",
                                        "wait-for-jobs-required"});
  // $ kubectl logs -n gpu-operator gpu-operator-xxxxx | grep controllers.Upgrade
  const std::vector<std::string> lines = Lines(log);
  CHECK(std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.find("controllers.Upgrade") != std::string::npos &&
           line.find("node=" + world.nodes().front()) != std::string::npos;
  }));
}

void ExpectMetrics(const World& world, int port, const std::vector<std::string>& lines) {
  const std::string page = CheckedMetrics(world.control_plane(), port);
  for (const std::string& line : lines) {
    CAPTURE(line);
    CHECK(page.find("\n" + line + "\n") != std::string::npos);
  }
}

TEST_CASE("A ClusterPolicy is followed, and an invalid one gets a condition while the last valid one stays in effect",
          "[operators]") {
  constexpr int kNodes = 3;
  World world(ControlPlane::Shared(), "policy", kNodes);
  world.DeployDriver();
  const Policies policies(world.control_plane(), kClusterPolicy);
  OperatorProgram program = Start(world);
  const int port = program.Port();
  const bool taken = Eventually(kStepLimit, [&] {
    return policies.Condition("clusterpolicy", "cluster-policy") == "True: the upgrade policy is in effect";
  });
  INFO(program.Log());
  REQUIRE(taken);

  Rollout rollout(world);
  world.ChangeDriverAndHold("driver:2");
  REQUIRE(Eventually(kStepLimit, [&] { return CountInState(world, "pod-restart-required") == 1; }));
  const auto state = [&] {
    return Text(world.control_plane().admin().Get({"clusterpolicy", "cluster-policy"}), {"status", "state"});
  };
  CHECK(Eventually(kStepLimit, [&] { return state() == "notReady"; }));
  const auto counts_are = [&](const std::string& counts) {
    return Eventually(kStepLimit, [&] {
      return policies.Condition("clusterpolicy", "cluster-policy", "DriversUpgraded") == "False: " + counts;
    });
  };
  CHECK(counts_are("0 of 3 nodes done, 0 failed, 1 in progress, 2 pending"));
  policies.Patch("clusterpolicy", "cluster-policy",
                 R"({"spec": {"driver": {"upgradePolicy": {"drain": {"podSelector": "not a selector("}}}}})");
  CHECK(Eventually(kStepLimit, [&] {
    const std::string condition = policies.Condition("clusterpolicy", "cluster-policy");
    return condition.starts_with("False: in spec.driver.upgradePolicy: drain.podSelector:");
  }));
  const auto has_event = [&] {
    const rapidjson::Document events = world.control_plane().admin().Get(
        {"events", "--namespace=default", "--field-selector=involvedObject.kind=ClusterPolicy"});
    const auto items = Items(events, {"items"});
    return std::any_of(items.begin(), items.end(), [](const rapidjson::Value& event) {
      return Text(event, {"type"}) == "Warning" && Text(event, {"reason"}) == "InvalidPolicy" &&
             Text(event, {"message"}).find("drain.podSelector") != std::string::npos;
    });
  };
  CHECK(Eventually(kStepLimit, has_event));

  const auto release = [&] {
    int released = 0;
    for (const DriverPod& pod : world.DriverPods()) {
      if (!pod.is_held) continue;
      world.Release(world.driver_ns(), pod.name);
      ++released;
    }
    return released;
  };
  REQUIRE(Eventually(kStepLimit, [&] { return release() == 1; }));
  // The test holds the second node for longer than the ten seconds between two counts, so the log gets two progress
  // lines.
  CHECK(counts_are("1 of 3 nodes done, 0 failed, 1 in progress, 1 pending"));
  CHECK(Eventually(kStepLimit,
                   [&] { return program.Log().find("msg=rollout progress=\"1 of 3\" eta=") != std::string::npos; }));
  const bool all_done = Eventually(kRolloutLimit, [&] {
    release();
    return CountInState(world, "upgrade-done") == kNodes;
  });
  INFO(program.Log());
  REQUIRE(all_done);
  ExpectEveryNodeUpgraded(rollout);
  ExpectBudgetsKept(rollout, 1, 2);
  CHECK(Eventually(kStepLimit, [&] { return state() == "ready"; }));
  ExpectTranscripts(world, program.Log());
  ExpectMetrics(world, port,
                {"gpu_operator_driver_auto_upgrade_enabled 1", "gpu_operator_auto_upgrade_enabled 1",
                 "gpu_operator_nodes_upgrades_done 3", "gpu_operator_nodes_upgrades_in_progress 0",
                 "gpu_operator_nodes_upgrades_failed 0", "gpu_operator_nodes_upgrades_pending 0",
                 "gpu_operator_reconciliation_status 1"});

  policies.Patch("clusterpolicy", "cluster-policy",
                 R"({"spec": {"sandboxWorkloads": {"enabled": true}, "driver": {"upgradePolicy": {"drain": null}}}})");
  CHECK(Eventually(kStepLimit, [&] {
    return policies.Condition("clusterpolicy", "cluster-policy") ==
           "False: spec.sandboxWorkloads.enabled: no driver is upgraded";
  }));
  CHECK(Eventually(kStepLimit, [&] {
    return tests::HttpGet(port, "/metrics").find("\ngpu_operator_nodes_upgrades_done 0\n") != std::string::npos;
  }));
  ExpectMetrics(world, port, {"gpu_operator_auto_upgrade_enabled 0"});
}

TEST_CASE("Each NVIDIADriver has its own nodes and policy, and together they keep the overall limit", "[operators]") {
  World world(ControlPlane::Shared(), "owners", 6);
  world.DeployDriver();
  const Policies policies(world.control_plane(), kNvidiaDrivers);
  const std::vector<std::string> owners = {"a", "a", "b", "b", "c", ""};
  for (std::size_t i = 0; i < owners.size(); ++i) {
    if (owners[i].empty()) continue;
    world.control_plane().admin().Must({"label", "node", world.nodes()[i], "pool=" + owners[i]});
  }
  Rollout rollout(world);
  world.ChangeDriver("driver:2");
  OperatorProgram program = Start(world, {"--max-parallel-total", "2", "--health-address", "127.0.0.1:0"});
  const bool done = AwaitDone(world, 4);
  INFO(program.Log());
  REQUIRE(done);
  ExpectBudgetsKept(rollout, 2, 2);
  CHECK(world.Nodes().at(world.nodes()[4]).state != "upgrade-done");
  // Returns the node's owner, and the annotation that driver managers read.
  const auto marks = [&](std::size_t i) {
    const rapidjson::Document node = world.control_plane().admin().Get({"node", world.nodes()[i]});
    return Text(node, {"metadata", "labels", "nvidia.com/gpu-operator.driver.owner"}) + " " +
           Text(node, {"metadata", "annotations", "nvidia.com/gpu-driver-upgrade-enabled"});
  };
  CHECK(marks(0) == "a true");
  CHECK(marks(2) == "b true");
  CHECK(marks(4) == "c ");
  CHECK(marks(5) == " ");
  CHECK(program.Log().find("code=NoOwner count=1") != std::string::npos);
  CHECK(Eventually(kStepLimit, [&] {
    return policies.Condition("nvidiadriver", "a", "DriversUpgraded").starts_with("True: 2 of 2 nodes done");
  }));
  CHECK(Text(world.control_plane().admin().Get({"nvidiadriver", "a"}), {"status", "state"}) == "ready");

  // Owners change without a restart of the operator: NVIDIADriver c is enabled and becomes the owner of the node
  // without an owner.
  policies.Patch("nvidiadriver", "c", R"({"spec": {"upgradePolicy": {"autoUpgrade": true}}})");
  CHECK(AwaitDone(world, 5));
  world.control_plane().admin().Create(
      "apiVersion: nvidia.com/v1alpha1\nkind: NVIDIADriver\nmetadata: {name: d}\nspec: {default: true}\n");
  CHECK(AwaitDone(world, 6));
  CHECK(marks(4) == "c true");
  CHECK(marks(5) == "d true");
  world.control_plane().admin().Create(
      "apiVersion: nvidia.com/v1alpha1\nkind: NVIDIADriver\nmetadata: {name: e}\nspec: {nodeSelector: {pool: a}}\n");
  CHECK(Eventually(kStepLimit, [&] {
    return policies.Condition("nvidiadriver", "a").find("also belongs to NVIDIADriver e") != std::string::npos;
  }));
  CHECK(marks(0) == "a true");
  ExpectBudgetsKept(rollout, 2, 2);
  ExpectMetrics(world, program.Port(), {"gpu_operator_nodes_upgrades_done 6"});
  CHECK(tests::HttpGet(program.Port(), "/healthz").find("200") != std::string::npos);
  CHECK(tests::HttpGet(program.Port(), "/readyz").find("200") != std::string::npos);
  CHECK(program.IsRunning());
}

constexpr std::string_view kToolkitDriver = R"(
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: $NAME, namespace: $NS, labels: {$LABEL}}
spec:
  updateStrategy: {type: OnDelete}
  selector: {matchLabels: {$LABEL}}
  template:
    metadata: {labels: {$LABEL}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {nvidia.com/gpu.present: "true"}
      tolerations: [{operator: Exists}]
      containers: [{name: driver, image: "driver:1"}]
)";

TEST_CASE(
    "On OpenShift the Driver Toolkit's DaemonSet is rolled out, and by default a node waits for NVIDIA's validator",
    "[operators]") {
  World world(ControlPlane::Shared(), "toolkit", 1);
  const Kubectl& admin = world.control_plane().admin();
  const auto deploy = [&](const std::string& name, const std::string& label) {
    admin.Create(
        Substitute(std::string(kToolkitDriver), {{"$NS", world.driver_ns()}, {"$NAME", name}, {"$LABEL", label}}));
    REQUIRE(Eventually(kRolloutLimit, [&] {
      return Integer(admin.Get({"daemonset", name, "--namespace=" + world.driver_ns()}), {"status", "numberReady"}) ==
             1;
    }));
  };
  deploy("nvidia-driver-daemonset-415.92", "openshift.driver-toolkit: \"true\"");
  const Policies policies(world.control_plane(), kClusterPolicy);
  OperatorProgram program(world.control_plane(), "gpu_operator", world.control_plane().operator_kubeconfig(),
                          {"--cluster-policy", "--openshift", "--namespace", world.driver_ns()});
  const bool seen = AwaitDone(world, 1);
  INFO(program.Log());
  REQUIRE(seen);
  admin.Must({"set", "image", "daemonset/nvidia-driver-daemonset-415.92", "--namespace=" + world.driver_ns(),
              "driver=driver:2"});
  CHECK(Eventually(kRolloutLimit, [&] { return CountInState(world, "validation-required") == 1; }));
  deploy("nvidia-operator-validator", "app: nvidia-operator-validator");
  CHECK(AwaitDone(world, 1));
}

TEST_CASE("The documented patch of the driver's version rolls out the DaemonSet of gpu_operator", "[operators]") {
  constexpr int kNodes = 2;
  World world(ControlPlane::Shared(), "version", kNodes);
  const Kubectl& admin = world.control_plane().admin();
  for (const std::string& node : world.nodes())
    admin.Must({"label", "node", node, "nvidia.com/gpu.deploy.driver=true",
                "feature.node.kubernetes.io/system-os_release.ID=ubuntu",
                "feature.node.kubernetes.io/system-os_release.VERSION_ID=22.04"});
  admin.Create("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: nvidia-driver, namespace: " + world.driver_ns() +
               "}\n");
  std::string rights = ReadFile(RbacFolder() / "driver-daemonsets/daemonsets.yaml");
  rights = std::regex_replace(rights, std::regex("(metadata: .*namespace: )[a-z-]+"), "$1" + world.driver_ns());
  admin.Create(rights);
  const Policies policies(world.control_plane(), ReadFile(ExampleFolder("gpu") / "cluster-policy.yaml"));
  const OperatorProgram program(world.control_plane(), "gpu_operator", world.control_plane().operator_kubeconfig(),
                                {"--cluster-policy", "--namespace", world.driver_ns(), "--driver-daemonsets", "Make",
                                 "--validation-selector", ""});
  const auto images = [&] {
    std::multiset<std::string> found;
    const rapidjson::Document pods =
        admin.Get({"pods", "--namespace=" + world.driver_ns(), "--selector=app=nvidia-driver-daemonset"});
    for (const rapidjson::Value& pod : Items(pods, {"items"})) {
      for (const rapidjson::Value& container : Items(pod, {"spec", "containers"}))
        found.insert(Text(container, {"image"}));
    }
    return found;
  };
  const auto all_have = [&](const std::string& version) {
    const std::string image = "nvcr.io/nvidia/driver:" + version + "-ubuntu22.04";
    return Eventually(kRolloutLimit, [&] {
      return images() == std::multiset<std::string>{image, image} && CountInState(world, "upgrade-done") == kNodes;
    });
  };
  const bool made = all_have("550.54.15");
  INFO(program.Log());
  REQUIRE(made);
  // NVIDIA's documentation uses two forms of the resource name.
  admin.Must({"patch", "clusterpolicy/cluster-policy", "--type=json",
              R"(-p=[{"op": "replace", "path": "/spec/driver/version", "value":"510.85.02"}])"});
  CHECK(all_have("510.85.02"));
  admin.Must({"patch", "clusterpolicies.nvidia.com/cluster-policy", "--type=json",
              R"(-p=[{"op": "replace", "path": "/spec/driver/version", "value":"510.85.02"}])"});
  CHECK(all_have("510.85.02"));
  CHECK(policies.Condition("clusterpolicy", "cluster-policy") == "True: the upgrade policy is in effect");
}

TEST_CASE("With --until-done, the operator succeeds only if the policy enables upgrades and every node is upgraded",
          "[operators]") {
  World world(ControlPlane::Shared(), "until-done", 2);
  world.DeployDriver();
  const Policies policies(world.control_plane(), kClusterPolicy);
  bool json_log = false;
  const auto run = [&] {
    OperatorProgram program =
        Start(world, {"--until-done", "--timeout", "90s", "--log-format", json_log ? "json" : "logfmt"});
    REQUIRE(Eventually(kRolloutLimit, [&] { return !program.IsRunning(); }));
    INFO(program.Log());
    return std::to_string(program.ExitCode()) + " " + LastLine(program.Log());
  };
  const auto says = [](const std::string& end, const std::string& what) {
    INFO(end);
    CHECK(end.find(what) != std::string::npos);
    return end.substr(0, 2);
  };
  CHECK(says(run(), "msg=\"rollout finished\"") == "0 ");
  json_log = true;
  const std::string end = run();
  rapidjson::Document line;
  line.Parse(end.substr(end.find(' ')).c_str());
  REQUIRE(line.IsObject());
  CHECK(Text(line, {"msg"}) == "rollout finished");
  CHECK(Text(line, {"level"}) == "info");
  json_log = false;

  // All nodes have the label upgrade-done, but no node has the new driver.
  world.ChangeDriver("driver:2");
  policies.Patch("clusterpolicy", "cluster-policy",
                 R"({"spec": {"driver": {"upgradePolicy": {"autoUpgrade": false}}}})");
  CHECK(says(run(), "autoUpgrade is off") == "1 ");
  CHECK(CountInState(world, "upgrade-done") == 2);
  policies.Patch("clusterpolicy", "cluster-policy", R"({"spec": {"sandboxWorkloads": {"enabled": true}}})");
  CHECK(says(run(), "no policy") == "1 ");

  policies.Patch(
      "clusterpolicy", "cluster-policy",
      R"({"spec": {"sandboxWorkloads": {"enabled": false}, "driver": {"upgradePolicy": {"autoUpgrade": true}}}})");
  world.control_plane().admin().Must({"label", "node", world.nodes()[0], "nvidia.com/gpu-driver-upgrade.skip=true"});
  CHECK(says(run(), "left_out=1") == "0 ");
  world.control_plane().admin().Must({"label", "node", world.nodes()[0], "nvidia.com/gpu-driver-upgrade.skip-"});
  CHECK(says(run(), "done=2") == "0 ");
}

TEST_CASE("If gpu_operator is not allowed to read policies, it names the missing permission and waits", "[operators]") {
  World world(ControlPlane::Shared(), "no-right", 1);
  world.DeployDriver();
  const Policies policies(world.control_plane(), kClusterPolicy);
  const Kubectl& admin = world.control_plane().admin();
  const std::string role = (RbacFolder() / "cluster-policy/cluster-policies.yaml").string();
  admin.Must({"delete", "-f", role});
  // The API server takes a moment to notice the change.
  REQUIRE(Eventually(kStepLimit, [&] {
    return world.control_plane().as_operator().Run({"get", "clusterpolicies"}).exit_code != 0;
  }));
  OperatorProgram program = Start(world);
  CHECK(Eventually(kStepLimit, [&] {
    return program.Log().find(R"(cannot list resource \"clusterpolicies\")") != std::string::npos;
  }));
  CHECK(program.IsRunning());
  admin.Must({"create", "-f", role});
  CHECK(Eventually(kStepLimit, [&] { return !policies.Condition("clusterpolicy", "cluster-policy").empty(); }));
  INFO(program.Log());
  CHECK(program.IsRunning());
}

}  // namespace
}  // namespace driverupgrade::e2e
