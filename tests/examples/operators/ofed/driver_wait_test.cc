#include "ofed/driver_wait.h"

#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using ofed_operator::kDriverContainer;
using ofed_operator::kDriverWaitLabel;
using ofed_operator::WaitLabelPatch;
using ofed_operator::WaitsForDriver;

Pod Driver(bool ready) {
  return {.container_statuses = {{.name = "other"}, {.name = kDriverContainer, .ready = ready}}};
}

TEST_CASE("a node waits unless a driver container on it is ready, and its wait is unknown without a driver pod") {
  CHECK_FALSE(WaitsForDriver({}).has_value());
  CHECK(WaitsForDriver({Driver(false)}) == true);
  CHECK(WaitsForDriver({Driver(true)}) == false);
  CHECK(WaitsForDriver({Driver(false), Driver(true)}) == false);
  CHECK(WaitsForDriver({{.container_statuses = {{.name = "other", .ready = true}}}}) == true);
  Pod leaving = Driver(true);
  leaving.deletion_timestamp = absl::UnixEpoch();
  CHECK(WaitsForDriver({leaving}) == true);
}

std::string Written(const Node& node, const std::vector<Pod>& pods, bool driver_wanted = true) {
  const auto patch = WaitLabelPatch(node, pods, driver_wanted, Ofed());
  return patch ? patch->labels.at(kDriverWaitLabel).value_or("removed") : "nothing";
}

TEST_CASE("the label is patched only if it is wrong") {
  Node node{.name = "n", .uid = "u", .resource_version = "3"};
  CHECK(WaitLabelPatch(node, {Driver(true)}, true, Ofed()) ==
        PatchNodeParams{.name = "n", .uid = "u", .resource_version = "3", .labels = {{kDriverWaitLabel, "false"}}});
  node.labels[kDriverWaitLabel] = "false";
  CHECK(Written(node, {Driver(true)}) == "nothing");
  CHECK(Written(node, {Driver(false)}) == "true");
}

TEST_CASE("the label is removed if the driver pod is missing, except while an upgrade replaces the pod") {
  const std::string value = GENERATE("true", "false");
  Node node{.name = "n", .labels = {{kDriverWaitLabel, value}}};
  CHECK(Written(node, {}) == "removed");
  node.labels[Ofed().StateLabel()] = "upgrade-done";
  CHECK(Written(node, {}) == "removed");
  node.labels[Ofed().StateLabel()] = "pod-restart-required";
  CHECK(Written(node, {}) == "nothing");
  CHECK(Written({.name = "n"}, {}) == "nothing");
}

TEST_CASE("if no policy has a driver, no node waits for a driver") {
  Node node{.name = "n", .labels = {{kDriverWaitLabel, "true"}}};
  CHECK(Written(node, {}, false) == "removed");
  node.labels[ofed_operator::kNicLabel] = "true";
  CHECK(Written(node, {}, false) == "false");
  CHECK(Written({.name = "n"}, {}, false) == "nothing");
  CHECK(Written(node, {Driver(false)}, false) == "nothing");  // while the driver pod terminates
}

}  // namespace
}  // namespace driverupgrade::tests
