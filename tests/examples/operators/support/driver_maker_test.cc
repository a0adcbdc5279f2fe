#include "support/driver_maker.h"

#include "absl/strings/match.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"
#include "unit/wire/scripted_transport.h"

namespace driverupgrade::tests {
namespace {

using examples::DaemonSetJson;
using examples::DriverDaemonSet;
using examples::DriverDaemonSets;
using examples::DriverImage;
using examples::DriverMaker;
using examples::Find;
using examples::Items;
using examples::ParseJson;
using examples::ReadDriverImage;
using examples::ReadDriverPods;
using examples::SpecDigest;
using examples::Text;

absl::StatusOr<std::optional<DriverImage>> Read(const std::string& section) {
  return ReadDriverImage(*ParseJson(R"({"spec":{"driver":)" + section + "}}"), {"spec", "driver"});
}

TEST_CASE("an image reference consists of repository, image and version, and is empty if no version is set") {
  CHECK((*Read(R"({"repository":"nvcr.io/nvidia","image":"driver","version":"550"})"))->reference ==
        "nvcr.io/nvidia/driver:550");
  CHECK((*Read(R"({"image":"nvcr.io/nvidia/driver","version":"sha256:12"})"))->reference ==
        "nvcr.io/nvidia/driver@sha256:12");
  CHECK_FALSE(*Read("{}"));
  CHECK_FALSE(*Read(R"({"image":"driver"})"));
  CHECK(Read(R"({"version":"550"})").status().message() == "spec.driver.image: required if version is set");
  CHECK(Read(R"({"version":550})").status().message() == "spec.driver.version: must be a string, got 550");
  CHECK((*Read(R"({"image":"d","version":"1","env":[{"name":"A","value":"1"},{"name":"B"}]})"))->env ==
        examples::Variables{{.name = "A", .value = "1"}, {.name = "B"}});
  CHECK_FALSE(Read(R"({"image":"d","version":"1","env":[{"value":"1"}]})").ok());
}

DriverDaemonSet Wish(const std::string& version) {
  return {.ns = "gpu",
          .name = "driver",
          .made_of = "policy",
          .labels = {{"app", "driver"}},
          .own_labels = {{"format", "1"}},
          .node_selector = {{"gpu", "true"}},
          .service_account = "driver",
          .container = "ctr",
          .image = {.reference = "driver:" + version, .env = {{.name = "A", .value = "1"}}},
          .probes = {{.kind = "startupProbe", .command = "nvidia-smi", .times = {{"periodSeconds", 10}}}},
          .init = DriverDaemonSet::InitContainer{.name = "manager", .image = {.reference = "manager:1"}},
          .host_paths = {"/run/nvidia", "/"}};
}

TEST_CASE("a driver DaemonSet never restarts pods automatically, and a new version has another digest") {
  const rapidjson::Document set = *ParseJson(DaemonSetJson(Wish("1")));
  CHECK(Text(set, {"spec", "updateStrategy", "type"}) == "OnDelete");
  CHECK(Text(set, {"spec", "selector", "matchLabels", "app"}) == "driver");
  CHECK(Text(set, {"metadata", "labels", "format"}) == "1");
  CHECK(Find(set, {"spec", "template", "metadata", "labels", "format"}) == nullptr);
  CHECK(Text(set, {"spec", "template", "spec", "nodeSelector", "gpu"}) == "true");
  const auto containers = Items(set, {"spec", "template", "spec", "containers"});
  REQUIRE(containers.Size() == 1);
  CHECK(Text(containers[0], {"image"}) == "driver:1");
  const auto env = Items(containers[0], {"env"});
  CHECK(Text(env[2], {"name"}) == "A");
  CHECK(Text(env[3], {"name"}) == "DRIVER_CONFIG_DIGEST");
  CHECK(Text(env[3], {"value"}) == SpecDigest(Wish("1")));
  CHECK(Text(Items(set, {"spec", "template", "spec", "initContainers"})[0], {"image"}) == "manager:1");
  CHECK(SpecDigest(Wish("1")) != SpecDigest(Wish("2")));
}

std::string AffinityOf(const DriverDaemonSet& wish) {
  const rapidjson::Document set = *ParseJson(DaemonSetJson(wish));
  const rapidjson::Value* affinity = Find(set, {"spec", "template", "spec", "affinity"});
  return affinity == nullptr ? "none" : examples::ToText(*affinity);
}

TEST_CASE("a driver pod is scheduled only to a node without another driver pod") {
  DriverDaemonSet wish = Wish("1");
  CHECK(AffinityOf(wish) == "none");
  wish.apart_from = {.key = "component", .value = "driver"};
  CHECK(AffinityOf(wish) ==
        R"({"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"labelSelector":{"matchExpressions":)"
        R"([{"key":"component","operator":"In","values":["driver"]}]},"topologyKey":"kubernetes.io/hostname"}]}})");
  wish.apart_from = {.key = "driver"};
  CHECK(AffinityOf(wish) ==
        R"({"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"labelSelector":{"matchExpressions":)"
        R"([{"key":"driver","operator":"Exists"}]},"topologyKey":"kubernetes.io/hostname"}]}})");
}

// If the digest changed, the operator would change every DaemonSet, and all drivers would be rolled out again.
TEST_CASE("the digest of a DaemonSet is the same as before driver pods had an anti-affinity and a ready file") {
  DriverDaemonSet wish = Wish("1");
  CHECK(SpecDigest(wish) == "fb9cbe2930878de3");
  wish.apart_from = {.key = "component", .value = "driver"};
  wish.ready_file = "/run/ready";
  CHECK(SpecDigest(wish) == "fb9cbe2930878de3");
}

TEST_CASE("a driver container has the probe times of the policy, and its pod is Ready once the driver is loaded") {
  DriverDaemonSet wish = Wish("1");
  const auto probe = [&] {
    const rapidjson::Document set = *ParseJson(DaemonSetJson(wish));
    const auto containers = Items(set, {"spec", "template", "spec", "containers"});
    const rapidjson::Value* found = Find(containers[0], {"startupProbe"});
    return found == nullptr ? "none" : examples::ToText(*found);
  };
  CHECK(probe() == R"({"exec":{"command":["sh","-c","nvidia-smi"]},"periodSeconds":10})");
  wish.pods.probe_times["startupProbe"] = {{"periodSeconds", 3}, {"failureThreshold", 7}};
  CHECK(probe() == R"({"exec":{"command":["sh","-c","nvidia-smi"]},"failureThreshold":7,"periodSeconds":3})");
  const rapidjson::Document set = *ParseJson(DaemonSetJson(wish));
  CHECK(Find(Items(set, {"spec", "template", "spec", "initContainers"})[0], {"startupProbe"}) == nullptr);
}

TEST_CASE("a driver container has its ready file from the success of its startup probe until it is stopped") {
  DriverDaemonSet wish = Wish("1");
  wish.probes.push_back({.kind = "livenessProbe", .command = "true"});
  wish.ready_file = "/run/nvidia/validations/.ready";
  const rapidjson::Document set = *ParseJson(DaemonSetJson(wish));
  const rapidjson::Value& container = Items(set, {"spec", "template", "spec", "containers"})[0];
  CHECK(examples::ToText(*Find(container, {"startupProbe", "exec", "command"})) ==
        R"(["sh","-c","nvidia-smi && mkdir -p /run/nvidia/validations && : > /run/nvidia/validations/.ready"])");
  CHECK(examples::ToText(*Find(container, {"livenessProbe", "exec", "command"})) == R"(["sh","-c","true"])");
  CHECK(examples::ToText(*Find(container, {"lifecycle"})) ==
        R"({"preStop":{"exec":{"command":["sh","-c","rm -f /run/nvidia/validations/.ready"]}}})");
  const rapidjson::Document without = *ParseJson(DaemonSetJson(Wish("1")));
  CHECK(Find(Items(without, {"spec", "template", "spec", "containers"})[0], {"lifecycle"}) == nullptr);
}

examples::DriverPods ReadPods(const std::string& spec) {
  return ReadDriverPods(*ParseJson(R"({"spec":)" + spec + "}"),
                        {.section = "spec.driver",
                         .tolerations = "spec.daemonsets.tolerations",
                         .priority_class = "spec.daemonsets.priorityClassName",
                         .refused = {"spec.driver.repoConfig", "spec.gds.enabled"}});
}

// The tolerations match operatorDriverPodTolerations in pkg/state/state_ofed.go of github.com/Mellanox/network-operator.
TEST_CASE("W32: driver pods are scheduled to nodes that are not ready or unreachable") {
  const rapidjson::Document set = *ParseJson(DaemonSetJson(Wish("1")));
  std::string shown;
  for (const rapidjson::Value& toleration : Items(set, {"spec", "template", "spec", "tolerations"})) {
    shown += examples::ToText(toleration) + "\n";
  }
  CHECK(shown == R"({"key":"nvidia.com/gpu","operator":"Exists","effect":"NoSchedule"})"
                 "\n"
                 R"({"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoSchedule"})"
                 "\n"
                 R"({"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoSchedule"})"
                 "\n");
}

TEST_CASE("the DaemonSet contains the policy's settings for driver pods") {
  const auto image = Read(R"({"image":"d","version":"1","imagePullPolicy":"Always","env":[{"name":"P","valueFrom":)"
                          R"({"secretKeyRef":{"name":"s","key":"k"}}}]})");
  const auto pods =
      ReadPods(R"({"driver":{"imagePullSecrets":["a","b"],"resources":{"limits":{"memory":"1Gi"}},"startupProbe":)"
               R"({"initialDelaySeconds":5}},"daemonsets":{"priorityClassName":"high","tolerations":[{"key":"t"}]}})");
  REQUIRE(image.ok());
  CHECK(pods.refusal.ok());
  DriverDaemonSet wish = Wish("1");
  wish.image = **image;
  wish.pods = pods;
  const rapidjson::Document set = *ParseJson(DaemonSetJson(wish));
  const rapidjson::Value& spec = *Find(set, {"spec", "template", "spec"});
  CHECK(examples::ToText(*Find(spec, {"imagePullSecrets"})) == R"([{"name":"a"},{"name":"b"}])");
  CHECK(Text(spec, {"priorityClassName"}) == "high");
  CHECK(Text(Items(spec, {"tolerations"})[0], {"key"}) == "nvidia.com/gpu");
  CHECK(Text(Items(spec, {"tolerations"})[3], {"key"}) == "t");
  const rapidjson::Value& container = Items(spec, {"containers"})[0];
  CHECK(Text(container, {"imagePullPolicy"}) == "Always");
  CHECK(Text(container, {"resources", "limits", "memory"}) == "1Gi");
  CHECK(examples::Integer(container, {"startupProbe", "initialDelaySeconds"}) == 5);
  CHECK(Text(Items(container, {"env"})[2], {"valueFrom", "secretKeyRef", "name"}) == "s");
  CHECK(Find(Items(container, {"env"})[2], {"value"}) == nullptr);
}

TEST_CASE("unsupported settings for driver pods in a policy are refused unless they are off") {
  CHECK(ReadPods(R"({"driver":{"repoConfig":{"configMapName":""}},"gds":{"enabled":false}})").refusal.ok());
  const auto said = ReadPods(R"({"driver":{"repoConfig":{"configMapName":"mirror"}}})");
  CHECK(said.refusal.message().substr(0, 29) == "spec.driver.repoConfig is set");
  CHECK_FALSE(ReadPods(R"({"gds":{"enabled":true}})").refusal.ok());
  CHECK(ReadPods(R"({"driver":{"startupProbe":{"periodSeconds":"5"}}})").refusal.message() ==
        R"(spec.driver.startupProbe.periodSeconds: must be a whole number >= 0, got "5")");
  CHECK(ReadPods(R"({"driver":{"imagePullSecrets":[{"name":"a"}]}})").refusal.message() ==
        R"(spec.driver.imagePullSecrets: must be a list of names, got [{"name":"a"}])");
  CHECK_FALSE(ReadPods(R"({"driver":{"resources":1}})").refusal.ok());
  CHECK_FALSE(ReadPods(R"({"daemonsets":{"tolerations":1}})").refusal.ok());
}

struct World {
  DriverDaemonSets mode = DriverDaemonSets::kMake;
  std::shared_ptr<ScriptedTransport> transport = std::make_shared<ScriptedTransport>();
  std::shared_ptr<testing::FakeClock> clock = std::make_shared<testing::FakeClock>();
  std::vector<std::string> log = {};
  DriverMaker maker{std::make_shared<const ObjectClient>(transport, "op"), clock,
                    [this](const LogRecord& record) { log.push_back(FormatLogfmt(record)); }, mode};
  absl::Time Keep(const DriverDaemonSet& wish) {
    maker.Wish({wish});
    return maker.Keep({});
  }
};

TEST_CASE("a DaemonSet is created, updated to a new version, and left alone when it is up to date") {
  World world;
  CHECK(world.maker.Keep({}) == absl::InfiniteFuture());
  world.transport->Answer(404, StatusBody(404, "NotFound", "no"));
  world.transport->Answer(201, DaemonSetJson(Wish("1")));
  CHECK(world.Keep(Wish("1")) == world.clock->Now() + absl::Seconds(30));
  CHECK(world.transport->lines.back() == "POST /apis/apps/v1/namespaces/gpu/daemonsets?fieldManager=op");
  world.Keep(Wish("1"));
  CHECK(world.transport->requests.size() == 2);  // the next check comes after half a minute
  world.transport->Answer(200, DaemonSetJson(Wish("1")));
  world.transport->Answer(200, DaemonSetJson(Wish("2")));
  world.Keep(Wish("2"));
  CHECK(world.transport->lines.back() == "PATCH /apis/apps/v1/namespaces/gpu/daemonsets/driver?fieldManager=op");
  CHECK(world.transport->requests.back().body.find("driver:2") != std::string::npos);
  world.clock->Advance(absl::Seconds(30));
  world.transport->Answer(200, DaemonSetJson(Wish("2")));
  world.Keep(Wish("2"));
  CHECK(world.transport->requests.size() == 5);
  CHECK(world.maker.Failure("policy").ok());
}

TEST_CASE("a DaemonSet without the anti-affinity is left alone until the driver changes") {
  World world;
  const auto apart = [](const std::string& version) {
    DriverDaemonSet wish = Wish(version);
    wish.apart_from = {.key = "component", .value = "driver"};
    return wish;
  };
  world.transport->Answer(200, DaemonSetJson(Wish("1")));
  world.Keep(apart("1"));
  CHECK(world.transport->requests.size() == 1);
  world.transport->Answer(200, DaemonSetJson(Wish("1")));
  world.transport->Answer(200, DaemonSetJson(apart("2")));
  world.Keep(apart("2"));
  REQUIRE(world.transport->requests.size() == 3);
  CHECK(world.transport->requests.back().body.find("podAntiAffinity") != std::string::npos);
}

TEST_CASE("the operating system of a DaemonSet does not change while that of a node is unknown") {
  World world;
  const auto on = [](const std::string& system, const std::string& unlabelled_node) {
    DriverDaemonSet wish = Wish("1-" + system);
    wish.system = system;
    wish.unlabelled_node = unlabelled_node;
    return wish;
  };
  world.transport->Answer(200, DaemonSetJson(on("ubuntu22.04", "")));
  world.Keep(on("ubuntu24.04", "n7"));
  CHECK(world.transport->requests.size() == 1);
  CHECK(absl::StrContains(world.maker.Failure("policy").message(), "node n7 has no labels feature.node"));
  world.transport->Answer(200, DaemonSetJson(on("ubuntu22.04", "")));
  world.transport->Answer(200, DaemonSetJson(on("ubuntu24.04", "")));
  world.Keep(on("ubuntu24.04", ""));
  CHECK(world.transport->requests.size() == 3);
  CHECK(world.maker.Failure("policy").ok());
}

TEST_CASE("a key is removed from the node selector of the DaemonSet when the policy no longer uses it") {
  World world;
  DriverDaemonSet before = Wish("1");
  before.node_selector = {{"gpu", "false"}, {"rack/row", "east"}, {"pool", "a"}};
  DriverDaemonSet after = Wish("1");
  after.node_selector = {{"gpu", "true"}, {"pool", "a"}};
  world.transport->Answer(200, DaemonSetJson(before));
  world.transport->Answer(200, DaemonSetJson(after));
  world.Keep(after);
  const rapidjson::Document change = *ParseJson(world.transport->requests.back().body);
  CHECK(examples::ToText(*Find(change, {"spec", "template", "spec", "nodeSelector"})) ==
        R"({"gpu":"true","pool":"a","rack/row":null})");
}

TEST_CASE("a DaemonSet of another owner is not changed, but reported once, and refusals are reported") {
  World world;
  for (int i = 0; i < 2; ++i) {
    world.transport->Answer(200, R"({"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"driver"}})");
    world.Keep(Wish("1"));
    world.clock->Advance(absl::Seconds(30));
  }
  CHECK(world.transport->requests.size() == 2);
  REQUIRE(world.log.size() == 1);
  CHECK(world.log[0].find("belongs to another client") != std::string::npos);
  CHECK(world.maker.Failure("policy").message().find(
            "gpu/driver does not match this policy: it belongs to another client") != std::string::npos);
  CHECK(world.maker.Failure("another").ok());
  world.transport->Answer(403, StatusBody(403, "Forbidden", "cannot get resource daemonsets"));
  world.Keep(Wish("1"));
  CHECK(absl::IsUnavailable(world.maker.Failure("policy")));
  CHECK(world.log.back().find("cannot get resource daemonsets") != std::string::npos);
  DriverDaemonSet refused = Wish("1");
  refused.pods.refusal = absl::UnimplementedError("spec.driver.repoConfig is set");
  world.Keep(refused);
  CHECK(world.transport->requests.size() == 3);
  CHECK(world.maker.Failure("policy").message().find("spec.driver.repoConfig is set") != std::string::npos);
  world.maker.Wish({});
  world.maker.Keep({});
  CHECK(world.maker.Failure("policy").ok());
}

TEST_CASE("W29: if the nodes of a driver have not been read yet, its DaemonSet is created a second later") {
  World world;
  world.maker.Wish({Wish("1")});
  const auto unknown = [](const DriverDaemonSet&) { return std::vector<DriverDaemonSet>(); };
  CHECK(world.maker.Keep({}, unknown) == world.clock->Now() + absl::Seconds(1));
  CHECK(world.maker.Failure("policy").ok());
  world.clock->Advance(absl::Seconds(1));
  world.transport->Answer(404, StatusBody(404, "NotFound", "no"));
  world.transport->Answer(201, DaemonSetJson(Wish("1")));
  world.maker.Keep({}, [](DriverDaemonSet set) {
    set.image.reference += "-ubuntu22.04";
    return std::vector{set};
  });
  CHECK(world.transport->requests.back().body.find("driver:1-ubuntu22.04") != std::string::npos);
}

std::string ListOf(const std::string& image) {
  DriverDaemonSet set = Wish("1");
  set.image.reference = image;
  return R"({"kind":"DaemonSetList","apiVersion":"apps/v1","metadata":{"resourceVersion":"1"},"items":[)" +
         DaemonSetJson(set) + "]}";
}

TEST_CASE("W30: if no DaemonSet of the driver has the image, the report names the component that creates DaemonSets") {
  World world{.mode = DriverDaemonSets::kLeave};
  DriverDaemonSet wish = Wish("2");
  wish.driver_labels = LabelSelector::FromMatchLabels({{"app", "driver"}});
  wish.pods.refusal = absl::UnimplementedError("only Make needs what is refused");
  const absl::Time first = world.Keep(wish);
  CHECK(first == world.clock->Now() + absl::Seconds(10));  // time that the other operator has to create the DaemonSet
  CHECK(world.transport->requests.empty());
  world.clock->Advance(absl::Seconds(10));
  world.transport->Answer(200, ListOf("mirror.example.com/driver:1-ubuntu22.04"));
  CHECK(world.Keep(wish) == world.clock->Now() + absl::Seconds(30));
  CHECK(world.transport->lines.back().starts_with(
      "GET /apis/apps/v1/namespaces/gpu/daemonsets?labelSelector=app%3Ddriver"));
  const std::string why(world.maker.Failure("policy").message());
  CHECK(why.find("has the image driver:2 (found: mirror.example.com/driver:1-ubuntu22.04)") != std::string::npos);
  CHECK(why.find("--driver-daemonsets is Leave") != std::string::npos);
  REQUIRE(world.log.size() == 1);

  world.clock->Advance(absl::Seconds(30));
  world.transport->Answer(503, StatusBody(503, "ServiceUnavailable", "busy"));
  world.Keep(wish);
  CHECK(world.maker.Failure("policy").message() == why);
  CHECK(world.log.size() == 1);

  world.clock->Advance(absl::Seconds(30));
  world.transport->Answer(200, ListOf("mirror.example.com/driver:2-ubuntu22.04"));
  CHECK(world.Keep(wish) == absl::InfiniteFuture());
  CHECK(world.maker.Failure("policy").ok());
}

TEST_CASE("W30: the report about an earlier version does not apply to the next version") {
  World world{.mode = DriverDaemonSets::kLeave};
  world.Keep(Wish("2"));
  world.clock->Advance(absl::Seconds(10));
  world.transport->Answer(200, ListOf("driver:1"));
  world.Keep(Wish("2"));
  CHECK_FALSE(world.maker.Failure("policy").ok());
  world.maker.Wish({Wish("3")});
  CHECK(world.maker.Failure("policy").ok());
}

}  // namespace
}  // namespace driverupgrade::tests
