#include "simulation/wire/clear_wire.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "driverupgrade/cluster_facade.h"
#include "fmt/format.h"

namespace driverupgrade::testing {
namespace {

// Returns whether the status shows only that the outcome is unknown (cluster_facade.h, codes).
bool IsUnclear(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown: return true;
    default: return false;
  }
}

bool IsList(Operation operation) {
  switch (operation) {
    case Operation::kListNodes:
    case Operation::kListPods:
    case Operation::kListDaemonSets:
    case Operation::kListControllerRevisions:
    case Operation::kListPodDisruptionBudgets:
    case Operation::kListNodeMaintenances:
    case Operation::kListDeviceTaintRules:
    case Operation::kListResourceClaims:
    case Operation::kListResourceSlices: return true;
    default: return false;
  }
}

bool IsWatch(Operation operation) {
  switch (operation) {
    case Operation::kWatchNodes:
    case Operation::kWatchPods:
    case Operation::kWatchDaemonSets:
    case Operation::kWatchControllerRevisions:
    case Operation::kWatchNodeMaintenances:
    case Operation::kWatchDeviceTaintRules:
    case Operation::kWatchResourceClaims:
    case Operation::kWatchResourceSlices: return true;
    default: return false;
  }
}

absl::Status Expected(Operation operation, const absl::Status& answered) {
  // Only a watch can handle OutOfRange.
  if (absl::IsOutOfRange(answered) && !IsWatch(operation)) return absl::UnavailableError(answered.message());
  const bool deletes = operation == Operation::kDeletePod || operation == Operation::kDeleteNodeMaintenance ||
                       operation == Operation::kDeleteDeviceTaintRule;
  // Deleting an object that no longer exists counts as a success.
  return deletes && absl::IsNotFound(answered) ? absl::OkStatus() : answered;
}

// The comparison ignores labels and annotations whose values are not ASCII, because some of them are not valid UTF-8,
// which JSON cannot contain. It also ignores fractions of seconds, and the owners that the server adds
// (WithOtherOwners).
void DropBytes(StringMap& texts) {
  std::erase_if(texts, [](const auto& entry) {
    return std::any_of(entry.second.begin(), entry.second.end(), [](unsigned char c) { return c >= 0x80; });
  });
}

void DropFraction(std::optional<absl::Time>& time) {
  if (time) time = absl::FromUnixSeconds(absl::ToUnixSeconds(*time));
}

void MakePlain(Node& node) {
  DropBytes(node.labels);
  DropBytes(node.annotations);
}

void MakePlain(Pod& pod) {
  std::erase_if(pod.owners, [](const OwnerReference& owner) { return owner.uid == "other"; });
  DropFraction(pod.deletion_timestamp);
}

void MakePlain(Condition& condition) {
  condition.last_transition_time = absl::FromUnixSeconds(absl::ToUnixSeconds(condition.last_transition_time));
}

void MakePlain(NodeMaintenance& object) {
  DropFraction(object.deletion_timestamp);
  for (Condition& condition : object.conditions) MakePlain(condition);
}

void MakePlain(PatchNodeMaintenanceParams& params) {
  if (!params.conditions) return;
  for (Condition& condition : *params.conditions) MakePlain(condition);
}

// Removes strings that the client generates on its own.
void MakePlain(EvictionAnswer& answer) { answer.message = answer.budget = ""; }

template <class T>
void MakePlain(T&) {}

template <class T>
void MakePlain(std::vector<T>& objects) {
  for (T& object : objects) MakePlain(object);
}

template <class T>
T Plain(T value) {
  MakePlain(value);
  return value;
}

}  // namespace

class ClearWire::Side final : public ForwardingFacade {
 public:
  Side(ClearWire& wire, std::shared_ptr<ClusterFacade> next, bool above)
      : ForwardingFacade(std::move(next)), wire_(wire), above_(above) {}

  absl::StatusOr<std::vector<Node>> ListNodes(const CallContext& context, const ListNodesParams& params) override {
    return Pass(ForwardingFacade::ListNodes(context, params));
  }
  absl::StatusOr<std::vector<Pod>> ListPods(const CallContext& context, const ListPodsParams& params) override {
    return Pass(ForwardingFacade::ListPods(context, params));
  }
  absl::StatusOr<std::vector<DaemonSet>> ListDaemonSets(const CallContext& context,
                                                        const ListDaemonSetsParams& params) override {
    return Pass(ForwardingFacade::ListDaemonSets(context, params));
  }
  absl::StatusOr<std::vector<ControllerRevision>> ListControllerRevisions(
      const CallContext& context, const ListControllerRevisionsParams& params) override {
    return Pass(ForwardingFacade::ListControllerRevisions(context, params));
  }
  absl::StatusOr<std::vector<NodeMaintenance>> ListNodeMaintenances(const CallContext& context,
                                                                    const ListNodeMaintenancesParams& params) override {
    return Pass(ForwardingFacade::ListNodeMaintenances(context, params));
  }
  absl::StatusOr<Lease> GetLease(const CallContext& context, const GetLeaseParams& params) override {
    return Pass(ForwardingFacade::GetLease(context, params));
  }
  absl::StatusOr<ConfigMap> GetConfigMap(const CallContext& context, const GetConfigMapParams& params) override {
    return Pass(ForwardingFacade::GetConfigMap(context, params));
  }
  absl::StatusOr<Node> PatchNode(const CallContext& context, const PatchNodeParams& params) override {
    Ask(params);
    return Pass(ForwardingFacade::PatchNode(context, params));
  }
  absl::StatusOr<EvictionAnswer> EvictPod(const CallContext& context, const EvictPodParams& params) override {
    Ask(params.pod);
    return Pass(ForwardingFacade::EvictPod(context, params));
  }
  absl::Status DeletePod(const CallContext& context, const DeletePodParams& params) override {
    Ask(params.pod);
    return ForwardingFacade::DeletePod(context, params);
  }
  absl::StatusOr<NodeMaintenance> CreateNodeMaintenance(const CallContext& context,
                                                        const CreateNodeMaintenanceParams& params) override {
    Ask(params.object);
    return Pass(ForwardingFacade::CreateNodeMaintenance(context, params));
  }
  absl::StatusOr<NodeMaintenance> PatchNodeMaintenance(const CallContext& context,
                                                       const PatchNodeMaintenanceParams& params) override {
    Ask(params);
    return Pass(ForwardingFacade::PatchNodeMaintenance(context, params));
  }
  absl::Status DeleteNodeMaintenance(const CallContext& context, const DeleteNodeMaintenanceParams& params) override {
    Ask(PodRef{params.ns, params.name, params.uid});
    return ForwardingFacade::DeleteNodeMaintenance(context, params);
  }
  absl::StatusOr<Lease> CreateLease(const CallContext& context, const Lease& params) override {
    Ask(params);
    return Pass(ForwardingFacade::CreateLease(context, params));
  }
  absl::StatusOr<Lease> UpdateLease(const CallContext& context, const Lease& params) override {
    Ask(params);
    return Pass(ForwardingFacade::UpdateLease(context, params));
  }
  absl::StatusOr<ConfigMap> CreateConfigMap(const CallContext& context, const ConfigMap& params) override {
    Ask(params);
    return Pass(ForwardingFacade::CreateConfigMap(context, params));
  }
  absl::StatusOr<ConfigMap> PatchConfigMap(const CallContext& context, const PatchConfigMapParams& params) override {
    Ask(params);
    return Pass(ForwardingFacade::PatchConfigMap(context, params));
  }

 private:
  absl::Status Around(Operation operation, const CallContext& context, const ForwardingFacade::Call& call) override {
    return above_ ? wire_.Judge(operation, [&] { return call(context); })
                  : wire_.Hear(operation, [&] { return call(context); });
  }
  template <class T>
  void Ask(const T& request) {
    if (above_) {
      wire_.asked_ = request;
    } else {
      wire_.CompareRequest(request);
    }
  }
  template <class T>
  absl::StatusOr<T> Pass(absl::StatusOr<T> answer) {
    if (!answer.ok()) return answer;
    if (above_) {
      wire_.CompareAnswer(*answer);
    } else if (!wire_.calls_.empty()) {
      wire_.calls_.back().value = *answer;
    }
    return answer;
  }

  ClearWire& wire_;
  const bool above_;
};

std::shared_ptr<ClusterFacade> ClearWire::Below(std::shared_ptr<ClusterFacade> cluster) {
  return std::make_shared<Side>(*this, std::move(cluster), /*above=*/false);
}

std::shared_ptr<ClusterFacade> ClearWire::Above(std::shared_ptr<ClusterFacade> client) {
  return std::make_shared<Side>(*this, std::move(client), /*above=*/true);
}

absl::Status ClearWire::Judge(Operation operation, const std::function<absl::Status()>& call) {
  calls_.push_back({.operation = operation, .request = std::exchange(asked_, {})});
  absl::Status status = call();
  ended_ = std::move(calls_.back());
  calls_.pop_back();
  CompareStatus(ended_, status);
  return status;
}

absl::Status ClearWire::Hear(Operation operation, const std::function<absl::Status()>& call) {
  absl::Status status = call();
  if (calls_.empty() || calls_.back().operation != operation) return status;
  calls_.back().answered = true;
  calls_.back().status = status;
  return status;
}

void ClearWire::NoteBreak() {
  if (!calls_.empty()) ++calls_.back().breaks;
}

void ClearWire::CompareStatus(const Call& call, const absl::Status& status) {
  // Events are not part of an upgrade, and no client uses their outcome.
  if (!call.answered || call.operation == Operation::kRecordEvent) return;
  if (call.breaks > 0) {
    // If a list's snapshot expires between two pages, the client must restart the list from the first page.
    const bool expired = call.status.ok() && absl::StrContains(status.message(), ": 410 ");
    if (expired && call.breaks == 1 && IsList(call.operation)) fail_(std::string(status.message()));
    return;
  }
  const absl::Status expected = Expected(call.operation, call.status);
  if (status.code() == expected.code() || (IsUnclear(expected) && IsUnclear(status))) return;
  fail_(fmt::format("{}: the cluster returned {}, which became {}", ToString(call.operation), call.status.ToString(),
                    status.ToString()));
}

template <class T>
void ClearWire::CompareRequest(const T& request) {
  if (calls_.empty()) return;
  const T* const asked = std::any_cast<T>(&calls_.back().request);
  if (asked == nullptr || Plain(*asked) == Plain(request)) return;
  fail_(fmt::format("{}: the cluster receives a different request", ToString(calls_.back().operation)));
}

template <class T>
void ClearWire::CompareAnswer(const T& answer) {
  if (ended_.breaks > 0) return;
  const T* const answered = std::any_cast<T>(&ended_.value);
  if (answered == nullptr || Plain(*answered) == Plain(answer)) return;
  fail_(fmt::format("{}: the cluster's response has changed", ToString(ended_.operation)));
}

}  // namespace driverupgrade::testing
