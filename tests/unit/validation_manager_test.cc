#include "driverupgrade/validation_manager.h"

#include <vector>

#include "driverupgrade/testing/builders.h"
#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using testing::PodBuilder;

Pod Validator(const char* name, bool ready) {
  PodBuilder pod("operator", name);
  pod.WithLabel("app", "validator");
  return ready ? pod.Build() : pod.NotReady().Build();
}

TEST_CASE("A driver is proved when there is a validation pod on its node, and all of them are ready") {
  const ValidationManager validation(LabelSelector::FromMatchLabels({{"app", "validator"}}));
  const Pod other = PodBuilder("team-a", "web").Build();
  CHECK(validation.Evaluate({}) == Validation{.missing = "no pod matches app=validator on the node"});
  CHECK(validation.Evaluate({other}) == Validation{.missing = "no pod matches app=validator on the node"});
  CHECK(validation.Evaluate({other, Validator("one", true)}) == Validation{.passed = true});
  // The first that is missing is told, whatever comes after.
  CHECK(validation.Evaluate({Validator("one", true), Validator("two", false), Validator("three", false)}) ==
        Validation{.missing = "validation pod operator/two is not ready"});
}

}  // namespace
}  // namespace driverupgrade::tests
