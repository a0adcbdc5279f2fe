// Compares deploy/rbac with the permissions that preflight checks, and rbac.yaml with the permissions that the verbs
// need. Detects both missing and superfluous permissions.
#include "upgradectl/rights.h"

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "deploy/rights.h"
#include "upgradectl_support.h"

namespace upgradectl {
namespace {

using driverupgrade::tests::CheckBothWays;
using driverupgrade::tests::Right;
using driverupgrade::tests::Rights;
using driverupgrade::tests::RightsOf;
using driverupgrade::tests::RightsOfFile;
using Texts = std::vector<std::string>;

const fs::path kRoot = DRIVERUPGRADE_SOURCE_DIR;
const fs::path kRoles = kRoot / "deploy/rbac";

Rights Needed(const Request& request) {
  Rights rights;
  for (const NeededRight& right : RightsNeeded(request)) {
    const std::string resource = right.subresource.empty() ? right.resource : right.resource + "/" + right.subresource;
    rights.insert({.ns = right.ns, .group = right.group, .resource = resource, .verb = right.verb});
  }
  return rights;
}

Request RequestOf(const Options& options) {
  absl::StatusOr<Request> request = LoadDriver(options);
  REQUIRE(request.ok());
  return *std::move(request);
}

Rights Joined(std::initializer_list<Rights> parts) {
  Rights all;
  for (const Rights& part : parts) all.insert(part.begin(), part.end());
  return all;
}

TEST_CASE("preflight checks exactly the permissions that deploy/rbac grants to the operator of each driver") {
  const std::set<std::string> gpu = {"nvidia-gpu-driver-upgrade"};
  const Rights base = RightsOf(kRoles / "base", gpu);
  const Rights of_gpu = Joined({base, RightsOf(kRoles / "cluster-policy", gpu)});
  CheckBothWays(of_gpu, Needed(RequestOf({})));
  const Rights of_ofed = RightsOf(kRoles / "ofed", {"nvidia-ofed-driver-upgrade", "ofed-init-container-config"});
  CheckBothWays(of_ofed, Needed(RequestOf({.driver = "ofed"})));
}

TEST_CASE("Requestor mode, deadlines that delete pods, and gangs that may finish first need additional roles") {
  const std::set<std::string> gpu = {"nvidia-gpu-driver-upgrade"};
  const Rights usual = Joined({RightsOf(kRoles / "base", gpu), RightsOf(kRoles / "cluster-policy", gpu)});
  Options options;
  options.requestor.id = "gpu.example.com";
  CheckBothWays(Joined({usual, RightsOf(kRoles / "requestor", gpu)}), Needed(RequestOf(options)));
  Request deleting = RequestOf({});
  deleting.question.policy.drain = driverupgrade::DrainPolicy{.on_timeout = driverupgrade::OnTimeout::kDelete};
  CheckBothWays(Joined({usual, RightsOf(kRoles / "on-timeout-delete", gpu)}), Needed(deleting));
  Request waiting = RequestOf({});
  waiting.question.policy.rollout.emplace().gangs.emplace().mode = driverupgrade::GangMode::kWhenDone;
  CheckBothWays(Joined({usual, RightsOf(kRoles / "gangs", gpu)}), Needed(waiting));
}

TEST_CASE("preflight checks the permissions for the Lease and the ledger that the operator reports (W36)") {
  Options options{.driver = "fpga", .domain = "example.com", .ns = "fpga", .driver_labels = "app=driver"};
  options.lease_ns = "ops";
  options.lease_name = "lock";
  options.ledger_name = "grants";
  std::set<std::string> rights;
  for (const NeededRight& right : RightsNeeded(RequestOf(options))) rights.insert(right.ToString());
  CHECK(rights.contains("update leases.coordination.k8s.io lock in ops"));
  CHECK(rights.contains("patch configmaps grants in fpga"));
  CHECK_FALSE(rights.contains("update leases.coordination.k8s.io grants in fpga"));
}

// Returns the permissions that the verbs need on a server.
Rights Asked(const std::vector<Texts>& verbs, const std::string& dump) {
  const auto rights = std::make_shared<Rights>();
  for (Texts verb : verbs) {
    const auto server = std::make_shared<DumpServer>(dump);
    verb.insert(verb.end(), {"--kubeconfig", "any"});
    const Answer answer = RunIn(verb, {.server = driverupgrade::tests::MakeNotingTransport(rights, server)});
    CAPTURE(verb, answer.err);
    CHECK(answer.exit_code != kExitUsage);
  }
  return *rights;
}

// Removes the permissions for the other driver and for requestor mode, which the role also contains.
Rights OfGpu(Rights given) {
  std::erase_if(given, [](const Right& right) {
    return right.group == "mellanox.com" || right.group == "maintenance.nvidia.com";
  });
  return given;
}

// Returns the permissions without namespaces, as in roles that are bound in all namespaces.
Rights Anywhere(const Rights& rights) {
  Rights anywhere;
  for (Right right : rights) {
    right.ns.clear();
    anywhere.insert(right);
  }
  return anywhere;
}

const std::set<std::string> kNames = {"nvidia-gpu-driver-upgrade", "nvidia-ofed-driver-upgrade"};

TEST_CASE("The read role permits exactly the requests of the reading verbs, and watches") {
  Rights given = OfGpu(RightsOfFile(kRoot / "tools/upgradectl/rbac.yaml", kNames, "driver-upgrade-view"));
  std::erase_if(given, [](const Right& right) { return right.verb == "watch"; });
  // Claims are read only if a pod has a claim.
  std::string dump = DumpOfRollout("");
  const std::string_view spec = R"("spec":{"nodeName":"gpu-1"})";
  dump.replace(dump.find(spec), spec.size(),
               R"("spec":{"nodeName":"gpu-1","resourceClaims":[{"name":"a","resourceClaimName":"c"}]})");
  const ScratchFile policy("{autoUpgrade: true, isolation: {scope: Auto}}");
  CheckBothWays(given,
                Anywhere(Asked({{"status"}, {"explain", "gpu-1", "--policy", policy.path()}, {"preflight"}}, dump)));
}

TEST_CASE("The read and write roles together permit exactly the requests of the writing verbs") {
  const fs::path file = kRoot / "tools/upgradectl/rbac.yaml";
  const Rights view = OfGpu(RightsOfFile(file, kNames, "driver-upgrade-view"));
  const Rights act = OfGpu(RightsOfFile(file, kNames, "driver-upgrade-act"));
  const Rights asked =
      Anywhere(Asked({{"pause", "-y"}, {"skip", "gpu-1", "-y"}, {"approve", "canary", "-y"}}, DumpOfRollout("")));
  Rights writes;
  for (const Right& right : asked) {
    if (right.verb == "patch")
      writes.insert(right);
    else
      CHECK(view.count(right) == 1);
  }
  CheckBothWays(act, writes);
}

}  // namespace
}  // namespace upgradectl
