/// A world for the contract suite: a FakeCluster, and in front of it any facade that a test wants to check.
#ifndef DRIVERUPGRADE_TESTS_CONTRACT_FAKE_WORLD_H_
#define DRIVERUPGRADE_TESTS_CONTRACT_FAKE_WORLD_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "driverupgrade/testing/facade_contract.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"

namespace driverupgrade::tests {

class FakeWorld final : public testing::ContractWorld {
 public:
  using Cluster = std::shared_ptr<testing::FakeCluster>;
  using MakeFacade = std::function<std::shared_ptr<ClusterFacade>(const Cluster&)>;

  /// `make_facade` returns the facade under test for the given cluster. By default this is the cluster itself.
  explicit FakeWorld(const MakeFacade& make_facade = [](const Cluster& cluster) { return cluster; })
      : facade_(make_facade(cluster_)) {}

  ClusterFacade& facade() override { return *facade_; }
  CallContext context() override { return {}; }
  std::string prefix() override { return "contract-" + std::to_string(++count_) + "-"; }
  absl::StatusOr<std::string> MakeNamespace() override { return "contract-" + std::to_string(++count_); }
  absl::StatusOr<Node> MakeNode(const Node& node) override { return cluster_->AddNode(node); }
  absl::Status TouchNode(const std::string& name) override {
    const bool found = cluster_->EditNode(name, [](Node& node) { node.annotations["touched"] = "yes"; });
    return found ? absl::OkStatus() : absl::NotFoundError("no such node");
  }
  absl::StatusOr<Pod> MakePod(const Pod& pod) override {
    Pod running = pod;
    running.phase = PodPhase::kRunning;
    running.container_statuses = {{.name = "main", .ready = true}};
    return cluster_->AddPod(running);
  }
  absl::Status MakeBudget(const std::string& ns, const std::string& name, const StringMap& labels) override {
    cluster_->AddDisruptionBudget(
        {.ns = ns, .name = name, .selector = LabelSelector::FromMatchLabels(labels), .min_available = 1000});
    return absl::OkStatus();
  }
  absl::Status RemoveNode(const std::string& name) override {
    return cluster_->RemoveNode(name) ? absl::OkStatus() : absl::NotFoundError("no such node");
  }
  absl::StatusOr<DaemonSet> MakeDaemonSet(const std::string& ns, const std::string& name) override {
    return cluster_->AddDaemonSet(
        {.ns = ns, .name = name, .labels = {{"app", name}}, .node_selector = {{"contract", "nowhere"}}});
  }

  testing::FakeCluster& cluster() { return *cluster_; }

 private:
  const Cluster cluster_ = std::make_shared<testing::FakeCluster>(std::make_shared<testing::FakeClock>());
  const std::shared_ptr<ClusterFacade> facade_;
  int count_ = 0;
};

/// Checks that every case of the suite passes, and that no case is skipped.
inline void CheckContract(testing::ContractWorld& world) {
  const testing::ContractReport report = testing::RunFacadeContract(world);
  INFO(report.ToString());
  CHECK(report.Verdict().ok());
  CHECK(report.Count(testing::ContractOutcome::kSkipped) == 0);
}

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_CONTRACT_FAKE_WORLD_H_
