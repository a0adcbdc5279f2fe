// Checks, with each HTTP backend, that the real API server fulfills the contract of the facade. The fake fulfills the
// same contract, so this test shows that the fake is realistic.
#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include "absl/time/clock.h"
#include "control_plane.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/kubernetes/kube_config.h"
#include "driverupgrade/kubernetes/object_client.h"
#include "driverupgrade/kubernetes/rest_cluster.h"
#include "driverupgrade/testing/facade_contract.h"
#include "fmt/format.h"
#include "json.h"
#include "support.h"
#include "support/catch.h"
#include "support/chosen_transport.h"

namespace driverupgrade::e2e {
namespace {

const ObjectKind kNodes{.group_version = "v1", .resource = "nodes", .namespaced = false};
const ObjectKind kNamespaces{.group_version = "v1", .resource = "namespaces", .namespaced = false};
const ObjectKind kPods{.group_version = "v1", .resource = "pods"};
const ObjectKind kDaemonSets{.group_version = "apps/v1", .resource = "daemonsets"};
const ObjectKind kBudgets{.group_version = "policy/v1", .resource = "poddisruptionbudgets"};

constexpr std::chrono::seconds kLimit{60};

std::string Json(const StringMap& map) {
  std::string text;
  for (const auto& [key, value] : map) {
    const rapidjson::Value quoted(rapidjson::StringRef(value.data(), value.size()));
    text += fmt::format(R"({}"{}":{})", text.empty() ? "" : ",", key, examples::ToText(quoted));
  }
  return "{" + text + "}";
}

std::shared_ptr<HttpTransport> Connect(const ControlPlane& control_plane, const std::string& backend) {
  const auto config = KubeConfig::LoadFile(control_plane.folder() / "admin.kubeconfig");
  REQUIRE(config.ok());
  const auto transport = examples::MakeChosenTransport(backend, *config);
  REQUIRE(transport.ok());
  return MakeRetryingTransport(*transport);
}

// A facade without DeviceTaintRules, which Kubernetes has served only since 1.37.
class WithoutDeviceTaintRules final : public ForwardingFacade {
 public:
  using ForwardingFacade::ForwardingFacade;
  bool Supports(Operation operation) const override {
    const bool of_rules =
        operation == Operation::kCreateDeviceTaintRule || operation == Operation::kPatchDeviceTaintRule ||
        operation == Operation::kDeleteDeviceTaintRule || operation == Operation::kListDeviceTaintRules ||
        operation == Operation::kWatchDeviceTaintRules;
    return !of_rules && ForwardingFacade::Supports(operation);
  }
};

// Creates objects with an administrator's permissions, bypassing the facade.
class RealWorld final : public testing::ContractWorld {
 public:
  RealWorld(ControlPlane& control_plane, const std::string& backend)
      : transport_(Connect(control_plane, backend)),
        objects_(transport_),
        facade_(MakeRestCluster(transport_, {.page_size = 2})),
        name_("contract-" + backend) {
    control_plane.InstallNodeMaintenances();
    has_rules_ = !absl::IsNotFound(facade_->ListDeviceTaintRules(context(), {}).status());
    if (!has_rules_) facade_ = std::make_shared<WithoutDeviceTaintRules>(facade_);
  }

  bool has_rules() const { return has_rules_; }

  ClusterFacade& facade() override { return *facade_; }
  CallContext context() override { return {.deadline = absl::Now() + absl::Seconds(30)}; }
  std::string prefix() override { return fmt::format("{}-{}-", name_, ++count_); }

  absl::StatusOr<std::string> MakeNamespace() override {
    const std::string ns = fmt::format("{}-{}", name_, ++count_);
    const auto made =
        objects_.Create(context(), kNamespaces, {.name = ns},
                        fmt::format(R"({{"kind":"Namespace","apiVersion":"v1","metadata":{{"name":"{}"}}}})", ns));
    if (!made.ok()) return made.status();
    return ns;
  }

  // Creates the node, and waits until the other writers (kwok and the Kubernetes controllers) no longer change it.
  absl::StatusOr<Node> MakeNode(const Node& node) override {
    const std::string json = fmt::format(
        R"({{"kind":"Node","apiVersion":"v1","metadata":{{"name":"{}","labels":{},"annotations":{}}},)"
        R"("spec":{{"unschedulable":{}}},"status":{{"allocatable":{{"pods":"110"}},"capacity":{{"pods":"110"}}}}}})",
        node.name, Json(node.labels), Json(node.annotations), node.unschedulable);
    if (const auto made = objects_.Create(context(), kNodes, {.name = node.name}, json); !made.ok()) {
      return made.status();
    }
    absl::StatusOr<Node> stored = absl::UnavailableError("not read yet");
    const bool settled = Eventually(kLimit, [&] { return IsSettled(node.name) && (stored = Read(node.name)).ok(); });
    return settled ? stored : absl::DeadlineExceededError(fmt::format("node {} does not settle", node.name));
  }

  absl::Status TouchNode(const std::string& name) override {
    return objects_
        .MergePatch(context(), kNodes, {.name = name},
                    fmt::format(R"({{"metadata":{{"annotations":{{"touched":"{}"}}}}}})", ++count_))
        .status();
  }

  absl::StatusOr<Pod> MakePod(const Pod& pod) override {
    const std::string json = fmt::format(
        R"({{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"{}","namespace":"{}","labels":{}}},)"
        R"("spec":{{"nodeName":"{}","terminationGracePeriodSeconds":1,"tolerations":[{{"operator":"Exists"}}],)"
        R"("containers":[{{"name":"main","image":"main:1"}}]}}}})",
        pod.ref.name, pod.ref.ns, Json(pod.labels), pod.node_name);
    if (const auto made = objects_.Create(context(), kPods, {pod.ref.ns, pod.ref.name}, json); !made.ok()) {
      return made.status();
    }
    absl::StatusOr<Pod> stored = absl::UnavailableError("not read yet");
    const bool running = Eventually(kLimit, [&] {
      stored = facade_->GetPod(context(), {pod.ref.ns, pod.ref.name});
      return stored.ok() && IsReady(*stored);
    });
    return running ? stored : absl::DeadlineExceededError(fmt::format("pod {} does not run", pod.ref.ToString()));
  }

  absl::Status MakeBudget(const std::string& ns, const std::string& name, const StringMap& labels) override {
    const std::string json = fmt::format(
        R"({{"kind":"PodDisruptionBudget","apiVersion":"policy/v1","metadata":{{"name":"{}","namespace":"{}"}},)"
        R"("spec":{{"minAvailable":1000,"selector":{{"matchLabels":{}}}}}}})",
        name, ns, Json(labels));
    if (const auto made = objects_.Create(context(), kBudgets, {ns, name}, json); !made.ok()) return made.status();
    const bool observed = Eventually(kLimit, [&] {
      return Field(kBudgets, {ns, name}, [](const rapidjson::Value& budget) {
        return Integer(budget, {"status", "observedGeneration"}) == 1;
      });
    });
    return observed ? absl::OkStatus() : absl::DeadlineExceededError("the budget is not observed");
  }

  absl::Status RemoveNode(const std::string& name) override {
    return objects_.Delete(context(), kNodes, {.name = name});
  }

  absl::StatusOr<DaemonSet> MakeDaemonSet(const std::string& ns, const std::string& name) override {
    const std::string labels = Json({{"app", name}});
    const std::string json = fmt::format(
        R"({{"kind":"DaemonSet","apiVersion":"apps/v1","metadata":{{"name":"{}","namespace":"{}","labels":{}}},)"
        R"("spec":{{"selector":{{"matchLabels":{}}},"template":{{"metadata":{{"labels":{}}},"spec":{{)"
        R"("nodeSelector":{{"contract":"nowhere"}},"containers":[{{"name":"main","image":"main:1"}}]}}}}}}}})",
        name, ns, labels, labels, labels);
    if (const auto made = objects_.Create(context(), kDaemonSets, {ns, name}, json); !made.ok()) return made.status();
    absl::StatusOr<DaemonSet> stored = absl::UnavailableError("not read yet");
    const bool observed = Eventually(kLimit, [&] {
      const auto sets = facade_->ListDaemonSets(context(), {.ns = ns});
      if (!sets.ok()) return false;
      for (const DaemonSet& set : *sets) {
        if (set.name == name) stored = set;
      }
      return stored.ok() && stored->observed_generation == stored->generation;
    });
    return observed ? stored : absl::DeadlineExceededError(fmt::format("daemon set {} is not observed", name));
  }

 private:
  absl::StatusOr<Node> Read(const std::string& name) { return facade_->GetNode(context(), {.name = name}); }

  bool Field(const ObjectKind& kind, const ObjectName& name, const std::function<bool(const rapidjson::Value&)>& is) {
    const auto object = objects_.Get(context(), kind, name);
    if (!object.ok()) return false;
    const auto json = examples::ParseJson(object->json);
    return json.ok() && is(*json);
  }

  // Returns whether the node is Ready, and has no taint except possibly the taint for `unschedulable`.
  bool IsSettled(const std::string& name) {
    return Field(kNodes, {.name = name}, [](const rapidjson::Value& node) {
      bool ready = false;
      for (const rapidjson::Value& condition : Items(node, {"status", "conditions"})) {
        if (Text(condition, {"type"}) == "Ready") ready = Text(condition, {"status"}) == "True";
      }
      const auto taints = Items(node, {"spec", "taints"});
      return ready && taints.Size() == (Flag(node, {"spec", "unschedulable"}) ? 1U : 0U);
    });
  }

  const std::shared_ptr<HttpTransport> transport_;
  const ObjectClient objects_;
  std::shared_ptr<ClusterFacade> facade_;
  const std::string name_;
  int count_ = 0;
  bool has_rules_ = true;
};

TEST_CASE("RestCluster meets the contract of ClusterFacade on a real API server", "[contract][short]") {
  for (const std::string& backend : examples::TransportNames()) {
    RealWorld world(ControlPlane::Shared(), backend);
    const Stopwatch stopwatch;
    const testing::ContractReport report = testing::RunFacadeContract(world);
    INFO(backend << ": " << report.ToString());
    CHECK(report.Verdict().ok());
    if (!world.has_rules()) std::cout << backend << ": this API server serves no device taint rules\n";
    for (const testing::ContractResult& one : report.results) {
      if (one.outcome != testing::ContractOutcome::kSkipped) continue;
      CHECK(!world.has_rules());
      CHECK(one.name.find("device taint rule") != std::string::npos);
    }
    std::cout << backend << ": " << report.Count(testing::ContractOutcome::kKept) << " of " << report.results.size()
              << " cases of the contract, " << stopwatch.seconds() << " s\n";
  }
}

}  // namespace
}  // namespace driverupgrade::e2e
