#include "openshift_preflight/report.h"

#include <variant>

#include "openshift_preflight/options.h"
#include "support/catch.h"
#include "support/json.h"

namespace openshift_preflight {
namespace {

const Facts kFacts{.version = ClusterVersion{.desired = "4.9.9", .installed = "4.9.8"}};
const std::vector<Finding> kFindings = {
    {.severity = Severity::kError, .id = "a", .what = "a tag \"\"\nerror b: forged", .why = "w", .remedy = "oc x"},
    {.severity = Severity::kInfo, .id = "b", .what = "fine"}};

TEST_CASE("the text contains each finding with its reason and remedy, and the number of findings") {
  CHECK(FormatText(kFacts, kFindings) ==
        "error a: a tag \"\" error b: forged\n"
        "  why: w\n"
        "  do:  oc x\n"
        "info b: fine\n"
        "OpenShift 4.9.8: 1 errors, 0 warnings, 1 notes\n");
  CHECK(FormatText({}, {}) == "not OpenShift: 0 errors, 0 warnings, 0 notes\n");
}

TEST_CASE("the JSON output is one line") {
  const auto document = examples::ParseJson(FormatJson(kFacts, kFindings));
  REQUIRE(document.ok());
  CHECK(examples::Text(*document, {"openshift"}) == "4.9.8");
  const auto findings = examples::Items(*document, {"findings"});
  REQUIRE(findings.Size() == 2);
  CHECK(examples::Text(findings[0], {"severity"}) == "error");
  CHECK(examples::Text(findings[0], {"what"}) == "a tag \"\"\nerror b: forged");
  CHECK(examples::Text(findings[0], {"do"}) == "oc x");
  CHECK(examples::Text(findings[1], {"id"}) == "b");
  CHECK(FormatJson({}, {}) == "{\"openshift\":null,\"findings\":[]}\n");
}

TEST_CASE("the command line must name a cluster, and the output is text or json") {
  const auto parse = [](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "openshift_preflight");
    return ParseOptions(static_cast<int>(arguments.size()), arguments.data());
  };
  const Options options = std::get<Options>(parse({"--in-cluster"}));
  CHECK(options.collect.ns == "nvidia-gpu-operator");
  CHECK(options.output == "text");
  CHECK(std::get<Options>(parse({"--in-cluster", "-o", "json", "--namespace", "gpu"})).collect.ns == "gpu");
  CHECK(std::get<int>(parse({})) == kExitUsage);
  CHECK(std::get<int>(parse({"--in-cluster", "-o", "xml"})) == kExitUsage);
  CHECK(std::get<int>(parse({"--help"})) == kExitGood);
}

}  // namespace
}  // namespace openshift_preflight
