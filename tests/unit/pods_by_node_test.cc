// Tests a list of all pods in a cluster in which some pods cannot be read.
#include "read/pods_by_node.h"

#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

class Pods final : public ClusterReader {
 public:
  explicit Pods(std::vector<Pod> pods) : pods_(std::move(pods)) {}
  bool Supports(Operation operation) const override { return operation == Operation::kListPods; }
  absl::StatusOr<std::vector<Pod>> ListPods(const CallContext&, const ListPodsParams& params) override {
    if (params.on_unreadable == OnUnreadable::kMark) return pods_;
    return absl::DataLossError("a pod cannot be read");
  }

 private:
  const std::vector<Pod> pods_;
};

TEST_CASE("A pod that cannot be read affects only its node, or the whole list if it names no node") {
  Pod broken = WebPod("broken").Build();
  broken.unreadable = "spec.containers: expected an array";
  Pods readable({WebPod().Build(), broken});
  const auto by_node = internal::ListPodsByNode({}, readable);
  REQUIRE(by_node.ok());
  CHECK(by_node->at("n1").size() == 2);

  broken.node_name.clear();
  Pods unknown({WebPod().Build(), broken});
  CHECK(absl::IsDataLoss(internal::ListPodsByNode({}, unknown).status()));

  // An unbound pod belongs to no node and is ignored.
  Pods unbound({WebPod().OnNode("").Build()});
  const auto none = internal::ListPodsByNode({}, unbound);
  REQUIRE(none.ok());
  CHECK(none->empty());
}

}  // namespace
}  // namespace driverupgrade::tests
