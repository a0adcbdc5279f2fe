// Whether bytes say what a replica writes, and what the cluster answers (I17): a facade on either side of them, and
// what passes both is compared. Of a watch only its end is.
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

// For one replica: calls of several at once would be nested. It outlives both facades.
class ClearWire {
 public:
  // `fail` is told what is wrong.
  explicit ClearWire(std::function<void(const std::string&)> fail) : fail_(std::move(fail)) {}

  // What the server is to serve.
  std::shared_ptr<ClusterFacade> Below(std::shared_ptr<ClusterFacade> cluster);
  // What the replica is to call.
  std::shared_ptr<ClusterFacade> Above(std::shared_ptr<ClusterFacade> client);
  // The bytes of the answer under way are broken.
  void NoteBreak();

 private:
  class Side;
  // One call of the replica, and what the cluster answered last.
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
  // Of the call that is about to begin.
  std::any asked_;
  // Those under way: while one waits, others may be made.
  std::vector<Call> calls_;
  // That has just ended.
  Call ended_;
};

}  // namespace driverupgrade::testing

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WIRE_CLEAR_WIRE_H_
