// Tests the policy that an operator reports through its Lease, and how upgradectl uses it.
#include "upgradectl/reported.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "driverupgrade/policy_codec.h"
#include "fmt/format.h"
#include "upgradectl/json_view.h"
#include "upgradectl_support.h"

namespace upgradectl {
namespace {

using Texts = std::vector<std::string>;

constexpr char kAt[] = "2026-01-02T12:05:00Z";
constexpr char kRenewed[] = "2026-01-02T12:04:58.000000Z";
constexpr char kLeases[] = "/apis/coordination.k8s.io/v1/namespaces/gpu-operator/leases";

std::string PolicyText(const std::string& document) {
  const auto policy = driverupgrade::ParseUpgradePolicy(document);
  REQUIRE(policy.ok());
  return driverupgrade::FormatUpgradePolicy(*policy);
}

std::string Quoted(const std::string& text) {
  json::Document document;
  return Compact(json::Value(text, document.GetAllocator()));
}

std::string LeaseJson(const std::string& policies, const std::string& holder = "operator-7",
                      const std::string& renewed = kRenewed, const std::string& name = "nvidia-gpu-driver-upgrade") {
  const std::string annotation =
      policies.empty() ? "" : fmt::format(R"("nvidia.com/gpu-driver-upgrade.policy":{})", Quoted(policies));
  return fmt::format(
      R"({{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{{"namespace":"gpu-operator","name":"{}","annotations":{{{}}}}},)"
      R"("spec":{{"holderIdentity":"{}","leaseDurationSeconds":15,"renewTime":"{}"}}}})",
      name, annotation, holder, renewed);
}

// A rollout of four nodes, with or without a custom resource that contains the policy.
std::string Dump(const std::string& leases, bool has_resource = false) {
  std::string dump = DumpOfRollout("");
  if (!has_resource)
    dump.replace(dump.find(R"({"apiVersion":"nvidia.com/v1")"), std::string::npos, R"({"kind":"Other"}]})");
  return dump.replace(dump.rfind("]}"), 2, fmt::format(",{}]}}", leases));
}

std::string Three() { return "{\"\":" + PolicyText("{autoUpgrade: true, maxParallelUpgrades: 3}") + "}"; }

Answer StatusOf(const std::string& dump, const Texts& more = {}) {
  Texts arguments = {"status", "--kubeconfig", "any", "--at", kAt};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunIn(arguments, {.server = std::make_shared<DumpServer>(dump)});
}

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("If neither a file nor a custom resource contains the policy, the policy that the operator reports is used") {
  const std::string dump = Dump(LeaseJson(Three()));
  const Answer answer = StatusOf(dump);
  CHECK(Has(answer.out, "slots 0 of 3,"));
  CHECK(Has(answer.out,
            "policy reported by operator-7 (Lease gpu-operator/nvidia-gpu-driver-upgrade, renewed 2s ago)\n"));
  const ScratchFile file(dump);
  const Answer plan = RunWith({"plan", "--cluster", file.path(), "--at", kAt});
  CHECK(plan.exit_code == kExitDone);
  CHECK(plan.err == "policy reported by operator-7 (Lease gpu-operator/nvidia-gpu-driver-upgrade, renewed 2s ago)\n");
  // A custom resource takes precedence over the report, and a file takes precedence over both.
  CHECK_FALSE(Has(StatusOf(Dump(LeaseJson(Three()), true)).out, "policy reported"));
  const ScratchFile policy("{autoUpgrade: true, maxParallelUpgrades: 4}");
  CHECK(Has(StatusOf(dump, {"--policy", policy.path()}).out, "slots 0 of 4,"));
}

TEST_CASE("The option --policy live selects the policy that the operator uses, whatever the custom resource contains") {
  const std::string dump = Dump(LeaseJson(Three()), true);
  const Answer answer = StatusOf(dump, {"--policy", "live", "-o", "json"});
  json::Document document;
  document.Parse(answer.out.c_str());
  REQUIRE_FALSE(document.HasParseError());
  CHECK(Text(document, {"policy"}) == "Lease gpu-operator/nvidia-gpu-driver-upgrade");
  CHECK(Text(document, {"policyReported", "holder"}) == "operator-7");
  CHECK(Text(document, {"policyReported", "renewed"}) == "2026-01-02T12:04:58Z");
  CHECK_FALSE(document["policyReported"]["ended"].GetBool());
  CHECK(Integer(document, {"totals", "slotsMax"}) == 3);
}

TEST_CASE("A Lease that has expired or was released is reported") {
  const auto line = [](const std::string& holder, const std::string& renewed) {
    const std::string out = StatusOf(Dump(LeaseJson(Three(), holder, renewed))).out;
    const std::size_t begin = out.find("policy reported");
    REQUIRE(begin != std::string::npos);
    return out.substr(begin, out.find('\n', begin) - begin);
  };
  CHECK(
      line("operator-7", "2026-01-02T12:04:44.000000Z") ==
      "policy reported by operator-7, whose Lease gpu-operator/nvidia-gpu-driver-upgrade has expired, renewed 16s ago: "
      "it may no longer be in effect");
  CHECK(line("", "2026-01-02T12:04:44.000000Z") ==
        "policy reported by a leader that released Lease gpu-operator/nvidia-gpu-driver-upgrade 16s ago: there is no "
        "leader");
}

TEST_CASE("If an operator has several engines, the engine must be named to select its policy") {
  const std::string both = "{\"a100\":" + PolicyText("{autoUpgrade: true, maxParallelUpgrades: 5}") +
                           ",\"h100\":" + PolicyText("{autoUpgrade: true, maxParallelUpgrades: 6}") + "}";
  const std::string dump = Dump(LeaseJson(both));
  CHECK(Has(StatusOf(dump, {"--policy", "live:h100"}).out, "slots 0 of 6,"));
  const std::string which =
      "Lease gpu-operator/nvidia-gpu-driver-upgrade has the policies of several engines: live:a100, live:h100";
  CHECK(StatusOf(dump, {"--policy", "live"}).err == "upgradectl: --policy live: " + which + "\n");
  CHECK(StatusOf(dump, {"--policy", "live:l40"}).err == "upgradectl: --policy live:l40: " + which + "\n");
  const Answer unsaid = StatusOf(dump);
  CHECK(Has(unsaid.out, "policy unknown"));
  CHECK(Has(unsaid.out, "not read: the policy: " + which + "\n"));
}

TEST_CASE("An invalid report is described and not used") {
  struct Row {
    std::string leases;
    std::string why;
  };
  const std::string annotation =
      "Lease gpu-operator/nvidia-gpu-driver-upgrade: annotation nvidia.com/gpu-driver-upgrade.policy: ";
  const std::vector<Row> rows = {
      {R"({"kind":"Other"})",
       "no Lease of its operator in namespace gpu-operator: set --lease-namespace and --lease-name"},
      {LeaseJson(""),
       "Lease gpu-operator/nvidia-gpu-driver-upgrade has no annotation nvidia.com/gpu-driver-upgrade.policy"},
      {LeaseJson("{}"), "Lease gpu-operator/nvidia-gpu-driver-upgrade has no policy"},
      {LeaseJson("[]"), annotation + "is not a JSON object"},
      {LeaseJson(std::string(100000, '[')), annotation + "malformed JSON at byte 64: nested deeper than 64 levels"},
      {LeaseJson(R"({"":{"maxParallelUpgrades":-1}})"), annotation + "maxParallelUpgrades: must be >= 0, got -1"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.why);
    const Answer answer = StatusOf(Dump(row.leases), {"--policy", "live"});
    CHECK(answer.exit_code == kExitUsage);
    CHECK(answer.err == "upgradectl: --policy live: " + row.why + "\n");
    CHECK(Has(StatusOf(Dump(row.leases)).out, "policy unknown"));
  }
}

TEST_CASE("The named Lease is used, or otherwise the most recently renewed Lease that contains policies") {
  const auto two = "{\"\":" + PolicyText("{autoUpgrade: true, maxParallelUpgrades: 2}") + "}";
  const std::string dump =
      Dump(LeaseJson("", "old") + "," + LeaseJson(two, "a", "2026-01-02T12:04:50.000000Z", "operator-a") + "," +
           LeaseJson(Three(), "b", kRenewed, "operator-b"));
  CHECK(Has(StatusOf(dump).out, "policy reported by b (Lease gpu-operator/operator-b,"));
  CHECK(Has(StatusOf(dump).out, "operator b, seen 2s ago"));
  CHECK(Has(StatusOf(dump, {"--lease-name", "operator-a"}).out, "slots 0 of 2,"));
}

TEST_CASE("Leases are read for the policy only if no other source has it") {
  const auto reads_leases = [](const Texts& arguments, bool has_resource) {
    const auto server = std::make_shared<DumpServer>(Dump(LeaseJson(Three()), has_resource));
    Texts all = arguments;
    all.insert(all.end(), {"--kubeconfig", "any", "--at", kAt});
    REQUIRE(RunIn(all, {.server = server}).exit_code != kExitUsage);
    const Texts paths = server->paths();
    return std::count(paths.begin(), paths.end(), kLeases);
  };
  const ScratchFile policy("{autoUpgrade: true}");
  CHECK(reads_leases({"plan"}, false) == 1);
  CHECK(reads_leases({"plan"}, true) == 0);
  CHECK(reads_leases({"plan", "--policy", "live"}, true) == 1);
  CHECK(reads_leases({"plan", "--policy", policy.path()}, false) == 0);
  CHECK(reads_leases({"status"}, false) == 1);
}

TEST_CASE("approve accepts a stage of the reported policy, and its output names that policy") {
  const std::string stages =
      "{\"\":" + PolicyText("{autoUpgrade: true, rollout: {stages: [{name: canary, nodeSelector: pool=canary}]}}") +
      "}";
  const auto server = std::make_shared<DumpServer>(Dump(LeaseJson(stages)));
  const Answer answer = RunIn({"approve", "canary", "-y", "--kubeconfig", "any"}, {.server = server});
  CAPTURE(answer.err);
  CHECK(answer.exit_code == kExitDone);
  CHECK(server->writes().size() == 1);
  CHECK(answer.err.starts_with("policy reported by operator-7, whose Lease"));
}

}  // namespace
}  // namespace upgradectl
