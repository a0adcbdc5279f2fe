#include "simulation/world/mutants.h"

#include <algorithm>
#include <utility>

#include "driverupgrade/cluster_facade.h"

namespace driverupgrade::testing::internal {
namespace {

const DriverIdentity& Gpu() {
  static const DriverIdentity identity = *DriverIdentity::Create("nvidia.com", "gpu");
  return identity;
}

bool Ends(const PatchNodeParams& patch) {
  const auto label = patch.labels.find(Gpu().StateLabel());
  return label != patch.labels.end() && label->second == "upgrade-done";
}

void KeepAnnotation(PatchNodeParams& patch, const std::string& key) {
  const auto found = patch.annotations.find(key);
  if (found != patch.annotations.end() && !found->second) patch.annotations.erase(found);
}

Mutant OnPatch(std::string name, std::function<void(ClusterFacade&, PatchNodeParams&)> patch) {
  return {.name = std::move(name), .patch = std::move(patch)};
}
Mutant OnPolicy(std::string name, std::function<void(UpgradePolicy&)> policy) {
  return {.name = std::move(name), .policy = std::move(policy)};
}
Mutant OnNode(std::string name, std::function<void(Node&)> node) {
  return {.name = std::move(name), .node = std::move(node)};
}
Mutant OnPods(std::string name, std::function<void(std::vector<Pod>&)> pods) {
  return {.name = std::move(name), .pods = std::move(pods)};
}

std::vector<Mutant> WrongPatches() {
  return {
      OnPatch("writes to whatever version there is",
              [](ClusterFacade& cluster, PatchNodeParams& patch) {
                const auto node = cluster.GetNode({}, {.name = patch.name});
                if (node.ok()) patch.resource_version = node->resource_version;
                if (node.ok()) patch.uid = node->uid;
              }),
      OnPatch("writes without resourceVersion", [](auto&, PatchNodeParams& p) { p.resource_version.clear(); }),
      OnPatch("writes without UID", [](auto&, PatchNodeParams& p) { p.uid.clear(); }),
      OnPatch("never uncordons",
              [](auto&, PatchNodeParams& p) {
                if (p.unschedulable == false) p.unschedulable.reset();
              }),
      OnPatch("uncordons always",
              [](auto&, PatchNodeParams& p) {
                if (Ends(p)) p.unschedulable = false;
              }),
      OnPatch("uncordons too early",
              [](auto&, PatchNodeParams& p) {
                const auto label = p.labels.find(Gpu().StateLabel());
                if (label != p.labels.end() && label->second == "pod-restart-required") p.unschedulable = false;
              }),
      OnPatch("never cordons",
              [](auto&, PatchNodeParams& p) {
                if (p.unschedulable == true) p.unschedulable.reset();
              }),
      OnPatch("leaves its timer", [](auto&, PatchNodeParams& p) { KeepAnnotation(p, Gpu().StageAnnotation()); }),
      OnPatch("leaves its name on the cordon",
              [](auto&, PatchNodeParams& p) { KeepAnnotation(p, std::string(kCordonedByAnnotation)); }),
      OnPatch("leaves the note of the initial state",
              [](auto&, PatchNodeParams& p) { KeepAnnotation(p, Gpu().InitiallyUnschedulableAnnotation()); }),
      OnPatch("leaves the failed revision",
              [](auto&, PatchNodeParams& p) { KeepAnnotation(p, Gpu().FailedRevisionAnnotation()); }),
      OnPatch("forgets the note of the initial state",
              [](auto&, PatchNodeParams& p) { p.annotations.erase(Gpu().InitiallyUnschedulableAnnotation()); }),
      OnPatch("forgets its name on the cordon",
              [](auto&, PatchNodeParams& p) { p.annotations.erase(std::string(kCordonedByAnnotation)); }),
      OnPatch("touches a foreign annotation",
              [](auto&, PatchNodeParams& p) { p.annotations["example.com/owner"] = "us"; }),
      OnPatch("removes a foreign label", [](auto&, PatchNodeParams& p) { p.labels["zone"] = std::nullopt; }),
      OnPatch("removes the skip label",
              [](auto&, PatchNodeParams& p) { p.labels[Gpu().SkipUpgradeLabel()] = std::nullopt; }),
      OnPatch("skips a state",
              [](auto&, PatchNodeParams& p) {
                const auto label = p.labels.find(Gpu().StateLabel());
                if (label != p.labels.end() && label->second == "drain-required")
                  label->second = "pod-restart-required";
              }),
      OnPatch("writes a state that is none",
              [](auto&, PatchNodeParams& p) {
                const auto label = p.labels.find(Gpu().StateLabel());
                if (label != p.labels.end() && label->second == "uncordon-required") label->second = "uncordon";
              }),
      OnPatch("writes timers of another epoch",
              [](auto&, PatchNodeParams& p) {
                const auto stage = p.annotations.find(Gpu().StageAnnotation());
                if (stage != p.annotations.end() && stage->second) stage->second = "drain-required@1000@rev-2";
              }),
  };
}

std::vector<Mutant> WrongPolicies() {
  return {
      OnPolicy("counts one slot too many",
               [](UpgradePolicy& p) {
                 if (p.max_parallel) ++*p.max_parallel;
               }),
      OnPolicy("knows no maxUnavailable", [](UpgradePolicy& p) { p.max_unavailable.reset(); }),
      OnPolicy("is never paused", [](UpgradePolicy& p) { p.paused = false; }),
      OnPolicy("is never frozen", [](UpgradePolicy& p) { p.auto_upgrade = true; }),
      OnPolicy("knows no drain", [](UpgradePolicy& p) { p.drain.reset(); }),
      OnPolicy("evicts what nobody replaces",
               [](UpgradePolicy& p) {
                 if (p.drain) p.drain->force = true;
                 if (p.pod_deletion) p.pod_deletion->force = true;
               }),
      OnPolicy("loses emptyDir data",
               [](UpgradePolicy& p) {
                 if (p.drain) p.drain->delete_empty_dir = true;
                 if (p.pod_deletion) p.pod_deletion->delete_empty_dir = true;
               }),
      OnPolicy("deletes at the deadline whatever the policy says",
               [](UpgradePolicy& p) {
                 if (p.drain) p.drain->on_timeout = OnTimeout::kDelete;
                 if (p.pod_deletion) p.pod_deletion->on_timeout = OnTimeout::kDelete;
               }),
      OnPolicy("chains states where each is to be written", [](UpgradePolicy& p) { p.pacing = Pacing::kChained; }),
  };
}

std::vector<Mutant> WrongReads() {
  return {
      OnNode("ignores the skip label", [](Node& n) { n.labels.erase(Gpu().SkipUpgradeLabel()); }),
      OnNode("ignores its own label", [](Node& n) { n.labels.erase(Gpu().StateLabel()); }),
      OnNode("ignores cordons", [](Node& n) { n.unschedulable = false; }),
      OnNode("ignores its name on the cordon",
             [](Node& n) { n.annotations.erase(std::string(kCordonedByAnnotation)); }),
      OnNode("ignores the note of the initial state",
             [](Node& n) { n.annotations.erase(Gpu().InitiallyUnschedulableAnnotation()); }),
      OnNode("takes one node for done",
             [](Node& n) {
               if (n.name == "node-0000") n.labels[Gpu().StateLabel()] = "upgrade-done";
             }),
      OnPods("takes nodes for empty", [](std::vector<Pod>& pods) { pods.clear(); }),
      OnPods("overlooks one pod",
             [](std::vector<Pod>& pods) {
               if (!pods.empty()) pods.pop_back();
             }),
      OnPods("takes pods that are terminating for gone",
             [](std::vector<Pod>& pods) {
               std::erase_if(pods, [](const Pod& pod) { return pod.deletion_timestamp.has_value(); });
             }),
  };
}

std::vector<Mutant> WrongDeeds() {
  return {
      {.name = "asks for any incarnation of a pod", .pod_request = [](PodRef& pod) { pod.uid.clear(); }},
      {.name = "deletes where it should evict", .deletes_for_evictions = true},
      {.name = "evicts twice", .evicts_twice = true},
      {.name = "evicts pods of DaemonSets", .evicts_neighbours = true},
      {.name = "acts without leading", .ignores_the_election = true},
      {.name = "writes when idle", .writes_when_idle = true},
      {.name = "is deaf to templates", .deaf_to_templates = true},
      {.name = "is deaf to deletions", .deaf_to_deletions = true},
  };
}

// Drops or changes events.
template <class T>
class MutantSink final : public WatchSink<T> {
 public:
  MutantSink(WatchSink<T>& next, std::function<void(T&)> change, bool deaf_to_changes, bool deaf_to_deletions)
      : next_(next), change_(std::move(change)), no_changes_(deaf_to_changes), no_deletions_(deaf_to_deletions) {}
  bool OnList(std::vector<T> objects, std::string_view version) override {
    for (T& object : objects) Change(object);
    return next_.OnList(std::move(objects), version);
  }
  bool OnChange(T object, std::string_view version) override {
    Change(object);
    return no_changes_ || next_.OnChange(std::move(object), version);
  }
  bool OnDelete(T object, std::string_view version) override {
    return no_deletions_ || next_.OnDelete(std::move(object), version);
  }
  bool OnBookmark(std::string_view version) override { return next_.OnBookmark(version); }

 private:
  void Change(T& object) {
    if (change_) change_(object);
  }
  WatchSink<T>& next_;
  std::function<void(T&)> change_;
  bool no_changes_;
  bool no_deletions_;
};

class MutantCluster final : public ForwardingFacade {
 public:
  MutantCluster(const Mutant& mutant, std::shared_ptr<ClusterFacade> next)
      : ForwardingFacade(next), mutant_(mutant), next_(std::move(next)) {}

  absl::StatusOr<std::vector<Node>> ListNodes(const CallContext& context, const ListNodesParams& params) override {
    auto nodes = ForwardingFacade::ListNodes(context, params);
    if (nodes.ok() && mutant_.writes_when_idle && !nodes->empty()) Touch(context, nodes->front());
    if (nodes.ok() && mutant_.node) std::for_each(nodes->begin(), nodes->end(), mutant_.node);
    return nodes;
  }
  absl::StatusOr<std::vector<Pod>> ListPods(const CallContext& context, const ListPodsParams& params) override {
    auto pods = ForwardingFacade::ListPods(context, params);
    if (pods.ok() && mutant_.pods && !params.node_name.empty()) mutant_.pods(*pods);
    return pods;
  }
  absl::StatusOr<std::vector<DaemonSet>> ListDaemonSets(const CallContext& context,
                                                        const ListDaemonSetsParams& params) override {
    if (mutant_.deaf_to_templates) return std::vector<DaemonSet>{};
    auto daemon_sets = ForwardingFacade::ListDaemonSets(context, params);
    if (daemon_sets.ok() && mutant_.daemon_set) {
      std::for_each(daemon_sets->begin(), daemon_sets->end(), mutant_.daemon_set);
    }
    return daemon_sets;
  }
  absl::Status WatchNodes(const CallContext& context, const WatchParams& params, WatchSink<Node>& sink) override {
    MutantSink<Node> mutated(
        sink,
        [this, &context](Node& node) {
          if (mutant_.writes_when_idle) Touch(context, node);
          if (mutant_.node) mutant_.node(node);
        },
        false, mutant_.deaf_to_deletions);
    return ForwardingFacade::WatchNodes(context, params, mutated);
  }
  absl::Status WatchPods(const CallContext& context, const WatchParams& params, WatchSink<Pod>& sink) override {
    MutantSink<Pod> mutated(sink, nullptr, false, mutant_.deaf_to_deletions);
    return ForwardingFacade::WatchPods(context, params, mutated);
  }
  absl::Status WatchDaemonSets(const CallContext& context, const WatchParams& params,
                               WatchSink<DaemonSet>& sink) override {
    MutantSink<DaemonSet> mutated(sink, mutant_.daemon_set, mutant_.deaf_to_templates, false);
    return ForwardingFacade::WatchDaemonSets(context, params, mutated);
  }
  absl::Status WatchControllerRevisions(const CallContext& context, const WatchParams& params,
                                        WatchSink<ControllerRevision>& sink) override {
    MutantSink<ControllerRevision> mutated(sink, nullptr, mutant_.deaf_to_templates, false);
    return ForwardingFacade::WatchControllerRevisions(context, params, mutated);
  }

  absl::StatusOr<std::vector<NodeMaintenance>> ListNodeMaintenances(const CallContext& context,
                                                                    const ListNodeMaintenancesParams& params) override {
    auto objects = ForwardingFacade::ListNodeMaintenances(context, params);
    if (objects.ok() && mutant_.maintenance) std::for_each(objects->begin(), objects->end(), mutant_.maintenance);
    return objects;
  }
  absl::Status WatchNodeMaintenances(const CallContext& context, const WatchParams& params,
                                     WatchSink<NodeMaintenance>& sink) override {
    MutantSink<NodeMaintenance> mutated(sink, mutant_.maintenance, false, false);
    return ForwardingFacade::WatchNodeMaintenances(context, params, mutated);
  }
  absl::Status DeleteNodeMaintenance(const CallContext& context, const DeleteNodeMaintenanceParams& params) override {
    if (mutant_.keeps_maintenances) return absl::OkStatus();
    DeleteNodeMaintenanceParams wrong = params;
    if (mutant_.deletes_any_maintenance) wrong.uid.clear();
    return ForwardingFacade::DeleteNodeMaintenance(context, wrong);
  }

  absl::StatusOr<Node> PatchNode(const CallContext& context, const PatchNodeParams& params) override {
    PatchNodeParams wrong = params;
    if (mutant_.patch) mutant_.patch(*next_, wrong);
    return ForwardingFacade::PatchNode(context, wrong);
  }
  absl::StatusOr<EvictionAnswer> EvictPod(const CallContext& context, const EvictPodParams& params) override {
    EvictPodParams wrong = params;
    if (mutant_.pod_request) mutant_.pod_request(wrong.pod);
    if (mutant_.evicts_neighbours) EvictNeighbour(context, params.pod);
    if (mutant_.deletes_for_evictions) {
      const absl::Status deleted = ForwardingFacade::DeletePod(context, {.pod = wrong.pod});
      if (!deleted.ok()) return deleted;
      return EvictionAnswer{};
    }
    if (mutant_.evicts_twice) (void)ForwardingFacade::EvictPod(context, wrong);
    return ForwardingFacade::EvictPod(context, wrong);
  }
  absl::Status DeletePod(const CallContext& context, const DeletePodParams& params) override {
    DeletePodParams wrong = params;
    if (mutant_.pod_request) mutant_.pod_request(wrong.pod);
    return ForwardingFacade::DeletePod(context, wrong);
  }

 private:
  void Touch(const CallContext& context, const Node& node) {
    (void)ForwardingFacade::PatchNode(context,
                                      {.name = node.name, .uid = node.uid, .resource_version = node.resource_version});
  }
  void EvictNeighbour(const CallContext& context, const PodRef& pod) {
    const auto pods = ForwardingFacade::ListPods(context, {.ns = "logging"});
    if (pods.ok() && !pods->empty() && pod.ns != "logging") {
      (void)ForwardingFacade::EvictPod(context, {.pod = pods->front().ref});
    }
  }

  const Mutant& mutant_;
  const std::shared_ptr<ClusterFacade> next_;
};

}  // namespace

const std::vector<Mutant>& Mutants() {
  static const std::vector<Mutant> mutants = [] {
    std::vector<Mutant> all;
    for (auto& some : {WrongPatches(), WrongPolicies(), WrongReads(), WrongDeeds(), ModeMutants()}) {
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }();
  return mutants;
}

const Mutant* MutantOf(const SimulationOptions& options) {
  const auto number = static_cast<std::size_t>(options.mutant);
  return number == 0 || number > Mutants().size() ? nullptr : &Mutants()[number - 1];
}

std::shared_ptr<ClusterFacade> Mutate(const Mutant& mutant, std::shared_ptr<ClusterFacade> cluster) {
  return std::make_shared<MutantCluster>(mutant, std::move(cluster));
}

}  // namespace driverupgrade::testing::internal

namespace driverupgrade::testing {

std::vector<std::string> MutantNames() {
  std::vector<std::string> names;
  for (const internal::Mutant& mutant : internal::Mutants()) names.push_back(mutant.name);
  return names;
}

}  // namespace driverupgrade::testing
