// Tests the ClusterRoles of tools/upgradectl/rbac.yaml: with all rules of the roles, every verb works; if any single
// rule is missing, at least one verb fails.
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "json.h"
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

constexpr char kStateKey[] = "nvidia.com/gpu-driver-upgrade-state";
constexpr char kSafeLoadKey[] = "nvidia.com/gpu-driver-upgrade.driver-wait-for-safe-load";

constexpr std::string_view kPolicies = R"(
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: cluster-policy}
spec:
  driver:
    upgradePolicy:
      autoUpgrade: true
      maxParallelUpgrades: 1
      rollout: {stages: [{name: canary, nodes: 1, approval: Manual}]}
---
apiVersion: mellanox.com/v1alpha1
kind: NicClusterPolicy
metadata: {name: nic-cluster-policy}
spec: {ofedDriver: {upgradePolicy: {autoUpgrade: true}}}
)";

constexpr std::string_view kAccounts = R"(
apiVersion: v1
kind: ServiceAccount
metadata: {name: viewer, namespace: $NS}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: actor, namespace: $NS}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: nobody, namespace: $NS}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: test-driver-upgrade-view}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: driver-upgrade-view}
subjects:
- {kind: ServiceAccount, name: viewer, namespace: $NS}
- {kind: ServiceAccount, name: actor, namespace: $NS}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: test-driver-upgrade-act}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: driver-upgrade-act}
subjects: [{kind: ServiceAccount, name: actor, namespace: $NS}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: test-driver-upgrade-review}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: driver-upgrade-review}
subjects: [{kind: ServiceAccount, name: actor, namespace: $NS}]
)";

// A rollout that waits for an approval, and users with different permissions.
class Office {
 public:
  Office() : world_(ControlPlane::Shared(), "roles", 5) {
    ControlPlane& control_plane = world_.control_plane();
    control_plane.InstallPolicies();
    control_plane.InstallNodeMaintenances();
    ApplyRights(control_plane, RbacFolder().parent_path().parent_path() / "tools/upgradectl/rbac.yaml");
    admin().Create(kPolicies);
    admin().Create(Substitute(std::string(kAccounts), {{"$NS", world_.driver_ns()}}));
    world_.DeployDriver();
    world_.ChangeDriver("driver:2");
    SetUp();
  }
  ~Office() {
    admin().Run({"delete", "clusterpolicies,nicclusterpolicies", "--all"});
    admin().Run({"delete", "clusterrolebinding", "test-driver-upgrade-view", "test-driver-upgrade-act",
                 "test-driver-upgrade-review"});
  }
  Office(const Office&) = delete;
  Office& operator=(const Office&) = delete;

  const World& world() const { return world_; }
  const Kubectl& admin() const { return world_.control_plane().admin(); }
  const std::string& waiting() const { return world_.nodes()[0]; }
  const std::string& skipped() const { return world_.nodes()[1]; }
  const std::string& failed() const { return world_.nodes()[2]; }
  const std::string& done() const { return world_.nodes()[3]; }
  const std::string& loading() const { return world_.nodes()[4]; }

  KubectlResult Ask(const std::string& account, Words words) const {
    const Words options =
        UpgradectlOptions(world_, KubeconfigOf(world_.control_plane(), world_.driver_ns(), account).string());
    words.insert(words.end(), options.begin(), options.end());
    return RunUpgradectl(world_.control_plane(), words);
  }

 private:
  void SetUp() const {
    const auto label = [&](const std::string& node, const std::string& text) {
      admin().Must({"label", "node", node, text});
    };
    label(waiting(), std::string(kStateKey) + "=upgrade-required");
    label(skipped(), "nvidia.com/gpu-driver-upgrade.skip=true");
    label(failed(), std::string(kStateKey) + "=upgrade-failed");
    label(done(), std::string(kStateKey) + "=upgrade-done");
    label(loading(), std::string(kStateKey) + "=pod-restart-required");
    admin().Must({"annotate", "node", loading(), std::string(kSafeLoadKey) + "=true"});
    world_.Cordon(loading());
  }

  World world_;
};

// Returns read-only commands that together use all read permissions of the role.
std::vector<Words> Reading(const Office& office) {
  return {{"status"},
          {"status", "--requestor-id", "test"},
          {"explain", office.waiting()},
          {"preflight"},
          {"plan"},
          {"timeline", "-o", "json"},
          {"simulate", "--seeds", "1", "-o", "json"},
          {"status", "--driver", "ofed"}};
}

// A command that writes, and a query that shows the command's effect.
struct Writing {
  Words words;
  Words get;
  std::string before;
  std::string after;
};

std::vector<Writing> Writings(const Office& office) {
  const auto node = [&](const std::string& verb, const std::string& name, const std::string& path,
                        const std::string& before, const std::string& after) {
    return Writing{{verb, name}, {"node", name, "-o", "jsonpath={.metadata." + path + "}"}, before, after};
  };
  const std::string skip = R"(labels.nvidia\.com/gpu-driver-upgrade\.skip)";
  const Words gpu = {"clusterpolicy", "cluster-policy", "-o", "jsonpath={.spec.driver.upgradePolicy.paused}"};
  const Words ofed = {"nicclusterpolicy", "nic-cluster-policy", "-o",
                      "jsonpath={.spec.ofedDriver.upgradePolicy.paused}"};
  return {
      node("skip", office.waiting(), skip, "", "true"),
      node("unskip", office.skipped(), skip, "true", ""),
      node("retry", office.failed(), R"(labels.nvidia\.com/gpu-driver-upgrade-state)", "upgrade-failed",
           "upgrade-required"),
      node("request", office.done(), R"(annotations.nvidia\.com/gpu-driver-upgrade-requested)", "", "true"),
      node("allow-load", office.loading(), R"(annotations.nvidia\.com/gpu-driver-upgrade\.driver-wait-for-safe-load)",
           "true", ""),
      {{"approve", "canary"},
       {"daemonset", "driver", "--namespace=" + office.world().driver_ns(), "-o",
        R"(jsonpath={.metadata.annotations.nvidia\.com/gpu-driver-upgrade\.approved})"},
       "",
       "canary@" + office.world().NewestDriverRevision()},
      {{"pause"}, gpu, "", "true"},
      {{"resume"}, gpu, "true", ""},
      {{"pause", "--driver", "ofed"}, ofed, "", "true"},
  };
}

std::string Value(const Office& office, Words get) {
  get.insert(get.begin(), "get");
  return office.admin().Must(get);
}

bool SaysForbidden(const KubectlResult& answer) {
  return (answer.out + answer.err).find("forbidden") != std::string::npos;
}

std::string Joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

TEST_CASE("Viewers read everything and write nothing, actors can use every verb, and other users can do nothing",
          "[troubles]") {
  const Office office;
  for (const Words& words : Reading(office)) {
    INFO(Joined(words));
    const KubectlResult viewed = office.Ask("viewer", words);
    INFO(viewed.out << viewed.err);
    CHECK(viewed.exit_code != 1);
    CHECK(viewed.exit_code != 2);
    CHECK_FALSE(SaysForbidden(viewed));
    const KubectlResult refused = office.Ask("nobody", words);
    CHECK(refused.exit_code == 2);
    CHECK(SaysForbidden(refused));
  }
  const std::string account = office.world().driver_ns() + "/viewer";
  CHECK(SaysForbidden(office.Ask("viewer", {"preflight", "--rights", account})));
  CHECK_FALSE(SaysForbidden(office.Ask("viewer", {"preflight", "--rights", "self"})));
  CHECK_FALSE(SaysForbidden(office.Ask("actor", {"preflight", "--rights", account})));

  for (const Writing& writing : Writings(office)) {
    INFO(Joined(writing.words));
    Words words = writing.words;
    words.emplace_back("--yes");
    REQUIRE(Value(office, writing.get) == writing.before);
    const KubectlResult refused = office.Ask("viewer", words);
    INFO(refused.out << refused.err);
    CHECK(refused.exit_code == 2);
    CHECK(SaysForbidden(refused));
    CHECK(Value(office, writing.get) == writing.before);
    const KubectlResult done = office.Ask("actor", words);
    INFO(done.out << done.err);
    CHECK(done.exit_code == 0);
    CHECK(Value(office, writing.get) == writing.after);
  }
}

// Removes a rule; the destructor restores it.
class WithoutRule {
 public:
  WithoutRule(const Office& office, const std::string& role, std::size_t rule)
      : admin_(office.admin()), role_(role), before_(admin_.Must({"get", "clusterrole", role, "-o", "json"})) {
    admin_.Must({"patch", "clusterrole", role, "--type=json",
                 R"(--patch=[{"op": "remove", "path": "/rules/)" + std::to_string(rule) + R"("}])"});
  }
  ~WithoutRule() {
    const rapidjson::Document before = ParseJson(before_, role_);
    rapidjson::StringBuffer rules;
    rapidjson::Writer<rapidjson::StringBuffer> writer(rules);
    before["rules"].Accept(writer);
    admin_.Run({"patch", "clusterrole", role_, "--type=merge",
                std::string(R"(--patch={"rules": )") + rules.GetString() + "}"});
  }
  WithoutRule(const WithoutRule&) = delete;
  WithoutRule& operator=(const WithoutRule&) = delete;

 private:
  const Kubectl& admin_;
  const std::string role_;
  const std::string before_;
};

std::size_t CountRules(const Office& office, const std::string& role) {
  return Items(office.admin().Get({"clusterrole", role}), {"rules"}).Size();
}

// Waits until one of the commands is forbidden, because the API server needs a moment to notice a change of roles.
bool AwaitForbidden(const Office& office, const std::string& account, const std::vector<Words>& commands) {
  return Eventually(std::chrono::seconds(10), [&] {
    for (const Words& words : commands) {
      if (SaysForbidden(office.Ask(account, words))) return true;
    }
    return false;
  });
}

TEST_CASE("Every rule of upgradectl's roles is needed", "[troubles]") {
  const Office office;
  const std::vector<Words> reading = Reading(office);
  const rapidjson::Document view = office.admin().Get({"clusterrole", "driver-upgrade-view"});
  for (std::size_t rule = 0; rule < CountRules(office, "driver-upgrade-view"); ++rule) {
    // The rule for ResourceClaims is skipped, because no pod of this cluster has a ResourceClaim.
    const rapidjson::Value& of_rule = Items(view, {"rules"})[static_cast<rapidjson::SizeType>(rule)];
    if (std::string_view(Items(of_rule, {"apiGroups"})[0].GetString()) == "resource.k8s.io") continue;
    const WithoutRule without(office, "driver-upgrade-view", rule);
    INFO("driver-upgrade-view, rule " << rule);
    CHECK(AwaitForbidden(office, "viewer", reading));
  }
  std::vector<Words> writing;
  for (const Writing& each : Writings(office)) {
    if (each.words.front() == "resume") continue;  // the rollout is not paused here
    writing.push_back(each.words);
    writing.back().insert(writing.back().end(), {"--yes", "--dry-run=server"});
  }
  for (std::size_t rule = 0; rule < CountRules(office, "driver-upgrade-act"); ++rule) {
    const WithoutRule without(office, "driver-upgrade-act", rule);
    INFO("driver-upgrade-act, rule " << rule);
    CHECK(AwaitForbidden(office, "actor", writing));
  }
}

}  // namespace
}  // namespace driverupgrade::e2e
