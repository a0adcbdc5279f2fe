// Writes the result of du_plan before every pass of the scenarios to a file: `scenario_plans OUT FILE...`. Each line is
// a JSON object with the request, cluster, code, and plan. The file is the reference for other backends of the C
// interface.
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/rapidjson.h"
#include "c/engine_host.h"
#include "driverupgrade/policy_codec.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "scenarios/golden_file.h"
#include "scenarios/scenario_commands.h"
#include "scenarios/scenario_file.h"

namespace driverupgrade::tests {
namespace {

using Writer = driverupgrade_rapidjson::Writer<driverupgrade_rapidjson::StringBuffer>;

std::string RequestOf(const ScenarioDriver& driver, const testing::FakeCluster& cluster, absl::Time now) {
  std::string text = fmt::format(
      R"({{"identity":{{"domain":"{}","driver":"{}"}},"namespace":"{}","driverLabels":"app=driver","at":"{}","policy":{})",
      driver.identity.domain(), driver.identity.driver(), driver.ns,
      absl::FormatTime(absl::RFC3339_full, now, absl::UTCTimeZone()),
      Call(du_policy_normalize, Str(FormatUpgradePolicy(driver.policy))).text);
  if (driver.options.validation_selector) {
    text += fmt::format(R"(,"validationSelector":"{}","earlyValidation":"{}")",
                        driver.options.validation_selector->ToString(), ToString(driver.options.early_validation));
  }
  if (const auto& requestor = driver.options.requestor) {
    text += fmt::format(R"(,"requestor":{{"id":"{}","namespace":"{}"}})", requestor->id, requestor->ns);
  }
  if (driver.pod_filter) {
    std::string uids;
    for (const Pod& pod : cluster.pods()) {
      if (driver.pod_filter->Matches(pod.labels)) uids += fmt::format("{}\"{}\"", uids.empty() ? "" : ",", pod.ref.uid);
    }
    text += fmt::format(R"(,"usesDriverUids":[{}])", uids);
  }
  return text + "}";
}

std::string DumpOf(const testing::FakeCluster& cluster, const std::map<std::string, ControllerRevision>& revisions) {
  std::string items;
  const auto add = [&](const auto& objects) {
    for (const auto& object : objects) items += (items.empty() ? "" : ",") + FormatObject(object);
  };
  add(cluster.nodes());
  add(cluster.pods());
  add(cluster.daemon_sets());
  for (const auto& [name, revision] : revisions) add(std::vector{revision});
  add(cluster.node_maintenances());
  return fmt::format(R"({{"apiVersion":"v1","kind":"List","items":[{}]}})", items);
}

void WriteLine(std::ofstream& out, const std::string& request, const std::string& cluster) {
  const Said plan = Call(du_plan, Str(request), Str(cluster));
  driverupgrade_rapidjson::StringBuffer buffer;
  Writer writer(buffer);
  writer.StartObject();
  const auto member = [&](const char* name, const std::string& value) {
    writer.Key(name);
    writer.String(value.data(), static_cast<unsigned>(value.size()));
  };
  member("request", request);
  member("cluster", cluster);
  writer.Key("code");
  writer.Int(plan.code);
  member("plan", plan.text);
  writer.EndObject();
  out << buffer.GetString() << '\n';
}

int Main(int argc, char** argv) {
  std::ofstream out(argv[1]);
  int plans = 0;
  for (int i = 2; i < argc; ++i) {
    std::string last;  // to skip passes in which the cluster has not changed
    Scenario scenario(nullptr, [&](const ScenarioDriver& driver, const testing::FakeCluster& cluster,
                                   const auto& revisions, absl::Time now) {
      std::string dump = DumpOf(cluster, revisions);
      if (dump == last) return;
      last = std::move(dump);
      WriteLine(out, RequestOf(driver, cluster, now), last);
      ++plans;
    });
    for (const ScenarioBlock& block : ParseScenario(ReadFile(argv[i])).blocks) {
      for (const ScenarioCommand& command : block.commands) scenario.Run(command.text);
    }
  }
  fmt::print("{} plans of {} scenarios\n", plans, argc - 2);
  return out.flush() && plans > 0 ? 0 : 1;
}

}  // namespace
}  // namespace driverupgrade::tests

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  try {
    return driverupgrade::tests::Main(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
