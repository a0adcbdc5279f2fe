// The driver-specific parts of the operator; main.cc contains the process. docs/write-your-operator.md explains both
// files.
//
// Defines Replica, MakeOptions and PolicyFile.
#ifndef DRIVERUPGRADE_EXAMPLES_SERVICE_FPGA_OPERATOR_H_
#define DRIVERUPGRADE_EXAMPLES_SERVICE_FPGA_OPERATOR_H_

#include <optional>
#include <string>
#include <vector>

#include "driverupgrade/service/upgrade_service.h"

namespace fpga_operator {

/// One of the operator's pods, as its Deployment describes it.
struct Replica {
  std::string ns = {};
  std::string pod = {};
  std::string pod_uid = {};
  std::string node = {};
  /// Unique for each process, so that a restarted container is another candidate for the Lease.
  std::string identity = {};
};

/// Returns the options of the service. Returns an error if the driver's name cannot be part of a label.
absl::StatusOr<driverupgrade::ServiceOptions> MakeOptions(const Replica& replica);

/// Reads the policy from a file, such as a mounted ConfigMap. The service reads the file at each step, at least every
/// two seconds, so a change takes effect while the operator is running. If the file contains the text `uninstall`
/// instead of a policy, all nodes are released.
class PolicyFile final : public driverupgrade::Director {
 public:
  PolicyFile(driverupgrade::DriverIdentity identity, std::string path, driverupgrade::LogSink log);
  std::optional<std::vector<driverupgrade::EngineSpec>> Wanted() override;
  std::vector<driverupgrade::EngineSpec> Gone() override { return gone_; }

 private:
  void Take(const std::string& text);

  const driverupgrade::DriverIdentity identity_;
  const std::string path_;
  const driverupgrade::LogSink log_;
  std::optional<std::string> text_ = std::nullopt;
  std::optional<std::vector<driverupgrade::EngineSpec>> wanted_ = std::nullopt;
  std::vector<driverupgrade::EngineSpec> gone_ = {};
};

}  // namespace fpga_operator

#endif  // DRIVERUPGRADE_EXAMPLES_SERVICE_FPGA_OPERATOR_H_
