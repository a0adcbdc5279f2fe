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

TEST_CASE("A driver is validated if there is a validation pod on its node, and all validation pods are ready") {
  const ValidationManager validation(LabelSelector::FromMatchLabels({{"app", "validator"}}));
  const Pod other = PodBuilder("team-a", "web").Build();
  CHECK(validation.Evaluate({}) == Validation{.missing = "no pod matches app=validator on the node"});
  CHECK(validation.Evaluate({other}) == Validation{.missing = "no pod matches app=validator on the node"});
  CHECK(validation.Evaluate({other, Validator("one", true)}) == Validation{.passed = true});
  // Only the first pod that is not ready is reported.
  CHECK(validation.Evaluate({Validator("one", true), Validator("two", false), Validator("three", false)}) ==
        Validation{.missing = "validation pod operator/two is not ready"});
}

TEST_CASE("dep-F22: a validation pod validates the driver only if the pod did not become ready before the driver") {
  const LabelSelector selector = LabelSelector::FromMatchLabels({{"app", "validator"}});
  const absl::Time driver_ready = absl::FromUnixSeconds(1000);
  const auto ready_at = [](int second) {
    return PodBuilder("operator", "one").WithLabel("app", "validator").ReadySince(absl::FromUnixSeconds(second)).Build();
  };
  const ValidationManager validation(selector);
  const std::vector<Pod> early = {ready_at(999)};
  const Validation result = validation.Evaluate(early, driver_ready);
  CHECK_FALSE(result.passed);
  CHECK(result.early == std::vector<const Pod*>{&early[0]});
  CHECK(result.missing ==
        "validation pod operator/one has been ready since 1970-01-01T00:16:39Z, before the new driver pod "
        "(1970-01-01T00:16:40Z); restart it");
  // Equal times are accepted, because Kubernetes times have a resolution of one second.
  CHECK(validation.Evaluate({ready_at(1000)}, driver_ready).passed);
  // A pod counts if one of the times is unknown.
  CHECK(validation.Evaluate(early).passed);
  CHECK(validation.Evaluate({Validator("one", true)}, driver_ready).passed);
  CHECK(ValidationManager(selector, EarlyValidation::kCount).Evaluate(early, driver_ready).passed);
  // A terminating pod that was ready too early blocks the validation, but is not reported as early.
  std::vector<Pod> terminating = {ready_at(999)};
  terminating[0].deletion_timestamp = driver_ready;
  CHECK_FALSE(validation.Evaluate(terminating, driver_ready).passed);
  CHECK(validation.Evaluate(terminating, driver_ready).early.empty());
}

}  // namespace
}  // namespace driverupgrade::tests
