#include "simulation/world/world.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/numbers.h"
#include "driverupgrade/testing/builders.h"
#include "fmt/format.h"
#include "simulation/world/peer.h"

namespace driverupgrade::testing::internal {
namespace {

FakeClusterOptions ClusterOptions(std::uint64_t seed, const Setup& setup) {
  if (setup.light) return {.keep_journal = false, .watches_follow = false};
  Random random(seed, "cluster");
  return {.template_delay = random.Pick({absl::ZeroDuration(), absl::Milliseconds(200), absl::Seconds(5)}),
          .controller_delay = random.Pick({absl::ZeroDuration(), absl::Milliseconds(100), absl::Seconds(2)}),
          .scheduler_delay = random.Pick({absl::ZeroDuration(), absl::Milliseconds(50)}),
          .devices = setup.devices,
          // In some seeds, resource versions grow by one digit during the run.
          .first_revision = random.Percent(20) ? random.Between(9'000, 9'990) : 1000,
          .keep_journal = false,
          .watches_follow = false};
}

void AddLightPods(World& world) {
  FakeCluster& cluster = *world.cluster;
  cluster.AddDaemonSet({.ns = kDriverNs,
                        .name = kDriver,
                        .labels = {{"app", kDriver}},
                        .node_selector = {{"zone", "a"}},
                        .tolerations = DriverTolerations(),
                        .hash = world.hash,
                        .behavior = {.start_delay = kLightDriverStart, .stop_delay = kLightDriverStop}});
  cluster.AddWorkload({.ns = kWorkloadNs,
                       .name = "web",
                       .replicas = world.setup.nodes,
                       .behavior = {.start_delay = absl::Seconds(5), .stop_delay = kLightWorkloadStop}});
}

void AddValidators(World& world) {
  AddValidator(world);
  if (!Random(world.seed, "validators").Percent(40)) return;
  world.cluster->AddDaemonSet({.ns = kDriverNs,
                               .name = kSecondValidator,
                               .match_labels = {{"app", kValidator}, {"part", "second"}},
                               .node_selector = {{"zone", "a"}},
                               .on_delete = false,
                               .behavior = {.start_delay = absl::Seconds(40)}});
}

void AddPods(World& world, Random& random) {
  if (world.setup.light) return AddLightPods(world);
  FakeCluster& cluster = *world.cluster;
  cluster.AddDaemonSet({.ns = kDriverNs,
                        .name = kDriver,
                        .labels = {{"app", kDriver}},
                        .node_selector = {{"zone", "a"}},
                        .tolerations = DriverTolerations(),
                        .hash = world.hash,
                        .template_json = TemplateOf(world.setup, world.hash),
                        .on_delete = !world.setup.rolling,
                        .behavior = {.start_delay = absl::Seconds(random.Between(2, 60)),
                                     .stop_delay = absl::Seconds(random.Between(1, 20))}});
  cluster.AddDaemonSet({.ns = "logging", .name = "logging"});
  if (world.setup.validation) AddValidators(world);
  if (world.setup.own_pod) {
    cluster.AddPod(PodBuilder(kDriverNs, kOperatorPod).OnNode(world.NodeName(0)).OwnedByJob("operator").Build());
  }
  const int nodes = world.setup.nodes;
  cluster.AddWorkload({.ns = kWorkloadNs,
                       .name = "web",
                       .replicas = nodes,
                       .behavior = {.start_delay = absl::Seconds(random.Between(1, 10)),
                                    .stop_delay = absl::Seconds(random.Between(1, 40))}});
  cluster.AddDisruptionBudget({.ns = kWorkloadNs,
                               .name = "web",
                               .selector = LabelSelector::FromMatchLabels({{"app", "web"}}),
                               .max_unavailable = 1 + nodes / 4});
  if (random.Percent(50)) {
    cluster.AddWorkload({.kind = WorkloadSpec::Kind::kStatefulSet,
                         .ns = kWorkloadNs,
                         .name = "db",
                         .labels = {{"app", "db"}, {"uses", "driver"}},
                         .replicas = std::max(1, nodes / 3)});
  }
}

// Adds job pods, which are not replaced, to a single node, or to all nodes in turn.
void AddManyPods(World& world) {
  Random random(world.seed, "many pods");
  const int nodes = random.Percent(50) ? 1 : world.setup.nodes;
  for (int i = 0; i < kManyPods; ++i) {
    PodBuilder pod(kWorkloadNs, fmt::format("many-{}", i));
    pod.OnNode(world.NodeName(i % nodes)).WithLabel("app", kManyPodsApp).WithLabel("uses", "driver").OwnedByJob("many");
    world.cluster->AddPod(pod.Build());
  }
}

}  // namespace

void AddValidator(World& world) {
  const std::vector<DaemonSet> all = world.cluster->daemon_sets();
  if (std::any_of(all.begin(), all.end(), [](const DaemonSet& one) { return one.name == kValidator; })) return;
  world.cluster->AddDaemonSet({.ns = kDriverNs,
                               .name = kValidator,
                               .match_labels = {{"app", kValidator}, {"part", "first"}},
                               .node_selector = {{"zone", "a"}},
                               .on_delete = false});
}

std::string ImageOf(const std::string& hash) {
  int number = 0;
  return absl::SimpleAtoi(hash.substr(hash.find('-') + 1), &number) ? std::to_string(number / 2) : hash;
}

std::string TemplateOf(const Setup& setup, const std::string& hash) {
  if (!setup.restart_only) return "";
  // Every second template has the image of the template before it, and one more container.
  int image = 0;
  if (!absl::SimpleAtoi(ImageOf(hash), &image)) image = 2 * std::accumulate(hash.begin(), hash.end(), 1000);
  return fmt::format(
      R"({{"$patch":"replace","metadata":{{"annotations":{{"kubectl.kubernetes.io/restartedAt":"{}"}}}},)"
      R"("spec":{{"containers":[{{"image":"driver:{}","name":"driver"}}{}]}}}})",
      hash, image / 2, image % 2 == 0 ? "" : R"(,{"image":"exporter","name":"exporter"})");
}

World::World(std::uint64_t the_seed, const SimulationOptions& the_options)
    : seed(the_seed),
      options(the_options),
      setup(DrawSetup(seed, options)),
      clock(std::make_shared<FakeClock>(setup.start)),
      cluster(std::make_shared<FakeCluster>(clock, ClusterOptions(seed, setup))),
      identity(*DriverIdentity::Create("nvidia.com", "gpu")),
      other_identity(*DriverIdentity::Create(kOtherDomain, kOtherDriver)),
      driver_labels(LabelSelector::FromMatchLabels({{"app", kDriver}})),
      trace(*clock, options.trace, options.trace_lines_max),
      policy(setup.policy) {
  result.seed = seed;
  result.setup = setup.Describe();
  result.nodes = setup.nodes;
  for (int i = 0; i < setup.nodes; ++i) AddNode(NodeName(nodes_made++));
  // A node without the driver, so that evicted pods always have somewhere to go.
  cluster->AddNode(NodeBuilder("spare").Build());
  Random random(seed, "pods");
  AddPods(*this, random);
  if (setup.Has(Mode::kManyPods)) AddManyPods(*this);
  // The peer is created before the checker, because the checker observes the cluster and passes changes on to the peer.
  if (setup.Has(Mode::kTwoDrivers)) peer = std::make_unique<Peer>(*this);
  InvariantOptions checks{.identity = identity,
                          .driver_ns = kDriverNs,
                          .driver_labels = driver_labels,
                          .policy = policy,
                          .grants_max = setup.ledger ? setup.grants_max : 0,
                          .check_budget = setup.BudgetIsClaimed(),
                          .check_pacing = !setup.ClocksJump(),
                          .clock_skew_max = setup.ClockSkewMax()};
  if (setup.validation) checks.validation = LabelSelector::FromMatchLabels({{"app", kValidator}});
  if (setup.selects_nodes) checks.node_selector = *LabelSelector::Parse(kOwnNodes);
  if (setup.own_pod) checks.own_pod = PodRef{.ns = kDriverNs, .name = kOperatorPod};
  if (setup.hooks) {
    checks.uses_driver = [](const CallContext&, const Pod& pod) -> absl::StatusOr<bool> {
      return pod.labels.contains("uses");
    };
  }
  if (setup.requestor) checks.requestor_id = kRequestor;
  checks.shares_nodes = peer != nullptr;
  // Compares the images of the two hashes. The engine itself compares the templates.
  checks.restart_only = [this](const CallContext&, const Pod& pod, const ControllerRevision&,
                               const ControllerRevision& wanted) -> absl::StatusOr<bool> {
    return setup.restart_only &&
           ImageOf(std::string(RevisionHash(pod))) == ImageOf(wanted.labels.at("controller-revision-hash"));
  };
  checker = std::make_unique<InvariantChecker>(cluster, std::move(checks));
  checker->set_disturbed(setup.SeveralLeaders());
}

World::~World() = default;

Driver World::driver() const {
  return {.identity = identity,
          .ns = kDriverNs,
          .daemon_set = kDriver,
          .labels = driver_labels,
          .setup = setup,
          .policy = policy,
          .hash = hash,
          .checker = *checker};
}

std::string World::NodeName(int number) const { return fmt::format("node-{:04}", number); }

std::string World::RackOf(const std::string& node) const {
  int number = 0;
  const bool is_numbered = absl::SimpleAtoi(node.substr(node.find('-') + 1), &number);
  return is_numbered ? std::to_string(number % kRacks) : "0";
}

void World::AddNode(const std::string& name) {
  NodeBuilder node(name);
  node.WithLabel("zone", "a");
  int number = 0;
  if (setup.Has(Mode::kRollouts)) node.WithLabel("rack", RackOf(name));
  if (setup.selects_nodes && absl::SimpleAtoi(name.substr(name.find('-') + 1), &number) && number % 4 == 3) {
    node.WithLabel("pool", "other");
  }
  Node built = node.Build();
  if (setup.Has(Mode::kGangs) && name.ends_with('3')) {
    built.taints = {{.key = "example.com/team", .value = "a", .effect = "NoExecute"}};
  }
  cluster->AddNode(std::move(built));
}

std::string World::AnyNode(Random& random) const {
  // Draws node numbers, which is cheaper than listing the nodes. Several attempts are needed, because a node with a
  // drawn number may have been deleted.
  for (int tries = 0; tries < 8; ++tries) {
    std::string name = NodeName(random.Below(nodes_made));
    if (cluster->node(name)) return name;
  }
  return "";
}

void World::RemoveOrphans() {
  for (const Pod& pod : cluster->pods()) {
    if (pod.ref.ns == kDriverNs && pod.owners.empty()) cluster->RemovePod(pod.ref.ns, pod.ref.name);
  }
}

void World::SetRivalActs(bool acts) {
  checker->set_rival_acts(acts);
  if (peer) peer->driver().checker.set_rival_acts(acts);
}

void World::Fired(Fault fault) {
  ++result.faults[static_cast<std::size_t>(fault)];
  if (MakesRequestsAnew(fault)) NoteFault();
}

void World::NoteFault() {
  checker->NoteFault();
  if (peer) peer->driver().checker.NoteFault();
}

void World::SetTemplate(std::string new_hash) {
  hash = std::move(new_hash);
  cluster->SetTemplate(kDriverNs, kDriver, hash, TemplateOf(setup, hash));
  if (setup.Has(Mode::kRollouts) && !chaos) ApproveAll();
}

void World::ApproveAll() {
  std::string approvals = fmt::format("{}@{}", kLastStage, hash);
  for (const RolloutStage& stage : setup.policy.rollout->stages) approvals += fmt::format(",{}@{}", stage.name, hash);
  cluster->EditDaemonSet(kDriverNs, kDriver, [&](DaemonSet& daemon_set) {
    daemon_set.annotations[identity.ApprovedAnnotation()] = approvals;
  });
}

void World::SetPolicy(UpgradePolicy the_policy) {
  if (the_policy == policy) return;
  policy = std::move(the_policy);
  checker->SetPolicy(policy);
  if (on_policy) on_policy(policy);
}

}  // namespace driverupgrade::testing::internal
