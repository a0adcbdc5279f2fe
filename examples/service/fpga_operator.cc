#include "service/fpga_operator.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "driverupgrade/drain_manager.h"
#include "driverupgrade/policy_codec.h"

namespace fpga_operator {

using namespace driverupgrade;

absl::StatusOr<ServiceOptions> MakeOptions(const Replica& replica) {
  const auto identity = DriverIdentity::Create("example.com", "fpga");
  if (!identity.ok()) return identity.status();
  ServiceOptions options{.identity = *identity};

  // The cache follows the driver's DaemonSets and pods in this namespace, and all nodes.
  options.engine.snapshot.ns = replica.ns;
  // Pods that request an FPGA lose their device with the old driver, so they are evicted first.
  options.engine.snapshot.uses_driver = [](const CallContext&, const Pod& pod) -> absl::StatusOr<bool> {
    return std::binary_search(pod.resource_names.begin(), pod.resource_names.end(), "example.com/fpga");
  };
  // The operator does not evict itself, and upgrades its own node last. Events that do not concern a node are written
  // about this pod.
  options.engine.state_machine.own_pod = {.ns = replica.ns, .name = replica.pod, .uid = replica.pod_uid};
  options.engine.state_machine.own_node = replica.node;

  // One replica works, and the other replicas wait. The ledger guarantees the policy's limits when one replica takes
  // over from another.
  options.election = {.ns = replica.ns, .name = "fpga-driver-upgrade", .identity = replica.identity};
  options.engine.ledger = {.ns = replica.ns, .name = "fpga-driver-upgrade"};
  // The leader reports its options through the Lease, so that upgradectl needs no options. The function `uses_driver`
  // cannot be reported, so its resource is named here.
  options.reported.resources = {"example.com/fpga"};

  options.health_address = ":8081";
  options.metrics_address = ":8080";
  options.rollout_address = "127.0.0.1:8082";
  return options;
}

PolicyFile::PolicyFile(DriverIdentity identity, std::string path, LogSink log)
    : identity_(std::move(identity)), path_(std::move(path)), log_(std::move(log)) {}

std::optional<std::vector<EngineSpec>> PolicyFile::Wanted() {
  std::ifstream file(path_);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file && text != text_) {
    text_ = std::move(text);
    Take(*text_);
  }
  return wanted_;
}

void PolicyFile::Take(const std::string& text) {
  EngineSpec spec{.driver_labels = *LabelSelector::Parse("app=fpga-driver")};
  if (text.starts_with("uninstall")) {
    wanted_.emplace();  // no engine
    gone_ = {spec};     // the service releases the nodes
    return;
  }
  auto policy = ParseUpgradePolicy(text);
  if (!policy.ok()) {  // the last valid policy stays in effect
    log_({.severity = Severity::kError,
          .message = "policy",
          .fields = {{"error", std::string(policy.status().message())}}});
    return;
  }
  // The drain does not evict pods labeled example.com/fpga-driver-upgrade-drain.skip=true.
  if (policy->drain) policy->drain->pod_selector = policy->drain->pod_selector.And(DrainablePods(identity_));
  spec.policy = *std::move(policy);
  wanted_ = std::vector{std::move(spec)};
  gone_.clear();
}

}  // namespace fpga_operator
