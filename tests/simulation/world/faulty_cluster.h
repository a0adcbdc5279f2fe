// A replica's connection to the cluster, with all faults that affect calls.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_WORLD_FAULTY_CLUSTER_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_WORLD_FAULTY_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/testing/invariants.h"
#include "simulation/world/random.h"
#include "simulation/world/world.h"

namespace driverupgrade::testing::internal {

// Requests that reach the cluster long after their senders have given up (F7), even if a sender no longer exists.
class LateRequests {
 public:
  void Add(absl::Time time, std::function<void()> send) { requests_.emplace(time, std::move(send)); }
  absl::Time due() const { return requests_.empty() ? absl::InfiniteFuture() : requests_.begin()->first; }
  void SendNext();

 private:
  std::multimap<absl::Time, std::function<void()>> requests_;
};

class FaultyCluster final : public ForwardingFacade {
 public:
  using Guarded = InvariantChecker::GuardedCluster;
  // `replica_clock` is the clock on which the deadlines of the calls are based.
  FaultyCluster(World& world, InvariantChecker& checker, std::shared_ptr<Guarded> next,
                std::shared_ptr<Clock> replica_clock, LateRequests& late, Random& random, std::string name);

  // True if the process has died: its calls no longer have any effect.
  bool crashed() const { return crashed_; }
  void Crash() { crashed_ = true; }
  // Returns whether a watch has failed or lagged since the last call. In that case, the cache must run again without a
  // notification.
  bool TakeWatchTrouble() { return std::exchange(watch_trouble_, false); }
  // Number of calls that failed or were delayed because of a fault.
  std::int64_t troubles() const { return troubles_; }
  // Attributes all further writes to a release. No other replica is left, so the Lease is no longer checked.
  void BeginRelease() {
    releases_ = true;
    renew_deadline_ = std::nullopt;
  }
  // Returns whether the last attempt to list NodeMaintenances succeeded.
  bool knows_maintenances() const { return knows_maintenances_; }
  // Returns whether each kind that a cache watches was listed at least once.
  bool HasListedAll(bool maintenances) const;
  // Returns the cluster revision at which all pods of the node were last read; 0 if they were never read.
  std::int64_t PodsRead(const std::string& node) const {
    const auto found = pods_listed_.find(node);
    return found == pods_listed_.end() ? 0 : found->second;
  }
  // Notes a watch failure that only the caller can detect, because the watch's events reach the caller as bytes.
  void NoteWatchTrouble() { watch_trouble_ = true; }
  // Sets the knowledge with which the replica decided on the next requests; nullopt stands for its current knowledge.
  // Returns the previous value.
  std::optional<Writer> ExchangeSender(std::optional<Writer> sender) {
    return std::exchange(sender_, std::move(sender));
  }
  const Writer& writer() const { return next_->writer(); }
  // Runs `write`, but drops its requests.
  void Swallow(const std::function<void()>& write) {
    swallows_ = true;
    write();
    swallows_ = false;
  }
  // Runs `write`, but loses the responses to its requests.
  void LoseAnswer(const std::function<void()>& write) {
    loses_answer_ = true;
    write();
    loses_answer_ = false;
  }
  // Version at which the last list was read.
  std::int64_t list_version() const { return list_version_; }
  // I9: sets how long the replica may write after it last renewed the Lease, according to the replica's clock; nullopt
  // if it may always write.
  void ObeyLease(std::optional<absl::Duration> renew_deadline) { renew_deadline_ = renew_deadline; }

  absl::StatusOr<std::vector<Node>> ListNodes(const CallContext& context, const ListNodesParams& params) override;
  absl::StatusOr<std::vector<Pod>> ListPods(const CallContext& context, const ListPodsParams& params) override;
  absl::StatusOr<std::vector<DaemonSet>> ListDaemonSets(const CallContext& context,
                                                        const ListDaemonSetsParams& params) override;
  absl::StatusOr<std::vector<ControllerRevision>> ListControllerRevisions(
      const CallContext& context, const ListControllerRevisionsParams& params) override;
  absl::Status WatchNodes(const CallContext& context, const WatchParams& params, WatchSink<Node>& sink) override;
  absl::Status WatchPods(const CallContext& context, const WatchParams& params, WatchSink<Pod>& sink) override;
  absl::Status WatchDaemonSets(const CallContext& context, const WatchParams& params,
                               WatchSink<DaemonSet>& sink) override;
  absl::Status WatchControllerRevisions(const CallContext& context, const WatchParams& params,
                                        WatchSink<ControllerRevision>& sink) override;
  absl::StatusOr<std::vector<NodeMaintenance>> ListNodeMaintenances(const CallContext& context,
                                                                    const ListNodeMaintenancesParams& params) override;
  absl::Status WatchNodeMaintenances(const CallContext& context, const WatchParams& params,
                                     WatchSink<NodeMaintenance>& sink) override;
  absl::StatusOr<NodeMaintenance> CreateNodeMaintenance(const CallContext& context,
                                                        const CreateNodeMaintenanceParams& params) override;
  absl::StatusOr<NodeMaintenance> PatchNodeMaintenance(const CallContext& context,
                                                       const PatchNodeMaintenanceParams& params) override;
  absl::Status DeleteNodeMaintenance(const CallContext& context, const DeleteNodeMaintenanceParams& params) override;
  absl::StatusOr<std::vector<DeviceTaintRule>> ListDeviceTaintRules(const CallContext& context,
                                                                    const ListDeviceTaintRulesParams& params) override;
  absl::StatusOr<std::vector<ResourceClaim>> ListResourceClaims(const CallContext& context,
                                                                const ListResourceClaimsParams& params) override;
  absl::StatusOr<std::vector<ResourceSlice>> ListResourceSlices(const CallContext& context,
                                                                const ListResourceSlicesParams& params) override;
  absl::Status WatchDeviceTaintRules(const CallContext& context, const WatchParams& params,
                                     WatchSink<DeviceTaintRule>& sink) override;
  absl::Status WatchResourceClaims(const CallContext& context, const WatchParams& params,
                                   WatchSink<ResourceClaim>& sink) override;
  absl::Status WatchResourceSlices(const CallContext& context, const WatchParams& params,
                                   WatchSink<ResourceSlice>& sink) override;
  absl::StatusOr<DeviceTaintRule> CreateDeviceTaintRule(const CallContext& context,
                                                        const CreateDeviceTaintRuleParams& params) override;
  absl::StatusOr<DeviceTaintRule> PatchDeviceTaintRule(const CallContext& context,
                                                       const PatchDeviceTaintRuleParams& params) override;
  absl::Status DeleteDeviceTaintRule(const CallContext& context, const DeleteDeviceTaintRuleParams& params) override;
  absl::StatusOr<Lease> GetLease(const CallContext& context, const GetLeaseParams& params) override;
  absl::StatusOr<ConfigMap> GetConfigMap(const CallContext& context, const GetConfigMapParams& params) override;
  absl::StatusOr<Node> PatchNode(const CallContext& context, const PatchNodeParams& params) override;
  absl::StatusOr<EvictionAnswer> EvictPod(const CallContext& context, const EvictPodParams& params) override;
  absl::Status DeletePod(const CallContext& context, const DeletePodParams& params) override;
  absl::StatusOr<Lease> CreateLease(const CallContext& context, const Lease& lease) override;
  absl::StatusOr<Lease> UpdateLease(const CallContext& context, const Lease& lease) override;
  absl::StatusOr<ConfigMap> CreateConfigMap(const CallContext& context, const ConfigMap& config_map) override;
  absl::StatusOr<ConfigMap> PatchConfigMap(const CallContext& context, const PatchConfigMapParams& params) override;
  absl::Status RecordEvent(const CallContext& context, const RecordEventParams& params) override;

 private:
  // The fate of one call.
  struct Fate {
    enum class Kind : std::uint8_t { kNormal, kRefused, kAnswerLost, kLate, kCrashBefore, kCrashAfter };
    Kind kind = Kind::kNormal;
    absl::Status answer = absl::OkStatus();
    absl::Duration delay = absl::ZeroDuration();
  };
  Fate Draw(Operation operation);
  bool IsForbiddenAlone(Operation operation);
  Fate DrawCallFault(Operation operation);
  // Advances the time by the duration of the call, or by the time for which the process freezes.
  void PassTime();
  // Advances the time until the response arrives. Other calls continue in the meantime.
  void AwaitAnswer(Operation operation);
  void NoteClock();
  // Returns the error that ends the call, or nullopt if the call continues.
  std::optional<absl::Status> Begin(const CallContext& context, Operation operation);
  CallContext ToClusterTime(const CallContext& context) const;
  template <class T, class F>
  T Run(const CallContext& context, Operation operation, F call);
  template <class T, class F>
  absl::StatusOr<std::vector<T>> List(const CallContext& context, Operation operation, F call);
  template <class T, class F>
  T Write(const CallContext& context, Operation operation, F call);
  template <class T, class F>
  absl::Status Watch(Operation operation, const CallContext& context, const WatchParams& params, WatchSink<T>& reader,
                     F call);
  template <class P>
  void NoteSent(const P& params);
  void JudgeLease(Operation operation);
  void JudgeWatches(Operation operation);
  void NoteListed(Operation operation);
  // With Mode::kWatchOrder: returns whether this watch reports its events later than other watches do.
  bool IsHeldBack(Operation watch);
  void Note(Operation operation, const absl::Status& answer);

  World& world_;
  InvariantChecker& checker_;
  const std::shared_ptr<Guarded> next_;
  const std::shared_ptr<Clock> clock_;
  LateRequests& late_;
  Random& random_;
  const std::string name_;
  std::optional<Writer> sender_;
  bool crashed_ = false;
  bool swallows_ = false;
  bool loses_answer_ = false;
  bool watch_trouble_ = false;
  std::int64_t troubles_ = 0;
  absl::Time forbidden_until_ = absl::InfinitePast();
  absl::Status forbidden_ = absl::OkStatus();
  // Separate stream, so that its draws do not change the rest of the seed.
  Random odd_;
  enum class Alone : std::uint8_t { kLedger, kWatches, kNodeWatch, kDriver, kPodLists };
  Alone alone_ = Alone::kLedger;
  absl::Time alone_until_ = absl::InfinitePast();
  // Time since which each failing watch has been failing, by the replica's own clock.
  std::map<Operation, absl::Time> failing_since_;
  std::vector<Node> nodes_before_;
  std::int64_t list_version_ = 0;
  std::int64_t nodes_before_version_ = 0;
  std::optional<absl::Duration> renew_deadline_;
  absl::Time renewed_at_ = absl::InfinitePast();
  // Separate stream for Mode::kWatchOrder.
  Random order_;
  std::map<Operation, absl::Time> held_back_until_;
  // Version up to which each watch has expired.
  std::map<Operation, std::int64_t> expired_;
  // Watches that the server has reported as expired and whose objects have not been listed since then.
  std::set<std::string> to_be_listed_;
  // Watches whose objects have all been read.
  std::set<Operation> followed_;
  bool releases_ = false;
  bool knows_maintenances_ = true;
  // Cluster revision at which the pods of each node were listed, by node.
  std::map<std::string, std::int64_t> pods_listed_;
};

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WORLD_FAULTY_CLUSTER_H_
