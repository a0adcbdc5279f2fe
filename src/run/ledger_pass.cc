#include "run/ledger_pass.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "base/status_macros.h"
#include "seam/check_supports.h"

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

absl::StatusOr<std::unique_ptr<LedgerPass>> LedgerPass::Create(std::shared_ptr<ClusterFacade> cluster,
                                                               const DriverIdentity& identity,
                                                               AdmissionLedgerOptions options,
                                                               std::shared_ptr<Clock> clock,
                                                               absl::Duration call_timeout) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(AdmissionLedger ledger, AdmissionLedger::Create(identity, std::move(options)));
  DRIVERUPGRADE_RETURN_IF_ERROR(
      CheckSupports(*cluster, {Operation::kGetConfigMap, Operation::kCreateConfigMap, Operation::kPatchConfigMap}));
  return std::unique_ptr<LedgerPass>(
      new LedgerPass(LedgerSteps(std::move(ledger)), std::move(cluster), std::move(clock), call_timeout));
}

LedgerPass::LedgerPass(LedgerSteps steps, std::shared_ptr<ClusterFacade> cluster, std::shared_ptr<Clock> clock,
                       absl::Duration call_timeout)
    : steps_(std::move(steps)), cluster_(std::move(cluster)), clock_(std::move(clock)), call_timeout_(call_timeout) {}

void LedgerPass::Begin(const CallContext& context) {
  steps_.Begin(clock_->Now());
  Send(context);
}

void LedgerPass::Forget(const CallContext& context) {
  steps_.Forget(clock_->Now());
  Send(context);
}

Grants LedgerPass::Standing(const CallContext& context, const std::map<std::string, std::string>& managed) {
  Grants standing = steps_.Standing(managed, clock_->Now());
  if (steps_.Next() == nullptr) return standing;
  Send(context);
  return steps_.Standing(managed, clock_->Now());
}

std::map<std::string, Gate> LedgerPass::Settle(const CallContext& context, const Plan& plan) {
  std::map<std::string, Gate> withheld = steps_.Settle(plan, clock_->Now());
  if (steps_.Next() == nullptr) return withheld;
  Send(context);
  return steps_.Settle(plan, clock_->Now());
}

void LedgerPass::Send(const CallContext& context) {
  while (const LedgerRequest* request = steps_.Next()) {
    if (const auto* list = std::get_if<ListNodesParams>(request)) {
      steps_.TakeUids(UidsOf(cluster_->ListNodes(Bounded(context), *list)));
    } else {
      const absl::StatusOr<ConfigMap> answer = internal::Send(*cluster_, Bounded(context), *request);
      steps_.Take(answer, clock_->Now());
    }
  }
}

CallContext LedgerPass::Bounded(const CallContext& context) const {
  return {.deadline = std::min(context.deadline, clock_->Now() + call_timeout_), .stop = context.stop};
}

}  // namespace driverupgrade::internal
