// Checks that `ClearWire` notices if the wire changes the content of a request or a response (I17).
#include "simulation/wire/clear_wire.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using testing::ClearWire;
using testing::FakeCluster;

// Replaces the wire between the two facades.
class Bytes final : public ForwardingFacade {
 public:
  using ForwardingFacade::ForwardingFacade;
  std::function<absl::StatusOr<std::vector<Node>>(absl::StatusOr<std::vector<Node>>)> nodes;
  std::function<absl::Status(absl::Status)> deletion;
  std::function<Lease(Lease)> lease;

  absl::StatusOr<std::vector<Node>> ListNodes(const CallContext& context, const ListNodesParams& params) override {
    auto answer = ForwardingFacade::ListNodes(context, params);
    return nodes ? nodes(std::move(answer)) : answer;
  }
  absl::Status DeletePod(const CallContext& context, const DeletePodParams& params) override {
    const absl::Status answer = ForwardingFacade::DeletePod(context, params);
    return deletion ? deletion(answer) : answer;
  }
  absl::StatusOr<Lease> CreateLease(const CallContext& context, const Lease& asked) override {
    return ForwardingFacade::CreateLease(context, lease ? lease(asked) : asked);
  }
};

struct Scene {
  Scene() {
    cluster->AddNode(testing::NodeBuilder("n1").Build());
    bytes = std::make_shared<Bytes>(wire.Below(cluster));
    replica = wire.Above(bytes);
  }
  std::string wrong;
  ClearWire wire{[this](const std::string& text) { wrong = text; }};
  std::shared_ptr<FakeCluster> cluster = std::make_shared<FakeCluster>(std::make_shared<testing::FakeClock>());
  std::shared_ptr<Bytes> bytes;
  std::shared_ptr<ClusterFacade> replica;
};

TEST_CASE("I17: a read that arrives as it was sent is accepted") {
  Scene scene;
  REQUIRE(scene.replica->ListNodes({}, {}).ok());
  REQUIRE(scene.replica->CreateLease({}, {.ns = "a", .name = "l", .holder = "r1", .duration = absl::Seconds(15)}).ok());
  CHECK(scene.wrong.empty());
}

TEST_CASE("I17: an altered object is detected, unless the bytes were damaged on purpose") {
  Scene scene;
  bool breaks = false;
  scene.bytes->nodes = [&](absl::StatusOr<std::vector<Node>> nodes) {
    if (breaks) scene.wire.NoteBreak();
    nodes->front().unschedulable = true;
    return nodes;
  };
  REQUIRE(scene.replica->ListNodes({}, {}).ok());
  CHECK(scene.wrong == "list nodes: the cluster's response has changed");
  scene.wrong.clear();
  breaks = true;
  REQUIRE(scene.replica->ListNodes({}, {}).ok());
  CHECK(scene.wrong.empty());
}

TEST_CASE("I17: invalid UTF-8 may be altered, because JSON cannot contain it") {
  Scene scene;
  scene.cluster->EditNode("n1", [](Node& node) { node.annotations["notes"] = "\xff\xfe"; });
  scene.bytes->nodes = [](absl::StatusOr<std::vector<Node>> nodes) {
    nodes->front().annotations["notes"] = "\uFFFD\uFFFD";
    return nodes;
  };
  REQUIRE(scene.replica->ListNodes({}, {}).ok());
  CHECK(scene.wrong.empty());
}

TEST_CASE("I17: an altered status is detected, and all statuses with an unknown outcome count as equal") {
  Scene scene;
  const DeletePodParams pod{.pod = {"a", "p", "u"}};
  scene.bytes->deletion = [](const absl::Status&) { return absl::UnavailableError("503"); };
  CHECK_FALSE(scene.replica->DeletePod({}, pod).ok());
  CHECK(scene.wrong == "delete pod: the cluster returned OK, which became UNAVAILABLE: 503");
  scene.wrong.clear();
  scene.bytes->nodes = [](const absl::StatusOr<std::vector<Node>>&) { return absl::UnavailableError("503"); };
  scene.cluster->FailNext(Operation::kListNodes, absl::DeadlineExceededError("no answer"));
  CHECK_FALSE(scene.replica->ListNodes({}, {}).ok());
  CHECK(scene.wrong.empty());
}

TEST_CASE("I17: a list whose snapshot has expired must start again from the first page") {
  Scene scene;
  scene.bytes->nodes = [&](const absl::StatusOr<std::vector<Node>>&) {
    scene.wire.NoteBreak();
    return absl::UnavailableError("list nodes: 410 Expired");
  };
  CHECK_FALSE(scene.replica->ListNodes({}, {}).ok());
  CHECK(scene.wrong == "list nodes: 410 Expired");
}

TEST_CASE("I17: an altered request is detected") {
  Scene scene;
  scene.bytes->lease = [](Lease lease) {
    lease.duration = absl::Milliseconds(15);
    return lease;
  };
  CHECK(scene.replica->CreateLease({}, {.ns = "a", .name = "l", .holder = "r1", .duration = absl::Seconds(15)}).ok());
  CHECK(scene.wrong == "create lease: the cluster receives a different request");
}

}  // namespace
}  // namespace driverupgrade::tests
