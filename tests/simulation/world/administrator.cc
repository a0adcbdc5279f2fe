// Simulates administrators who change the cluster during an upgrade (F22) and make typing errors (F25).
#include <algorithm>
#include <utility>

#include "simulation/world/actors.h"

namespace driverupgrade::testing::internal {
namespace {

class Administrator final : public Actor {
 public:
  explicit Administrator(World& world) : Actor(world, "administrator") {}

  // Reverts all changes that only an administrator can revert: skip labels, invalid labels, the pause, and cordons that
  // count toward a budget.
  void Mend() override {
    UpgradePolicy policy = world_.policy;
    policy.auto_upgrade = true;
    policy.paused = false;
    policy.retry.max_attempts = std::max(policy.retry.max_attempts, 0);
    world_.SetPolicy(policy);
    const bool uncordon =
        policy.max_unavailable || policy.cordoned_nodes == CordonedNodes::kIgnore || world_.peer != nullptr;
    for (const Node& node : world_.cluster->nodes()) {
      const bool theirs = uncordon && !world_.checker->CordonIsOurs(node.name);
      const bool lift = node.unschedulable && (theirs || world_.checker->CordonIsUncertain(node.name));
      if (lift && world_.checker->CordonIsMaintenanceOperators(node.name)) TakeMaintenancesFrom(node.name);
      world_.cluster->EditNode(node.name, [&](Node& edited) {
        edited.labels.erase(world_.identity.SkipUpgradeLabel());
        auto state = edited.labels.find(world_.identity.StateLabel());
        if (state != edited.labels.end() && !IsOrdinary(state->second, world_.setup.requestor)) {
          edited.labels.erase(state);
          state = edited.labels.end();
        }
        // This failed node has lost the annotation that contains its failed revision, so the administrator must request
        // another attempt.
        const bool failed = state != edited.labels.end() && state->second == "upgrade-failed";
        if (failed && !edited.annotations.contains(world_.identity.FailedRevisionAnnotation())) {
          state->second = "upgrade-required";
        }
        if (lift) edited.unschedulable = false;
      });
    }
  }

 private:
  // Returns whether the engine leaves this state on its own.
  static bool IsOrdinary(const std::string& value, bool requestor) {
    const auto state = ParseUpgradeState(value);
    return state && (requestor || *state != UpgradeState::kNodeMaintenanceRequired) &&
           *state != UpgradeState::kPostMaintenanceRequired;
  }

  // The maintenance operator does not cordon a node a second time for the same NodeMaintenance. A user who lifts the
  // operator's cordon must therefore delete the NodeMaintenance, so that the maintenance starts again.
  void TakeMaintenancesFrom(const std::string& node) {
    for (const NodeMaintenance& object : world_.cluster->node_maintenances()) {
      if (object.node_name == node) world_.cluster->RemoveNodeMaintenance(object.ns, object.name);
    }
  }

  void Act() override {
    if (world_.May(Fault::kGarbage) && (random_.Percent(30) || !world_.May(Fault::kAdministrator))) {
      if (Garble(world_.AnyNode(random_))) world_.Fired(Fault::kGarbage);
    } else if (world_.May(Fault::kAdministrator)) {
      if (random_.Percent(25)) {
        ChangePolicy();
      } else {
        Touch(world_.AnyNode(random_));
      }
      world_.Fired(Fault::kAdministrator);
    }
  }

  void Edit(const std::string& node, const char* what, const std::function<void(Node&)>& edit) {
    if (node.empty()) return;
    world_.trace.Line("administrator: {} {}", what, node);
    world_.cluster->EditNode(node, edit);
  }

  // Edits a node that is not done, in the middle of its upgrade.
  void Visit() {
    std::vector<std::string> open;
    for (const Node& node : world_.cluster->nodes()) {
      const auto state = node.labels.find(world_.identity.StateLabel());
      if (state != node.labels.end() && state->second != "upgrade-done") open.push_back(node.name);
    }
    if (open.empty()) return;
    const std::string& node = odd_.Pick(open);
    const bool uncordons = odd_.Percent(60);
    const bool loads = odd_.Percent(60);
    Edit(node, "visits", [&](Node& n) {
      if (uncordons) n.unschedulable = false;
      if (loads) n.annotations[world_.identity.SafeLoadAnnotation()] = "true";
      if (!uncordons && !loads) n.annotations[world_.identity.UpgradeRequestedAnnotation()] = "true";
    });
  }

  void Touch(const std::string& node) {
    if (odd_.Percent(20)) return Visit();
    const DriverIdentity& identity = world_.identity;
    switch (random_.Below(10)) {
      case 0:
      case 1: return Edit(node, "cordons", [](Node& n) { n.unschedulable = true; });
      case 2:
      case 3: return Edit(node, "uncordons", [](Node& n) { n.unschedulable = false; });
      case 4: return Edit(node, "skips", [&](Node& n) { n.labels[identity.SkipUpgradeLabel()] = "true"; });
      case 5: return Edit(node, "no longer skips", [&](Node& n) { n.labels.erase(identity.SkipUpgradeLabel()); });
      case 6: return Edit(node, "erases the state of", [&](Node& n) { n.labels.erase(identity.StateLabel()); });
      case 7:
        return Edit(node, "asks for another try of",
                    [&](Node& n) { n.labels[identity.StateLabel()] = "upgrade-required"; });
      case 8:
        return Edit(node, "requests an upgrade of",
                    [&](Node& n) { n.annotations[identity.UpgradeRequestedAnnotation()] = "true"; });
      default: {
        // An empty value requests nothing.
        const std::string value = odd_.Percent(30) ? "" : "true";
        return Edit(node, "sets the safe-load annotation of",
                    [&](Node& n) { n.annotations[identity.SafeLoadAnnotation()] = value; });
      }
    }
  }

  void ChangePolicy() {
    UpgradePolicy policy = world_.policy;
    // An invalid policy is refused and has no effect.
    const bool was_invalid = IsInvalid(policy);
    policy.retry.max_attempts = std::max(policy.retry.max_attempts, 0);
    if (!was_invalid && odd_.Percent(8) && !world_.options.host && !world_.options.as_hosted) {
      policy.retry.max_attempts = -1;
      world_.trace.Line("administrator: a policy that is to be refused");
      return world_.SetPolicy(std::move(policy));
    }
    switch (random_.Below(4)) {
      case 0: policy.paused = !policy.paused; break;
      case 1: policy.auto_upgrade = !policy.auto_upgrade; break;
      case 2: policy.max_parallel = random_.Pick({1, 1, 2, 4}); break;
      default: {
        const bool paused = policy.paused;
        policy = DrawPolicy(random_);
        policy.rollout = world_.policy.rollout;
        policy.paused = paused;
        break;
      }
    }
    world_.trace.Line("administrator: policy: autoUpgrade={} paused={} maxParallel={}", policy.auto_upgrade,
                      policy.paused, policy.max_parallel.value_or(-1));
    world_.SetPolicy(std::move(policy));
  }

  // Writes invalid labels or annotations (F25).
  bool Garble(const std::string& node) {
    if (node.empty()) return false;
    const DriverIdentity& identity = world_.identity;
    const std::vector<std::string> keys = {identity.StageAnnotation(),
                                           identity.FailuresAnnotation(),
                                           identity.FailedRevisionAnnotation(),
                                           identity.RestartPodAnnotation(),
                                           identity.RestartOnlyAnnotation(),
                                           identity.PodCompletionStartAnnotation(),
                                           identity.ValidationStartAnnotation(),
                                           std::string(kCordonedByAnnotation),
                                           identity.InitiallyUnschedulableAnnotation()};
    const std::string value = random_.Pick({std::string(), std::string("\x1b[2J\n\r\u2028level=error"),
                                            std::string("drain-required@99999999999999999999@x"), std::string("-1@-1"),
                                            std::string("drain-required@4102444800@rev-2"), std::string("\xff\xfe"),
                                            std::string(20'000, 'x')});
    if (odd_.Percent(15)) return GarbleNames(node);
    switch (random_.Below(4)) {
      case 0:
        Edit(node, "mistypes the state of",
             [&, value = odd_.Percent(30) ? "post-maintenance-required" : "no-state"](Node& n) {
               n.labels[identity.StateLabel()] = value;
             });
        break;
      case 1: Edit(node, "erases an annotation of", [&](Node& n) { n.annotations.erase(random_.Pick(keys)); }); break;
      case 2: Edit(node, "fills up", [&](Node& n) { n.annotations["example.com/notes"] = value; }); break;
      default: Edit(node, "mistypes an annotation of", [&](Node& n) { n.annotations[random_.Pick(keys)] = value; });
    }
    return true;
  }

  // Writes names to the cordon set: lists in the form in which users type them, and drivers whose upgrades have ended
  // or never started.
  bool GarbleNames(const std::string& node) {
    const std::string names =
        odd_.Pick({std::string("nvidia.com/ofed"), std::string(" nvidia.com/ofed , nvidia.com/gpu "),
                   std::string("nvidia.com/gone, nvidia.com/ofed"), std::string("ofed")});
    Edit(node, "mistypes the names on the cordon of", [&](Node& n) {
      n.annotations[std::string(kCordonedByAnnotation)] = names;
      if (odd_.Percent(50)) n.unschedulable = true;
    });
    return true;
  }

  // Separate stream, so that its draws do not change the rest of the seed.
  Random odd_{world_.seed, "odd administrator"};
};

}  // namespace

std::unique_ptr<Actor> MakeAdministrator(World& world) { return std::make_unique<Administrator>(world); }

}  // namespace driverupgrade::testing::internal
