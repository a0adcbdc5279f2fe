#include "support/resource_condition.h"

#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"
#include "support/json.h"
#include "unit/wire/scripted_transport.h"

namespace driverupgrade::tests {
namespace {

using examples::ConditionPatch;
using examples::Find;
using examples::Integer;
using examples::Items;
using examples::ParseJson;
using examples::ResourceReporter;
using examples::Text;

const ObjectKind kPolicies{.group_version = "nvidia.com/v1", .resource = "clusterpolicies", .namespaced = false};
const absl::Time kNow = absl::UnixEpoch() + absl::Hours(1);
const absl::Status kWrong = absl::InvalidArgumentError("in spec.driver.upgradePolicy: drain: no");

ApiObject Policy(const std::string& conditions, const std::string& version = "7", int generation = 3) {
  return {.name = "p",
          .uid = "u",
          .resource_version = version,
          .json = R"({"apiVersion":"nvidia.com/v1","kind":"ClusterPolicy","metadata":{"name":"p","generation":)" +
                  std::to_string(generation) + R"(},"status":{"conditions":[)" + conditions + "]}}"};
}

std::string Condition(const std::string& status, const std::string& reason, const std::string& message,
                      int generation = 3) {
  return R"({"type":"UpgradePolicyValid","status":")" + status + R"(","reason":")" + reason + R"(","message":")" +
         message + R"(","lastTransitionTime":"1970-01-01T00:00:00Z","observedGeneration":)" +
         std::to_string(generation) + "}";
}

rapidjson::Document Patch(const ApiObject& object, const absl::Status& error) {
  const std::optional<std::string> patch = ConditionPatch(object, error, kNow);
  REQUIRE(patch);
  return *ParseJson(*patch);
}

TEST_CASE("a condition is added with the version that was read, and conditions of other programs stay") {
  const rapidjson::Document patch = Patch(Policy(R"({"type":"Ready","status":"True"})"), kWrong);
  CHECK(Text(patch, {"metadata", "resourceVersion"}) == "7");
  const auto conditions = Items(patch, {"status", "conditions"});
  REQUIRE(conditions.Size() == 2);
  CHECK(Text(conditions[0], {"type"}) == "Ready");
  CHECK(Text(conditions[1], {"type"}) == "UpgradePolicyValid");
  CHECK(Text(conditions[1], {"status"}) == "False");
  CHECK(Text(conditions[1], {"reason"}) == "InvalidPolicy");
  CHECK(Text(conditions[1], {"message"}) == "in spec.driver.upgradePolicy: drain: no");
  CHECK(Text(conditions[1], {"lastTransitionTime"}) == "1970-01-01T01:00:00Z");
  CHECK(Integer(conditions[1], {"observedGeneration"}) == 3);
}

TEST_CASE("an unchanged condition is not written, and lastTransitionTime changes only with the status") {
  const std::string wrong = Condition("False", "InvalidPolicy", "in spec.driver.upgradePolicy: drain: no");
  CHECK_FALSE(ConditionPatch(Policy(wrong), kWrong, kNow));
  const rapidjson::Document another = Patch(Policy(wrong), absl::InvalidArgumentError("another"));
  CHECK(Text(Items(another, {"status", "conditions"})[0], {"lastTransitionTime"}) == "1970-01-01T00:00:00Z");
  const rapidjson::Document mended = Patch(Policy(wrong), absl::OkStatus());
  CHECK(Text(Items(mended, {"status", "conditions"})[0], {"status"}) == "True");
  CHECK(Text(Items(mended, {"status", "conditions"})[0], {"lastTransitionTime"}) == "1970-01-01T01:00:00Z");
  CHECK(ConditionPatch(Policy(wrong, "8", 4), kWrong, kNow).has_value());
}

TEST_CASE("W21: the condition of a policy in effect lists the fields that have no effect") {
  const std::vector<std::string> warnings = {"rollout.order[1]: has no effect after Name", "rollout.health: is empty"};
  const auto patch = ConditionPatch(Policy(""), absl::OkStatus(), kNow, "", std::nullopt, warnings);
  REQUIRE(patch);
  CHECK(patch->find("the upgrade policy is in effect, with warnings: rollout.order[1]: has no effect after Name; "
                    "rollout.health: is empty") != std::string::npos);
  const auto refused =
      ConditionPatch(Policy(""), absl::InvalidArgumentError("wrong"), kNow, "", std::nullopt, warnings);
  REQUIRE(refused);
  CHECK(refused->find("warnings") == std::string::npos);
}

TEST_CASE("each outcome of an upgrade has its own text") {
  const auto shown = [](driverupgrade::EngineProgress progress, bool on = true) {
    const examples::UpgradeStanding standing = examples::StandingOf(progress, on);
    return standing.reason + (standing.done ? " yes: " : " no: ") + standing.message;
  };
  driverupgrade::EngineProgress progress{
      .totals = {.total = 10, .pending = 4, .in_progress = 3, .failed = 1, .done = 3}};
  CHECK(shown(progress) == "Failed no: 3 of 10 nodes done, 1 failed, 2 in progress, 4 pending");
  CHECK(shown(progress, false).starts_with("Frozen no: 3 of 10"));
  progress.halted = true;
  CHECK(shown(progress).starts_with("Halted no"));
  CHECK(shown({.totals = {.total = 2, .pending = 1, .done = 1}}).starts_with("UnderWay no"));
  CHECK(shown({.totals = {.total = 2, .done = 2}}).starts_with("Done yes: 2 of 2"));
  CHECK(shown({.totals = {.total = 2, .done = 1, .not_ready = 1}}) ==
        "DriverNotReady no: 1 of 2 nodes done, 0 failed, 0 in progress, 0 pending, 1 without a Ready driver");
  CHECK(shown({.totals = {.total = 2, .pending = 1, .done = 1}, .left_out = 1}) ==
        "Done yes: 1 of 2 nodes done, 0 failed, 0 in progress, 1 pending, 1 left out");
}

TEST_CASE("status.state is notReady while an upgrade is in progress, then ready, and unchanged if frozen or unknown") {
  using Standing = std::optional<examples::UpgradeStanding>;
  const Standing done = examples::UpgradeStanding{.done = true, .reason = "Done"};
  const Standing under_way = examples::UpgradeStanding{.reason = "UnderWay"};
  const Standing frozen = examples::UpgradeStanding{.reason = "Frozen"};
  CHECK(examples::StateOf({under_way}) == "notReady");
  CHECK(examples::StateOf({done}) == "ready");
  CHECK(examples::StateOf({frozen}).empty());
  CHECK(examples::StateOf({std::nullopt}).empty());
  CHECK(examples::StateOf({}).empty());
  CHECK(examples::StateOf({done, std::nullopt, under_way}) == "notReady");
  CHECK(examples::StateOf({done, std::nullopt}).empty());
  CHECK(examples::StateOf({done, frozen}) == "ready");
}

TEST_CASE("a single patch contains the progress of an upgrade, and whether its policy is accepted") {
  const examples::UpgradeStanding standing{.reason = "UnderWay", .message = "1 of 2 nodes done"};
  const auto patch = ConditionPatch(Policy(R"({"type":"Ready","status":"True"})"), {}, kNow, "", standing);
  REQUIRE(patch);
  const rapidjson::Document document = *ParseJson(*patch);
  const auto conditions = Items(document, {"status", "conditions"});
  REQUIRE(conditions.Size() == 3);
  CHECK(Text(conditions[2], {"type"}) == "DriversUpgraded");
  CHECK(Text(conditions[2], {"status"}) == "False");
  CHECK(Text(conditions[2], {"reason"}) == "UnderWay");
  CHECK(Text(conditions[2], {"message"}) == "1 of 2 nodes done");
  // Without new information the condition stays unchanged.
  const auto other = ConditionPatch(Policy(examples::ToText(conditions[2])), kWrong, kNow);
  REQUIRE(other);
  CHECK(other->find("1 of 2 nodes done") != std::string::npos);
}

TEST_CASE("an Event about an object without a namespace is in the namespace default") {
  const auto event = ParseJson(
      examples::WarningEvent(Policy(""), "p.1", "nvidia-gpu-operator", absl::InvalidArgumentError("why"), kNow));
  CHECK(Text(*event, {"metadata", "namespace"}) == "default");
  CHECK(Text(*event, {"involvedObject", "kind"}) == "ClusterPolicy");
  CHECK(Text(*event, {"involvedObject", "uid"}) == "u");
  CHECK(Find(*event, {"involvedObject", "namespace"}) == nullptr);
  CHECK(Text(*event, {"type"}) == "Warning");
  CHECK(Text(*event, {"message"}) == "why");
}

struct World {
  std::shared_ptr<ScriptedTransport> transport = std::make_shared<ScriptedTransport>();
  std::shared_ptr<testing::FakeClock> clock = std::make_shared<testing::FakeClock>();
  std::vector<std::string> log = {};
  ResourceReporter reporter{std::make_shared<const ObjectClient>(transport, "op"), "op", clock,
                            [this](const LogRecord& record) { log.push_back(FormatLogfmt(record)); }};

  absl::Time Report(const ApiObject& object, const absl::Status& error) {
    return reporter.Report({}, {{.kind = kPolicies, .object = object, .error = error}});
  }
  std::size_t sent() const { return transport->lines.size(); }
};

TEST_CASE("a problem is reported once by a condition and an Event, and its end is reported by the condition") {
  World world;
  world.transport->Answer(200, Policy("", "8").json);
  world.transport->Answer(201, R"({"kind":"Event","apiVersion":"v1","metadata":{"name":"e","namespace":"default"}})");
  CHECK(world.Report(Policy(""), kWrong) == absl::InfiniteFuture());
  REQUIRE(world.sent() == 2);
  CHECK(world.transport->lines[0] == "PATCH /apis/nvidia.com/v1/clusterpolicies/p/status?fieldManager=op");
  CHECK(world.transport->lines[1] == "POST /api/v1/namespaces/default/events?fieldManager=op");
  world.Report(Policy(""), kWrong);
  world.Report(Policy(Condition("False", "InvalidPolicy", "in spec.driver.upgradePolicy: drain: no"), "8"), kWrong);
  CHECK(world.sent() == 2);
  world.transport->Answer(200, Policy("", "9").json);
  world.Report(Policy(Condition("False", "InvalidPolicy", "in spec.driver.upgradePolicy: drain: no"), "9", 4),
               absl::OkStatus());
  CHECK(world.sent() == 3);
}

TEST_CASE("a valid policy reports that it is not in effect, even if only other policies have changed") {
  World world;
  const std::string in_effect = Condition("True", "Accepted", "the upgrade policy is in effect");
  world.Report(Policy(in_effect), absl::OkStatus());
  CHECK(world.sent() == 0);
  const absl::Status idle = absl::FailedPreconditionError("ClusterPolicy q is in effect: it is older");
  world.transport->Answer(200, Policy("", "8").json);
  world.transport->Answer(201, R"({"kind":"Event","apiVersion":"v1","metadata":{"name":"e","namespace":"default"}})");
  world.reporter.Report({}, {{.kind = kPolicies, .object = Policy(in_effect), .error = idle, .state = "ignored"}});
  REQUIRE(world.sent() == 2);
  CHECK(world.transport->requests[0].body.find(R"("state":"ignored","conditions":[)") != std::string::npos);
  CHECK(world.transport->requests[0].body.find(R"("status":"False","reason":"NotInEffect")") != std::string::npos);
  CHECK(world.transport->requests[1].body.find(R"("reason":"NotInEffect")") != std::string::npos);
}

TEST_CASE("node counts are written at most every ten seconds, and the outcome of the upgrade is written immediately") {
  World world;
  const std::string answer = R"({"apiVersion":"nvidia.com/v1","kind":"ClusterPolicy","metadata":{"name":"p"}})";
  for (int i = 0; i < 3; ++i) world.transport->Answer(200, answer);
  const auto report = [&](const std::string& reason, const std::string& message) {
    return world.reporter.Report({}, {{.kind = kPolicies,
                                       .object = Policy(""),
                                       .standing = examples::UpgradeStanding{.reason = reason, .message = message}}});
  };
  report("UnderWay", "0 of 3");
  CHECK(world.transport->requests.size() == 1);
  CHECK(report("UnderWay", "1 of 3") == world.clock->Now() + absl::Seconds(10));
  CHECK(world.transport->requests.size() == 1);
  world.clock->Advance(absl::Seconds(10));
  CHECK(report("UnderWay", "2 of 3") == absl::InfiniteFuture());
  CHECK(world.transport->requests.size() == 2);
  report("Done", "3 of 3");
  CHECK(world.transport->requests.size() == 3);
}

TEST_CASE("W1: counts that change and change back within two seconds cause no write") {
  World world;
  for (int i = 0; i < 2; ++i) world.transport->Answer(200, Policy("").json);
  const auto report = [&](const std::string& message) {
    return world.reporter.Report({},
                                 {{.kind = kPolicies,
                                   .object = Policy(""),
                                   .standing = examples::UpgradeStanding{.reason = "UnderWay", .message = message}}});
  };
  report("0 of 3");
  for (int times = 0; times < 5; ++times) {
    world.clock->Advance(absl::Seconds(20));
    CHECK(report("1 of 3") == world.clock->Now() + absl::Seconds(2));
    world.clock->Advance(absl::Seconds(1));
    CHECK(report("0 of 3") == absl::InfiniteFuture());
  }
  CHECK(world.sent() == 1);
  report("1 of 3");
  world.clock->Advance(absl::Seconds(2));
  CHECK(report("2 of 3") == absl::InfiniteFuture());
  CHECK(world.sent() == 2);
}

TEST_CASE("W1: two alternating reasons are written less and less often") {
  World world;
  for (int i = 0; i < 20; ++i) world.transport->Answer(200, Policy("").json);
  const auto report = [&](const std::string& reason) {
    return world.reporter.Report({}, {{.kind = kPolicies,
                                       .object = Policy(""),
                                       .state = reason == "Done" ? "ready" : "notReady",
                                       .standing = examples::UpgradeStanding{.reason = reason, .message = reason}}});
  };
  // The start of a rollout is reported immediately.
  report("Done");
  report("UnderWay");
  report("Done");
  CHECK(world.sent() == 3);
  // Another client removes the state labels every five seconds for two minutes.
  for (int second = 0; second < 120; second += 5) {
    world.clock->Advance(absl::Seconds(5));
    report(second % 10 == 0 ? "UnderWay" : "Done");
  }
  CHECK(world.sent() == 3 + 4);
  // When that client stops, the last reason is written.
  CHECK(report("UnderWay") != absl::InfiniteFuture());
  world.clock->Advance(absl::Minutes(2));
  CHECK(report("UnderWay") == absl::InfiniteFuture());
  world.clock->Advance(absl::Minutes(10));
  report("Done");
  CHECK(world.sent() == 3 + 4 + 2);
  CHECK(report("UnderWay") == absl::InfiniteFuture());
}

TEST_CASE("if another program also writes status.state, our program writes it at most every ten seconds") {
  World world;
  const examples::UpgradeStanding under_way{.reason = "UnderWay", .message = "0 of 3"};
  for (int i = 0; i < 2; ++i) world.transport->Answer(200, Policy("").json);
  const auto report = [&](const std::string& version) {
    return world.reporter.Report({}, {{.kind = kPolicies,
                                       .object = Policy("", version),
                                       .state = examples::StateOf({under_way}),
                                       .standing = under_way}});
  };
  report("7");
  REQUIRE(world.sent() == 1);
  CHECK(world.transport->requests[0].body.find(R"("state":"notReady","conditions":[)") != std::string::npos);
  // The other program's version of the object reports a different state.
  CHECK(report("9") == world.clock->Now() + absl::Seconds(10));
  CHECK(world.sent() == 1);
  world.clock->Advance(absl::Seconds(10));
  report("9");
  CHECK(world.sent() == 2);
}

TEST_CASE("a forbidden write is logged once with the verb and resource, and retried later") {
  World world;
  world.transport->Answer(403, StatusBody(403, "Forbidden", "cannot patch resource clusterpolicies/status"));
  const absl::Time again = world.Report(Policy(""), kWrong);
  CHECK(again == world.clock->Now() + absl::Seconds(30));
  world.Report(Policy(""), kWrong);
  CHECK(world.sent() == 1);
  REQUIRE(world.log.size() == 1);
  CHECK(world.log[0].find("cannot patch resource clusterpolicies/status") != std::string::npos);
  world.clock->Advance(absl::Seconds(30));
  world.transport->Answer(403, StatusBody(403, "Forbidden", "cannot patch resource clusterpolicies/status"));
  world.Report(Policy(""), kWrong);
  CHECK(world.sent() == 2);
  CHECK(world.log.size() == 1);
}

TEST_CASE("an Event that could not be written is retried") {
  World world;
  const std::string wrong = Condition("False", "InvalidPolicy", "in spec.driver.upgradePolicy: drain: no");
  world.transport->Answer(200, Policy(wrong, "8").json);
  world.transport->Answer(500, StatusBody(500, "InternalError", "no"));
  world.Report(Policy(""), kWrong);
  world.clock->Advance(absl::Minutes(1));
  world.transport->Answer(201, R"({"kind":"Event","apiVersion":"v1","metadata":{"name":"e","namespace":"default"}})");
  CHECK(world.Report(Policy(wrong, "8"), kWrong) == absl::InfiniteFuture());
  CHECK(world.transport->lines.back() == "POST /api/v1/namespaces/default/events?fieldManager=op");
}

TEST_CASE("W32: an error in a policy causes one Event for each change, regardless of progress and other writers") {
  World world;
  const std::string event = R"({"kind":"Event","apiVersion":"v1","metadata":{"name":"e","namespace":"default"}})";
  int done = 0;
  // Another program has removed the condition from each object.
  const auto report = [&](const ApiObject& object, const absl::Status& error) {
    world.clock->Advance(absl::Minutes(1));
    world.transport->Answer(200, object.json);
    world.transport->Answer(201, event);
    const std::size_t before = world.sent();
    const examples::UpgradeStanding standing{.reason = "UnderWay",
                                             .message = std::to_string(++done) + " of 9 nodes done"};
    world.reporter.Report({}, {{.kind = kPolicies, .object = object, .error = error, .standing = standing}});
    const bool has_event = world.transport->lines.back().starts_with("POST /api/v1/namespaces/default/events");
    return std::to_string(world.sent() - before) + (has_event ? " with an Event" : "");
  };
  CHECK(report(Policy(""), kWrong) == "2 with an Event");
  CHECK(report(Policy("", "8"), kWrong) == "1");
  CHECK(report(Policy("", "9"), kWrong) == "1");
  CHECK(report(Policy("", "10", 4), kWrong) == "2 with an Event");
  CHECK(report(Policy("", "11", 4), absl::InvalidArgumentError("another")) == "2 with an Event");
}

}  // namespace
}  // namespace driverupgrade::tests
