// `upgradectl status` and `explain` on a real API server show what the operator itself has found: through the proxy to its pod,
// with the rights of deploy/rbac/viewer and tools/upgradectl/rbac.yaml.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <array>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "operator_program.h"
#include "service_account.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"
#include "upgradectl_picture.h"
#include "upgradectl_program.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

using Words = std::vector<std::string>;

constexpr char kOwnView[] = "this is upgradectl's own view, not the operator's: ";

constexpr std::string_view kPolicy = R"(
autoUpgrade: true
maxParallelUpgrades: 2
maxUnavailable: 100%
podDeletion: {timeoutSeconds: 300}
)";

// The operator's pod as far as the API server's proxy needs it. No scheduler takes it, so that its address is the machine's.
constexpr std::string_view kPod = R"(
apiVersion: v1
kind: Pod
metadata: {name: op-1, namespace: $NS}
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

// A webhook of a change freeze whose server is away: it refuses the operator's patches of nodes, and nobody else's.
constexpr std::string_view kWebhook = R"(
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: freeze}
webhooks:
- name: freeze.example.com
  clientConfig: {url: "https://127.0.0.1:1/"}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [nodes]}]
  matchConditions: [{name: operator, expression: 'request.userInfo.username.endsWith(":driver-upgrade")'}]
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
  timeoutSeconds: 1
)";

// Of this machine: the API server's proxy takes no loopback address. nullopt: it has no other.
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

// An operator that serves its view, and alice, who looks at it.
class Viewed {
 public:
  Viewed(const World& world, const std::string& address) : world_(world), port_(PortOf(ControlPlane::UnusedUrl())) {
    admin().Create(ReadFile(RbacFolder() / "viewer/reviews.yaml"));
    admin().Create(InNamespace(ReadFile(RbacFolder() / "viewer/viewer.yaml")));
    ApplyRights(world.control_plane(), RbacFolder().parent_path().parent_path() / "tools/upgradectl/rbac.yaml");
    admin().Create(Substitute(std::string(kAlice), {{"$NS", ns()}}));
    admin().Create(Substitute(std::string(kPod), {{"$NS", ns()}}));
    admin().Must({"patch", "pod", "op-1", "-n", ns(), "--subresource=status", "--type=merge", "-p",
                  R"({"status":{"podIP":")" + address + R"(","podIPs":[{"ip":")" + address + R"("}]}})"});
    alice_ = KubeconfigOf(world.control_plane(), ns(), "alice").string();
    WriteFile(world.control_plane().folder() / "view.yaml", kPolicy);
  }
  ~Viewed() {
    for (const char* object : {"clusterrole/driver-upgrade-reviews", "clusterrolebinding/driver-upgrade-reviews",
                               "clusterrole/driver-upgrade-viewer", "clusterrolebinding/driver-upgrade-viewer",
                               "clusterrolebinding/alice-views", "validatingwebhookconfiguration/freeze"}) {
      admin().Run({"delete", object, "--ignore-not-found"});
    }
  }
  Viewed(const Viewed&) = delete;
  Viewed& operator=(const Viewed&) = delete;

  void StartOperator() {
    operator_ = std::make_unique<OperatorProgram>(
        world_.control_plane(), "gpu_operator", world_.control_plane().operator_kubeconfig(),
        Words{"--namespace", ns(), "--driver-labels", "app=driver", "--policy",
              (world_.control_plane().folder() / "view.yaml").string(), "--leader-elect", "--identity", "op-1_7",
              "--rollout-secure-address", "0.0.0.0:" + port_});
  }
  void KillOperator() { operator_.reset(); }
  void LetAliceRead() const { admin().Create(Substitute(std::string(kAliceMayRead), {{"$NS", ns()}})); }

  std::string Show(Words words, const Words& more = {}) const {
    const Words options = UpgradectlOptions(world_, alice_);
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), more.begin(), more.end());
    const KubectlResult answer = RunUpgradectl(world_.control_plane(), words);
    return answer.out + answer.err;
  }
  // Whether `words` say `text` in time.
  bool Tells(const Words& words, const std::string& text) const {
    std::string last;
    const bool told = Eventually(kStepLimit, [&] {
      last = Show(words);
      return last.find(text) != std::string::npos;
    });
    INFO(last << (operator_ ? operator_->Log() : ""));
    CHECK(told);
    return told;
  }
  // What the page answers through the proxy to who has no token of a viewer.
  KubectlResult Raw() const {
    return admin().Run({"get", "--raw", "/api/v1/namespaces/" + ns() + "/pods/https:op-1:" + port_ + "/proxy/rollout"});
  }

 private:
  const Kubectl& admin() const { return world_.control_plane().admin(); }
  const std::string& ns() const { return world_.driver_ns(); }
  std::string InNamespace(const std::string& manifest) const {
    return std::regex_replace(manifest, std::regex("namespace: gpu-operator"), "namespace: " + ns());
  }

  const World& world_;
  const std::string port_;
  std::string alice_;
  std::unique_ptr<OperatorProgram> operator_;
};

TEST_CASE("A rollout is shown as its operator finds it: a webhook in the way, the end, and a dead operator", "[view]") {
  const std::optional<std::string> address = MachineAddress();
  if (!address) {
    WARN("skipped: this machine has no address but loopback, which the API server's proxy refuses");
    return;
  }
  World world(ControlPlane::Shared(), "view", 2);
  const std::string node = world.nodes()[0];
  world.DeployDriver();
  Viewed viewed(world, *address);
  CHECK(viewed.Show({"status"})
            .starts_with("no operator of nvidia.com/gpu is installed in namespace " + world.driver_ns() +
                         ": nothing will happen\n"));
  viewed.StartOperator();

  // Without the role alice sees a pass of her own, and why.
  CHECK(viewed.Tells({"status"}, std::string(kOwnView) + "create serviceaccounts/token " + world.driver_ns() +
                                     "/nvidia-gpu-driver-upgrade-viewer: 403: "));
  const KubectlResult nobody = viewed.Raw();
  INFO(nobody.err);
  CHECK(nobody.exit_code != 0);
  CHECK(nobody.err.find("You must be logged in") != std::string::npos);
  viewed.LetAliceRead();
  CHECK(viewed.Tells({"status"}, ", last pass "));
  CHECK(viewed.Show({"status"}).find(kOwnView) == std::string::npos);

  world.control_plane().admin().Create(kWebhook);
  world.ChangeDriver("driver:2");
  CHECK(viewed.Tells({"status"}, "the API server refuses: patch node "));
  CHECK(viewed.Tells({"explain", node}, "failed calling webhook \"freeze.example.com\""));
  CHECK(viewed.Show({"explain", node}).find("kubectl get validatingwebhookconfigurations") != std::string::npos);

  world.control_plane().admin().Must({"delete", "validatingwebhookconfiguration", "freeze"});
  CHECK(viewed.Tells({"status"}, "nvidia.com/gpu done: 2 of 2 done"));
  const std::string done = viewed.Show({"status"});
  INFO(done);
  CHECK(done.find("the API server refuses") == std::string::npos);

  viewed.KillOperator();
  const std::string later = absl::FormatTime(absl::RFC3339_sec, absl::Now() + absl::Minutes(5), absl::UTCTimeZone());
  for (const Words& verb : {Words{"status"}, {"explain", node}}) {
    const std::string text = viewed.Show(verb, {"--at", later});
    INFO(text);
    CHECK(text.starts_with("no operator has "));
    CHECK(text.find(": nothing will happen\n") != std::string::npos);
  }
}

}  // namespace
}  // namespace driverupgrade::e2e
