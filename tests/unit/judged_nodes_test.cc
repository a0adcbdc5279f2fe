// Tests that published verdicts do not change while the next verdicts are computed.
#include "decide/judged_nodes.h"

#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using internal::JudgedNode;
using internal::JudgedNodes;

std::shared_ptr<const JudgedNode> Judged(const std::string& name, int done) {
  auto node = std::make_shared<JudgedNode>();
  node->name = name;
  node->tally.done = done;
  return node;
}

TEST_CASE("arch-A10: a shared view does not change") {
  JudgedNodes nodes;
  nodes.Put(Judged("n1", 0));
  nodes.Put(Judged("n2", 0));
  const JudgedNodes shared = nodes.Share();
  nodes.Put(Judged("n1", 1));
  nodes.Remove("n2");
  CHECK(nodes.Find("n1")->tally.done == 1);
  CHECK(nodes.Find("n2") == nullptr);
  REQUIRE(shared.Find("n1") != nullptr);
  CHECK(shared.Find("n1")->tally.done == 0);
  CHECK(shared.Find("n2") != nullptr);
}

}  // namespace
}  // namespace driverupgrade::tests
