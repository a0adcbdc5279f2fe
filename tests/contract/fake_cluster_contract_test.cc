// FakeCluster keeps the contract of the seam: what it claims, a real cluster is held to as well.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driverupgrade/forwarding_facade.h"
#include "driverupgrade/testing/facade_contract.h"
#include "driverupgrade/testing/fake_clock.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"

namespace driverupgrade::testing {
namespace {

class FakeWorld final : public ContractWorld {
 public:
  ClusterFacade& facade() override { return cluster_; }
  CallContext context() override { return {}; }
  std::string prefix() override { return "contract-" + std::to_string(++count_) + "-"; }
  absl::StatusOr<std::string> MakeNamespace() override { return "contract-" + std::to_string(++count_); }

  absl::StatusOr<Node> MakeNode(const Node& node) override { return cluster_.AddNode(node); }
  absl::Status TouchNode(const std::string& name) override {
    const bool found = cluster_.EditNode(name, [](Node& node) { node.annotations["touched"] = "yes"; });
    return found ? absl::OkStatus() : absl::NotFoundError("no such node");
  }
  absl::StatusOr<Pod> MakePod(const Pod& pod) override {
    Pod running = pod;
    running.phase = PodPhase::kRunning;
    running.container_statuses = {{.name = "main", .ready = true}};
    return cluster_.AddPod(running);
  }
  absl::Status MakeBudget(const std::string& ns, const std::string& name, const StringMap& labels) override {
    cluster_.AddDisruptionBudget(
        {.ns = ns, .name = name, .selector = LabelSelector::FromMatchLabels(labels), .min_available = 1000});
    return absl::OkStatus();
  }
  absl::Status RemoveNode(const std::string& name) override {
    return cluster_.RemoveNode(name) ? absl::OkStatus() : absl::NotFoundError("no such node");
  }

 private:
  FakeCluster cluster_{std::make_shared<FakeClock>()};
  int count_ = 0;
};

TEST_CASE("what a facade does not support is not asked for") {
  FakeWorld world;
  auto& cluster = static_cast<FakeCluster&>(world.facade());
  cluster.SetSupported(Operation::kCreateNodeMaintenance, false);
  cluster.SetSupported(Operation::kListNodeMaintenances, false);
  for (const ContractCase& one : FacadeContract()) CHECK(one.run(world).ok());
  CHECK(cluster.node_maintenances().empty());
}

TEST_CASE("the fake cluster keeps the contract of the seam") {
  FakeWorld world;
  for (const ContractCase& one : FacadeContract()) {
    const absl::Status status = one.run(world);
    INFO(one.name << ": " << status.ToString());
    CHECK(status.ok());
  }
}

// Without this a contract that checks nothing would pass.
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

// Its watches are of everything, and forget what was deleted.
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
class LyingWorld final : public ContractWorld {
 public:
  ClusterFacade& facade() override { return facade_; }
  CallContext context() override { return {}; }
  std::string prefix() override { return honest_->prefix(); }
  absl::StatusOr<std::string> MakeNamespace() override { return honest_->MakeNamespace(); }
  absl::StatusOr<Node> MakeNode(const Node& node) override { return honest_->MakeNode(node); }
  absl::Status TouchNode(const std::string& name) override { return honest_->TouchNode(name); }
  absl::StatusOr<Pod> MakePod(const Pod& pod) override { return honest_->MakePod(pod); }
  absl::Status MakeBudget(const std::string& ns, const std::string& name, const StringMap& labels) override {
    return honest_->MakeBudget(ns, name, labels);
  }
  absl::Status RemoveNode(const std::string& name) override { return honest_->RemoveNode(name); }

 private:
  std::shared_ptr<FakeWorld> honest_ = std::make_shared<FakeWorld>();
  T facade_{std::shared_ptr<ClusterFacade>(honest_, &honest_->facade())};
};

TEST_CASE("a facade that evicts and patches nothing is found out") {
  LyingWorld<LyingFacade> world;
  int broken = 0;
  for (const ContractCase& one : FacadeContract()) broken += one.run(world).ok() ? 0 : 1;
  CHECK(broken == 16);
}

TEST_CASE("a facade that gives the wrong objects to watches is found out") {
  LyingWorld<ForgetfulFacade> world;
  int broken = 0;
  for (const ContractCase& one : FacadeContract()) broken += one.run(world).ok() ? 0 : 1;
  CHECK(broken == 4);
}

}  // namespace
}  // namespace driverupgrade::testing
