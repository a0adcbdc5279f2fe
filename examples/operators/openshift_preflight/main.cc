// Checks an OpenShift cluster before the GPU Operator is installed or upgraded on it.
#include <cstdio>
#include <string>
#include <variant>

#include "absl/time/clock.h"
#include "driverupgrade/kubernetes/object_client.h"
#include "fmt/format.h"
#include "openshift_preflight/collect.h"
#include "openshift_preflight/options.h"
#include "openshift_preflight/preflight.h"
#include "openshift_preflight/report.h"

namespace {

constexpr absl::Duration kTimeout = absl::Minutes(2);

int Fail(int exit_code, const absl::Status& status) {
  fmt::print(stderr, "openshift_preflight: {}\n", std::string(status.message()));
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  namespace preflight = openshift_preflight;
  const auto parsed = preflight::ParseOptions(argc, argv);
  if (const int* exit_code = std::get_if<int>(&parsed)) return *exit_code;
  const auto& options = std::get<preflight::Options>(parsed);

  const auto transport = examples::ConnectTo(
      options.cluster, [](const std::string& warning) { fmt::print(stderr, "kubeconfig: {}\n", warning); });
  if (!transport.ok()) return Fail(preflight::kExitUsage, transport.status());
  const driverupgrade::ObjectClient objects(*transport);
  const absl::Time now = absl::Now();
  const auto facts = preflight::Collect({.deadline = now + kTimeout}, objects, {.ns = options.collect.ns, .now = now});
  if (!facts.ok()) return Fail(preflight::kExitRefused, facts.status());
  const std::vector<preflight::Finding> findings = preflight::Examine(*facts);
  const std::string text = options.output == "json" ? FormatJson(*facts, findings) : FormatText(*facts, findings);
  std::fputs(text.c_str(), stdout);
  return preflight::IsAboveInfo(findings) ? preflight::kExitFindings : preflight::kExitGood;
}
