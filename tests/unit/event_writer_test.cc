#include "write/event_writer.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "fmt/format.h"
#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using internal::EventWriter;
using testing::FakeClock;
using testing::FakeCluster;

TEST_CASE("WriteLimited writes equal Events in sequence, as one series with increasing counts") {
  auto clock = std::make_shared<FakeClock>();
  auto cluster = std::make_shared<FakeCluster>(clock);
  const RecordEventParams event{
      .node_name = "n1", .reason = "GPUDriverUpgrade", .message = "blocked", .time = clock->Now()};
  {
    EventWriter writer(cluster, clock, absl::Seconds(30), 4);
    for (int i = 0; i < 20; ++i) writer.WriteLimited({}, {event});
    writer.WaitIdle();
  }
  const std::vector<RecordEventParams> written = cluster->events();
  REQUIRE(written.size() == 20);
  for (int i = 1; i < 20; ++i) {
    REQUIRE(written[i].series);
    CHECK(written[i].series->count == i + 1);
  }
  CHECK(cluster->stored_events().size() == 1);
}

/// Holds each Event about n1 until an Event about another node has been recorded.
class SlowNode final : public ForwardingFacade {
 public:
  using ForwardingFacade::ForwardingFacade;
  absl::Status RecordEvent(const CallContext& context, const RecordEventParams& params) override {
    std::unique_lock lock(mutex_);
    recorded_.wait(lock, [&] { return params.node_name != "n1" || other_recorded_; });
    other_recorded_ = true;
    recorded_.notify_all();
    return ForwardingFacade::RecordEvent(context, params);
  }

 private:
  std::mutex mutex_;
  std::condition_variable recorded_;
  bool other_recorded_ = false;
};

TEST_CASE("The Events of a node are written in order, and a slow Event does not block other nodes") {
  auto clock = std::make_shared<FakeClock>();
  auto cluster = std::make_shared<FakeCluster>(clock);
  EventWriter writer(std::make_shared<SlowNode>(cluster), clock, absl::Seconds(30), 4);
  const auto event = [&](std::string node, int i) {
    return RecordEventParams{.node_name = std::move(node),
                             .reason = "GPUDriverUpgrade",
                             .message = fmt::format("{:02}", i),
                             .time = clock->Now()};
  };
  for (int i = 0; i < 20; ++i) writer.Write({}, {event("n1", i)});
  writer.Write({}, {event("n2", 20)});
  writer.WaitIdle();
  const std::vector<RecordEventParams> written = cluster->events();
  REQUIRE(written.size() == 21);
  CHECK(written[0].node_name == "n2");
  CHECK(std::is_sorted(written.begin() + 1, written.end(),
                       [](const RecordEventParams& a, const RecordEventParams& b) { return a.message < b.message; }));
}

}  // namespace
}  // namespace driverupgrade::tests
