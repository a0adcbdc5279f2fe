// Upgrades a driver on the fake cluster, with six nodes, a disruption budget, and a node that an administrator has
// cordoned. Virtual time runs faster than real time; with --speed 0, the demo does not wait at all.
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "CLI/CLI.hpp"
#include "demo/picture.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_engine.h"
#include "fmt/format.h"
#include "upgradectl/terminal.h"
#include "upgradectl/timeline.h"
#include "whatif/what_if.h"

namespace {

using driverupgrade::DrainPolicy;
using driverupgrade::DriverIdentity;
using driverupgrade::EngineOptions;
using driverupgrade::LabelSelector;
using driverupgrade::Percent;
using driverupgrade::ReconcileResult;
using driverupgrade::SnapshotOptions;
using driverupgrade::UpgradeEngine;
using driverupgrade::UpgradePolicy;
using driverupgrade::testing::AddFleet;
using driverupgrade::testing::FakeClock;
using driverupgrade::testing::FakeCluster;
using driverupgrade::testing::Fleet;

constexpr absl::Duration kStep = absl::Seconds(1);
constexpr absl::Duration kTimeout = absl::Hours(1);

struct Options {
  int nodes = 6;
  double speed = 10;
  // File for the timeline. Empty: do not write a timeline.
  std::string timeline = {};
};

UpgradePolicy DemoPolicy() {
  UpgradePolicy policy{.auto_upgrade = true, .max_parallel = 2, .max_unavailable = Percent{50}};
  policy.drain = DrainPolicy{};
  return policy;
}

bool AllDone(const FakeCluster& cluster, const DriverIdentity& identity) {
  for (const driverupgrade::Node& node : cluster.nodes()) {
    const auto label = node.labels.find(identity.StateLabel());
    if (label == node.labels.end() || label->second != "upgrade-done") return false;
  }
  return true;
}

absl::Status WriteTimeline(const std::string& path, const upgradectl::Request& request) {
  std::ofstream file(path);
  file << upgradectl::FormatTimelineHtml(upgradectl::TimelineOf(request)) << std::flush;
  if (!file) return absl::UnavailableError(fmt::format("{}: cannot be written", path));
  fmt::print("States of each node over time: {}\n", path);
  return absl::OkStatus();
}

// Rolls out the driver and shows the progress. Returns an error if a pass or a read fails, or if the rollout is not
// done after an hour of virtual time.
absl::Status Run(const Options& options) {
  const auto identity = DriverIdentity::Create("nvidia.com", "gpu");
  if (!identity.ok()) return identity.status();
  auto clock = std::make_shared<FakeClock>();
  auto cluster = std::make_shared<FakeCluster>(clock);
  const Fleet fleet = AddFleet(*cluster, {.node_count = options.nodes});
  cluster->Cordon(fleet.node_names.back());
  const auto labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}});
  const SnapshotOptions snapshot{.ns = fleet.ns, .driver_labels = labels};
  EngineOptions engine_options{.snapshot = snapshot, .clock = clock};
  engine_options.executor.calls_in_flight = 1;
  const auto engine = UpgradeEngine::Create(*identity, cluster, std::move(engine_options));
  if (!engine.ok()) return engine.status();

  const UpgradePolicy policy = DemoPolicy();
  const absl::Time start = clock->Now();
  demo::Picture picture(upgradectl::ScreenOfOutput());
  fmt::print(
      "{} nodes, the last one cordoned by an administrator; at most 2 in progress, 50% unavailable.\n"
      "The driver's template changes to rev-2.\n\n",
      options.nodes);
  cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  while (clock->Now() - start < kTimeout) {
    const absl::StatusOr<ReconcileResult> pass = (*engine)->Reconcile({}, policy);
    if (!pass.ok()) return pass.status();
    const auto request = demo::ReadCluster(*cluster, *identity, snapshot, policy);
    if (!request.ok()) return request.status();
    const auto report = driverupgrade::whatif::Answer(request->question);
    if (!report.ok()) return report.status();
    picture.Show(upgradectl::StatusOf(*request, *report), clock->Now() - start);
    if (pass->plan.nodes.empty() && AllDone(*cluster, *identity)) {
      fmt::print("\n{} nodes upgraded in {} of virtual time, {} pods evicted, {} Events.\n", options.nodes,
                 absl::FormatDuration(clock->Now() - start), cluster->CallCount(driverupgrade::Operation::kEvictPod),
                 cluster->events().size());
      return options.timeline.empty() ? absl::OkStatus() : WriteTimeline(options.timeline, *request);
    }
    if (options.speed > 0) std::this_thread::sleep_for(absl::ToChronoMicroseconds(kStep / options.speed));
    cluster->Advance(kStep);
  }
  return absl::DeadlineExceededError(fmt::format("not done after {}", absl::FormatDuration(kTimeout)));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"A driver upgrade on a fake cluster."};
  app.add_option("--nodes", options.nodes, "number of nodes")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--speed", options.speed, "virtual seconds per real second; 0: run without waiting")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--timeline", options.timeline, "output file for a page with a bar for each node (default: no page)");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = Run(options);
  if (!status.ok()) fmt::print(stderr, "demo: {}\n", std::string(status.message()));
  return status.ok() ? 0 : 1;
}
