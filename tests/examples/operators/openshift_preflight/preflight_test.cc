#include "openshift_preflight/preflight.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "examples/operators/openshift_preflight/testdata.h"
#include "support/catch.h"

namespace openshift_preflight {
namespace {

// Returns a cluster without problems. The only finding is a note.
Facts Good(const std::string& version = "4.12.30") {
  return {.version = ClusterVersion{.desired = version, .installed = version},
          .toolkit = ToolkitStream{{{.name = "410.84.202203290245-0", .image = "quay.io/a"}, {.name = "latest"}}},
          .policy = ClusterPolicy{.name = "gpu-cluster-policy", .operator_uses_toolkit = true},
          .registry = Registry{.management_state = "Managed", .has_storage = true},
          .has_builder_secret = true,
          .nodes = {{.name = "n1", .kernel = "4.18.0-305.25.1.el8_4.x86_64", .rhcos = "410.84.202203290245-0"}}};
}

DriverPod BrokenPod() {
  return {.name = "nvidia-driver-daemonset-49.84.202111111343-0-6mpw4",
          .node = "n1",
          .toolkit_log = TestData("toolkit.log"),
          .driver_log = TestData("driver.log")};
}

// Returns the findings that are more severe than info as "error id", and the notes as "info id".
std::vector<std::string> Names(const std::vector<Finding>& findings) {
  const std::map<Severity, std::string> names = {
      {Severity::kInfo, "info "}, {Severity::kWarning, "warning "}, {Severity::kError, "error "}};
  std::vector<std::string> result;
  for (const Finding& finding : findings) result.push_back(names.at(finding.severity) + finding.id);
  return result;
}

using Lines = std::vector<std::string>;

Finding Only(const Facts& facts, const std::string& id) {
  std::vector<Finding> findings = Examine(facts);
  std::erase_if(findings, [&](const Finding& finding) { return finding.id != id; });
  REQUIRE(findings.size() == 1);
  return findings.front();
}

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("a healthy cluster has no finding that is more severe than a note") {
  CHECK(Names(Examine(Good())) == Lines{"info entitlement"});
  CHECK_FALSE(IsAboveInfo(Examine(Good())));
  CHECK(Names(Examine(Good("4.15.3"))) == Lines{"info entitlement"});
}

TEST_CASE("for a cluster that is not OpenShift, this is the only finding") {
  Facts facts = Good();
  facts.version.reset();
  facts.registry.reset();
  CHECK(Names(Examine(facts)) == Lines{"info not-openshift"});
  CHECK_FALSE(IsAboveInfo(Examine(facts)));
}

TEST_CASE("each version has exactly the findings that NVIDIA's documentation lists for it") {
  struct Row {
    const char* version;
    Lines findings;
  };
  const Lines before_4_9_5 = {"warning entitlement", "warning imagestream-bug"};
  const Row row = GENERATE_COPY(values<Row>({
      {"4.7.40", {"error no-toolkit-version", "warning entitlement", "warning imagestream-bug"}},
      {"4.8.18", before_4_9_5},
      {"4.8.19", {"error broken-toolkit-version", "warning entitlement", "warning imagestream-bug"}},
      {"4.8.20", before_4_9_5},
      {"4.8.21", {"error broken-toolkit-version", "warning entitlement"}},
      {"4.8.22", {"warning entitlement"}},
      {"4.9.0", before_4_9_5},
      {"4.9.4", before_4_9_5},
      {"4.9.5", {"warning entitlement"}},
      {"4.9.7", {"warning entitlement"}},
      {"4.9.8", {"error broken-toolkit-version", "warning entitlement"}},
      {"4.9.9", {"info entitlement"}},
      {"4.10.0", {"info entitlement"}},
      {"4.14.99", {"info entitlement"}},
      {"4.16.0-rc.1", {"info entitlement"}},
      {"5.0.0", {"info entitlement"}},
      {"4.9", {"warning version-unknown"}},
      {"", {"warning version-unknown"}},
      {"four", {"warning version-unknown"}},
  }));
  INFO(row.version);
  CHECK(Names(Examine(Good(row.version))) == row.findings);
}

TEST_CASE("an update in progress is checked for both of its versions") {
  Facts facts = Good("4.9.9");
  facts.version->installed = "4.9.8";
  CHECK(Names(Examine(facts)) ==
        Lines{"error broken-toolkit-version", "warning entitlement", "info entitlement", "info update-under-way"});
  // During the first installation, no version has been completed yet.
  facts.version->installed = "";
  CHECK(Names(Examine(facts)) == Lines{"info entitlement"});
}

TEST_CASE("the remedy for a tag with an empty name is to delete the image stream") {
  Facts facts = Good();
  facts.toolkit->tags.push_back({.name = "", .image = "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:7120"});
  const Finding finding = Only(facts, "empty-imagestream-tag");
  CHECK(finding.severity == Severity::kError);
  CHECK(Has(finding.what, "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:7120"));
  CHECK(Has(finding.remedy, "oc delete -n openshift is/driver-toolkit"));
}

TEST_CASE("the image stream must exist, with a tag for the RHCOS of each GPU node") {
  Facts facts = Good();
  facts.nodes.push_back({.name = "n2", .rhcos = "411.86.202210041459-0"});
  facts.nodes.push_back({.name = "n3", .rhcos = ""});  // RHEL
  CHECK(Names(Examine(facts)) == Lines{"error no-toolkit-for-node", "info entitlement"});
  CHECK(Has(Only(facts, "no-toolkit-for-node").what, "node n2 has RHCOS 411.86.202210041459-0"));
  facts.toolkit.reset();
  CHECK(Names(Examine(facts)) == Lines{"error no-imagestream", "info entitlement"});
  CHECK(Has(Only(facts, "no-imagestream").remedy, "oc get -n openshift is/driver-toolkit"));
}

TEST_CASE("doc-D35: the toolkit option is used under operator, and ignored under driver") {
  Facts facts = Good();
  facts.policy->driver_uses_toolkit = false;
  const Finding finding = Only(facts, "misplaced-toolkit-option");
  CHECK(finding.severity == Severity::kWarning);
  CHECK(Has(finding.remedy,
            R"({"spec":{"driver":{"use_ocp_driver_toolkit":null},"operator":{"use_ocp_driver_toolkit":false}}})"));
  facts.policy->driver_uses_toolkit.reset();
  facts.policy->operator_uses_toolkit.reset();
  CHECK(Names(Examine(facts)) == Lines{"info entitlement"});
  facts.policy->operator_uses_toolkit = false;
  CHECK(Names(Examine(facts)) == Lines{"info entitlement", "info toolkit-off"});
  facts.policy.reset();
  CHECK(Names(Examine(facts)) == Lines{"info entitlement", "info no-cluster-policy"});
}

TEST_CASE("problems of the toolkit are reported only as notes if the toolkit is off") {
  Facts facts = Good("4.15.0");
  facts.policy->operator_uses_toolkit = false;
  facts.toolkit->tags.push_back({});
  facts.nodes.front().rhcos = "415.92.202402201450-0";
  facts.registry.reset();
  facts.has_builder_secret = false;
  CHECK(Names(Examine(facts)) == Lines{"info entitlement", "info empty-imagestream-tag", "info toolkit-off",
                                       "info registry-storage", "info registry-not-managed", "info no-builder-secret"});
  CHECK(Names(Examine([&] {
          Facts broken = Good("4.9.8");
          broken.policy->operator_uses_toolkit = false;
          return broken;
        }())) == Lines{"warning entitlement", "info broken-toolkit-version", "info toolkit-off"});
}

TEST_CASE("the toolkit is on if the ClusterPolicy omits it, so its problems are errors") {
  Facts facts = Good("4.9.8");
  facts.policy->operator_uses_toolkit.reset();
  CHECK(Names(Examine(facts)) == Lines{"error broken-toolkit-version", "warning entitlement"});
}

TEST_CASE("from 4.15 on, the registry must be managed and have storage, and the builder account must have its secret") {
  const std::string patch = "oc patch configs.imageregistry.operator.openshift.io cluster --type merge --patch ";
  Facts facts = Good("4.15.0");
  facts.registry = Registry{.management_state = "Removed", .has_storage = false};
  facts.has_builder_secret = false;
  CHECK(Names(Examine(facts)) ==
        Lines{"error registry-storage", "error registry-not-managed", "error no-builder-secret", "info entitlement"});
  CHECK(Has(Only(facts, "registry-storage").remedy, patch + R"('{"spec":{"storage":{"emptyDir":{}}}}')"));
  CHECK(Has(Only(facts, "registry-not-managed").remedy, patch + R"('{"spec":{"managementState":"Managed"}}')"));
  CHECK(Has(Only(facts, "no-builder-secret").remedy, "repair the registry"));
  CHECK(Has(Only(facts, "registry-not-managed").what, "Removed"));

  facts.registry = Registry{.management_state = "Managed", .has_storage = true};
  CHECK(Names(Examine(facts)) == Lines{"error no-builder-secret", "info entitlement"});
  CHECK(Has(Only(facts, "no-builder-secret").remedy, "oc get secrets -n nvidia-gpu-operator"));

  // Before 4.15, the secrets exist even without a registry. Before the operator is installed, nothing needs the
  // secrets.
  facts.registry.reset();
  facts.version->desired = facts.version->installed = "4.14.30";
  CHECK(Names(Examine(facts)) == Lines{"info entitlement"});
  facts = Good("4.15.0");
  facts.policy.reset();
  facts.has_builder_secret = false;
  CHECK(Names(Examine(facts)) == Lines{"info entitlement", "info no-cluster-policy"});
}

TEST_CASE("a toolkit for a kernel other than the node's is found in the logs of the driver pod") {
  Facts facts = Good("4.9.9");
  facts.pods = {BrokenPod()};
  const Finding finding = Only(facts, "kernel-mismatch");
  CHECK(finding.severity == Severity::kError);
  CHECK(Has(finding.what, "4.18.0-305.28.1.el8_4.x86_64, but node n1 has 4.18.0-305.25.1.el8_4.x86_64"));
  CHECK(Has(finding.why, "entitlement"));
  CHECK(Has(finding.remedy,
            "oc logs -n nvidia-gpu-operator nvidia-driver-daemonset-49.84.202111111343-0-6mpw4 "
            "-c openshift-driver-toolkit-ctr"));

  // The kernel that the node reports takes precedence over the kernel in the log, which may be older.
  facts.nodes.front().kernel = "4.18.0-305.28.1.el8_4.x86_64";
  CHECK(Names(Examine(facts)) == Lines{"info entitlement", "info kernel-mismatch-past"});
  facts.nodes.clear();
  CHECK(Only(facts, "kernel-mismatch").what == finding.what);
}

TEST_CASE("the driver container's log also shows a kernel mismatch, and failure to read a log causes a warning") {
  Facts facts = Good();
  facts.pods = {BrokenPod()};
  facts.pods.front().toolkit_log.clear();
  CHECK(Names(Examine(facts)) == Lines{"error kernel-mismatch", "info entitlement"});
  facts.pods = {{.name = "p", .node = "n1", .unread = {"get v1 pods a/p (log): 500"}}, {.name = "q", .node = "n1"}};
  CHECK(Names(Examine(facts)) == Lines{"warning log-unread", "info entitlement"});
  CHECK(IsAboveInfo(Examine(facts)));
}

TEST_CASE("without node feature discovery the operator does not find any GPU") {
  Facts facts = Good();
  facts.has_nfd = false;
  CHECK(Names(Examine(facts)) == Lines{"error no-nfd", "info entitlement"});
}

TEST_CASE("a rollout of machine configs is reported with its progress, and a stuck rollout is an error") {
  Facts facts = Good();
  facts.pools = {{.name = "master", .machines = 3, .updated = 3},
                 {.name = "worker", .machines = 5, .updated = 2, .updating = true}};
  CHECK(Has(Only(facts, "machine-config-rollout").what, "worker is being rolled out: 2 of 5"));
  facts.pools[1].paused = true;
  facts.pools[1].updating = false;
  CHECK(Has(Only(facts, "machine-config-rollout").remedy, "paused"));
  facts.pools[0].degraded = true;
  CHECK(Only(facts, "machine-config-degraded").severity == Severity::kError);
}

TEST_CASE("a driver pod that makes no progress is reported as an error with the reason") {
  Facts facts = Good();
  facts.pods = {{.name = "p", .node = "n1", .stalled = "container nvidia-driver-ctr: ImagePullBackOff"}};
  CHECK(Has(Only(facts, "stalled-pod").what, "ImagePullBackOff"));
}

TEST_CASE("every finding that is more severe than a note has a reason and a remedy") {
  Facts facts = Good("4.7.0");
  facts.toolkit->tags.push_back({});
  facts.policy->driver_uses_toolkit = true;
  facts.policy->operator_uses_toolkit.reset();
  facts.pods = {BrokenPod(), {.name = "p", .node = "n1", .unread = {"refused"}}};
  for (const Finding& finding : Examine(facts)) {
    INFO(finding.id);
    if (finding.severity == Severity::kInfo) continue;
    CHECK(finding.why != "");
    CHECK(finding.remedy != "");
  }
}

}  // namespace
}  // namespace openshift_preflight
