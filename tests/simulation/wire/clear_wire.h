// Checks that a replica's requests and the cluster's responses pass through the wire unchanged (I17). A facade on each
// side of the wire records the calls, and the two records are compared. For a watch, only the final status is compared.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_WIRE_CLEAR_WIRE_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_WIRE_CLEAR_WIRE_H_

#include <any>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "driverupgrade/cluster_facade.h"

namespace driverupgrade::testing {

// Serves only one replica, because concurrent calls of several replicas would appear to be nested. This object must
// outlive both facades.
class ClearWire {
 public:
  // `fail` receives the differences.
  explicit ClearWire(std::function<void(const std::string&)> fail) : fail_(std::move(fail)) {}

  // Returns the facade that the server must serve.
  std::shared_ptr<ClusterFacade> Below(std::shared_ptr<ClusterFacade> cluster);
  // Returns the facade that the replica must call.
  std::shared_ptr<ClusterFacade> Above(std::shared_ptr<ClusterFacade> client);
  // Notes that the bytes of the current response are damaged.
  void NoteBreak();

 private:
  class Side;
  // A call of the replica, and the last result that the cluster returned for this call.
  struct Call {
    Operation operation = Operation::kGetNode;
    std::any request = {};
    int breaks = 0;
    bool answered = false;
    absl::Status status = absl::OkStatus();
    std::any value = {};
  };
  absl::Status Judge(Operation operation, const std::function<absl::Status()>& call);
  absl::Status Hear(Operation operation, const std::function<absl::Status()>& call);
  void CompareStatus(const Call& call, const absl::Status& status);
  template <class T>
  void CompareRequest(const T& request);
  template <class T>
  void CompareAnswer(const T& answer);

  const std::function<void(const std::string&)> fail_;
  // Request of the next call.
  std::any asked_;
  // Calls in progress. Other calls can start while one call waits.
  std::vector<Call> calls_;
  // The call that has just ended.
  Call ended_;
};

}  // namespace driverupgrade::testing

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WIRE_CLEAR_WIRE_H_
