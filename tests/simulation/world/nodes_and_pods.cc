// Makes nodes fail (F18), and keeps pods from terminating (F19) and driver pods from starting (F20). Also changes the
// templates (F21), and makes the API server unavailable for a long time.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "driverupgrade/testing/builders.h"
#include "fmt/format.h"
#include "simulation/world/actors.h"

namespace driverupgrade::testing::internal {
namespace {

class NodeLifecycle final : public Actor {
 public:
  explicit NodeLifecycle(World& world) : Actor(world, "nodes") {}

  void Mend() override {
    for (const Node& node : world_.cluster->nodes()) {
      if (!node.ready) world_.cluster->SetNodeReady(node.name, true);
    }
  }

 private:
  void Act() override {
    if (world_.May(Fault::kOutage) && random_.Percent(15)) {
      const absl::Time until = world_.Now() + random_.Between(absl::Minutes(1), absl::Minutes(30));
      // A short outage must not end a long outage early.
      world_.outage_until = world_.setup.Has(Mode::kLongOutage) ? std::max(world_.outage_until, until) : until;
      world_.trace.Line("the API server is down until {:.0f}",
                        absl::ToDoubleSeconds(world_.outage_until - FakeClock::DefaultStart()));
    }
    if (!world_.May(Fault::kNodeLifecycle)) return;
    const std::string node = world_.AnyNode(random_);
    if (node.empty()) return;
    world_.Fired(Fault::kNodeLifecycle);
    switch (random_.Below(7)) {
      case 0:
      case 1:
        world_.trace.Line("nodes: {} is not ready", node);
        world_.cluster->SetNodeReady(node, false);
        return;
      case 2:
      case 3:
        world_.trace.Line("nodes: {} is ready", node);
        world_.cluster->SetNodeReady(node, true);
        return;
      case 4:
        world_.trace.Line("nodes: {} is re-created", node);
        world_.AddNode(node);
        return;
      case 5:
        if (world_.nodes_made >= 2 * world_.setup.nodes) return;
        world_.AddNode(world_.NodeName(world_.nodes_made++));
        return;
      default:
        if (world_.cluster->nodes().size() < 2) return;
        world_.trace.Line("nodes: {} is deleted", node);
        world_.cluster->RemoveNode(node);
    }
  }
};

// A single outage, during which the cluster and its users continue.
class LongOutage final : public Actor {
 public:
  explicit LongOutage(World& world) : Actor(world, "long outage") {}

 private:
  void Act() override {
    if (std::exchange(over_, true)) return;
    world_.outage_until = world_.Now() + kLongOutage;
    world_.trace.Line("the API server is down for {}", absl::FormatDuration(kLongOutage));
  }

  bool over_ = false;
};

class PodTroubles final : public Actor {
 public:
  explicit PodTroubles(World& world) : Actor(world, "pods") {}

  void Mend() override {
    FakeCluster& cluster = *world_.cluster;
    for (const char* name : {"never", "second"}) cluster.RemoveDisruptionBudget(kWorkloadNs, name);
    if (world_.setup.validation) AddValidator(world_);
    cluster.ClearCrashRules(kDriverNs, kDriver);
    cluster.SetDaemonSetBehavior(kDriverNs, kDriver, {.start_delay = absl::Seconds(10)});
    AddAgents(0);
    for (const PodRef& pod : made_) {
      cluster.SetPodBehavior(pod.ns, pod.name, {.stop_delay = absl::ZeroDuration()});
      cluster.RemovePod(pod.ns, pod.name);
    }
    std::set<std::string> served;
    for (const Pod& pod : cluster.pods()) {
      const bool driver = pod.ref.ns == kDriverNs && world_.driver_labels.Matches(pod.labels);
      if (driver && !served.insert(pod.node_name).second) cluster.RemovePod(pod.ref.ns, pod.ref.name);
      if (pod.ref.ns == kDoomedNs || pod.tolerates_cordon_since) cluster.RemovePod(pod.ref.ns, pod.ref.name);
      if (pod.ref.ns == kDriverNs && pod.phase == PodPhase::kRunning)
        cluster.SetPodReady(pod.ref.ns, pod.ref.name, true);
    }
  }

 private:
  void Act() override {
    const bool stuck = world_.May(Fault::kStuckPods);
    const bool driver = world_.May(Fault::kDriverTroubles);
    if (!stuck && !driver) return;
    const std::string node = world_.AnyNode(random_);
    if (node.empty()) return;
    if (stuck && (!driver || random_.Percent(50))) {
      world_.Fired(Fault::kStuckPods);
      Stick(node);
    } else {
      world_.Fired(Fault::kDriverTroubles);
      TroubleDriver(node);
    }
  }

  void AddPod(PodBuilder builder, PodBehavior behavior = {}) {
    made_.push_back(world_.cluster->AddPod(builder.Build(), behavior).ref);
  }

  // Adds pods that tolerate the cordon, so that their replacements return to the node.
  void AddAgents(int count) {
    world_.cluster->AddWorkload({.ns = kWorkloadNs,
                                 .name = "agent",
                                 .replicas = count,
                                 .behavior = {.stop_delay = absl::Seconds(5)},
                                 .tolerates_cordon = true});
  }

  void Stick(const std::string& node) {
    FakeCluster& cluster = *world_.cluster;
    const std::string name = fmt::format("stuck-{}", ++count_);
    if (agents_.Percent(15)) {
      world_.trace.Line("pods: two pods that tolerate the cordon");
      return AddAgents(2);
    }
    if (agents_.Percent(15)) {
      world_.trace.Line("pods: finished pod {} with a finalizer on {}", name, node);
      PodBuilder finished(kWorkloadNs, name);
      finished.OnNode(node).WithLabel("uses", "driver").OwnedByJob("j").Succeeded().WithFinalizer("example.com/hold");
      return AddPod(finished, {.stop_delay = absl::InfiniteDuration()});
    }
    if (SelectsByTier() && tiers_.Percent(50)) {
      const std::string tier = std::to_string(tiers_.Between(2, 4));
      return AddPod(PodBuilder(kWorkloadNs, name).OnNode(node).WithLabel("tier", tier).OwnedByJob("j"));
    }
    if (odd_.Percent(30)) return StickOddly(node, name);
    const int kind = random_.Below(9);
    world_.trace.Line("pods: trouble {} of kind {} on {}", name, kind, node);
    switch (kind) {
      case 0:
        return cluster.AddDisruptionBudget({.ns = kWorkloadNs,
                                            .name = "never",
                                            .selector = LabelSelector::FromMatchLabels({{"app", "db"}}),
                                            .max_unavailable = 0});
      case 1:
        return cluster.AddDisruptionBudget({.ns = kWorkloadNs,
                                            .name = "second",
                                            .selector = LabelSelector::FromMatchLabels({{"app", "web"}}),
                                            .min_available = 1});
      case 2:
      case 3: {
        PodBuilder bare(kWorkloadNs, name);
        bare.OnNode(node).WithLabel("app", "bare");
        if (kind == 3) bare.OwnedByJob("j").WithEmptyDir();
        if (random_.Percent(50)) bare.WithLabel("uses", "driver");
        return AddPod(bare);
      }
      case 4:
        return AddPod(PodBuilder(kWorkloadNs, name).OnNode(node).WithLabel("app", "bare").OwnedByJob("j"),
                      {.stop_delay = absl::InfiniteDuration()});
      case 5: {
        PodBuilder job(kWorkloadNs, name);
        job.OnNode(node).WithLabel("app", "job").OwnedByJob(name);
        // The job pod may be slow to start.
        if (random_.Percent(50)) job.Pending();
        return AddPod(job, {.start_delay = absl::Minutes(random_.Between(1, 10)),
                            .run_time = absl::Minutes(random_.Between(1, 20))});
      }
      case 6: return AddPod(PodBuilder("kube-system", name).OnNode(node).Mirror());
      // A pod whose labels match the driver, but whose namespace does not.
      case 7:
        return AddPod(PodBuilder(kWorkloadNs, name)
                          .OnNode(node)
                          .WithLabel("app", kDriver)
                          .WithLabel("uses", "driver")
                          .OwnedByJob("j"));
      default:
        AddPod(PodBuilder(kDoomedNs, name).OnNode(node).OwnedByJob("j"));
        if (random_.Percent(30)) cluster.TerminateNamespace(kDoomedNs);
    }
  }

  bool SelectsByTier() const {
    const auto by_tier = [](const LabelSelector& selector) {
      const auto& all = selector.requirements();
      return std::any_of(all.begin(), all.end(), [](const auto& one) { return one.key == "tier"; });
    };
    const UpgradePolicy& policy = world_.setup.policy;
    return (policy.drain && by_tier(policy.drain->pod_selector)) ||
           (policy.pod_deletion && by_tier(policy.pod_deletion->pod_selector));
  }

  // Returns a node that is in progress, because driver problems matter only on such nodes.
  std::optional<std::string> NodeInProgress() {
    std::vector<std::string> found;
    for (const Node& node : world_.cluster->nodes()) {
      const auto label = node.labels.find(world_.identity.StateLabel());
      const auto state = label == node.labels.end() ? std::nullopt : ParseUpgradeState(label->second);
      if (state && IsInProgress(*state)) found.push_back(node.name);
    }
    if (found.empty()) return std::nullopt;
    return found[static_cast<std::size_t>(odd_.Below(static_cast<int>(found.size())))];
  }

  // Creates a pod that an operator misinterprets if it checks the wrong field, or changes which pods use the driver.
  void StickOddly(const std::string& node, const std::string& name) {
    FakeCluster& cluster = *world_.cluster;
    const int kind = odd_.Below(5);
    world_.trace.Line("pods: odd trouble {} of kind {} on {}", name, kind, node);
    PodBuilder pod(kWorkloadNs, name);
    pod.OnNode(node);
    switch (kind) {
      // This pod belongs to a DaemonSet of another API group. Such pods are evicted.
      case 0: {
        Pod of_other_group = pod.WithLabel("uses", "driver").OwnedByJob("j").Build();
        of_other_group.owners.front().api_version = "apps.kruise.io/v1alpha1";
        of_other_group.owners.front().kind = "DaemonSet";
        made_.push_back(cluster.AddPod(std::move(of_other_group)).ref);
        return;
      }
      case 1: return AddPod(pod.WithLabel("tier", std::to_string(odd_.Between(2, 4))).OwnedByJob("j"));
      // This pod has the same name as the operator's own pod.
      case 2:
        return AddPod(PodBuilder(kWorkloadNs, kOperatorPod).OnNode(node).WithLabel("uses", "driver").OwnedByJob("j"));
      // This pod has an owner that is not a controller, so nothing would replace the pod.
      case 3: {
        Pod uncontrolled = pod.WithLabel("app", "bare").OwnedByJob("j").Build();
        uncontrolled.owners.front().controller = false;
        made_.push_back(cluster.AddPod(std::move(uncontrolled)).ref);
        return;
      }
      default: break;
    }
    // Changes whether a pod uses the driver.
    for (const Pod& other : cluster.pods_on(NodeInProgress().value_or(node))) {
      if (other.ref.ns != kWorkloadNs || odd_.Percent(50)) continue;
      cluster.EditPod(other.ref.ns, other.ref.name, [](Pod& edited) {
        if (edited.labels.erase("uses") == 0) edited.labels["uses"] = "driver";
      });
    }
  }

  // Simulates a container that keeps restarting, or a missing DaemonSet of validation pods.
  void TroubleDriverOddly(const std::string& node) {
    FakeCluster& cluster = *world_.cluster;
    const int kind = odd_.Below(world_.setup.validation ? 4 : 2);
    world_.trace.Line("pods: odd driver trouble of kind {} on {}", kind, node);
    if (kind >= 2) {
      cluster.RemoveDaemonSet(kDriverNs, kValidator, /*orphan=*/false);
      if (odd_.Percent(50)) AddValidator(world_);
      return;
    }
    for (const Pod& pod : cluster.pods_on(NodeInProgress().value_or(node))) {
      if (pod.ref.ns != kDriverNs || !world_.driver_labels.Matches(pod.labels)) continue;
      cluster.EditPod(pod.ref.ns, pod.ref.name, [&](Pod& edited) {
        for (ContainerStatus& container : edited.container_statuses) container.ready = false;
        if (kind == 0 && !edited.container_statuses.empty()) edited.container_statuses.front().restart_count = 11;
        if (kind == 1) edited.init_container_statuses = {{.name = "build", .ready = false, .restart_count = 11}};
      });
    }
  }

  void TroubleDriver(const std::string& node) {
    if (odd_.Percent(25)) return TroubleDriverOddly(node);
    FakeCluster& cluster = *world_.cluster;
    world_.trace.Line("pods: driver trouble on {}", node);
    switch (random_.Below(7)) {
      case 0: cluster.AddCrashRule(kDriverNs, kDriver, random_.Percent(50) ? world_.hash : "", node); return;
      case 1: cluster.ClearCrashRules(kDriverNs, kDriver); return;
      case 2:
        cluster.SetDaemonSetBehavior(kDriverNs, kDriver, {.start_delay = absl::Seconds(random_.Between(1, 600))});
        return;
      default: break;
    }
    for (const Pod& pod : cluster.pods_on(node)) {
      if (pod.ref.ns != kDriverNs) continue;
      if (random_.Percent(30)) {
        cluster.RemovePod(pod.ref.ns, pod.ref.name);
      } else {
        cluster.SetPodReady(pod.ref.ns, pod.ref.name, random_.Percent(50));
      }
    }
  }

  std::vector<PodRef> made_;
  int count_ = 0;
  // Separate stream, so that its draws do not change the rest of the seed.
  Random odd_{world_.seed, "odd troubles"};
  Random agents_{world_.seed, "pods that return or stay"};
  Random tiers_{world_.seed, "tiers"};
};

class Templates final : public Actor {
 public:
  explicit Templates(World& world) : Actor(world, "templates") {
    due_ = world_.Now() + random_.Between(absl::Seconds(1), absl::Seconds(30));
  }

  void Mend() override {
    if (!world_.cluster->daemon_set_pods(kDriverNs, kDriver).empty()) return;
    for (const DaemonSet& daemon_set : world_.cluster->daemon_sets()) {
      if (daemon_set.name == kDriver) return;
    }
    Make();
  }

 private:
  void Make() {
    world_.cluster->AddDaemonSet({.ns = kDriverNs,
                                  .name = kDriver,
                                  .labels = {{"app", kDriver}},
                                  .node_selector = {{"zone", "a"}},
                                  .tolerations = DriverTolerations(),
                                  .hash = world_.hash,
                                  .template_json = TemplateOf(world_.setup, world_.hash),
                                  .on_delete = !world_.setup.rolling,
                                  .started = false});
  }

  void Act() override {
    if (first_) {
      first_ = false;
      return SetNew();
    }
    if (!world_.May(Fault::kTemplateChange) || random_.Percent(70)) return;
    world_.Fired(Fault::kTemplateChange);
    if (random_.Percent(10)) {
      const bool orphan = random_.Percent(30);
      world_.trace.Line("templates: the DaemonSet is made anew, its pods are {}", orphan ? "orphaned" : "deleted");
      world_.cluster->RemoveDaemonSet(kDriverNs, kDriver, orphan);
      return Make();
    }
    if (random_.Percent(40)) return Set(fmt::format("rev-{}", random_.Between(1, world_.hashes_made)));
    SetNew();
  }

  void SetNew() {
    std::string hash = fmt::format("rev-{}", ++world_.hashes_made);
    if (world_.setup.Has(Mode::kBrokenDriver) && broken_.Percent(70)) {
      world_.trace.Line("templates: the driver of {} never becomes ready", hash);
      world_.CameBy(Mode::kBrokenDriver);
      world_.cluster->AddCrashRule(kDriverNs, kDriver, hash);
    }
    Set(std::move(hash));
  }

  void Set(std::string hash) {
    world_.trace.Line("templates: {}", hash);
    world_.template_changed = world_.Now();
    world_.SetTemplate(std::move(hash));
  }

  bool first_ = true;
  // Separate stream, so that its draws do not change the rest of the seed.
  Random broken_{world_.seed, "broken drivers"};
};

}  // namespace

std::unique_ptr<Actor> MakeNodeLifecycle(World& world) { return std::make_unique<NodeLifecycle>(world); }
std::unique_ptr<Actor> MakeLongOutage(World& world) { return std::make_unique<LongOutage>(world); }
std::unique_ptr<Actor> MakePodTroubles(World& world) { return std::make_unique<PodTroubles>(world); }
std::unique_ptr<Actor> MakeTemplates(World& world) { return std::make_unique<Templates>(world); }

}  // namespace driverupgrade::testing::internal
