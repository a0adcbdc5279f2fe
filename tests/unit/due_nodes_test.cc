// Tests which nodes are evaluated first if a pass cannot evaluate all of them.
#include "decide/due_nodes.h"

#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

TEST_CASE("arch-A10: nodes that change in every pass do not starve other nodes") {
  for (const std::size_t room : {1, 2}) {
    internal::DueNodes due;
    std::set<std::string> judged;
    for (int pass = 0; pass < 3; ++pass) {
      for (const char* name : {"n1", "n2", "n3"}) due.Change(name);
      judged.merge(due.Take(kNow, room, {}, {}));
    }
    CHECK(judged == std::set<std::string>{"n1", "n2", "n3"});
  }
}

}  // namespace
}  // namespace driverupgrade::tests
