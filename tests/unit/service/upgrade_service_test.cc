// Tests the complete service on the fake cluster: one step runs all its parts.
#include "driverupgrade/service/upgrade_service.h"

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "driverupgrade/policy_codec.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "fmt/format.h"
#include "support/catch.h"
#include "support/http_get.h"
#include "support/node_under_test.h"
#include "unit/service/service_world.h"

namespace driverupgrade::tests {
namespace {

TEST_CASE("a service leads, upgrades every node, and leaves the Lease to others when it stops") {
  World world;
  ServiceOptions options = world.Options();
  options.election = world.Election("a");
  world.Make(std::move(options));
  world.director.wanted = std::vector{world.Spec()};
  REQUIRE(world.TurnsUntilEnd());
  CHECK(world.service->End()->IsGood());
  CHECK(world.service->End()->upgrading == 1);
  CHECK(world.service->totals().done == 2);
  CHECK(world.service->Healthy().ok());
  CHECK(world.service->Ready().ok());
  CHECK(world.cluster->lease(world.fleet.ns, "lease")->holder == "a");
  CHECK(world.director.worked->deadline <=
        world.clock->Now() + absl::Seconds(10));  // every call of a leader needs a deadline
  CHECK(world.director.worked->scope == 1);       // scope 0 belongs to the engine
  world.service->Stop();
  CHECK(world.cluster->lease(world.fleet.ns, "lease")->holder.empty());
}

TEST_CASE("a replica that does not lead is ready, but upgrades no nodes and does not call the director's Work") {
  World world;
  ServiceOptions options = world.Options();
  options.election = world.Election("a");
  world.Make(options);
  world.director.wanted = std::vector{world.Spec()};
  world.Turn();
  PlayedDirector idle;
  idle.wanted = std::vector{world.Spec()};
  options.election = world.Election("b");
  const auto second = UpgradeService::Create(world.cluster, idle, options);
  REQUIRE(second.ok());
  REQUIRE((*second)->Step({}).ok());
  CHECK_FALSE(idle.worked);
  CHECK((*second)->totals().total == 0);
  (*second)->Stop();
}

TEST_CASE("no node is upgraded before the director has prepared the cluster, and an obstacle is reported once") {
  World world;
  world.director.prepared = absl::UnavailableError("labels are not migrated yet");
  world.director.wanted = std::vector{world.Spec()};
  world.Make(world.Options());
  CHECK(world.Step() == world.clock->Now() + absl::Seconds(5));
  world.cluster->Advance(absl::Seconds(5));
  CHECK(world.Step() == world.clock->Now() + absl::Seconds(5));
  CHECK(world.Logged("msg=\"cannot start\" error=\"labels are not migrated yet\"") == 1);
  CHECK_FALSE(world.director.worked);
  CHECK(world.service->totals().total == 0);
  world.director.prepared = absl::OkStatus();
  world.cluster->Advance(absl::Seconds(5));
  REQUIRE(world.TurnsUntilEnd());
  CHECK(world.service->End()->IsGood());
}

TEST_CASE("a service is not ready until its director has listed the engines, and an empty list ends the rollout") {
  World world;
  world.Make(world.Options());
  world.Step();
  CHECK(world.service->Ready() == absl::UnavailableError("the policy has not been read yet"));
  CHECK_FALSE(world.service->End());
  world.director.ready = absl::PermissionDeniedError("cannot read the policy");
  CHECK(world.service->Ready() == world.director.ready);
  world.director.ready = absl::OkStatus();
  world.director.wanted.emplace();
  world.Step();
  CHECK(world.service->Ready().ok());
  CHECK(world.service->End() == RolloutEnd{});
  CHECK_FALSE(world.service->End()->IsGood());
}

TEST_CASE("engines are added and removed at the director's request, and counters keep their values") {
  World world;
  world.director.wanted = std::vector{world.Spec()};
  world.Make(world.Options());
  REQUIRE(world.TurnsUntilEnd());
  const std::string deleted = "driverupgrade_driver_pods_deleted_total{driver=\"nvidia.com/gpu\"} 2\n";
  CHECK(world.service->Metrics().find(deleted) != std::string::npos);
  world.director.wanted.emplace();
  world.Step();
  CHECK(world.service->totals().total == 0);
  CHECK(world.service->Metrics().find(deleted) != std::string::npos);
}

TEST_CASE("the Lease contains the policy in effect, and a new leader's policy replaces it") {
  World world;
  ServiceOptions options = world.Options();
  options.election = world.Election("a");
  world.Make(std::move(options));
  const auto reported = [&] {
    const StringMap annotations = world.cluster->lease(world.fleet.ns, "lease")->annotations;
    const auto found = annotations.find(Gpu().PolicyAnnotation());
    return found == annotations.end() ? std::string() : std::string(found->second);
  };
  const auto policies = [](const UpgradePolicy& policy) { return "{\"\":" + FormatUpgradePolicy(policy) + "}"; };
  const auto renew = [&] {
    world.clock->Advance(absl::Seconds(2));
    world.Turn();
  };
  world.Turn();
  CHECK(reported().empty());  // the director has not listed its engines yet
  world.director.wanted = std::vector{world.Spec()};
  world.Turn();
  renew();
  CHECK(reported() == policies(world.Spec().policy));
  world.director.wanted->front().policy.max_parallel = 2;
  world.Turn();
  renew();
  CHECK(reported() == policies(world.director.wanted->front().policy));
  world.service->Stop();
  world.service = nullptr;
  ServiceOptions of_next = world.Options();
  of_next.election = world.Election("b");
  world.Make(std::move(of_next));
  const UpgradePolicy last = world.director.wanted->front().policy;
  world.director.wanted = std::nullopt;
  world.clock->Advance(absl::Seconds(20));
  CHECK(reported() == policies(last));  // the last report of the leader that has exited
  world.Turn();
  CHECK(world.cluster->lease(world.fleet.ns, "lease")->holder == "b");
  CHECK(reported().empty());
}

TEST_CASE("the Lease contains the policies of all engines, or no policy if their total length is too long") {
  World world;
  ServiceOptions options = world.Options();
  options.election = world.Election("a");
  world.director.tells_of_refused = true;
  world.director.wanted.emplace();
  int engines = 0;
  SECTION("two engines, and one that cannot be created") {
    engines = 2;
    world.director.wanted->push_back(world.Spec());
    world.director.wanted->back().name = "no DNS name";
    options.engine.ledger = {.ns = world.fleet.ns, .name = "lock"};
  }
  SECTION("a hundred engines") { engines = 100; }
  for (int i = engines; i > 0; --i) {
    EngineSpec spec = world.Spec();
    spec.name = fmt::format("pool-{}", i);
    spec.node_selector = LabelSelector::FromMatchLabels({{"pool", spec.name}});
    world.director.wanted->push_back(std::move(spec));
  }
  world.Make(std::move(options));
  world.Turn();
  world.clock->Advance(absl::Seconds(2));
  world.Step();
  StringMap annotations = world.cluster->lease(world.fleet.ns, "lease")->annotations;
  annotations.erase(OptionsAnnotation(Gpu()));
  if (engines == 2) {
    const std::string policy = FormatUpgradePolicy(world.Spec().policy);
    const std::string text = "{\"pool-1\":" + policy + ",\"pool-2\":" + policy + "}";
    CHECK(annotations == StringMap{{Gpu().PolicyAnnotation(), text}});
  } else {
    CHECK(annotations.empty());
    CHECK(world.Logged("cannot report the policies in the Lease") == 1);
  }
}

TEST_CASE("the Lease contains the options of its leader, even after the leader has stopped (W36)") {
  World world;
  ServiceOptions options = world.Options();
  options.election = world.Election("a");
  options.reported = {.resources = {"example.com/fpga"}};
  world.Make(std::move(options));
  const auto reported = [&] {
    const StringMap annotations = world.cluster->lease(world.fleet.ns, "lease")->annotations;
    const auto found = annotations.find("nvidia.com/gpu-driver-upgrade.options");
    return found == annotations.end() ? std::string() : std::string(found->second);
  };
  const auto renew = [&] {
    world.Turn();
    world.clock->Advance(absl::Seconds(2));
    world.Turn();
  };
  const auto report = [&](const std::string& policy_resource) {
    return fmt::format(R"({{"namespace":"{}","driverLabels":"app={}","resources":["example.com/fpga"]{}}})",
                       world.fleet.ns, world.fleet.daemon_set, policy_resource);
  };
  renew();
  CHECK(reported().empty());  // the director has not listed its engines yet
  world.director.wanted = std::vector{world.Spec()};
  renew();
  CHECK(reported() == report(""));
  world.director.wanted->front().policy_resource = "example.com/v1/fpgas/fpga:spec";
  renew();
  const std::string last = report(R"(,"policyResource":"example.com/v1/fpgas/fpga:spec")");
  CHECK(reported() == last);
  world.director.wanted.emplace();
  renew();
  CHECK(reported() == last);  // the report stays, because nodes may still have to be released
  world.service->Stop();
  world.service = nullptr;
  CHECK(reported() == last);
  ServiceOptions of_next = world.Options();
  of_next.election = world.Election("b");
  world.Make(std::move(of_next));
  world.director.wanted = std::nullopt;
  world.clock->Advance(absl::Seconds(20));
  world.Turn();
  CHECK(world.cluster->lease(world.fleet.ns, "lease")->holder == "b");
  CHECK(reported().empty());
}

TEST_CASE("by default, the service stops if an engine cannot be created") {
  World world;
  EngineSpec spec = world.Spec();
  spec.name = "no DNS name";
  ServiceOptions options = world.Options();
  options.engine.ledger = {.ns = world.fleet.ns, .name = "lock"};
  world.director.wanted = std::vector{spec};
  world.Make(std::move(options));
  CHECK(absl::IsInvalidArgument(world.service->Step({}).status()));
  CHECK(absl::IsInvalidArgument(world.service->Run({})));
}

TEST_CASE("if the director reports engines that cannot be created, the other engines continue, but the rollout fails") {
  World world;
  EngineSpec bad = world.Spec();
  bad.name = "no DNS name";
  EngineSpec good = world.Spec();
  good.name = "good";
  ServiceOptions options = world.Options();
  options.engine.ledger = {.ns = world.fleet.ns, .name = "lock"};
  options.parallel_total = 2;
  world.director.tells_of_refused = true;
  world.director.wanted = std::vector{bad, good};
  world.Make(std::move(options));
  REQUIRE(world.TurnsUntilEnd());
  CHECK(world.service->totals().done == 2);
  CHECK(world.service->End()->engines == 1);
  CHECK(world.service->End()->refused == 1);
  CHECK_FALSE(world.service->End()->IsGood());
  REQUIRE(world.director.refused.size() == 1);
  CHECK(absl::IsInvalidArgument(world.director.refused.at("no DNS name")));
  CHECK(world.Logged("msg=\"cannot create an engine\" owner=\"no DNS name\"") == 1);
  // A change of policies affects only running engines.
  world.director.wanted->back().policy.paused = true;
  world.Step();
  CHECK(world.director.refused.size() == 1);
}

TEST_CASE("the nodes of a removed owner are released, and the release is reported until it is complete") {
  World world;
  EngineSpec spec = world.Spec();
  spec.policy.max_parallel = 2;
  spec.policy.drain.emplace();
  world.director.wanted = std::vector{spec};
  world.Make(world.Options());
  const auto marked = [&] {
    int count = 0;
    for (const Node& node : world.cluster->nodes()) {
      count += node.unschedulable || node.labels.contains(Gpu().StateLabel());
    }
    return count;
  };
  for (int i = 0; i < 100 && !world.cluster->node("node-1")->unschedulable; ++i) world.Turn();
  REQUIRE(marked() == 2);
  world.director.wanted.emplace();
  SECTION("the nodes are frozen if the director does not report the removal") {
    world.Step();
    CHECK(marked() == 2);
  }
  SECTION("the nodes are released if the director reports the removal") {
    world.director.gone = {spec};
    world.cluster->FailNext(Operation::kPatchNode, absl::PermissionDeniedError("no"));
    world.Step();
    CHECK(marked() == 1);
    CHECK_FALSE(world.service->End());
    CHECK(world.Logged("msg=\"nodes are not released yet\"") == 1);
    const auto left = [&](int nodes) {
      const std::string line = fmt::format("driverupgrade_nodes_giving_back{{driver=\"nvidia.com/gpu\"}} {}\n", nodes);
      return world.service->Metrics().find(line) != std::string::npos;
    };
    CHECK(left(2));
    for (int i = 0; i < 40; ++i) {
      world.Step();
      world.cluster->Advance(absl::Milliseconds(500));
    }
    CHECK(marked() == 0);
    CHECK(world.service->End().has_value());
    CHECK(left(0));
    CHECK(world.Logged("msg=\"nodes released\"") == 1);
    CHECK(world.Logged("nodes=2") >= 1);
  }
}

TEST_CASE("the director is informed of the progress of its engines") {
  World world;
  EngineSpec spec = world.Spec();
  spec.policy.failure_policy = FailurePolicy{.max_failures = Count{1}};
  world.director.wanted = std::vector{spec};
  world.cluster->EditNode("node-1", [](Node& node) { node.labels[Gpu().StateLabel()] = "upgrade-failed"; });
  world.cluster->EditNode("node-2", [](Node& node) { node.labels[Gpu().StateLabel()] = "upgrade-required"; });
  world.Make(world.Options());
  CHECK(world.director.progress.empty());
  for (int i = 0; i < 3; ++i) world.Turn();
  REQUIRE(world.director.progress.size() == 1);
  CHECK(world.director.progress.at("").totals.total == 2);
  CHECK(world.director.progress.at("").halted);
}

TEST_CASE("the director is informed of the nodes that are left out, once no other node is in progress") {
  World world;
  world.director.wanted = std::vector{world.Spec()};
  world.cluster->EditNode("node-2", [](Node& node) { node.labels[Gpu().SkipUpgradeLabel()] = "true"; });
  world.Make(world.Options());
  REQUIRE(world.TurnsUntilEnd());
  world.Turn();
  CHECK(world.director.progress.at("").totals.done == 1);
  CHECK(world.director.progress.at("").totals.pending == 1);
  CHECK(world.director.progress.at("").left_out == 1);
}

TEST_CASE("a finding from the director is reported once while it persists, and is counted") {
  World world;
  world.director.wanted = std::vector{world.Spec()};
  world.director.findings = {{.code = FindingCode::kNoOwner, .node = "node-1", .message = "node-1 has no owner"},
                             {.code = FindingCode::kNoOwner, .node = "node-2", .message = "node-2 has no owner"}};
  world.Make(world.Options());
  for (int i = 0; i < 3; ++i) world.Turn();
  CHECK(world.Logged("msg=finding code=NoOwner count=2 detail=\"node-1 has no owner\"") == 1);
  const std::string counted = "driverupgrade_findings{driver=\"nvidia.com/gpu\",code=\"NoOwner\"} ";
  CHECK(world.service->Metrics().find(counted + "2\n") != std::string::npos);
  world.director.findings.clear();
  world.Turn();
  CHECK(world.service->Metrics().find(counted + "0\n") != std::string::npos);
}

TEST_CASE("findings about the configuration are logged once, and counted in the metrics") {
  World world;
  EngineSpec spec = world.Spec();
  spec.driver_labels = LabelSelector::FromMatchLabels({{"app", "nobody"}});
  world.director.wanted = std::vector{spec};
  world.Make(world.Options());
  for (int i = 0; i < 3; ++i) world.Turn();
  for (const char* code : {"NoDaemonSet", "NothingIsEvicted"}) {
    CAPTURE(code);
    CHECK(world.Logged(fmt::format("msg=finding driver=nvidia.com/gpu code={}", code)) == 1);
    const std::string line = fmt::format("driverupgrade_findings{{driver=\"nvidia.com/gpu\",code=\"{}\"}} 1\n", code);
    CHECK(world.service->Metrics().find(line) != std::string::npos);
  }
}

TEST_CASE("Run succeeds on a stop request, and fails at a deadline") {
  World world;
  world.Make(world.Options());
  CHECK(absl::IsDeadlineExceeded(world.service->Run({.deadline = world.clock->Now()})));
  std::stop_source stop;
  stop.request_stop();
  CHECK(world.service->Run({.stop = stop.get_token()}).ok());
}

TEST_CASE("the director's bell wakes a waiting loop") {
  World world;
  ServiceOptions options = world.Options();
  options.bell = std::make_shared<Doorbell>();
  const auto bell = options.bell;
  world.Make(std::move(options));
  std::atomic<bool> rung = false;
  std::jthread later([&] {
    rung = true;
    bell->Ring();
  });
  world.service->Wait(absl::InfiniteFuture(), {});
  CHECK(rung);
}

TEST_CASE("probes and metrics may share one address") {
  World world;
  ServiceOptions options = world.Options();
  options.health_address = options.metrics_address = "127.0.0.1:0";
  world.Make(std::move(options));
  REQUIRE(world.log.size() == 1);
  const int port = std::stoi(world.log[0].substr(world.log[0].find("port=") + 5));
  CHECK(HttpGet(port, "/healthz").starts_with("HTTP/1.1 200"));
  CHECK(HttpGet(port, "/readyz").starts_with("HTTP/1.1 503"));
  CHECK(HttpGet(port, "/metrics").find("driverupgrade_leader{driver=\"nvidia.com/gpu\"} 1\n") != std::string::npos);
}

TEST_CASE("invalid options are refused before a request is sent") {
  World world;
  const auto code = [&](const ServiceOptions& options) {
    return UpgradeService::Create(world.cluster, world.director, options).status().code();
  };
  ServiceOptions options = world.Options();
  CHECK(UpgradeService::Create(nullptr, world.director, options).status().code() == absl::StatusCode::kInvalidArgument);
  options.health_address = "localhost";
  CHECK(code(options) == absl::StatusCode::kInvalidArgument);
  options.health_address = "192.0.2.1:0";
  CHECK(code(options) == absl::StatusCode::kUnavailable);
  options = world.Options();
  options.election = LeaderElectionOptions{.ns = world.fleet.ns, .name = "lease"};
  CHECK(code(options) == absl::StatusCode::kInvalidArgument);
  CHECK(world.cluster->journal().empty());
}

}  // namespace
}  // namespace driverupgrade::tests
