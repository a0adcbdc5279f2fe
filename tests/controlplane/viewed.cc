#include "viewed.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <optional>
#include <regex>

#include "go_operator.h"
#include "service_account.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"
#include "upgradectl_picture.h"
#include "upgradectl_program.h"

namespace driverupgrade::e2e {
namespace {

using Words = std::vector<std::string>;

// The pod is not scheduled, so the test can set the pod's address to that of the machine.
constexpr std::string_view kPod = R"(
apiVersion: v1
kind: Pod
metadata: {name: $POD, namespace: $NS}
spec: {schedulerName: none, containers: [{name: operator, image: operator}]}
)";

constexpr std::string_view kAlice = R"(
apiVersion: v1
kind: ServiceAccount
metadata: {name: alice, namespace: $NS}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: alice-views}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: driver-upgrade-view}
subjects: [{kind: ServiceAccount, name: alice, namespace: $NS}]
)";

constexpr std::string_view kAliceMayRead = R"(
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: alice-reads, namespace: $NS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: driver-upgrade-page}
subjects: [{kind: ServiceAccount, name: alice, namespace: $NS}]
)";

// A change-freeze webhook whose server is down. It blocks only the operator's requests.
constexpr std::string_view kWebhook = R"(
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: freeze}
webhooks:
- name: freeze.example.com
  clientConfig: {url: "https://127.0.0.1:1/"}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [$OPERATION], resources: [$RESOURCE]}]
  matchConditions: [{name: operator, expression: 'request.userInfo.username.endsWith(":driver-upgrade")'}]
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
  timeoutSeconds: 1
)";

// Returns a non-loopback address of this machine, because the API server's proxy refuses loopback addresses. Returns
// nullopt if the machine has only loopback addresses.
std::optional<std::string> MachineAddress() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return std::nullopt;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(all, freeifaddrs);
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET || (one->ifa_flags & IFF_LOOPBACK) != 0)
      continue;
    std::array<char, INET_ADDRSTRLEN> text = {};
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text.data(), text.size());
    return std::string(text.data());
  }
  return std::nullopt;
}

std::string PortOf(const std::string& url) { return url.substr(url.rfind(':') + 1); }

}  // namespace

std::unique_ptr<Viewed> Viewed::Make(const std::string& name, int nodes, std::string_view policy) {
  if (const std::optional<std::string> address = MachineAddress()) {
    return std::unique_ptr<Viewed>(new Viewed(name, *address, nodes, policy));
  }
  WARN("skipped: this machine has no address but loopback, which the API server's proxy refuses");
  return nullptr;
}

Viewed::Viewed(const std::string& name, const std::string& address, int nodes, std::string_view policy)
    : world_(ControlPlane::Shared(), name, nodes), address_(address), port_(PortOf(ControlPlane::UnusedUrl())) {
  admin().Create(ReadFile(RbacFolder() / "viewer/reviews.yaml"));
  admin().Create(InNamespace(ReadFile(RbacFolder() / "viewer/viewer.yaml")));
  ApplyRights(world_.control_plane(), RbacFolder().parent_path().parent_path() / "tools/upgradectl/rbac.yaml");
  admin().Create(Substitute(std::string(kAlice), {{"$NS", ns()}}));
  CreatePod("op-1");
  alice_ = KubeconfigOf(world_.control_plane(), ns(), "alice").string();
  WriteFile(world_.control_plane().folder() / "view.yaml", policy);
  world_.DeployDriver();
}

Viewed::~Viewed() {
  for (const char* object : {"clusterrole/driver-upgrade-reviews", "clusterrolebinding/driver-upgrade-reviews",
                             "clusterrole/driver-upgrade-viewer", "clusterrolebinding/driver-upgrade-viewer",
                             "clusterrolebinding/alice-views", "validatingwebhookconfiguration/freeze"}) {
    admin().Run({"delete", object, "--ignore-not-found"});
  }
}

void Viewed::StartOperator() {
  operator_ = std::make_unique<OperatorProgram>(
      world_.control_plane(), "gpu_operator", world_.control_plane().operator_kubeconfig(),
      Words{"--namespace", ns(), "--driver-labels", "app=driver", "--policy",
            (world_.control_plane().folder() / "view.yaml").string(), "--leader-elect", "--identity", "op-1_7",
            "--ledger", "--rollout-secure-address", "0.0.0.0:" + port_});
}

void Viewed::StartGoOperator() {
  std::array<char, HOST_NAME_MAX + 1> host = {};
  REQUIRE(gethostname(host.data(), host.size() - 1) == 0);
  CreatePod(host.data());  // controller-runtime uses the host name as its identity in leader election
  go_operator_ = GoOperator(world_, kPatient)
                     .Start({"--until-done=false", "--timeout", "0", "--leader-elect", "--rollout-secure-address",
                             "0.0.0.0:" + port_});
}

void Viewed::LetAliceRead() const { admin().Create(Substitute(std::string(kAliceMayRead), {{"$NS", ns()}})); }

void Viewed::Begin() {
  StartOperator();
  LetAliceRead();
  const std::string all = std::to_string(world_.nodes().size());
  REQUIRE(Tells({"status"}, ", last pass "));
  REQUIRE(Tells({"status"}, all + " of " + all + " done"));
}

void Viewed::Freeze(const std::string& operation, const std::string& resource) const {
  admin().Create(Substitute(std::string(kWebhook), {{"$OPERATION", operation}, {"$RESOURCE", resource}}));
}

std::string Viewed::Show(Words words) const {
  const Words options = UpgradectlOptions(world_, alice_);
  words.insert(words.end(), options.begin(), options.end());
  const KubectlResult answer = RunUpgradectl(world_.control_plane(), words);
  return answer.out + answer.err;
}

bool Viewed::Tells(const Words& words, const std::string& text, int times) const {
  std::string last;
  const bool told = Eventually(kStepLimit, [&] {
    last = Show(words);
    int count = 0;
    for (std::size_t at = 0; (at = last.find(text, at)) != std::string::npos; at += text.size()) ++count;
    return count >= times;
  });
  INFO(last << (operator_ ? operator_->Log() : ""));
  CHECK(told);
  return told;
}

void Viewed::CheckPictures(const std::string& name, const Words& more) const {
  Words options = UpgradectlOptions(world_, alice_);
  options.insert(options.end(), more.begin(), more.end());
  // Removes the time of the next attempt, which is not shown if the attempt is due at this very moment.
  const std::string picture = PictureOf(world_, {{"status"}, {"explain", node()}}, options);
  const std::string timeless = std::regex_replace(picture, std::regex("\n  until TIME \\(in AGE\\)"), "");
  // Repeated lines are merged, because the number of failed requests so far depends on the machine.
  CheckPicture(name, std::regex_replace(timeless, std::regex("(\n  TIME \\(AGE ago\\): [^\n]*)(\\1)+"), "$1"));
}

KubectlResult Viewed::Raw() const {
  return admin().Run({"get", "--raw", "/api/v1/namespaces/" + ns() + "/pods/https:op-1:" + port_ + "/proxy/rollout"});
}

void Viewed::CreatePod(const std::string& name) const {
  admin().Create(Substitute(std::string(kPod), {{"$NS", ns()}, {"$POD", name}}));
  admin().Must({"patch", "pod", name, "-n", ns(), "--subresource=status", "--type=merge", "-p",
                R"({"status":{"podIP":")" + address_ + R"(","podIPs":[{"ip":")" + address_ + R"("}]}})"});
}

std::string Viewed::InNamespace(const std::string& manifest) const {
  return std::regex_replace(manifest, std::regex("namespace: gpu-operator"), "namespace: " + ns());
}

}  // namespace driverupgrade::e2e
