#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/kubernetes/rest_cluster.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "support/catch.h"
#include "unit/testing/watch_recorder.h"
#include "unit/wire/device_fixtures.h"
#include "unit/wire/scripted_transport.h"

namespace driverupgrade {
namespace {

using Lines = std::vector<std::string>;

struct World {
  std::shared_ptr<ScriptedTransport> transport = std::make_shared<ScriptedTransport>();
  std::shared_ptr<ClusterFacade> cluster = MakeRestCluster(transport, {});
  CallContext context;
};

const std::string kGroup = "/apis/resource.k8s.io/v1";
const std::string kRules = kGroup + "/devicetaintrules";
const DeviceTaintRule kRule{.name = "gpu-7",
                            .node_name = "gpu-7",
                            .node_uid = "u-7",
                            .driver = "gpu.nvidia.com",
                            .pool = "gpu-7",
                            .key = "nvidia.com/gpu-driver-upgrade"};
const PatchDeviceTaintRuleParams kTaint{
    .name = "gpu-7", .uid = "u-r", .resource_version = "5", .effect = DeviceTaintEffect::kNoSchedule};
const DeleteDeviceTaintRuleParams kDelete{.name = "gpu-7", .uid = "u-r"};

std::string Text(const absl::Status& status) { return std::string(status.message()); }

TEST_CASE("DRA objects are listed from resource.k8s.io/v1") {
  World world;
  world.transport->Answer(200, FormatList(ListPage<DeviceTaintRule>{.items = {kRule}}));
  CHECK(world.cluster->ListDeviceTaintRules(world.context, {}).value() == std::vector{kRule});
  world.transport->Answer(200, FormatList(ListPage<ResourceClaim>{.continue_token = "t"}));
  world.transport->Answer(200, FormatList(ListPage<ResourceClaim>{.items = {{.ns = "a", .name = "c"}}}));
  CHECK(world.cluster->ListResourceClaims(world.context, {}).value().size() == 1);
  world.transport->Answer(200, FormatList(ListPage<ResourceClaim>{}));
  CHECK(world.cluster->ListResourceClaims(world.context, {.ns = "a"}).value().empty());
  world.transport->Answer(200, FormatList(ListPage<ResourceSlice>{}));
  CHECK(world.cluster->ListResourceSlices(world.context, {}).value().empty());
  world.transport->Answer(200, FormatList(ListPage<ResourceSlice>{}));
  CHECK(world.cluster->ListResourceSlices(world.context, {.node_name = "gpu-7"}).value().empty());
  CHECK(world.transport->lines ==
        Lines{"GET " + kRules + "?limit=500", "GET " + kGroup + "/resourceclaims?limit=500",
              "GET " + kGroup + "/resourceclaims?limit=500&continue=t",
              "GET " + kGroup + "/namespaces/a/resourceclaims?limit=500", "GET " + kGroup + "/resourceslices?limit=500",
              "GET " + kGroup + "/resourceslices?fieldSelector=spec.nodeName%3Dgpu-7&limit=500"});
}

std::string EventOf(const std::string& json) { return R"({"type":"ADDED","object":)" + json + "}"; }

TEST_CASE("DRA objects are watched in resource.k8s.io/v1") {
  World world;
  WatchRecorder<DeviceTaintRule> rules;
  world.transport->Answer(200, FormatList(ListPage<DeviceTaintRule>{.resource_version = "7"}));
  world.transport->AnswerLines({EventOf(fixtures::kDeviceTaintRule)});
  CHECK(world.cluster->WatchDeviceTaintRules(world.context, {}, rules).ok());
  CHECK(rules.lines == Lines{"list", "change gpu.nvidia.com-5f2c"});
  WatchRecorder<ResourceClaim> claims;
  world.transport->AnswerLines({EventOf(fixtures::kResourceClaim)});
  CHECK(world.cluster->WatchResourceClaims(world.context, {.resource_version = "8"}, claims).ok());
  CHECK(claims.lines == Lines{"change team-a/train-0-gpu-9hm2c"});
  WatchRecorder<ResourceSlice> slices;
  world.transport->AnswerLines({EventOf(fixtures::kResourceSlice)});
  CHECK(world.cluster->WatchResourceSlices(world.context, {.resource_version = "9"}, slices).ok());
  CHECK(slices.lines == Lines{"change 0-gpu.nvidia.com-gpu-7-x2k4z"});
  const std::string rest = "&allowWatchBookmarks=true&timeoutSeconds=300";
  CHECK(world.transport->lines == Lines{"GET " + kRules + "?limit=500",
                                        "stream GET " + kRules + "?watch=1&resourceVersion=7" + rest,
                                        "stream GET " + kGroup + "/resourceclaims?watch=1&resourceVersion=8" + rest,
                                        "stream GET " + kGroup + "/resourceslices?watch=1&resourceVersion=9" + rest});
}

TEST_CASE("if a cluster does not serve the kind, lists and writes return NotFound") {
  World world;
  for (int i = 0; i < 5; ++i) world.transport->Answer(404, "404 page not found\n");
  CHECK(Text(world.cluster->ListDeviceTaintRules(world.context, {}).status()) ==
        "list device taint rules: 404 NotFound: 404 page not found\\x0a");
  CHECK(absl::IsNotFound(world.cluster->ListResourceClaims(world.context, {}).status()));
  CHECK(absl::IsNotFound(world.cluster->ListResourceSlices(world.context, {}).status()));
  const absl::Status created = world.cluster->CreateDeviceTaintRule(world.context, {.object = kRule}).status();
  CHECK(absl::IsNotFound(created));
  CHECK(WasNotApplied(created));
  CHECK(absl::IsNotFound(world.cluster->PatchDeviceTaintRule(world.context, kTaint).status()));
}

TEST_CASE("a rule is created, patched, and deleted by requests with preconditions") {
  World world;
  world.transport->Answer(201, fixtures::kDeviceTaintRule);
  CHECK(world.cluster->CreateDeviceTaintRule(world.context, {.object = kRule}).value().resource_version == "5531");
  world.transport->Answer(200, fixtures::kDeviceTaintRule);
  CHECK(world.cluster->PatchDeviceTaintRule(world.context, kTaint).value().generation == 2);
  world.transport->Answer(200, fixtures::kDeviceTaintRule);
  CHECK(world.cluster->DeleteDeviceTaintRule(world.context, kDelete).ok());
  CHECK(world.transport->lines == Lines{"POST " + kRules + "?fieldManager=driverupgrade",
                                        "PATCH " + kRules + "/gpu-7?fieldManager=driverupgrade",
                                        "DELETE " + kRules + "/gpu-7"});
  CHECK(world.transport->requests[0].body == FormatDeviceTaintRule({.object = kRule}));
  CHECK(world.transport->requests[1].body == FormatDeviceTaintRulePatch(kTaint));
  CHECK(world.transport->requests[1].content_type == "application/merge-patch+json");
  CHECK(world.transport->requests[2].body == FormatDeleteOptions(kDelete));
}

TEST_CASE("refused writes of rules return the codes that ClusterFacade documents") {
  World world;
  world.transport->Answer(409, StatusBody(409, "AlreadyExists", "exists"));
  CHECK(absl::IsAlreadyExists(world.cluster->CreateDeviceTaintRule(world.context, {.object = kRule}).status()));
  world.transport->Answer(409, StatusBody(409, "Conflict", "the object has been modified"));
  CHECK(absl::IsAborted(world.cluster->PatchDeviceTaintRule(world.context, kTaint).status()));
  world.transport->Answer(422, StatusBody(422, "Invalid", "field is immutable",
                                          R"("causes":[{"reason":"FieldValueInvalid","field":"metadata.uid"}])"));
  CHECK(absl::IsAborted(world.cluster->PatchDeviceTaintRule(world.context, kTaint).status()));
  world.transport->Answer(403, StatusBody(403, "Forbidden", "no"));
  CHECK(Text(world.cluster->DeleteDeviceTaintRule(world.context, kDelete)) ==
        "delete device taint rule gpu-7: 403 Forbidden: no");
}

TEST_CASE("a rule that no longer exists, or was replaced, counts as deleted") {
  World world;
  const auto [code, body] = GENERATE(values<std::pair<int, std::string>>({
      {404, StatusBody(404, "NotFound", "not found")},
      {409, StatusBody(409, "Conflict", "Precondition failed: UID in precondition: u-r, UID in object meta: u-2")},
  }));
  world.transport->Answer(code, body);
  CHECK(world.cluster->DeleteDeviceTaintRule(world.context, kDelete).ok());
}

TEST_CASE("F1: neither a rule that would taint other devices nor a write without preconditions is sent") {
  World world;
  DeviceTaintRule every_driver = kRule, every_pool = kRule, bad_name = kRule;
  every_driver.driver = "";
  every_pool.pool = "";
  bad_name.name = "a/b";
  PatchDeviceTaintRuleParams no_uid = kTaint, no_version = kTaint;
  no_uid.uid = "";
  no_version.resource_version = "";
  for (const absl::Status& status : {
           world.cluster->CreateDeviceTaintRule(world.context, {.object = every_driver}).status(),
           world.cluster->CreateDeviceTaintRule(world.context, {.object = every_pool}).status(),
           world.cluster->CreateDeviceTaintRule(world.context, {.object = bad_name}).status(),
           world.cluster->PatchDeviceTaintRule(world.context, no_uid).status(),
           world.cluster->PatchDeviceTaintRule(world.context, no_version).status(),
           world.cluster->DeleteDeviceTaintRule(world.context, {.name = "gpu-7"}),
           world.cluster->DeleteDeviceTaintRule(world.context, {.uid = "u"}),
           world.cluster->ListResourceClaims(world.context, {.ns = ".."}).status(),
       }) {
    CHECK(absl::IsInvalidArgument(status));
    CHECK(RequestWasNotSent(status));
  }
  CHECK(world.transport->lines.empty());
}

}  // namespace
}  // namespace driverupgrade
