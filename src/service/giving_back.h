/// Releases the nodes of owners whose policies were deleted and whose engines no longer run.
///
/// Defines GivingBack.
///
///     GivingBack giving_back({.identity = gpu, .cluster = cluster, .engine = common, .log = log, .clock = clock});
///     absl::Time again = giving_back.Step(context, director.Gone());
///
/// Each pass reads lists, so deleted owners need no watches. Not thread-safe, except for left().
#ifndef DRIVERUPGRADE_SRC_SERVICE_GIVING_BACK_H_
#define DRIVERUPGRADE_SRC_SERVICE_GIVING_BACK_H_

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "driverupgrade/upgrade_engine.h"
#include "service/engine_group.h"

namespace driverupgrade::internal {

class GivingBack {
 public:
  /// Uses the identity, the cluster, the engine, the log and the clock of `options`.
  explicit GivingBack(GroupOptions options) : options_(std::move(options)) {}

  /// Makes a pass over the nodes of each owner in `gone` whose nodes are not all released. Returns when to call again;
  /// InfiniteFuture when all nodes are released. Each owner is processed once, and again only after it was absent from
  /// `gone`.
  absl::Time Step(const CallContext& context, const std::vector<EngineSpec>& gone);
  /// Returns the number of nodes that had not been released yet as of the last passes.
  int left() const { return left_; }

 private:
  struct Owner {
    EngineSpec spec;
    std::unique_ptr<UpgradeEngine> engine = nullptr;
    std::set<std::string> nodes = {};  // all nodes that were released or must be released
    int left = 0;
    bool done = false;
    absl::Time again = absl::InfinitePast();
    absl::Status told = absl::OkStatus();
  };

  absl::Time StepOne(const CallContext& context, Owner& owner);
  // Makes a pass. The plan in the result contains the nodes that were not released before the pass. Errors: the errors
  // of UpgradeEngine::Create and UpgradeEngine::Release.
  absl::StatusOr<ReconcileResult> Pass(const CallContext& context, Owner& owner) const;
  void Tell(Severity severity, const Owner& owner, std::string message,
            std::vector<std::pair<std::string, std::string>> fields) const;

  const GroupOptions options_;
  std::vector<Owner> owners_;
  std::atomic<int> left_ = 0;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_SERVICE_GIVING_BACK_H_
