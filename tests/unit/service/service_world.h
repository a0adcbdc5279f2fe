// A service on the fake cluster, with a director that the test controls. Each call of Step runs all parts of the
// service.
#ifndef DRIVERUPGRADE_TESTS_UNIT_SERVICE_SERVICE_WORLD_H_
#define DRIVERUPGRADE_TESTS_UNIT_SERVICE_SERVICE_WORLD_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/service/upgrade_service.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {

using testing::FakeClock;
using testing::FakeCluster;

inline constexpr int kWatches = 5;  // nodes, pods, DaemonSets, revisions, driver pods

class PlayedDirector final : public Director {
 public:
  std::optional<std::vector<EngineSpec>> Wanted() override { return wanted; }
  absl::Status Prepare(const CallContext&) override { return prepared; }
  absl::Time Work(const CallContext& context, WatchCache* cache, std::size_t scope) override {
    worked = {.deadline = context.deadline, .has_cache = cache != nullptr, .scope = scope};
    return absl::InfiniteFuture();
  }
  absl::Status Ready() const override { return ready; }
  std::vector<EngineSpec> Gone() override { return gone; }
  std::vector<Finding> Findings() override { return findings; }
  void OnProgress(const std::map<std::string, EngineProgress>& engines) override { progress = engines; }
  absl::Status OnRefused(const std::map<std::string, absl::Status>& engines) override {
    refused = engines;
    return tells_of_refused ? absl::OkStatus() : Director::OnRefused(engines);
  }

  struct Worked {
    absl::Time deadline = absl::InfinitePast();
    bool has_cache = false;
    std::size_t scope = 0;
  };
  std::optional<std::vector<EngineSpec>> wanted = std::nullopt;
  absl::Status prepared = absl::OkStatus();
  absl::Status ready = absl::OkStatus();
  std::optional<Worked> worked = std::nullopt;
  std::vector<EngineSpec> gone = {};
  std::vector<Finding> findings = {};
  std::map<std::string, EngineProgress> progress = {};
  bool tells_of_refused = false;
  std::map<std::string, absl::Status> refused = {};
};

struct World {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster = std::make_shared<FakeCluster>(clock);
  testing::Fleet fleet = AddFleet(*cluster, {.node_count = 2, .workload = ""});
  PlayedDirector director = {};
  std::vector<std::string> log = {};
  std::unique_ptr<UpgradeService> service = nullptr;

  World() { cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2"); }
  ~World() {
    if (service) service->Stop();
  }

  ServiceOptions Options() {
    ServiceOptions options{.identity = Gpu()};
    options.engine.snapshot.ns = fleet.ns;
    options.engine.executor.calls_in_flight = 1;
    options.engine.clock = clock;
    options.log = [this](const LogRecord& record) { log.push_back(FormatLogfmt(record)); };
    return options;
  }
  LeaderElectionOptions Election(const std::string& identity) const {
    return {.ns = fleet.ns, .name = "lease", .identity = identity};
  }
  EngineSpec Spec() const {
    return {.driver_labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}}),
            .policy = {.auto_upgrade = true, .max_parallel = 1}};
  }
  void Make(ServiceOptions options) {
    auto made = UpgradeService::Create(cluster, director, std::move(options));
    INFO(made.status().ToString());
    REQUIRE(made.ok());
    service = *std::move(made);
  }
  absl::Time Step() {
    const auto next = service->Step({});
    REQUIRE(next.ok());
    return *next;
  }
  // Runs one step, waits until the cache has seen all changes, and advances the clock by half a second.
  void Turn() {
    Step();
    if (director.worked && director.worked->has_cache) cluster->AwaitWatchesIdle(kWatches);
    cluster->Advance(absl::Milliseconds(500));
  }
  bool TurnsUntilEnd() {
    for (int i = 0; i < 1000 && !service->End(); ++i) Turn();
    return service->End().has_value();
  }
  std::size_t Logged(const std::string& text) const {
    std::size_t count = 0;
    for (const std::string& line : log) count += line.find(text) != std::string::npos;
    return count;
  }
};

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_UNIT_SERVICE_SERVICE_WORLD_H_
