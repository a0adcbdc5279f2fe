// Tests that FakeCluster fulfills the ClusterFacade contract, with the same checks that real clusters must pass.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "contract/fake_world.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/testing/facade_contract.h"
#include "support/catch.h"

namespace driverupgrade::testing {
namespace {

using tests::CheckContract;
using tests::FakeWorld;
using enum ContractOutcome;

const ContractResult& ResultOf(const ContractReport& report, std::string_view name) {
  const auto found = std::find_if(report.results.begin(), report.results.end(),
                                  [&](const ContractResult& one) { return one.name == name; });
  REQUIRE(found != report.results.end());
  return *found;
}

TEST_CASE("operations that a facade does not support are not called, and the report names the skipped cases") {
  FakeWorld world;
  world.cluster().SetSupported(Operation::kCreateNodeMaintenance, false);
  world.cluster().SetSupported(Operation::kListNodeMaintenances, false);
  const ContractReport report = RunFacadeContract(world);
  CHECK(report.Verdict().ok());
  CHECK(report.Count(kSkipped) == 8);
  CHECK(ResultOf(report, "a node maintenance is read as it was created").outcome == kSkipped);
  CHECK(ResultOf(report, "a node maintenance is read as it was created").reason ==
        "the facade does not support: create node maintenance, list node maintenances");
  CHECK(world.cluster().node_maintenances().empty());
}

TEST_CASE("FakeCluster fulfills the ClusterFacade contract") {
  FakeWorld world;
  CheckContract(world);
}

TEST_CASE("a facade that supports no operations does not fulfill the contract") {
  FakeWorld world([](const FakeWorld::Cluster& cluster) {
    for (int i = 0; i <= static_cast<int>(Operation::kRecordEvent); ++i) {
      cluster->SetSupported(static_cast<Operation>(i), false);
    }
    return cluster;
  });
  const ContractReport report = RunFacadeContract(world);
  CHECK(report.Count(kBroken) == 0);
  CHECK(report.Count(kSkipped) == static_cast<int>(report.results.size()));
  CHECK(ResultOf(report, "a node is read as it is stored").reason ==
        "the facade does not support: get node or list nodes");
  CHECK(report.Verdict().message() == "the facade violates its contract: no case is kept");
}

TEST_CASE("a report counts outcomes, starts with broken cases, and gives a verdict on the required cases") {
  ContractReport report{{{"a", kKept, ""}, {"b", kSkipped, "the world has no MakeBudget"}, {"c", kKept, ""}}};
  CHECK(report.Verdict().ok());
  CHECK(report.Verdict({"a", "c"}).ok());
  CHECK(report.Verdict({"a", "b", "d"}).message() ==
        "the facade violates its contract: demanded, but skipped: b (the world has no MakeBudget); required, but not "
        "run: d");
  report.results.push_back({"e", kBroken, "expected 1, but found 2"});
  CHECK(report.Verdict().message() == "the facade violates its contract: broken: e");
  CHECK(report.ToString() ==
        "facade contract: 2 cases kept, 1 broken, 1 skipped\n"
        "broken   e: expected 1, but found 2\n"
        "skipped  b: the world has no MakeBudget\n"
        "kept     a\n"
        "kept     c\n");
}

// A world without disruption budgets, in which creating a cordoned node fails.
class PoorWorld final : public ContractWorld {
 public:
  ClusterFacade& facade() override { return rich_.facade(); }
  CallContext context() override { return rich_.context(); }
  std::string prefix() override { return rich_.prefix(); }
  absl::StatusOr<std::string> MakeNamespace() override { return rich_.MakeNamespace(); }
  absl::StatusOr<Node> MakeNode(const Node& node) override {
    if (node.unschedulable) return absl::InternalError("no cordons here");
    return rich_.MakeNode(node);
  }
  absl::Status TouchNode(const std::string& name) override { return rich_.TouchNode(name); }
  absl::StatusOr<Pod> MakePod(const Pod& pod) override { return rich_.MakePod(pod); }
  absl::Status MakeBudget(const std::string&, const std::string&, const StringMap&) override {
    return absl::UnimplementedError("no budgets here");
  }

 private:
  FakeWorld rich_;
};

TEST_CASE("cases that need a hook that the world lacks are skipped, and cases whose hook fails are broken") {
  PoorWorld world;
  const ContractReport report = RunFacadeContract(world);
  for (const auto& [name, hook] : std::vector<std::pair<std::string, std::string>>{
           {"a budget refuses an eviction, and two refuse it permanently", "MakeBudget"},
           {"disruption budgets are listed", "MakeBudget"},
           {"DaemonSets are listed", "MakeDaemonSet"},
           {"controller revisions are listed", "MakeDaemonSet"},
           {"a watch reports deleted objects", "RemoveNode"}}) {
    CHECK(ResultOf(report, name).outcome == kSkipped);
    CHECK(ResultOf(report, name).reason == "the world has no " + hook);
  }
  CHECK(report.Count(kSkipped) == 5);
  const ContractResult& failed = ResultOf(report, "a node is read as it is stored");
  CHECK(failed.outcome == kBroken);
  CHECK(failed.reason == "INTERNAL: MakeNode of the world: no cordons here");
}

// A facade whose evictions, patches, Lease updates and NodeMaintenance deletions report success without any effect. A
// contract that does not check effects would accept this facade.
class LyingFacade final : public ForwardingFacade {
 public:
  using ForwardingFacade::ForwardingFacade;
  absl::StatusOr<EvictionAnswer> EvictPod(const CallContext&, const EvictPodParams&) override {
    return EvictionAnswer{};
  }
  absl::StatusOr<Node> PatchNode(const CallContext& context, const PatchNodeParams& params) override {
    return GetNode(context, {.name = params.name});
  }
  absl::StatusOr<NodeMaintenance> PatchNodeMaintenance(const CallContext& context,
                                                       const PatchNodeMaintenanceParams& params) override {
    return GetNodeMaintenance(context, {params.ns, params.name});
  }
  absl::Status DeleteNodeMaintenance(const CallContext&, const DeleteNodeMaintenanceParams&) override {
    return absl::OkStatus();
  }
  absl::StatusOr<Lease> UpdateLease(const CallContext&, const Lease& lease) override { return lease; }
  absl::StatusOr<ConfigMap> PatchConfigMap(const CallContext& context, const PatchConfigMapParams& params) override {
    return GetConfigMap(context, {params.ns, params.name});
  }
};

// A facade whose node watches ignore selectors and drop deletions.
class ForgetfulFacade final : public ForwardingFacade {
 public:
  using ForwardingFacade::ForwardingFacade;
  absl::Status WatchNodes(const CallContext& context, const WatchParams& params, WatchSink<Node>& sink) override {
    class Forgetful final : public WatchSink<Node> {
     public:
      explicit Forgetful(WatchSink<Node>& next) : next_(next) {}
      bool OnList(std::vector<Node> nodes, std::string_view version) override {
        return next_.OnList(std::move(nodes), version);
      }
      bool OnChange(Node node, std::string_view version) override { return next_.OnChange(std::move(node), version); }
      bool OnDelete(Node, std::string_view) override { return true; }
      bool OnBookmark(std::string_view version) override { return next_.OnBookmark(version); }

     private:
      WatchSink<Node>& next_;
    };
    Forgetful forgetful(sink);
    WatchParams everything = params;
    everything.label_selector = {};
    return ForwardingFacade::WatchNodes(context, everything, forgetful);
  }
};

template <class T>
std::shared_ptr<ClusterFacade> Behind(const FakeWorld::Cluster& cluster) {
  return std::make_shared<T>(cluster);
}

TEST_CASE("a facade that does not carry out evictions and patches is detected") {
  FakeWorld world(Behind<LyingFacade>);
  CHECK(RunFacadeContract(world).Count(kBroken) == 19);
}

TEST_CASE("a facade whose node watches report the wrong changes is detected") {
  FakeWorld world(Behind<ForgetfulFacade>);
  CHECK(RunFacadeContract(world).Count(kBroken) == 5);
}

}  // namespace
}  // namespace driverupgrade::testing
