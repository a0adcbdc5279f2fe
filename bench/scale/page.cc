#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/service/upgrade_service.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "httplib.h"
#include "scale/scale.h"

namespace driverupgrade::bench {
namespace {

constexpr int kWatches = 5;  // nodes, pods, DaemonSets, revisions, driver pods
// Polls faster than the page, which polls at most every second.
constexpr std::chrono::milliseconds kPollEvery{500};

absl::Duration TimeOf(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return absl::DurationFromTimespec(time);
}

class OnePolicy final : public Director {
 public:
  explicit OnePolicy(EngineSpec spec) : specs_({std::move(spec)}) {}
  std::optional<std::vector<EngineSpec>> Wanted() override { return specs_; }

 private:
  const std::vector<EngineSpec> specs_;
};

struct World {
  std::shared_ptr<testing::FakeClock> clock = std::make_shared<testing::FakeClock>();
  std::shared_ptr<testing::FakeCluster> cluster =
      std::make_shared<testing::FakeCluster>(clock, testing::FakeClusterOptions{.keep_journal = false});
  testing::Fleet fleet = {};
  std::unique_ptr<OnePolicy> director = nullptr;
  std::unique_ptr<UpgradeService> service = nullptr;
  int port = 0;

  World(int nodes, int parallel) {
    fleet = AddFleet(*cluster, {.node_count = nodes, .workload = ""});
    director = std::make_unique<OnePolicy>(
        EngineSpec{.name = "policy",
                   .driver_labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}}),
                   .policy = {.auto_upgrade = true, .max_parallel = parallel}});
    ServiceOptions options{.identity = *DriverIdentity::Create("nvidia.com", "gpu")};
    options.engine.snapshot.ns = fleet.ns;
    options.engine.executor = {.calls_in_flight = 1, .events = false};
    options.engine.clock = clock;
    options.rollout_address = "127.0.0.1:0";
    options.log = [this](const LogRecord& record) {
      for (const auto& [key, value] : record.fields) {
        if (key == "port") port = std::stoi(value);
      }
    };
    service = *UpgradeService::Create(cluster, *director, std::move(options));
  }
  ~World() { service->Stop(); }

  // Runs one round of the service after the cache has received all changes.
  void Turn(PageFigures& figures) {
    const absl::Time began = absl::Now();
    const absl::Duration before = TimeOf(CLOCK_THREAD_CPUTIME_ID);
    service->Step({}).IgnoreError();
    const absl::Duration took = absl::Now() - began;
    figures.round_work += TimeOf(CLOCK_THREAD_CPUTIME_ID) - before;
    figures.rounds_time += took;
    figures.slowest_round = std::max(figures.slowest_round, took);
    ++figures.rounds;
    cluster->AwaitWatchesIdle(kWatches);
    cluster->Advance(absl::Seconds(1));
  }
};

// Reads the document repeatedly, like a page without a stream.
class Readers {
 public:
  Readers(int port, int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this, port](const std::stop_token& stop) { Read(port, stop); });
    }
  }
  // Stops all readers, and returns the number of responses.
  int answers() {
    threads_.clear();
    return answers_;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  void Read(int port, const std::stop_token& stop) {
    httplib::Client client("127.0.0.1", port);
    client.set_decompress(false);
    while (!stop.stop_requested()) {
      if (const httplib::Result answer = client.Get("/rollout", {{"Accept-Encoding", "gzip"}}); answer) {
        ++answers_;
        bytes_ = answer->body.size();
      }
      std::this_thread::sleep_for(kPollEvery);
    }
  }

  std::atomic<int> answers_ = 0;
  std::atomic<std::size_t> bytes_ = 0;
  std::vector<std::jthread> threads_;
};

}  // namespace

namespace {

// Measures the document in the middle of the rollout, when nodes wait, are in progress, and are done.
void MeasureDocument(World& world, PageFigures& figures) {
  constexpr int kDocuments = 20;
  const absl::Duration before = TimeOf(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < kDocuments; ++i) {
    world.clock->Advance(absl::Seconds(1));  // the document is formatted at most once a second
    figures.document_bytes = world.service->Rollout().size();
  }
  figures.document_work = (TimeOf(CLOCK_THREAD_CPUTIME_ID) - before) / kDocuments;
}

}  // namespace

PageFigures MeasurePage(int nodes, int parallel, int readers) {
  World world(nodes, parallel);
  PageFigures settling;
  const auto done = [&] { return world.service->totals().done; };
  while (done() < nodes) world.Turn(settling);
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2");
  while (done() > 0) world.Turn(settling);
  PageFigures figures{.nodes = nodes};
  Readers reading(world.port, readers);
  while (done() < nodes) {
    world.Turn(figures);
    if (figures.document_bytes == 0 && done() > nodes / 2) MeasureDocument(world, figures);
  }
  figures.answers = reading.answers();
  figures.compressed_bytes = reading.bytes();
  return figures;
}

}  // namespace driverupgrade::bench
