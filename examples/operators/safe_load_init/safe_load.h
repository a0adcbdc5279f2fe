/// Safe driver loading, as seen from the driver pod: asks for the node to be evacuated, and holds the driver back until
/// it is.
///
/// Defines SafeLoadConfig, ParseSafeLoadConfig, SafeLoadOptions, AwaitSafeLoad and ExitCodeOf.
///
///     SafeLoadOptions options{.node_name = "gpu-7", .configmap_ns = "drivers", .configmap_name = "init-config"};
///     absl::Status loaded = AwaitSafeLoad(options, *cluster, *SystemClock(), log, stop.get_token());
///     return ExitCodeOf(loaded);
///
/// The other side is SafeLoadManager (safe_load_manager.h). Rules: upstream-behaviour.md §2.7. Example:
/// tests/examples/operators/safe_load_init/safe_load_test.cc.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SAFE_LOAD_INIT_SAFE_LOAD_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SAFE_LOAD_INIT_SAFE_LOAD_H_

#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/observer.h"

namespace safe_load_init {

/// Exit codes of the program. Whatever is not 0 keeps the driver from being loaded: the kubelet starts the container
/// anew.
inline constexpr int kExitLoad = 0;
inline constexpr int kExitNotReleased = 1;  // stopped, or the time ran out
inline constexpr int kExitUsage = 2;        // the command line, or the config map
inline constexpr int kExitRefused = 3;      // the cluster refused
inline constexpr int kExitNodeGone = 4;     // the node is gone, or another one has its name

/// `safeDriverLoad` of the init container's configuration.
struct SafeLoadConfig {
  bool enabled = false;
  /// Node annotation that holds the driver back while it is not empty.
  std::string annotation = {};
  friend bool operator==(const SafeLoadConfig&, const SafeLoadConfig&) = default;
};

/// Without `safeDriverLoad` it is off; what else there is does not matter. Errors: InvalidArgument, with the path of
/// what is wrong.
absl::StatusOr<SafeLoadConfig> ParseSafeLoadConfig(std::string_view json);

struct SafeLoadOptions {
  std::string node_name = {};
  std::string configmap_ns = {};
  std::string configmap_name = {};
  std::string configmap_key = "config.json";
  /// How long to wait in all. Infinite as upstream has it: an upgrade may be switched off meanwhile (H25).
  absl::Duration timeout = absl::InfiniteDuration();
  /// The longest time between two looks at the node. Between them a watch tells.
  absl::Duration recheck = absl::Seconds(5);
};

/// Reads the config map; if safe loading is on, sets the annotation of the node to `true`, whatever it was, and waits
/// until it is absent or empty. An API server that is away is waited for, however long.
///
/// OK: the driver may be loaded. Errors:
///  - InvalidArgument: the config map is missing or invalid, or the server objects to the annotation's name;
///  - NotFound: there is no such node, or another one has got its name;
///  - PermissionDenied, Unauthenticated, Unimplemented: the server refused before the wait began. Once it has begun,
///    what is refused is asked again;
///  - Cancelled: `stop`. DeadlineExceeded: `timeout`. The annotation stays.
absl::Status AwaitSafeLoad(const SafeLoadOptions& options, driverupgrade::ClusterFacade& cluster,
                           driverupgrade::Clock& clock, const driverupgrade::LogSink& log, std::stop_token stop);

/// The exit code for what AwaitSafeLoad returned.
int ExitCodeOf(const absl::Status& status);

}  // namespace safe_load_init

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SAFE_LOAD_INIT_SAFE_LOAD_H_
