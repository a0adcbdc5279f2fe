#include "service/fpga_operator.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "driverupgrade/policy_codec.h"

namespace fpga_operator {

using namespace driverupgrade;

absl::StatusOr<ServiceOptions> MakeOptions(const Replica& replica) {
  const auto identity = DriverIdentity::Create("example.com", "fpga");
  if (!identity.ok()) return identity.status();
  ServiceOptions options{.identity = *identity};

  // The cache follows the driver's DaemonSets and pods in this namespace, and all nodes.
  options.engine.snapshot.ns = replica.ns;
  // These pods lose their device with the old driver: they are evicted first.
  options.engine.snapshot.uses_driver = [](const CallContext&, const Pod& pod) -> absl::StatusOr<bool> {
    return std::binary_search(pod.resource_names.begin(), pod.resource_names.end(), "example.com/fpga");
  };
  // The operator does not evict itself, and upgrades its own node last.
  options.engine.state_machine.own_pod = {.ns = replica.ns, .name = replica.pod};
  options.engine.state_machine.own_node = replica.node;

  // One replica works, the others wait. The ledger keeps the policy's limits while one takes over from another.
  options.election = {.ns = replica.ns, .name = "fpga-driver-upgrade", .identity = replica.identity};
  options.engine.ledger = {.ns = replica.ns, .name = "fpga-driver-upgrade"};

  options.health_address = ":8081";
  options.metrics_address = ":8080";
  return options;
}

PolicyFile::PolicyFile(std::string path, LogSink log) : path_(std::move(path)), log_(std::move(log)) {}

std::optional<std::vector<EngineSpec>> PolicyFile::Wanted() {
  std::ifstream file(path_);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file || text == text_) return wanted_;
  text_ = std::move(text);
  const auto policy = ParseUpgradePolicy(*text_);
  if (policy.ok()) {
    wanted_ = std::vector{EngineSpec{.driver_labels = *LabelSelector::Parse("app=fpga-driver"), .policy = *policy}};
  } else {  // the last one that was understood goes on
    log_({.severity = Severity::kError,
          .message = "policy",
          .fields = {{"error", std::string(policy.status().message())}}});
  }
  return wanted_;
}

}  // namespace fpga_operator
