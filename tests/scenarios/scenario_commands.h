/// The commands of a scenario. README.md describes them.
#ifndef DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_COMMANDS_H_
#define DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_COMMANDS_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "scenarios/scenario_arguments.h"
#include "scenarios/scenario_world.h"

namespace driverupgrade::tests {

class Scenario {
 public:
  explicit Scenario(FacadeOver over = nullptr, BeforePass before_pass = nullptr)
      : over_(std::move(over)),
        before_pass_(std::move(before_pass)),
        world_(std::make_unique<ScenarioWorld>(testing::FakeClusterOptions{}, over_, before_pass_)) {}
  /// Runs one command and returns its output. Throws ScenarioError.
  std::string Run(const std::string& line);
  /// Checks the conditions that must hold at the end.
  void Finish() { world_->CheckLiveness(); }

 private:
  using Command = std::string (Scenario::*)(Arguments&);
  static const std::map<std::string_view, Command>& Commands();

  // Commands that set up the world, defined in scenario_setup.cc.
  std::string Cluster(Arguments& arguments);
  std::string Policy(std::string_view text);
  std::string RefusedPolicy(std::string_view text);
  std::string Options(Arguments& arguments);
  std::string Node(Arguments& arguments);
  std::string DriverDaemonSet(Arguments& arguments);
  std::string DriverPod(Arguments& arguments);
  std::string Pod(Arguments& arguments);
  std::string Devices(Arguments& arguments);
  std::string Workload(Arguments& arguments);
  std::string Budget(Arguments& arguments);
  std::string MaintenanceOperator(Arguments& arguments);
  std::string Maintenance(Arguments& arguments);
  std::string Fault(Arguments& arguments);
  // Commands that cause events, defined in scenario_commands.cc.
  std::string Template(Arguments& arguments);
  std::string Approve(Arguments& arguments);
  std::string Rollout(Arguments& arguments);
  static std::string TemplateJson(Arguments& arguments);
  std::string Crash(Arguments& arguments);
  std::string Admin(Arguments& arguments);
  std::string Advance(Arguments& arguments);
  std::string Restart(Arguments& arguments);
  std::string Step(Arguments& arguments);
  std::string Release(Arguments& arguments);
  std::string RunPasses(Arguments& arguments);
  std::string Show(Arguments& arguments);
  std::string Totals(Arguments& arguments);
  std::string Pods(Arguments& arguments);
  std::string Maintenances(Arguments& arguments);
  std::string Events(Arguments& arguments);
  std::string ExpectStuck(Arguments& arguments);

  /// Returns the driver that the argument `driver=` names (default: gpu).
  ScenarioDriver& DriverOf(Arguments& arguments);
  /// Expands `.stage` and `-state` to the gpu driver's keys, and `ofed:.stage` to another driver's key.
  std::string Key(const std::string& text);
  testing::FakeCluster& cluster() { return world_->cluster(); }

  FacadeOver over_;
  BeforePass before_pass_;
  std::unique_ptr<ScenarioWorld> world_;
  std::size_t events_shown_ = 0;
};

/// Throws ScenarioError if `found` is false.
void RequireObject(bool found, std::string_view object);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_COMMANDS_H_
