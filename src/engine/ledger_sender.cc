#include "engine/ledger_sender.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/status_macros.h"

namespace driverupgrade::internal {
namespace {

absl::StatusOr<std::vector<std::string>> UidsOf(const absl::StatusOr<std::vector<Node>>& nodes) {
  DRIVERUPGRADE_RETURN_IF_ERROR(nodes.status());
  std::vector<std::string> uids;
  for (const Node& node : *nodes) uids.push_back(node.uid);
  return uids;
}

}  // namespace

absl::StatusOr<ConfigMap> Send(ClusterFacade& cluster, const CallContext& context, const LedgerRequest& request) {
  if (const auto* created = std::get_if<ConfigMap>(&request)) return cluster.CreateConfigMap(context, *created);
  if (const auto* patch = std::get_if<PatchConfigMapParams>(&request)) return cluster.PatchConfigMap(context, *patch);
  return cluster.GetConfigMap(context, *std::get_if<GetConfigMapParams>(&request));
}

LedgerSender::LedgerSender(std::shared_ptr<ClusterFacade> cluster, std::shared_ptr<Clock> clock, PlanExecutor& executor,
                           std::function<void()> on_answer)
    : cluster_(std::move(cluster)), clock_(std::move(clock)), executor_(executor), on_answer_(std::move(on_answer)) {}

bool LedgerSender::Advance(const CallContext& context, LedgerSteps& steps) {
  bool has_answer = Take(steps);
  while (!in_flight_) {
    const LedgerRequest* request = steps.Next();
    if (request == nullptr) break;
    Begin(context, *request);
    // An executor without threads makes the call before Begin returns.
    has_answer |= Take(steps);
  }
  return has_answer;
}

void LedgerSender::Begin(const CallContext& context, const LedgerRequest& request) {
  in_flight_ = true;
  executor_.Submit(context, [this, request](const CallContext& bounded) {
    Answer answer = AnswerTo(request, bounded);
    {
      const std::lock_guard lock(mutex_);
      answer_ = std::move(answer);
    }
    if (on_answer_) on_answer_();
  });
  if (!on_answer_) executor_.AwaitAnswers();
}

// The time of the response is stored with it, because the next pass may accept the response much later.
LedgerSender::Answer LedgerSender::AnswerTo(const LedgerRequest& request, const CallContext& context) {
  if (const auto* list = std::get_if<ListNodesParams>(&request)) {
    return [uids = UidsOf(cluster_->ListNodes(context, *list))](LedgerSteps& steps) { steps.TakeUids(uids); };
  }
  absl::StatusOr<ConfigMap> found = Send(*cluster_, context, request);
  return [found = std::move(found), at = clock_->Now()](LedgerSteps& steps) { steps.Take(found, at); };
}

bool LedgerSender::Take(LedgerSteps& steps) {
  Answer answer;
  {
    const std::lock_guard lock(mutex_);
    answer.swap(answer_);
  }
  if (!answer) return false;
  in_flight_ = false;
  answer(steps);
  return true;
}

}  // namespace driverupgrade::internal
