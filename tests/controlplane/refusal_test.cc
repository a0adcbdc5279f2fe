// Tests gpu_operator in cases in which it cannot work at all. It must print one clear line, exit with the right code,
// and change nothing.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "audit_log.h"
#include "gpu_operator.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr int kConfiguration = 2;
constexpr int kRefused = 3;

constexpr char kGoodPolicy[] = "autoUpgrade: true\n";

struct Refusal {
  std::string name;
  std::string kubeconfig;
  std::string policy;
  int exit_code = 0;
  std::string clue;  // text that the line must contain
};

std::string Kubeconfig(const std::string& url, const std::string& ca, const std::string& token) {
  return Substitute(
      "apiVersion: v1\n"
      "kind: Config\n"
      "current-context: e2e\n"
      "clusters: [{name: e2e, cluster: {server: \"$URL\", certificate-authority: \"$CA\"}}]\n"
      "users: [{name: operator, user: {token: \"$TOKEN\"}}]\n"
      "contexts: [{name: e2e, context: {cluster: e2e, user: operator}}]\n",
      {{"$URL", url}, {"$CA", ca}, {"$TOKEN", token}});
}

std::vector<Refusal> Refusals(const ControlPlane& control_plane) {
  const std::string url = control_plane.url();
  const std::string ca = control_plane.ca_file().string();
  const std::string other_ca = control_plane.other_ca_file().string();
  const std::string token = "operator-token";
  const std::string good = Kubeconfig(url, ca, token);
  return {
      {"a wrong token", Kubeconfig(url, ca, "wrong-token"), kGoodPolicy, kRefused, "401"},
      {"a wrong certificate authority", Kubeconfig(url, other_ca, token), kGoodPolicy, kRefused, "certificate"},
      {"a malformed kubeconfig", "clusters: [{name: e2e, cluster:", kGoodPolicy, kConfiguration, "kubeconfig"},
      {"a kubeconfig without a cluster", "apiVersion: v1\nkind: Config\n", kGoodPolicy, kConfiguration, "kubeconfig"},
      {"a policy that is no YAML", good, "autoUpgrade: [", kConfiguration, "policy.yaml"},
      {"an empty policy file", good, "", kConfiguration, "policy.yaml"},
      {"a policy that is null", good, "null\n", kConfiguration, "policy.yaml"},
      {"a policy with a bad value", good, "autoUpgrade: true\nmaxParallelUpgrades: -1\n", kConfiguration,
       "maxParallelUpgrades"},
  };
}

using NodeContent = std::tuple<bool, std::map<std::string, std::string>, std::map<std::string, std::string>>;

// Returns everything that an upgrade can change. Resource versions are excluded, because kwok updates the nodes.
std::map<std::string, NodeContent> Content(const World& world) {
  std::map<std::string, NodeContent> content;
  for (const auto& [name, node] : world.Nodes()) {
    content.emplace(name, NodeContent{node.unschedulable, node.labels, node.annotations});
  }
  return content;
}

std::vector<std::string> DriverPodNames(const World& world) {
  std::vector<std::string> names;
  for (const DriverPod& pod : world.DriverPods()) names.push_back(pod.name);
  return names;
}

TEST_CASE("A configuration that cannot work is refused with one line, and changes nothing", "[refusal]") {
  ControlPlane& control_plane = ControlPlane::Shared();
  World world(control_plane, "refused", 1);
  world.DeployDriver();
  world.ChangeDriver("driver:2");  // so that there is a node to upgrade
  const auto nodes_before = Content(world);
  const auto pods_before = DriverPodNames(world);
  AuditLog audit(control_plane.audit_log());

  for (const Refusal& refusal : Refusals(control_plane)) {
    for (const std::string mode : {"--once", "--until-done"}) {
      GpuOperator gpu_operator(world, refusal.policy);
      const std::filesystem::path kubeconfig = control_plane.folder() / "refused.kubeconfig";
      WriteFile(kubeconfig, refusal.kubeconfig);
      gpu_operator.set_kubeconfig(kubeconfig);

      const OperatorResult result = gpu_operator.Run(mode);
      INFO(refusal.name << ", " << mode << "\n" << result.output());
      CHECK(result.exit_code == refusal.exit_code);
      CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
      CHECK(result.err.find(refusal.clue) != std::string::npos);
      CHECK(result.err.find("operator-token") == std::string::npos);
      CHECK(result.err.find("wrong-token") == std::string::npos);
    }
  }
  CHECK(Content(world) == nodes_before);
  CHECK(DriverPodNames(world) == pods_before);
  CHECK(audit.CountWrites() == 0);
}

TEST_CASE("The operator waits for an unreachable server until --timeout expires", "[refusal]") {
  ControlPlane& control_plane = ControlPlane::Shared();
  World world(control_plane, "absent", 1);
  GpuOperator gpu_operator(world, kGoodPolicy);
  const std::filesystem::path kubeconfig = control_plane.folder() / "absent.kubeconfig";
  const std::string ca = control_plane.ca_file().string();
  WriteFile(kubeconfig, Kubeconfig(ControlPlane::UnusedUrl(), ca, "operator-token"));
  gpu_operator.set_kubeconfig(kubeconfig);
  gpu_operator.set_timeout(std::chrono::seconds(8));

  const OperatorResult result = gpu_operator.Run("--once");
  INFO(result.output());
  CHECK(result.exit_code == kRefused);
  const std::size_t waits = result.err.find("waiting for the API server");
  REQUIRE(waits != std::string::npos);
  CHECK(result.err.find("refused", waits) != std::string::npos);
  CHECK(result.err.find("the cluster cannot be read", waits) != std::string::npos);
  CHECK(result.err.find("operator-token") == std::string::npos);
}

TEST_CASE("A replica without permission for the Lease logs the reason once, and does nothing", "[refusal]") {
  ControlPlane& control_plane = ControlPlane::Shared();
  World world(control_plane, "no-lease", 1);
  world.DeployDriver();
  world.ChangeDriver("driver:2");
  AuditLog audit(control_plane.audit_log());
  GpuOperator gpu_operator(world, kGoodPolicy);
  gpu_operator.set_timeout(std::chrono::seconds(8));
  gpu_operator.set_more_options({"--leader-elect", "--identity", "r1", "--lease-namespace", "kube-system"});

  const OperatorResult result = gpu_operator.Run();
  INFO(result.output());
  CHECK(result.exit_code != 0);
  const std::string complaint = "cannot take or renew the Lease";
  const std::size_t at = result.err.find(complaint);
  REQUIRE(at != std::string::npos);
  CHECK(result.err.find("403", at) != std::string::npos);
  CHECK(result.err.find(complaint, at + 1) == std::string::npos);
  CHECK(audit.CountWrites() == 0);
}

}  // namespace
}  // namespace driverupgrade::e2e
