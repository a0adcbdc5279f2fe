// What the operator of one driver says of it; main.cc is the process around it.
// docs/write-your-operator.md goes through both.
//
// Defines Replica, MakeOptions and PolicyFile.
#ifndef DRIVERUPGRADE_EXAMPLES_SERVICE_FPGA_OPERATOR_H_
#define DRIVERUPGRADE_EXAMPLES_SERVICE_FPGA_OPERATOR_H_

#include <optional>
#include <string>
#include <vector>

#include "driverupgrade/service/upgrade_service.h"

namespace fpga_operator {

/// Which one of the operator's pods this is, as its Deployment tells it.
struct Replica {
  std::string ns = {};
  std::string pod = {};
  std::string node = {};
  /// Of this process and no other, earlier ones of the pod included.
  std::string identity = {};
};

/// What the service is to do. Errors: the driver's name makes no labels.
absl::StatusOr<driverupgrade::ServiceOptions> MakeOptions(const Replica& replica);

/// The policy is a file, as a mounted ConfigMap. It is read at each step, of which the election makes one every two
/// seconds, so that a change counts while the operator runs.
class PolicyFile final : public driverupgrade::Director {
 public:
  PolicyFile(std::string path, driverupgrade::LogSink log);
  std::optional<std::vector<driverupgrade::EngineSpec>> Wanted() override;

 private:
  const std::string path_;
  const driverupgrade::LogSink log_;
  std::optional<std::string> text_ = std::nullopt;
  std::optional<std::vector<driverupgrade::EngineSpec>> wanted_ = std::nullopt;
};

}  // namespace fpga_operator

#endif  // DRIVERUPGRADE_EXAMPLES_SERVICE_FPGA_OPERATOR_H_
