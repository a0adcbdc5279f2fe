// Compares deploy/rbac with the requests that the library and our operators send. The library runs every scenario, and
// a rollout with a controller that has a cache, a Lease and a ledger.
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "deploy/rights.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/kubernetes/object_client.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_controller.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/watch_cache.h"
#include "scenarios/golden_file.h"
#include "scenarios/scenario_commands.h"
#include "scenarios/scenario_file.h"
#include "support/catch.h"
#include "support/node_under_test.h"
#include "unit/wire/scripted_transport.h"
#ifdef DRIVERUPGRADE_HAVE_OPERATORS
#include "gpu/gpu_filter.h"
#include "gpu/policy_director.h"
#include "ofed/ofed_director.h"
#endif

namespace driverupgrade::tests {
namespace {

namespace fs = std::filesystem;
using testing::FakeClock;
using testing::FakeCluster;

const fs::path kRoot = DRIVERUPGRADE_SOURCE_DIR;
constexpr char kDriverNs[] = "gpu-operator";
constexpr char kName[] = "nvidia-gpu-driver-upgrade";

void RunScenarios(const std::shared_ptr<Rights>& rights) {
  for (const auto& file : fs::directory_iterator(kRoot / "tests/scenarios")) {
    if (file.path().extension() != ".txt" || file.path().filename() == "CMakeLists.txt") continue;
    Scenario scenario([&](std::shared_ptr<ClusterFacade> next) { return NoteRights(std::move(next), rights); });
    for (const ScenarioBlock& block : ParseScenario(ReadFile(file.path())).blocks) {
      for (const ScenarioCommand& command : block.commands) scenario.Run(command.text);
    }
  }
}

// Refuses the first pod deletions in each namespace, so that the operator has more to report.
class RefusingFacade final : public ForwardingFacade {
 public:
  using ForwardingFacade::ForwardingFacade;
  absl::Status DeletePod(const CallContext& context, const DeletePodParams& params) override {
    if (++deletions_[params.pod.ns] <= 3) return absl::PermissionDeniedError("delete pod: 403 Forbidden");
    return ForwardingFacade::DeletePod(context, params);
  }

 private:
  std::map<std::string, int> deletions_;
};

// A controller with the same options as gpu_operator with --leader-elect, --ledger and --requestor-id.
struct Operator {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster =
      std::make_shared<FakeCluster>(clock, testing::FakeClusterOptions{.watches_follow = false});
  testing::Fleet fleet = AddFleet(*cluster, {.node_count = 3});
  std::shared_ptr<ClusterFacade> facade;
  std::shared_ptr<WatchCache> cache = nullptr;
  std::unique_ptr<UpgradeEngine> engine = nullptr;
  std::unique_ptr<UpgradeController> controller = nullptr;

  explicit Operator(std::shared_ptr<Rights> rights)
      : facade(NoteRights(std::make_shared<RefusingFacade>(cluster), std::move(rights))) {
    const LabelSelector labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}});
    cache = *WatchCache::Create(
        facade, {.drivers = {{.ns = fleet.ns, .driver_labels = labels, .maintenance_ns = "default"}}, .clock = clock});
    const RequestorOptions requestor{.id = "gpu.example.com", .ns = "default", .enabled = false};
    EngineOptions options{.snapshot = {.ns = fleet.ns, .driver_labels = labels},
                          .state_machine = {.requestor = requestor},
                          .cache = cache,
                          .ledger = AdmissionLedgerOptions{.ns = fleet.ns, .name = kName},
                          .clock = clock};
    options.executor.calls_in_flight = 1;
    auto created = UpgradeEngine::Create(Gpu(), facade, std::move(options));
    INFO(created.status().ToString());
    REQUIRE(created.ok());
    engine = *std::move(created);
    auto election = LeaderElection::Create(facade, {.ns = fleet.ns, .name = kName, .identity = "this", .clock = clock});
    controller =
        std::make_unique<UpgradeController>(*engine, cache, ControllerOptions{.election = *std::move(election)});
    DrainPolicy drain{.timeout = absl::Seconds(5)};
    drain.on_timeout = OnTimeout::kDelete;
    controller->SetPolicy({.auto_upgrade = true, .max_parallel = 1, .drain = drain});
  }

  // Runs a rollout. Returns true if all nodes are done at the end.
  bool Roll() {
    // A disruption budget protects the pod, so the pod is deleted at the drain timeout. The first attempts are refused.
    cluster->AddDisruptionBudget({.ns = "team-b",
                                  .name = "never",
                                  .selector = LabelSelector::FromMatchLabels({{"app", "pinned"}}),
                                  .min_available = 1});
    cluster->AddPod(testing::PodBuilder("team-b", "pinned")
                        .OnNode(fleet.node_names.front())
                        .WithLabel("app", "pinned")
                        .OwnedByStatefulSet("pinned")
                        .Build());
    cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
    for (int i = 0; i < 2000; ++i) {
      cache->Turn({});
      controller->Step({});
      cluster->Advance(absl::Milliseconds(500));
      if (controller->status().totals.InState(UpgradeState::kDone) == 3) break;
    }
    controller->Stop();
    return controller->status().totals.InState(UpgradeState::kDone) == 3;
  }
};

struct Needed {
  Rights base = {};
  Rights on_timeout_delete = {};
  Rights requestor = {};
};

// Moves permissions into the namespaces of the manifests, and groups them by the directory that must grant them.
Needed Sorted(const Rights& noted) {
  Needed needed;
  for (Right right : noted) {
    const bool of_driver = right.ns == kDriverNs || right.ns == "ofed-operator";
    if (of_driver) right.ns = kDriverNs;
    const bool is_delete = right.resource == "pods" && right.verb == "delete";
    // Workloads can be in any namespace.
    const bool of_workload = (is_delete || right.resource == "events") && !of_driver && right.ns != "default";
    if (right.resource == "pods/eviction" || of_workload) right.ns.clear();
    if (right.group == "maintenance.nvidia.com") {
      needed.requestor.insert(right);
    } else if (of_workload) {
      needed.on_timeout_delete.insert(right);
    } else {
      needed.base.insert(right);
    }
  }
  return needed;
}

// Returns the permissions that the library needs in the namespaces of the manifests.
std::shared_ptr<Rights> NoteLibrary() {
  const auto noted = std::make_shared<Rights>();
  RunScenarios(noted);
  const auto with_ledger = std::make_shared<Rights>();
  Operator upgrades(with_ledger);
  REQUIRE(upgrades.Roll());
  for (Right right : *with_ledger) {
    if (right.ns == upgrades.fleet.ns) right.ns = kDriverNs;
    noted->insert(right);
  }
  return noted;
}

#ifdef DRIVERUPGRADE_HAVE_OPERATORS

std::shared_ptr<const ObjectClient> NotingObjects(const std::shared_ptr<Rights>& rights) {
  return std::make_shared<const ObjectClient>(MakeNotingTransport(rights));
}

// Records the permissions that are needed for a pod's claims.
void NoteGpuPods(const std::shared_ptr<Rights>& rights) {
  Pod pod = testing::PodBuilder("team-a", "web").Build();
  pod.resource_claims = {"claim"};
  REQUIRE(gpu_operator::GpuPodFilter(NotingObjects(rights))({}, pod).ok());
  *rights = Everywhere(*rights, {"resourceclaims"});
}

// Records the permissions that are needed to report on the objects that contain policies.
void NoteReport(const std::shared_ptr<Rights>& rights, const ObjectKind& kind) {
  examples::ResourceReporter(NotingObjects(rights), "op", std::make_shared<FakeClock>(), [](const LogRecord&) {
  }).Report({}, {{.kind = kind, .object = {.name = "p", .uid = "u", .resource_version = "1", .json = "{}"}}});
}

TEST_CASE("deploy/rbac/cluster-policy grants the permissions for policies that deploy/rbac/base lacks") {
  const auto noted = std::make_shared<Rights>();
  gpu_operator::ClusterPolicyDirector director(
      NotingObjects(noted), std::make_shared<FakeCluster>(std::make_shared<FakeClock>()),
      {.identity = Gpu(), .bell = std::make_shared<driverupgrade::Doorbell>(), .log = [](const LogRecord&) {}});
  director.Turn({});
  REQUIRE(director.Wanted());
  NoteReport(noted, gpu_operator::kClusterPolicies);
  NoteReport(noted, gpu_operator::kNvidiaDrivers);
  CheckBothWays(RightsOf(kRoot / "deploy/rbac/cluster-policy", {}), *noted);
}

// Returns the permissions to read a DaemonSet, to create it if it is missing, and to patch it if it was created with
// another image.
Rights NoteMaker(const std::string& ns) {
  const auto noted = std::make_shared<Rights>();
  examples::DriverDaemonSet set{.ns = ns, .name = "driver", .labels = {{"app", "driver"}}};
  for (const int status : {404, 200}) {
    const auto transport = std::make_shared<ScriptedTransport>();
    transport->Answer(status, status == 404 ? StatusBody(404, "NotFound", "no") : examples::DaemonSetJson(set));
    transport->Answer(200, examples::DaemonSetJson(set));
    examples::DriverMaker maker(
        std::make_shared<const ObjectClient>(MakeNotingTransport(noted, transport), "op"),
        std::make_shared<FakeClock>(), [](const LogRecord&) {}, examples::DriverDaemonSets::kMake);
    examples::DriverDaemonSet changed = set;
    changed.image.reference = "driver:2";
    maker.Wish({changed});
    maker.Keep({});
  }
  return *noted;
}

TEST_CASE("the directories for --driver-daemonsets=Make grant the permissions to create DaemonSets, and nothing else") {
  const auto [folder, ns] = GENERATE(table<std::string, std::string>(
      {{"driver-daemonsets", "gpu-operator"}, {"ofed-driver-daemonsets", "nvidia-network-operator"}}));
  CAPTURE(folder);
  CheckBothWays(RightsOf(kRoot / "deploy/rbac" / folder, {}), NoteMaker(ns));
}

// Records the requests from ofed_operator that are not part of the rollout, on a cluster that still has objects in an
// earlier format.
void NoteOfed(const std::shared_ptr<Rights>& rights, const std::string& ns) {
  const auto cluster = std::make_shared<FakeCluster>(std::make_shared<FakeClock>());
  cluster->AddNode(testing::NodeBuilder("n1").WithAnnotation(ofed_operator::kLegacyStateAnnotation, "").Build());
  cluster->AddDaemonSet({.ns = ns,
                         .name = "mofed",
                         .labels = {{ofed_operator::kOfedDriverLabel, ""}},
                         .match_labels = {{ofed_operator::kOfedDriverLabel, ""}}});
  ofed_operator::OfedDirector director({.cluster = NoteRights(cluster, rights), .objects = NotingObjects(rights)},
                                       {.identity = Ofed(),
                                        .ns = ns,
                                        .driver_labels = Selector("a=b"),
                                        .policy = UpgradePolicy{.auto_upgrade = true},
                                        .bell = std::make_shared<driverupgrade::Doorbell>(),
                                        .log = [](const LogRecord&) {}});
  REQUIRE(director.Prepare({}).ok());
  director.Work({}, nullptr, 0);
  director.Turn({});
  NoteReport(rights, ofed_operator::kNicClusterPolicies);
  NoteReport(rights, ofed_operator::kNicNodePolicies);
}

TEST_CASE("deploy/rbac/ofed grants the permissions that ofed_operator needs, and nothing else") {
  const std::string ns = "nvidia-network-operator";
  const auto needed = std::make_shared<Rights>();
  for (Right right : Sorted(*NoteLibrary()).base) {
    if (right.ns == kDriverNs) right.ns = ns;
    needed->insert(right);
  }
  NoteOfed(needed, ns);
  CheckBothWays(RightsOf(kRoot / "deploy/rbac/ofed", {"nvidia-ofed-driver-upgrade", ofed_operator::kInitConfigMap}),
                *needed);
}

#endif  // DRIVERUPGRADE_HAVE_OPERATORS

TEST_CASE("the viewer directories grant the permissions to check readers of the rollout page, and nothing else") {
  const std::string folder = GENERATE("viewer", "ofed-viewer");
  CAPTURE(folder);
  const auto noted = std::make_shared<Rights>();
  const auto server = std::make_shared<ScriptedTransport>();
  server->Answer(201, R"({"status":{"authenticated":true,"user":{"username":"alice"}}})");
  server->Answer(201, R"({"status":{"allowed":true}})");
  REQUIRE(AccessReview(MakeNotingTransport(noted, server), "/rollout").Check({}, "token").ok());
  CheckBothWays(RightsOfFile(kRoot / "deploy/rbac" / folder / "reviews.yaml", {}), *noted);
}

TEST_CASE("deploy/rbac grants the permissions that the library and gpu_operator need, and nothing else") {
  const std::shared_ptr<Rights> noted = NoteLibrary();
#ifdef DRIVERUPGRADE_HAVE_OPERATORS
  NoteGpuPods(noted);
#else
  noted->insert({.group = "resource.k8s.io", .resource = "resourceclaims", .verb = "get"});
#endif
  const Needed needed = Sorted(*noted);
  CheckBothWays(RightsOf(kRoot / "deploy/rbac/base", {kName}), needed.base);
  CheckBothWays(RightsOf(kRoot / "deploy/rbac/on-timeout-delete", {kName}), needed.on_timeout_delete);
  CheckBothWays(RightsOf(kRoot / "deploy/rbac/requestor", {kName}), needed.requestor);
}

}  // namespace
}  // namespace driverupgrade::tests
