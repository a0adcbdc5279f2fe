/// The world of the contract suite in which everything goes through bytes: RestCluster, and an API server in memory.
#ifndef DRIVERUPGRADE_TESTS_CONTRACT_WIRE_WORLD_H_
#define DRIVERUPGRADE_TESTS_CONTRACT_WIRE_WORLD_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "driverupgrade/kubernetes/rest_cluster.h"
#include "driverupgrade/testing/facade_contract.h"
#include "driverupgrade/testing/fake_clock.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "simulation/wire/api_server.h"
#include "support/catch.h"

namespace driverupgrade::tests {

class WireWorld final : public testing::ContractWorld {
 public:
  using Network = std::function<std::shared_ptr<HttpTransport>(std::shared_ptr<HttpTransport> server)>;

  /// `network` is what the client sends to; it leads to the server.
  explicit WireWorld(
      int page_size, const Network& network = [](auto server) { return server; }) {
    testing::WireSeam seam{.cluster = cluster_};
    seam.list_version = [cluster = cluster_] { return std::to_string(cluster->revision()); };
    facade_ = MakeRestCluster(network(std::make_shared<ApiServer>(std::move(seam))), {.page_size = page_size});
  }
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

 private:
  const std::shared_ptr<testing::FakeCluster> cluster_ =
      std::make_shared<testing::FakeCluster>(std::make_shared<testing::FakeClock>());
  std::shared_ptr<ClusterFacade> facade_;
  int count_ = 0;
};

/// Every case of the suite.
inline void CheckContract(testing::ContractWorld& world) {
  for (const testing::ContractCase& one : testing::FacadeContract()) {
    const absl::Status status = one.run(world);
    INFO(one.name << ": " << status.ToString());
    CHECK(status.ok());
  }
}

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_CONTRACT_WIRE_WORLD_H_
