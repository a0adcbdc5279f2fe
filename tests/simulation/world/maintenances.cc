// The maintenance operator and other clients that change NodeMaintenances (F28).
#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "simulation/world/actors.h"

namespace driverupgrade::testing::internal {
namespace {

class Maintenances final : public Actor {
 public:
  explicit Maintenances(World& world) : Actor(world, "maintenances") { Run(); }

  // Starts the maintenance operator. The other requestor releases its nodes and withdraws the failures that it
  // reported. Pods of an orphaned DaemonSet are removed, because the maintenance operator does not evict them without
  // force.
  void Mend() override {
    const int parallel = random_.Between(2, 5);
    world_.cluster->RunMaintenanceOperator({.parallel = parallel});
    for (const NodeMaintenance& object : world_.cluster->node_maintenances()) {
      Leave(object);
      Edit(object, [](NodeMaintenance& edited) {
        std::erase_if(edited.conditions, [](const Condition& one) { return one.message.starts_with(kOtherRequestor); });
      });
      if (object.requestor_id == kOtherRequestor) Delete(object);
    }
    world_.RemoveOrphans();
  }

 private:
  void Run() {
    MaintenanceOperatorOptions options{
        .step_delay = random_.Pick({absl::Milliseconds(100), absl::Seconds(1), absl::Seconds(20)}),
        .poll_interval = random_.Pick({absl::Seconds(2), absl::Seconds(10), absl::Minutes(1)})};
    if (random_.Percent(60)) options.parallel = random_.Pick({1, 2, 4});
    world_.cluster->RunMaintenanceOperator(options);
  }

  void Delete(const NodeMaintenance& object) {
    (void)world_.cluster->DeleteNodeMaintenance({}, {.ns = object.ns, .name = object.name, .uid = object.uid});
  }

  void Edit(const NodeMaintenance& object, const std::function<void(NodeMaintenance&)>& edit) {
    world_.cluster->EditNodeMaintenance(object.ns, object.name, edit);
  }

  void Leave(const NodeMaintenance& object) {
    Edit(object, [](NodeMaintenance& edited) { std::erase(edited.additional_requestors, kOtherRequestor); });
  }

  void Act() override {
    if (!world_.May(Fault::kMaintenance)) return;
    world_.Fired(Fault::kMaintenance);
    if (random_.Percent(20)) return TroubleOperator();
    const std::vector<NodeMaintenance> objects = world_.cluster->node_maintenances();
    if (objects.empty() || random_.Percent(15)) return Request(world_.AnyNode(random_));
    Meddle(random_.Pick(objects));
  }

  void TroubleOperator() {
    away_ = !away_;
    world_.trace.Line("maintenances: the operator {}", away_ ? "is away" : "is back");
    if (away_) return world_.cluster->StopMaintenanceOperator();
    Run();
  }

  // The other requestor creates the object before our operator does.
  void Request(const std::string& node) {
    const std::string name = "nvidia-operator-" + node;
    if (node.empty() || world_.cluster->node_maintenance(kMaintenanceNs, name)) return;
    world_.trace.Line("maintenances: another requestor asks for {}", node);
    world_.cluster->AddNodeMaintenance(
        {.ns = kMaintenanceNs, .name = name, .requestor_id = kOtherRequestor, .node_name = node});
  }

  void Meddle(const NodeMaintenance& object) {
    static constexpr const char* kDeeds[] = {"removes", "deletes", "sets back", "joins", "leaves", "fails"};
    const int deed = random_.Below(6);
    world_.trace.Line("maintenances: somebody {} {}", kDeeds[deed], object.ToString());
    switch (deed) {
      case 0: world_.cluster->RemoveNodeMaintenance(object.ns, object.name); return;
      case 1: return Delete(object);
      case 2: return SetBack(object);
      case 3:
        return Edit(object, [](NodeMaintenance& edited) {
          auto& others = edited.additional_requestors;
          if (edited.requestor_id == kOtherRequestor || edited.deletion_timestamp) return;
          if (std::find(others.begin(), others.end(), kOtherRequestor) == others.end()) {
            others.push_back(kOtherRequestor);
          }
        });
      case 4:
        Leave(object);
        if (object.requestor_id == kOtherRequestor) Delete(object);
        return;
      default:
        return Edit(object, [&](NodeMaintenance& edited) {
          std::erase_if(edited.conditions, [](const Condition& one) { return one.type == "RequestorFailed"; });
          edited.conditions.push_back({.type = "RequestorFailed",
                                       .status = "True",
                                       .reason = "FailedMaintenance",
                                       .message = random_.Percent(50) ? fmt::format("{}: on purpose", kRequestor)
                                                                      : fmt::format("{}: it failed", kOtherRequestor)});
        });
    }
  }

  // Makes the condition flap: resets an object that was ready.
  void SetBack(const NodeMaintenance& object) {
    Edit(object, [&](NodeMaintenance& edited) {
      for (Condition& condition : edited.conditions) {
        if (condition.type != "Ready") continue;
        condition.status = "False";
        condition.reason = random_.Pick({"Draining", "WaitForPodCompletion", "Pending"});
      }
    });
  }

  bool away_ = false;
};

}  // namespace

std::unique_ptr<Actor> MakeMaintenances(World& world) { return std::make_unique<Maintenances>(world); }

}  // namespace driverupgrade::testing::internal
