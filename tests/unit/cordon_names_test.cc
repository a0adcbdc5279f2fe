// Tests how the drivers that need a node's cordon are found (dep-F7).
#include "model/cordon_names.h"

#include "driverupgrade/drain_manager.h"
#include "driverupgrade/testing/builders.h"
#include "model/cordon.h"
#include "model/node_marks.h"
#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using Names = std::set<std::string>;

Node NodeWith(const std::string& cordoned_by, const StringMap& labels = {}) {
  testing::NodeBuilder builder("n1");
  builder.WithAnnotation(std::string(kCordonedByAnnotation), cordoned_by);
  for (const auto& [key, value] : labels) builder.WithLabel(key, value);
  return builder.Build();
}

TEST_CASE("dep-F7: a driver's full name consists of a valid domain and a valid driver name") {
  CHECK(internal::ParseDriverName("nvidia.com/gpu")->StateLabel() == "nvidia.com/gpu-driver-upgrade-state");
  for (const std::string none : {"", "gpu", "/gpu", "nvidia.com/", "nvidia.com/GPU", "nvidia.com/a/b"}) {
    CAPTURE(none);
    CHECK_FALSE(internal::ParseDriverName(none).has_value());
  }
}

TEST_CASE("dep-F7: the names in the annotation form a set, regardless of spaces, duplicates, and empty entries") {
  CHECK(internal::CordonNames(testing::NodeBuilder("n1").Build()).empty());
  CHECK(internal::CordonNames(NodeWith(" a/b ,, c/d,a/b, ")) == Names{"a/b", "c/d"});
  CHECK(internal::Spell(Names{"c/d", "a/b"}) == "a/b,c/d");
}

TEST_CASE("dep-F7: a name counts while its driver's upgrade is in progress or has failed") {
  const struct {
    StringMap labels;
    bool live;
  } cases[] = {
      {{}, false},
      {{{"nvidia.com/gpu-driver-upgrade-state", ""}}, false},
      {{{"nvidia.com/gpu-driver-upgrade-state", "upgrade-done"}}, false},
      {{{"nvidia.com/gpu-driver-upgrade-state", "drain-required"}}, true},
      {{{"nvidia.com/gpu-driver-upgrade-state", "upgrade-failed"}}, true},
      // An unknown state counts, because an unnecessary cordon is safer than a missing cordon.
      {{{"nvidia.com/gpu-driver-upgrade-state", "half-way"}}, true},
      {{{"nvidia.com/ofed-driver-upgrade-state", "drain-required"}}, false},
  };
  for (const auto& c : cases) {
    const Node node = NodeWith("nvidia.com/gpu,no name", c.labels);
    CAPTURE(c.labels);
    CHECK(internal::LiveCordonNames(node, "") == (c.live ? Names{"nvidia.com/gpu"} : Names{}));
    CHECK(internal::LiveCordonNames(node, "nvidia.com/gpu").empty());
  }
}

TEST_CASE(
    "dep-F8: a driver that does not write its name, like drivers of the Go library, is recognized by its state label") {
  const Node node = NodeWith("nvidia.com/gpu", {{"nvidia.com/gpu-driver-upgrade-state", "drain-required"},
                                                {"nvidia.com/ofed-driver-upgrade-state", "drain-required"},
                                                {"example.com/x-driver-upgrade-state", "upgrade-done"},
                                                {"not a name-driver-upgrade-state", "drain-required"}});
  const std::vector<DriverIdentity> drivers = internal::DriversWithoutCordonName(node, "example.com/x");
  REQUIRE(drivers.size() == 1);
  CHECK(drivers[0].Name() == "nvidia.com/ofed");
}

TEST_CASE("W1: a driver without a state label counts if the node is cordoned and has the driver's timer") {
  Node node{.annotations = {{std::string(kCordonedByAnnotation), "nvidia.com/gpu,nvidia.com/ofed"}},
            .unschedulable = true};
  CHECK(internal::LiveCordonNames(node, "nvidia.com/gpu").empty());
  node.annotations["nvidia.com/ofed-driver-upgrade.stage"] = "drain-required@1000@a";
  CHECK(internal::LiveCordonNames(node, "nvidia.com/gpu") == std::set<std::string>{"nvidia.com/ofed"});
  node.unschedulable = false;
  CHECK(internal::LiveCordonNames(node, "nvidia.com/gpu").empty());
}

TEST_CASE("dep-F8: a driver that left the cordon after a failure does not need it, unless it is in requestor mode") {
  const DriverIdentity gpu = *DriverIdentity::Create("nvidia.com", "gpu");
  const DriverIdentity ofed = *DriverIdentity::Create("nvidia.com", "ofed");
  const auto needs = [&](const StringMap& annotations) {
    const Node node{
        .labels = {{gpu.StateLabel(), "upgrade-failed"}}, .annotations = annotations, .unschedulable = true};
    return internal::WhoElseNeedsCordon(node, ofed).has_value();
  };
  const StringMap failed = {{gpu.FailedRevisionAnnotation(), "new"}};
  CHECK_FALSE(needs(failed));
  CHECK(needs({}));  // The Go library stores no failed revision, and lifts this cordon.
  StringMap requested = failed;
  requested[gpu.RequestorModeAnnotation()] = "true";
  CHECK(needs(requested));
}

TEST_CASE("W2: a cordon of another program is recognized by the annotation of that program") {
  Node node{.annotations = {{std::string(internal::kForeignCordonMarks.front().key), "true"}}, .unschedulable = true};
  CHECK(internal::ForeignCordonOwner(node) == "NVIDIA's driver manager");
  node.unschedulable = false;
  CHECK_FALSE(internal::ForeignCordonOwner(node));
  CHECK_FALSE(internal::ForeignCordonOwner({.unschedulable = true}));
}

TEST_CASE("W2: a node that NVSentinel has quarantined stays cordoned until the quarantine ends") {
  const DriverIdentity gpu = *DriverIdentity::Create("nvidia.com", "gpu");
  Node node{.annotations = {{"quarantineHealthEventIsCordoned", "True"}}, .unschedulable = true};
  CHECK(internal::WhoElseNeedsCordon(node, gpu) == "NVSentinel");
  for (const char* key : {"quarantinedNodeUncordonedManually", "quarantineHealthEventDryRun"}) {
    Node other = node;
    other.annotations[key] = "True";
    CHECK_FALSE(internal::WhoElseNeedsCordon(other, gpu));
  }
  node.annotations.clear();
  CHECK_FALSE(internal::WhoElseNeedsCordon(node, gpu));
}

TEST_CASE("W2: a node stays cordoned while another program drains, changes or reboots it") {
  const DriverIdentity gpu = *DriverIdentity::Create("nvidia.com", "gpu");
  const std::string config = "machineconfiguration.openshift.io/";
  const std::string sriov = "sriovnetwork.openshift.io/state";
  struct Row {
    StringMap annotations;
    std::string program = {};
  };
  const std::vector<Row> rows = {
      {{{config + "state", "Working"}}, "the Machine Config Operator"},
      {{{config + "state", "Rebooting"}}, "the Machine Config Operator"},
      {{{config + "state", "Done"}, {config + "desiredDrain", "drain-b"}}, "the Machine Config Operator"},
      // An update of a degraded node does not set the state to Working.
      {{{config + "state", "Degraded"}, {config + "desiredDrain", "drain-b"}}, "the Machine Config Operator"},
      {{{config + "state", "Done"}, {config + "desiredDrain", "uncordon-b"}}},
      {{{config + "state", "Degraded"}, {config + "desiredDrain", "uncordon-b"}}},
      {{{config + "state", "Unreconcilable"}}},
      {{{config + "state", ""}}},
      // The operator has not started yet. It will cordon the node itself.
      {{{config + "currentConfig", "a"}, {config + "desiredConfig", "b"}, {config + "state", "Done"}}},
      {{{sriov, "Drain_Required"}}, "the SR-IOV network operator"},
      {{{sriov, "Reboot_Required"}}, "the SR-IOV network operator"},
      {{{sriov, "Draining"}}, "the SR-IOV network operator"},
      {{{sriov, "Idle"}}},
      {{{sriov, ""}}},
      // kured also sets this annotation on a node that is waiting for kured's lock.
      {{{"weave.works/kured-reboot-in-progress", "2026-11-29T12:00:00Z"}}},
      {{{"quarantineHealthEventIsCordoned", "True"}, {config + "state", "Working"}}, "NVSentinel"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.annotations, row.program);
    const Node node{.annotations = row.annotations, .unschedulable = true};
    CHECK(internal::WhoElseNeedsCordon(node, gpu).value_or("") == row.program);
    CHECK_FALSE(internal::WhoElseNeedsCordon({.annotations = row.annotations}, gpu));
  }
}

TEST_CASE("W2: a program of another vendor leaves the cordon on a node that a further program needs") {
  const DriverIdentity tuner = *DriverIdentity::Create("example.com", "tuner");
  const Node before{.name = "n1", .uid = "u1", .resource_version = "7"};
  Node node = Patched(before, CordonPatch(before, tuner));
  CHECK_FALSE(Patched(node, UncordonPatch(node, tuner)).unschedulable);
  node.annotations["sriovnetwork.openshift.io/state"] = "Drain_Required";
  CHECK(Patched(node, UncordonPatch(node, tuner)).unschedulable);
}

TEST_CASE(
    "dep-F7: if a program and an engine have both cordoned a node, the program leaves the engine's cordon in place") {
  const DriverIdentity tuner = *DriverIdentity::Create("example.com", "tuner");
  const Node before{.name = "n1", .uid = "u1", .resource_version = "7"};
  const PatchNodeParams cordon = CordonPatch(before, tuner);
  CHECK(cordon == PatchNodeParams{.name = "n1",
                                  .uid = "u1",
                                  .resource_version = "7",
                                  .labels = {{tuner.StateLabel(), "drain-required"}},
                                  .annotations = {{std::string(kCordonedByAnnotation), "example.com/tuner"}},
                                  .unschedulable = true});
  Node node = Patched(before, cordon);
  CHECK(CordonPatch(node, tuner).empty());
  CHECK(Patched(node, UncordonPatch(node, tuner)) == before);

  const DriverIdentity gpu = *DriverIdentity::Create("nvidia.com", "gpu");
  node.labels[gpu.StateLabel()] = "drain-required";
  node.annotations[std::string(kCordonedByAnnotation)] = "example.com/tuner,nvidia.com/gpu";
  const Node without = Patched(node, UncordonPatch(node, tuner));
  CHECK(without.unschedulable);
  CHECK(without.annotations.at(std::string(kCordonedByAnnotation)) == "nvidia.com/gpu");
  CHECK_FALSE(without.labels.contains(tuner.StateLabel()));
  CHECK(UncordonPatch(without, tuner).empty());
}

}  // namespace
}  // namespace driverupgrade::tests
