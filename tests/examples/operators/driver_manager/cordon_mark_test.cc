#include "driver_manager/cordon_mark.h"

#include <string>

#include "driverupgrade/driver_identity.h"
#include "driverupgrade/testing/builders.h"
#include "model/cordon.h"
#include "model/cordon_names.h"
#include "support/catch.h"

namespace driver_manager {
namespace {

using driverupgrade::Node;
using driverupgrade::testing::NodeBuilder;

const std::string kCordonedBy(driverupgrade::kCordonedByAnnotation);
const std::string kOfedState = "nvidia.com/ofed-driver-upgrade-state";
const std::string kOurState = "nvidia.com/gpu-manager-driver-upgrade-state";

Node Cordoned(Node node) { return Patched(node, CordonPatch(node)); }
Node Uncordoned(Node node) { return Patched(node, UncordonPatch(node)); }

TEST_CASE("our own cordon has our name, and leaves no trace when it is lifted") {
  const Node before = NodeBuilder("gpu-7").Build();
  const Node cordoned = Cordoned(before);
  CHECK(cordoned.unschedulable);
  CHECK(cordoned.annotations.at(kCordonedBy) == kCordonName);
  CHECK(CordonPatch(cordoned).empty());
  CHECK(Uncordoned(cordoned) == before);
}

TEST_CASE("the engine treats our cordon as the cordon of an upgrade in progress") {
  const auto ofed = *driverupgrade::DriverIdentity::Create("nvidia.com", "ofed");
  const Node cordoned = Cordoned(NodeBuilder("gpu-7").Build());
  CHECK(driverupgrade::internal::ReadCordon(cordoned, ofed).kind == driverupgrade::internal::CordonKind::kUpgrade);
  CHECK(driverupgrade::internal::LiveCordonNames(cordoned, ofed.Name()) == std::set<std::string>{kCordonName});
  CHECK_FALSE(driverupgrade::internal::WhoElseNeedsCordon(cordoned, ofed).has_value());
}

TEST_CASE("an administrator's cordon is neither marked nor lifted") {
  const Node node = NodeBuilder("gpu-7").Cordoned().Build();
  CHECK(CordonPatch(node).empty());
  CHECK(UncordonPatch(node).empty());
}

TEST_CASE("a cordon with only stale names counts as an administrator's") {
  const Node node = NodeBuilder("gpu-7")
                        .Cordoned()
                        .WithAnnotation(kCordonedBy, "nvidia.com/ofed")
                        .WithLabel(kOfedState, "upgrade-done")
                        .Build();
  CHECK(CordonPatch(node).empty());
}

TEST_CASE("our name is added to the cordon of another driver's upgrade, and the cordon stays until both are done") {
  const Node before = NodeBuilder("gpu-7")
                          .Cordoned()
                          .WithAnnotation(kCordonedBy, "nvidia.com/ofed")
                          .WithLabel(kOfedState, "pod-restart-required")
                          .Build();
  const Node joined = Cordoned(before);
  CHECK(joined.annotations.at(kCordonedBy) == "nvidia.com/gpu-manager,nvidia.com/ofed");
  CHECK(Uncordoned(joined) == before);

  // The other upgrade finishes first. Its engine removes only its own name, so we must lift the cordon.
  Node later = joined;
  later.labels[kOfedState] = "upgrade-done";
  later.annotations[kCordonedBy] = kCordonName;
  CHECK_FALSE(Uncordoned(later).unschedulable);
}

TEST_CASE("spaces around the names on a cordon are ignored, as the engine ignores them") {
  const Node node = NodeBuilder("gpu-7")
                        .Cordoned()
                        .WithAnnotation(kCordonedBy, std::string(kCordonName) + ", nvidia.com/ofed")
                        .WithLabel(kOfedState, "pod-restart-required")
                        .Build();
  const Node after = Uncordoned(node);
  CHECK(after.unschedulable);
  CHECK(after.annotations.at(kCordonedBy) == "nvidia.com/ofed");
}

TEST_CASE("our cordon stays if an upgrade that does not write names still needs it") {
  Node node = Cordoned(NodeBuilder("gpu-7").Build());
  node.labels[kOfedState] = "drain-required";
  CHECK(Uncordoned(node).unschedulable);
  CHECK_FALSE(Uncordoned(node).labels.contains(kOurState));

  // The other upgrade has recorded our cordon as an administrator's cordon, and would never lift it.
  node.annotations["nvidia.com/ofed-driver-upgrade.node-initial-state.unschedulable"] = "true";
  CHECK_FALSE(Uncordoned(node).unschedulable);
}

TEST_CASE("if an administrator has uncordoned the node meanwhile, only the mark is removed") {
  Node node = Cordoned(NodeBuilder("gpu-7").Build());
  node.unschedulable = false;
  CHECK_FALSE(UncordonPatch(node).unschedulable.has_value());
  CHECK_FALSE(Uncordoned(node).annotations.contains(kCordonedBy));
}

}  // namespace
}  // namespace driver_manager
