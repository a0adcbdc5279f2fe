// Determines the requests of one node's plan and their order (arch-A12).
#ifndef DRIVERUPGRADE_SRC_WRITE_NODE_REQUESTS_H_
#define DRIVERUPGRADE_SRC_WRITE_NODE_REQUESTS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "decide/attempt_log.h"
#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/cluster_writes.h"
#include "driverupgrade/plan.h"

namespace driverupgrade::internal {

// One call to a ClusterWriter operation.
using NodeRequest = std::variant<PatchNodeParams, EvictPodParams, DeletePodParams, CreateNodeMaintenanceParams,
                                 PatchNodeMaintenanceParams, DeleteNodeMaintenanceParams, CreateDeviceTaintRuleParams,
                                 PatchDeviceTaintRuleParams, DeleteDeviceTaintRuleParams>;

// The result of a NodeRequest.
struct NodeAnswer {
  absl::Status status = absl::OkStatus();
  // The node, if PatchNode succeeded.
  std::optional<Node> node = {};
  // Result of EvictPod, if the call succeeded.
  EvictionAnswer eviction = {};
};

// One overload for each type of result.
inline NodeAnswer AnswerOf(absl::StatusOr<Node> node) {
  if (!node.ok()) return {.status = node.status()};
  return {.node = *std::move(node)};
}
inline NodeAnswer AnswerOf(absl::StatusOr<EvictionAnswer> eviction) {
  if (!eviction.ok()) return {.status = eviction.status()};
  return {.eviction = *std::move(eviction)};
}
inline NodeAnswer AnswerOf(const absl::StatusOr<NodeMaintenance>& object) { return {.status = object.status()}; }
inline NodeAnswer AnswerOf(const absl::StatusOr<DeviceTaintRule>& rule) { return {.status = rule.status()}; }
inline NodeAnswer AnswerOf(absl::Status status) { return {.status = std::move(status)}; }

// Results to record in the AttemptLog.
struct PatchNote {
  Outcome outcome = Outcome::kUnclear;
  std::string message = {};
  absl::Time answered_at = {};
};
struct PodNote {
  std::string pod_uid = {};
  absl::Time sent_at = {};
  PodAttempt answer = {};
};
struct MaintenanceNote {
  MaintenanceCall call = {};
  Outcome outcome = Outcome::kUnclear;
  std::string message = {};
  absl::Time answered_at = {};
};
struct DeviceNote {
  DeviceCall call = {};
  Outcome outcome = Outcome::kUnclear;
  std::string message = {};
  absl::Time answered_at = {};
};
using AttemptNote = std::variant<PatchNote, PodNote, MaintenanceNote, DeviceNote>;

// Turns a node's plan into a sequence of requests, and records their results. Neither sends requests nor waits.
//
//     while (const NodeRequest* request = requests.Next()) {
//       const absl::Time sent = clock.Now();
//       NodeAnswer answer = Send(*request);
//       requests.Take(std::move(answer), sent, clock.Now());
//     }
class NodeRequests {
 public:
  explicit NodeRequests(NodePlan plan);

  // Returns the next request; nullptr once all requests have results, or once a failed request has ended the plan.
  const NodeRequest* Next() const { return next_ < steps_.size() ? &steps_[next_].request : nullptr; }
  // Accepts the result of Next().
  void Take(NodeAnswer answer, absl::Time sent_at, absl::Time answered_at);

  // Returns the outcome of the plan. Valid once Next() returns nullptr.
  const NodeOutcome& outcome() const { return outcome_; }
  void TellLog(AttemptLog& log) const;
  // Returns true if the transitions in the plan's Events have happened.
  bool Acknowledged() const { return outcome_.patched || (!plan_.patch && outcome_.status.ok()); }
  // Returns the pod of `plan().remove` whose deletion failed, if any.
  const std::optional<PodRef>& undeleted() const { return undeleted_; }
  // Returns the UIDs of the pods that were evicted or deleted, except for pods that no longer existed.
  const std::vector<std::string>& stopped() const { return stopped_; }

  const NodePlan& plan() const { return plan_; }

 private:
  // The parts of a plan, in the order in which they are carried out.
  enum class Part { kConfirm, kPatch, kDevices, kEvict, kRemove, kMaintenance };
  struct Step {
    Part part;
    std::size_t place;  // index within the part of the plan
    NodeRequest request;
  };

  // The functions below return an error if the result ends the plan.
  absl::Status TakeAnswer(const Step& step, NodeAnswer answer, absl::Time sent_at, absl::Time answered_at);
  absl::Status Confirmed(absl::Status status, absl::Time now);
  absl::Status Patched(NodeAnswer answer, absl::Time now);
  absl::Status Evicted(const PodRef& pod, const NodeAnswer& answer, absl::Time sent_at, absl::Time now);
  absl::Status Deleted(const PodRef& pod, absl::Status status, absl::Time sent_at, absl::Time now);
  absl::Status Asked(const MaintenanceCall& call, absl::Status status, absl::Time now);
  absl::Status Asked(const DeviceCall& call, absl::Status status, absl::Time now);

  NodePlan plan_;
  std::vector<Step> steps_ = {};
  std::size_t next_ = 0;
  NodeOutcome outcome_ = {};
  std::optional<PodRef> undeleted_ = {};
  std::vector<std::string> stopped_ = {};
  std::vector<AttemptNote> notes_ = {};
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WRITE_NODE_REQUESTS_H_
