/// The part of an operator that is its own: where its policies come from, and what it does beside rolling the driver.
///
/// Defines Director.
///
///     class FromFile final : public examples::Director {
///       std::optional<std::vector<EngineSpec>> Wanted() override { return specs_; }
///     };
///
/// All calls come from the loop of one UpgradeService, but for Ready.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_DIRECTOR_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_DIRECTOR_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/call_context.h"
#include "driverupgrade/watch_cache.h"
#include "support/engine_group.h"

namespace examples {

class Director {
 public:
  virtual ~Director() = default;

  /// The engines that are to run; nullopt: not known yet. Asked before each round, so it must be quick; whoever has
  /// something new rings the service's bell.
  virtual std::optional<std::vector<EngineSpec>> Wanted() = 0;

  /// What must have happened before an engine may act. Called while this replica leads, until it succeeds.
  virtual absl::Status Prepare(const driverupgrade::CallContext&) { return absl::OkStatus(); }

  /// Other work of the one that leads. `cache`: of the engines that run, null if there are none; `scope`: the place of
  /// the first of more_scopes in it. Returns when to come again, unless the bell rings.
  virtual absl::Time Work(const driverupgrade::CallContext&, driverupgrade::WatchCache* /*cache*/,
                          std::size_t /*scope*/) {
    return absl::InfiniteFuture();
  }

  /// For the readiness probe, on another thread.
  virtual absl::Status Ready() const { return absl::OkStatus(); }
};

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_DIRECTOR_H_
