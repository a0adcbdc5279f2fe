// L7: an engine can be killed at any of its API calls, and its successor must reach the same final state.
#include <cstdlib>
#include <iostream>
#include <set>

#include "crash/crash_world.h"
#include "fmt/format.h"
#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

std::string_view NameOf(Source source) { return source == Source::kLists ? "lists" : "cache"; }

// Maximum delay that a crash causes: the crashed leader's Lease must expire first, and a failed pass is retried.
constexpr absl::Duration kCrashMayCost = absl::Seconds(35);

// Runs the scenario once for each call, with a crash before this call, and once with a crash after the last call.
void CrashEverywhere(const Scenario& scenario, Source source) {
  const Outcome undisturbed = Run(scenario, source, {});
  CAPTURE(scenario.name, NameOf(source));
  REQUIRE(undisturbed.broken == "");
  REQUIRE(undisturbed.took < absl::Hours(1));
  REQUIRE(undisturbed.end.find("not ready") == std::string::npos);
  absl::Duration longest = absl::ZeroDuration();
  for (std::int64_t k = 1; k <= undisturbed.calls + 1; ++k) {
    const Outcome crashed = Run(scenario, source, {.crash_before = k});
    longest = std::max(longest, crashed.took);
    const bool in_time = crashed.took <= undisturbed.took + kCrashMayCost;
    if (crashed.end == undisturbed.end && crashed.broken.empty() && in_time) continue;
    INFO("crash before call " << k);
    CHECK(crashed.took - undisturbed.took <= kCrashMayCost);
    CHECK(crashed.broken == "");
    CHECK(crashed.end == undisturbed.end);
  }
  std::cout << fmt::format("{}, from {}: {} calls, {} of them writes, {} crashes; {} s, at most {} s\n", scenario.name,
                           NameOf(source), undisturbed.calls, undisturbed.writes.size(), undisturbed.calls + 1,
                           absl::ToInt64Seconds(undisturbed.took), absl::ToInt64Seconds(longest));
}

TEST_CASE("L7: a crash before any API call does not change the end state, for an engine that lists") {
  for (const Scenario& scenario : Scenarios()) CrashEverywhere(scenario, Source::kLists);
}

TEST_CASE("L7: a crash before any API call does not change the end state, for an engine with a cache") {
  for (const Scenario& scenario : Scenarios()) CrashEverywhere(scenario, Source::kCache);
}

// Combines each fault at each call with a crash before each call, and with no crash. A failed write may or may not have
// been applied.
void CrashAndFault(const Scenario& scenario, Source source) {
  const Outcome undisturbed = Run(scenario, source, {});
  const std::set<std::int64_t> writes(undisturbed.writes.begin(), undisturbed.writes.end());
  int runs = 0;
  for (std::int64_t crash = 0; crash <= undisturbed.calls + 1; ++crash) {
    for (std::int64_t at = 1; at <= undisturbed.calls + 1; ++at) {
      for (const Fault fault : kFaults) {
        const Outcome troubled = Run(scenario, source, {.crash_before = crash, .fault_at = at, .fault = fault});
        ++runs;
        if (troubled.end == undisturbed.end && troubled.broken.empty()) continue;
        INFO("crash before call " << crash << ", fault " << static_cast<int>(fault) << " at call " << at);
        CHECK(troubled.broken == "");
        CHECK(troubled.end == undisturbed.end);
      }
    }
  }
  std::cout << fmt::format("{}, from {}: {} calls, {} runs\n", scenario.name, NameOf(source), undisturbed.calls, runs);
}

// Returns the small scenario, or the scenario from Scenarios() that an environment variable names. Such a scenario
// takes minutes or hours.
Scenario ScenarioForPairs() {
  const char* name = std::getenv("DRIVERUPGRADE_CRASH_PAIRS");
  for (Scenario& scenario : Scenarios()) {
    if (name != nullptr && scenario.name == name) return scenario;
  }
  return SmallScenario();
}

TEST_CASE("L7: a crash and a fault at any two API calls do not change the end state") {
  CrashAndFault(ScenarioForPairs(), Source::kLists);
  CrashAndFault(ScenarioForPairs(), Source::kCache);
}

TEST_CASE("L7: an engine that keeps its marks only in memory is detected") {
  const Scenario scenario = Scenarios().front();
  const Outcome undisturbed = Run(scenario, Source::kLists, {});
  std::int64_t different = 0;
  for (std::int64_t k = 1; k <= undisturbed.calls; ++k) {
    different += Run(scenario, Source::kLists, {.crash_before = k, .forgets_marks = true}).end != undisturbed.end;
  }
  CHECK(different > 0);
}

}  // namespace
}  // namespace driverupgrade::tests
