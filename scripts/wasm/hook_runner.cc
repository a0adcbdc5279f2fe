// In place of read/hook_runner.cc: there are no threads, and no callback of a foreign host comes in here.
#include "read/hook_runner.h"

namespace driverupgrade::internal {

class HookRunner::Worker {};

HookRunner::HookRunner(absl::Duration limit, std::function<absl::Time()> /*now*/) : limit_(limit) {}
HookRunner::~HookRunner() = default;

absl::StatusOr<bool> HookRunner::Run(const CallContext& context, std::string_view /*what*/, Call call) {
  return call(context);
}

}  // namespace driverupgrade::internal
