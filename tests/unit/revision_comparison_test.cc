#include "driverupgrade/snapshot_builder.h"
#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

ControllerRevision WithTemplate(const std::string& pod_template) {
  return {.ns = "drivers", .name = "driver-1", .data = R"({"spec":{"template":)" + pod_template + "}}"};
}

TEST_CASE("T8: a rollout restart and a new chart version do not count as a change of the driver") {
  const ControllerRevision running = WithTemplate(
      R"({"metadata":{"labels":{"app":"driver","helm.sh/chart":"gpu-1"}},"spec":{"containers":[{"image":"driver:1"}]}})");
  const struct {
    std::string what;
    std::string pod_template;
    bool same;
  } cases[] = {
      {"rollout restart",
       R"({"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"},
           "labels":{"app":"driver","helm.sh/chart":"gpu-1"}},"spec":{"containers":[{"image":"driver:1"}]}})",
       true},
      {"a new chart, and another order",
       R"({"spec":{"containers":[{"image":"driver:1"}]},
           "metadata":{"labels":{"helm.sh/chart":"gpu-2","heritage":"Helm","app":"driver"}}})",
       true},
      {"another image", R"({"metadata":{"labels":{"app":"driver"}},"spec":{"containers":[{"image":"driver:2"}]}})",
       false},
      {"another label", R"({"metadata":{"labels":{"app":"other"}},"spec":{"containers":[{"image":"driver:1"}]}})",
       false},
      {"another annotation",
       R"({"metadata":{"annotations":{"a":"b"},"labels":{"app":"driver"}},
           "spec":{"containers":[{"image":"driver:1"}]}})",
       false},
      {"one container more",
       R"({"metadata":{"labels":{"app":"driver"}},"spec":{"containers":[{"image":"driver:1"},{"image":"x"}]}})", false},
      {"a number for a text", R"({"metadata":{"labels":{"app":"driver"}},"spec":{"containers":[{"image":1}]}})", false},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    CHECK(*SameTemplate(running, WithTemplate(c.pod_template)) == c.same);
    CHECK(*SameTemplate(WithTemplate(c.pod_template), running) == c.same);
  }
}

TEST_CASE(
    "T8: the chart version is ignored by default, and compared if the operator sets empty lists of ignored keys") {
  const ControllerRevision running = WithTemplate(R"({"metadata":{"labels":{"helm.sh/chart":"1"}}})");
  const ControllerRevision wanted = WithTemplate(R"({"metadata":{"labels":{"helm.sh/chart":"2"}}})");
  CHECK(*SameTemplate(running, wanted));
  CHECK(*SameTemplate(running, WithTemplate("{}")));
  CHECK_FALSE(*SameTemplate(running, wanted, {.annotations = {}, .labels = {}}));
}

TEST_CASE("T8: zeros are equal, however they are written") {
  for (const std::string zero : {"0.0", "0e-66", "0.0e300", "-0"}) {
    CAPTURE(zero);
    CHECK(*SameTemplate(WithTemplate(R"({"a":0})"), WithTemplate(R"({"a":)" + zero + "}")));
  }
}

TEST_CASE("T7, W40: if revisions cannot be compared, an error names the invalid revision") {
  const ControllerRevision good = WithTemplate("{}");
  ControllerRevision bad = good;
  bad.data.clear();
  CHECK(SameTemplate(good, bad).status() ==
        absl::NotFoundError("ControllerRevision drivers/driver-1: its data is missing"));
  for (const char* data : {"[]", "{", "null", "{} x"}) {
    bad.data = data;
    CHECK(SameTemplate(bad, good).status() ==
          absl::InvalidArgumentError("ControllerRevision drivers/driver-1: its data is not a JSON object"));
  }
}

TEST_CASE("T8: templates that are nested too deeply count as different, and do not overflow the stack") {
  const std::string deep(100'000, '[');
  const ControllerRevision odd = WithTemplate(deep + std::string(deep.size(), ']'));
  CHECK_FALSE(*SameTemplate(odd, odd));
}

}  // namespace
}  // namespace driverupgrade::tests
