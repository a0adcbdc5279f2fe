// Checks that the API server, with the definitions in deploy/crds, rejects the policies that the parser rejects.
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "control_plane.h"
#include "support/catch.h"

namespace driverupgrade::e2e {
namespace {

// Returns the policies of tests/deploy/wrong_policies.txt, without the first word of each line.
std::vector<std::string> WrongPolicies() {
  std::ifstream file(std::filesystem::path(DRIVERUPGRADE_DOCS_DIR).parent_path() / "tests/deploy/wrong_policies.txt");
  std::vector<std::string> policies;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') policies.push_back(line.substr(line.find(' ') + 1));
  }
  return policies;
}

std::string ClusterPolicyOf(const std::string& name, const std::string& policy) {
  return "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: " + name +
         "}\nspec: {driver: {upgradePolicy: {" + policy + "}}}\n---\n";
}

TEST_CASE("A policy that the parser refuses is refused by the API server when it is applied", "[operators]") {
  ControlPlane& control_plane = ControlPlane::Shared();
  control_plane.InstallPolicies();
  const std::vector<std::string> wrong = WrongPolicies();
  REQUIRE(wrong.size() > 30);
  std::string manifest = ClusterPolicyOf(
      "right",
      R"(failurePolicy: {maxFailures: 2%}, rollout: {stages: [{name: a, nodes: 5%}, {name: b, nodeSelector: pool=b, approval: Manual}], )"
      R"(order: [Idle, FewestPods, {label: priority}, {topology: zone}, Name], groups: {by: rack, mode: Spread, maxPerGroup: 25%}, )"
      R"(windows: [{days: [Sat], start: "22:00", durationSeconds: 3600, timeZone: Europe/Berlin}], finishBy: true, expectedNodeSeconds: 600})");
  for (std::size_t i = 0; i < wrong.size(); ++i) manifest += ClusterPolicyOf("wrong-" + std::to_string(i), wrong[i]);
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "driverupgrade-wrong-policies.yaml";
  std::ofstream(file) << manifest;
  const KubectlResult result =
      control_plane.admin().Run({"create", "--dry-run=server", "--validate=false", "-f", file.string()});
  std::filesystem::remove(file);
  INFO(result.out << result.err);
  CHECK(result.out.find("/right created") != std::string::npos);
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    CAPTURE(wrong[i]);
    CHECK(result.out.find("/wrong-" + std::to_string(i) + " created") == std::string::npos);
  }
}

}  // namespace
}  // namespace driverupgrade::e2e
