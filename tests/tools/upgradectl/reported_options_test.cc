// Tests the options that operators report through their Leases, and how upgradectl uses them.
#include "upgradectl/reported_options.h"

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "upgradectl_support.h"

namespace upgradectl {
namespace {

using Texts = std::vector<std::string>;

constexpr char kAt[] = "2026-01-02T12:05:00Z";
constexpr char kLeases[] = "/apis/coordination.k8s.io/v1/leases";
const std::string kFpga = R"({"namespace":"fpga-operator","driverLabels":"app=fpga-driver",)"
                          R"("ledger":{"namespace":"fpga-operator","name":"fpga-driver-upgrade"},)"
                          R"("resources":["example.com/fpga"],)"
                          R"("policyResource":"example.com/v1/fpgas/fpga:spec.upgradePolicy"})";

std::string LeaseOf(const std::string& driver, const std::string& options, const std::string& ns = "fpga-operator",
                    const std::string& name = "fpga-driver-upgrade",
                    const std::string& renewed = "2026-01-02T12:04:58.000000Z") {
  json::Document document;
  return fmt::format(
      R"({{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{{"namespace":"{}","name":"{}",)"
      R"("annotations":{{"{}-driver-upgrade.options":{}}}}},)"
      R"("spec":{{"holderIdentity":"a","leaseDurationSeconds":15,"renewTime":"{}"}}}})",
      ns, name, driver, Compact(json::Value(options, document.GetAllocator())), renewed);
}

std::string NodeWithDriver(const std::string& name, const std::string& state, const std::string& hash) {
  return fmt::format(
      R"({{"kind":"Node","metadata":{{"name":"{0}","uid":"{0}","resourceVersion":"1","labels":{{"pool":"{0}","example.com/fpga-driver-upgrade-state":"{1}"}}}},
"status":{{"conditions":[{{"type":"Ready","status":"True"}}]}}}},
{{"kind":"Pod","metadata":{{"namespace":"fpga-operator","name":"driver-{0}","uid":"d-{0}","labels":{{"app":"fpga-driver","controller-revision-hash":"{2}"}},
"ownerReferences":[{{"apiVersion":"apps/v1","kind":"DaemonSet","name":"driver","uid":"ds","controller":true}}]}},
"spec":{{"nodeName":"{0}"}},"status":{{"phase":"Running","containerStatuses":[{{"name":"c","ready":true}}]}}}},)",
      name, state, hash);
}

// Four nodes with another vendor's driver, a custom resource with the policy, and a pod that uses the driver.
std::string Dump(const std::string& leases = LeaseOf("example.com/fpga", kFpga)) {
  return R"({"kind":"List","items":[)" + NodeWithDriver("f1", "upgrade-done", "new") +
         NodeWithDriver("f2", "upgrade-required", "old") + NodeWithDriver("f3", "upgrade-required", "old") +
         NodeWithDriver("f4", "upgrade-failed", "old") +
         R"({"kind":"DaemonSet","apiVersion":"apps/v1","metadata":{"namespace":"fpga-operator","name":"driver","uid":"ds","resourceVersion":"5","generation":1,"labels":{"app":"fpga-driver"}},
"spec":{"selector":{"matchLabels":{"app":"fpga-driver"}},"updateStrategy":{"type":"OnDelete"}},"status":{"observedGeneration":1}},
{"kind":"ControllerRevision","apiVersion":"apps/v1","revision":2,"data":{},"metadata":{"namespace":"fpga-operator","name":"driver-new","labels":{"app":"fpga-driver","controller-revision-hash":"new"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"driver","uid":"ds","controller":true}]}},
{"kind":"Pod","metadata":{"namespace":"lab","name":"trainer","uid":"t","labels":{"app":"trainer"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"trainer","uid":"rs","controller":true}]},
"spec":{"nodeName":"f2","containers":[{"name":"c","resources":{"limits":{"example.com/fpga":"1"}}}]},
"status":{"phase":"Running","containerStatuses":[{"name":"c","ready":true}]}},
{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"fpga-operator","name":"fpga-driver-upgrade"},"data":{}},
{"apiVersion":"example.com/v1","kind":"Fpga","metadata":{"name":"fpga","uid":"p","resourceVersion":"7"},
"spec":{"upgradePolicy":{"autoUpgrade":true,"rollout":{"stages":[{"name":"canary","nodeSelector":"pool=f1","approval":"Manual"}]}}}})" +
         (leases.empty() ? "" : "," + leases) + "]}";
}

Answer OnDump(const std::string& dump, const Texts& words) {
  const ScratchFile file(dump);
  Texts arguments = words;
  arguments.insert(arguments.end(), {"--cluster", file.path(), "--at", kAt});
  return RunWith(arguments);
}

Answer OnServer(const std::shared_ptr<DumpServer>& server, const Texts& words) {
  Texts arguments = words;
  arguments.insert(arguments.end(), {"--kubeconfig", "any", "--at", kAt});
  return RunIn(arguments, {.server = server});
}

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Returns the driver whose rollout `status` shows, or the error message if the command fails.
std::string DriverFor(const std::string& leases, const Texts& more = {}) {
  Texts arguments = {"status", "-o", "json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Answer answer = OnDump(Dump(leases), arguments);
  json::Document document;
  document.Parse(answer.out.c_str());
  return document.HasParseError() ? answer.err : Text(document, {"driver"});
}

int Evictions(const std::string& dump, const Texts& more = {}) {
  const ScratchFile policy("autoUpgrade: true");
  Texts arguments = {"simulate", "--policy", policy.path(), "--seeds", "1", "-o", "json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Answer answer = OnDump(dump, arguments);
  CAPTURE(answer.err);
  json::Document document;
  document.Parse(answer.out.c_str());
  REQUIRE(document.IsArray());
  return document[0]["evictions"].GetInt();
}

const std::vector<Texts> kVerbs = {
    {"status"},           {"explain", "f2"}, {"plan"},         {"preflight"},        {"simulate"},
    {"timeline"},         {"skip", "f2"},    {"unskip", "f2"}, {"retry", "f4"},      {"request", "f1"},
    {"allow-load", "f2"}, {"pause"},         {"resume"},       {"approve", "canary"}};

TEST_CASE("Verbs need no options if the operator reports them, in a dump or on a server (W36)") {
  for (const Texts& verb : kVerbs) {
    CAPTURE(verb.front());
    const bool writes = TakesOption(verb.front(), "--dry-run");
    Texts on_dump = verb;
    if (writes) on_dump.insert(on_dump.end(), {"--dry-run", "client"});
    const Answer answer = OnDump(Dump(), on_dump);
    CAPTURE(answer.err);
    CHECK(answer.exit_code != kExitUsage);
    const auto server = std::make_shared<DumpServer>(Dump());
    Texts on_server = verb;
    if (writes) on_server.emplace_back("--yes");
    const Answer live = OnServer(server, on_server);
    CAPTURE(live.err);
    CHECK(live.exit_code != kExitUsage);
    if (writes)
      CHECK(Has(answer.err, "driver example.com/fpga, as reported by Lease fpga-operator/fpga-driver-upgrade\n"));
  }
}

TEST_CASE("The report of an operator replaces the default options for its driver (W36)") {
  const Answer status = OnDump(Dump(), {"status"});
  CHECK(Has(status.out, "example.com/fpga"));
  CHECK(Has(status.out, "1 of 4 done"));
  CHECK(Has(OnDump(Dump(), {"status", "-o", "json"}).out, R"("policy": "fpgas.example.com/fpga")"));
  CHECK(Has(OnDump(Dump(), {"plan"}).out, "f2"));
  CHECK(Evictions(Dump()) == 1);
  CHECK(Evictions(Dump(
            LeaseOf("example.com/fpga", R"({"namespace":"fpga-operator","driverLabels":"app=fpga-driver"})"))) == 0);
  const auto server = std::make_shared<DumpServer>(Dump());
  OnServer(server, {"status"});
  const Texts paths = server->paths();
  CHECK(std::count(paths.begin(), paths.end(), "/api/v1/namespaces/fpga-operator/configmaps") == 1);
  CHECK(std::count(paths.begin(), paths.end(), "/apis/example.com/v1/fpgas/fpga") == 1);
}

TEST_CASE("Options on the command line take precedence over the report (W36)") {
  CHECK(Evictions(Dump(), {"--resource", "example.com/other"}) == 0);
  CHECK(Has(OnDump(Dump(), {"status", "--driver-labels", "app=none", "--driver", "fpga"}).out,
            "DriverPodMissing: no driver pod on the node"));
  const auto server = std::make_shared<DumpServer>(Dump());
  OnServer(server, {"status", "--ledger-name", "mine"});
  CHECK(OnServer(server, {"status", "--requestor-id", "mine.example.com"}).exit_code != kExitUsage);
  const Texts paths = server->paths();
  CHECK(std::count(paths.begin(), paths.end(),
                   "/apis/maintenance.nvidia.com/v1alpha1/namespaces/default/nodemaintenances") == 1);
}

TEST_CASE("The driver of a command follows from the reports and the command line (W36)") {
  const std::string fpga = LeaseOf("example.com/fpga", kFpga);
  const std::string nic = LeaseOf("example.com/nic", kFpga, "nic-operator");
  const std::string gpu =
      LeaseOf("nvidia.com/gpu", R"({"namespace":"gpu-operator","driverLabels":"app=d"})", "gpu-operator");
  const std::string ofed = LeaseOf("nvidia.com/ofed", R"({"namespace":"net","driverLabels":"app=o"})", "net");
  CHECK(DriverFor("") == "nvidia.com/gpu");
  CHECK(DriverFor(fpga) == "example.com/fpga");
  CHECK(DriverFor(gpu + "," + ofed) == "nvidia.com/gpu");
  CHECK(DriverFor(gpu + "," + ofed, {"--driver", "ofed"}) == "nvidia.com/ofed");
  CHECK(DriverFor(fpga + "," + nic, {"--driver", "nic"}) == "example.com/nic");
  CHECK(DriverFor(fpga + "," + ofed, {"--domain", "example.com"}) == "example.com/fpga");
  CHECK(DriverFor(fpga + "," + ofed, {"--namespace", "net"}) == "nvidia.com/ofed");
  CHECK(DriverFor(fpga, {"--driver", "gpu"}) == "nvidia.com/gpu");
  CHECK(DriverFor(fpga, {"--driver-labels", "app=d", "--namespace", "fpga-operator"}) == "nvidia.com/gpu");
  CHECK(DriverFor(fpga + "," + nic) ==
        "upgradectl: --driver, --domain: operators report several drivers, select one: example.com/fpga, "
        "example.com/nic\n");
}

// The DaemonSet of NVIDIA's own operator, which reports no options.
const std::string kGpuSet =
    R"({"kind":"DaemonSet","apiVersion":"apps/v1","metadata":{"namespace":"gpu-operator","name":"nvidia","uid":"gpu-ds","generation":1,"labels":{"app":"nvidia-driver-daemonset"}},
"spec":{"selector":{},"updateStrategy":{"type":"OnDelete"}},"status":{"observedGeneration":1}})";

TEST_CASE(
    "A GPU driver whose operator reports no options stays the default, unless a report names its DaemonSets (W36)") {
  const std::string fpga = LeaseOf("example.com/fpga", kFpga) + "," + kGpuSet;
  CHECK(DriverFor(fpga) == "nvidia.com/gpu");
  CHECK(DriverFor(fpga, {"--driver", "fpga"}) == "example.com/fpga");
  const std::string ours =
      LeaseOf("gpu.example.com/gpu", R"({"namespace":"gpu-operator","driverLabels":"app=nvidia-driver-daemonset"})");
  CHECK(DriverFor(ours + "," + kGpuSet) == "gpu.example.com/gpu");
  const auto server = std::make_shared<DumpServer>(Dump(fpga));
  CHECK(Has(OnServer(server, {"status", "-o", "json"}).out, "nvidia.com/gpu"));
}

TEST_CASE("If several Leases report a driver, the named Lease or the most recently renewed Lease is used (W36)") {
  const auto lease = [](const std::string& ns, const std::string& name, const std::string& renewed) {
    return LeaseOf("example.com/fpga", fmt::format(R"({{"namespace":"{}","driverLabels":"app=fpga-driver"}})", name),
                   ns, name, renewed);
  };
  const auto place = [&](const std::string& leases, const Texts& more = {}) {
    const auto server = std::make_shared<DumpServer>(Dump(leases));
    Texts arguments = {"status"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Answer answer = OnServer(server, arguments);
    if (answer.exit_code == kExitUsage) return answer.err;
    for (const std::string& path : server->paths()) {
      if (path.ends_with("/pods")) return path;
    }
    return std::string();
  };
  const std::string same =
      lease("ops", "old", "2026-01-02T12:00:00.000000Z") + "," + lease("ops", "new", "2026-01-02T12:04:00.000000Z");
  CHECK(place(same) == "/api/v1/namespaces/new/pods");
  CHECK(place(same, {"--lease-name", "old"}) == "/api/v1/namespaces/old/pods");
  const std::string apart = same + "," + lease("tenant", "x", "2026-01-02T12:05:00.000000Z");
  CHECK(place(apart) ==
        "upgradectl: --lease-namespace: Leases of several namespaces report the options of example.com/fpga, name one: "
        "ops/new, ops/old, tenant/x\n");
  CHECK(place(apart, {"--lease-namespace", "ops"}) == "/api/v1/namespaces/new/pods");
}

TEST_CASE("If a report cannot be read, a note names it, and the command continues without it (W36)") {
  struct Row {
    std::string options;
    std::string why;
  };
  const std::vector<Row> rows = {
      {"[]", "is not a JSON object"},
      {"{", "malformed JSON"},
      {R"({"namespace":7})", "namespace: expected a string"},
      {R"({"resources":"example.com/fpga"})", "resources: expected an array"},
      {R"({"gpuPods":"yes"})", "gpuPods: expected a boolean"},
      {R"({"namespace":"../../secrets"})", "`../../secrets` is not the name of a Kubernetes object"},
      {R"({"ledger":{"namespace":"a","name":"b c"}})", "`b c` is not the name of a Kubernetes object"},
      {R"({"driverLabels":"app in"})", "--driver-labels: "},
      {R"({"driverLabels":""})", "--driver-labels: must not be empty"},
      {R"({"validation":{"selector":"a=b","early":"Never"}})", "validation.early: `Never` is not known"},
      {R"({"defaults":"mine"})", "defaults: `mine` is not known"},
      {R"({"policyResource":"example.com/v1/fpgas/fpga:spec.'; rm -rf"})", "policyResource: "},
      {R"({"policyResource":"fpga"})", "--policy-resource: "},
      {R"({"requestor":{"id":"NO"}})", "--requestor-id: "},
  };
  for (const Row& row : rows) {
    CAPTURE(row.options);
    const Answer answer = OnDump(Dump(LeaseOf("example.com/fpga", row.options)), {"status"});
    CAPTURE(answer.err);
    CHECK(answer.exit_code != kExitUsage);
    CHECK(
        answer.err.starts_with("not read: Lease fpga-operator/fpga-driver-upgrade: annotation "
                               "example.com/fpga-driver-upgrade.options: "));
    CHECK(Has(answer.err, row.why));
  }
  const std::string dump = Dump(LeaseOf("nvidia.com/gpu", "[]"));
  CHECK(OnDump(dump,
               {"pause", "--dry-run", "client", "--policy-resource", "example.com/v1/fpgas/fpga:spec.upgradePolicy"})
            .exit_code == kExitDone);
  CHECK(OnDump(dump, {"status", "--driver", "ofed"}).err.empty());  // the report is about another driver
}

TEST_CASE("A refused list of Leases is reported only if the command needs the Leases (W36)") {
  const auto server = std::make_shared<DumpServer>(Dump());
  server->Forbid(kLeases);
  const Answer unknown = OnServer(server, {"status", "--driver", "fpga", "--domain", "example.com"});
  CHECK(unknown.exit_code == kExitUsage);
  CHECK(unknown.err ==
        "not read: list /apis/coordination.k8s.io/v1/leases: 403: not for you\n"
        "upgradectl: --namespace: is required for this driver, because no operator reports it through its Lease\n");
  const Answer known = OnServer(
      server, {"plan", "--driver", "fpga", "--domain", "example.com", "--namespace", "fpga-operator", "--driver-labels",
               "app=fpga-driver", "--policy-resource", "example.com/v1/fpgas/fpga:spec.upgradePolicy"});
  CHECK(known.exit_code == kExitDone);
  CHECK(known.err.empty());
  CHECK(OnServer(server, {"status"}).err.empty());
  // If the command line names the namespace of the Lease, no permission for other namespaces is needed.
  CHECK(OnServer(server, {"status", "--lease-namespace", "fpga-operator"}).exit_code != kExitUsage);
}

TEST_CASE("The commands that `explain` prints omit options that the operator reports (W36)") {
  const auto commands = [&](const std::string& leases, const Texts& more = {}) {
    Texts arguments = {"explain", "f4"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::string found;
    std::istringstream lines(OnDump(Dump(leases), arguments).out);
    for (std::string line; std::getline(lines, line);) {
      if (Has(line, "upgradectl ")) found += line.substr(line.find("upgradectl "));
    }
    return found;
  };
  const std::string fpga = LeaseOf("example.com/fpga", kFpga);
  CHECK(commands(fpga) == "upgradectl retry f4");
  CHECK(commands(fpga, {"--driver", "fpga", "--ledger-name", "mine"}) == "upgradectl retry f4 --driver fpga");
}

}  // namespace
}  // namespace upgradectl
