/// Implements safe driver loading in the driver pod: requests the evacuation of the node, and holds the driver back
/// until the node is evacuated.
///
/// Defines SafeLoadConfig, ParseSafeLoadConfig, SafeLoadOptions, AwaitSafeLoad and ExitCodeOf.
///
///     SafeLoadOptions options{.node_name = "gpu-7", .configmap_ns = "drivers", .configmap_name = "init-config"};
///     absl::Status loaded = AwaitSafeLoad(options, *cluster, *SystemClock(), log, stop.get_token());
///     return ExitCodeOf(loaded);
///
/// The counterpart is SafeLoadManager (safe_load_manager.h). Rules: upstream-behaviour.md §2.7. Example:
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

/// Exit codes of the program. Any code other than 0 keeps the driver from being loaded, because the kubelet restarts
/// the container.
inline constexpr int kExitLoad = 0;
inline constexpr int kExitNotReleased = 1;  // stopped, or the timeout expired
inline constexpr int kExitUsage = 2;        // error in the command line or the ConfigMap
inline constexpr int kExitRefused = 3;      // the cluster refused a request
inline constexpr int kExitNodeGone = 4;     // the node was deleted, or another node has its name

/// `safeDriverLoad` of the init container's configuration.
struct SafeLoadConfig {
  bool enabled = false;
  /// Node annotation that holds the driver back while it is not empty.
  std::string annotation = {};
  friend bool operator==(const SafeLoadConfig&, const SafeLoadConfig&) = default;
};

/// Parses the configuration. Safe loading is off if `safeDriverLoad` is missing; other members are ignored. Errors:
/// InvalidArgument with the path of the invalid member.
absl::StatusOr<SafeLoadConfig> ParseSafeLoadConfig(std::string_view json);

struct SafeLoadOptions {
  std::string node_name = {};
  std::string configmap_ns = {};
  std::string configmap_name = {};
  std::string configmap_key = "config.json";
  /// Maximum duration of AwaitSafeLoad. Infinite by default, as in network-operator-init-container, because upgrades
  /// may be switched off for any length of time (H25).
  absl::Duration timeout = absl::InfiniteDuration();
  /// Maximum time between two reads of the node. Between the reads, a watch reports changes.
  absl::Duration recheck = absl::Seconds(5);
};

/// Reads the ConfigMap. If safe loading is on, sets the node's annotation to `true`, regardless of its current value,
/// and waits until the annotation is missing or empty. If the API server is unavailable, keeps trying until `timeout`.
///
/// Returns OK if the driver may be loaded. Errors:
///  - InvalidArgument: the ConfigMap is missing or invalid, or the server rejects the annotation's name;
///  - NotFound: the node does not exist, or another node has its name;
///  - PermissionDenied, Unauthenticated, Unimplemented: the server refused a request before the wait started; during
///    the wait, refused requests are retried;
///  - Cancelled: a stop was requested. DeadlineExceeded: `timeout` has expired. In both cases, the annotation stays.
absl::Status AwaitSafeLoad(const SafeLoadOptions& options, driverupgrade::ClusterFacade& cluster,
                           driverupgrade::Clock& clock, const driverupgrade::LogSink& log, std::stop_token stop);

/// Returns the exit code for the result of AwaitSafeLoad.
int ExitCodeOf(const absl::Status& status);

}  // namespace safe_load_init

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SAFE_LOAD_INIT_SAFE_LOAD_H_
