/// Gives back the nodes of owners that are gone: a policy was deleted, and its engine runs no more.
///
/// Defines GivingBack.
///
///     GivingBack giving_back({.identity = gpu, .cluster = cluster, .engine = common, .log = log, .clock = clock});
///     absl::Time again = giving_back.Step(context, director.Gone());
///
/// It reads lists, so that nobody has to follow the cluster for owners that are no more. Not thread-safe, but for left().
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
  /// Of `options` the identity, the cluster, the engine, the log and the clock.
  explicit GivingBack(GroupOptions options) : options_(std::move(options)) {}

  /// A pass over the nodes of each of `gone` that has some left. Returns when to call again; InfiniteFuture when all
  /// are given back. Nobody is gone through twice, unless he was not among `gone` meanwhile.
  absl::Time Step(const CallContext& context, const std::vector<EngineSpec>& gone);
  /// Nodes that the last passes found not yet given back.
  int left() const { return left_; }

 private:
  struct Owner {
    EngineSpec spec;
    std::unique_ptr<UpgradeEngine> engine = nullptr;
    std::set<std::string> nodes = {};  // all that were given back, or are to be
    int left = 0;
    bool done = false;
    absl::Time again = absl::InfinitePast();
    absl::Status told = absl::OkStatus();
  };

  absl::Time StepOne(const CallContext& context, Owner& owner);
  // How many nodes are left, and whether a request failed.
  absl::StatusOr<ReconcileResult> Pass(const CallContext& context, Owner& owner) const;
  void Tell(Severity severity, const Owner& owner, std::string message,
            std::vector<std::pair<std::string, std::string>> fields) const;

  const GroupOptions options_;
  std::vector<Owner> owners_;
  std::atomic<int> left_ = 0;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_SERVICE_GIVING_BACK_H_
