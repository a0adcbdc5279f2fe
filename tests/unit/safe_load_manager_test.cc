#include "driverupgrade/safe_load_manager.h"

#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

TEST_CASE("T39, T43: a driver waits while the annotation has a value, and loads when the annotation is removed") {
  const SafeLoadManager safe_load(Gpu());
  Node node{.name = "n1", .annotations = {{"team", "a"}, {Ofed().SafeLoadAnnotation(), "true"}}};
  const Node before = node;
  CHECK_FALSE(safe_load.IsWaiting(node));  // the annotation belongs to another driver
  node.annotations[Gpu().SafeLoadAnnotation()] = "";
  CHECK_FALSE(safe_load.IsWaiting(node));
  for (const char* value : {"true", "n1", "false"}) {
    node.annotations[Gpu().SafeLoadAnnotation()] = value;
    CHECK(safe_load.IsWaiting(node));
    node = Patched(node, safe_load.Unblocking(node));
    CHECK_FALSE(safe_load.IsWaiting(node));
    CHECK(node == before);
  }
}

TEST_CASE("W39: the patch that allows a driver to load is complete, and can be sent unchanged") {
  const SafeLoadManager safe_load(Gpu());
  const Node node{.name = "n1",
                  .uid = "u1",
                  .resource_version = "7",
                  .annotations = {{"team", "a"}, {Gpu().SafeLoadAnnotation(), "true"}}};
  const PatchNodeParams patch = safe_load.Unblocking(node);
  CHECK(patch == PatchNodeParams{.name = "n1",
                                 .uid = "u1",
                                 .resource_version = "7",
                                 .annotations = {{Gpu().SafeLoadAnnotation(), std::nullopt}}});
  CHECK_FALSE(safe_load.IsWaiting(Patched(node, patch)));
  CHECK(safe_load.Unblocking(Patched(node, patch)).empty());
}

}  // namespace
}  // namespace driverupgrade::tests
