// Tests the report of an operator's options for upgradectl.
#include "service/reported_options.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using internal::FormatReportedOptions;

LabelSelector Labels(const std::string& text) { return LabelSelector::Parse(text).value(); }

ServiceOptions Fpga() {
  ServiceOptions options{.identity = DriverIdentity::Create("example.com", "fpga").value()};
  options.engine.snapshot.ns = "fpga-operator";
  return options;
}

TEST_CASE("a report contains all options that tools need (W36)") {
  ServiceOptions options = Fpga();
  options.engine.ledger = {.ns = "fpga-operator", .name = "fpga-driver-upgrade"};
  options.engine.state_machine.validation_selector = Labels("app=fpga-check");
  options.engine.state_machine.early_validation = EarlyValidation::kRestart;
  options.engine.state_machine.requestor = {.id = "fpga.example.com", .ns = "maintenance", .name_prefix = "example"};
  options.reported = {
      .resources = {"example.com/fpga", "example.com/fpga-slice"}, .gpu_pods = true, .defaults = "plain"};
  options.rollout_secure_address = "[::]:8443";
  const EngineSpec spec{.driver_labels = Labels("app=fpga-driver"),
                        .requestor_suffix = "-a",
                        .policy_resource = "example.com/v1/fpgas/fpga:spec.upgradePolicy"};
  CHECK(FormatReportedOptions(options, {spec}) ==
        R"({"namespace":"fpga-operator","driverLabels":"app=fpga-driver",)"
        R"("ledger":{"namespace":"fpga-operator","name":"fpga-driver-upgrade"},)"
        R"("validation":{"selector":"app=fpga-check","early":"Restart"},)"
        R"("requestor":{"id":"fpga.example.com-a","namespace":"maintenance","namePrefix":"example"},)"
        R"("resources":["example.com/fpga","example.com/fpga-slice"],"gpuPods":true,"defaults":"plain",)"
        R"("policyResource":"example.com/v1/fpgas/fpga:spec.upgradePolicy","rolloutPort":8443})");
}

TEST_CASE("a report omits members without a value, and the requestor if requestor mode is off (W36)") {
  ServiceOptions options = Fpga();
  options.engine.state_machine.requestor = {.id = "fpga.example.com", .ns = "maintenance", .enabled = false};
  CHECK(FormatReportedOptions(options, {EngineSpec{}}) == R"({"namespace":"fpga-operator"})");
}

TEST_CASE("a report about several engines contains the options that they share (W36)") {
  ServiceOptions options = Fpga();
  options.engine.state_machine.requestor = {.id = "fpga.example.com", .ns = "maintenance"};
  const std::vector<EngineSpec> specs = {{.name = "a",
                                          .driver_labels = Labels("app=fpga-driver,pool=a"),
                                          .requestor_suffix = "-a",
                                          .policy_resource = "example.com/v1/fpgas/a:spec"},
                                         {.name = "b",
                                          .driver_labels = Labels("app=fpga-driver,pool=b"),
                                          .requestor_suffix = "-b",
                                          .policy_resource = "example.com/v1/fpgas/b:spec"}};
  CHECK(FormatReportedOptions(options, specs) == R"({"namespace":"fpga-operator","driverLabels":"app=fpga-driver"})");
}

}  // namespace
}  // namespace driverupgrade::tests
