/// Makes the driver's DaemonSets from what a policy resource says about its image, where no operator of the vendor does.
///
/// Defines DriverImage, DriverPods, DriverProbe, DriverDaemonSet, their readers, SpecDigest, DaemonSetJson and DriverMaker.
///
///     DriverMaker maker(objects, clock, log);
///     maker.Wish({{.ns = "gpu-operator", .name = "nvidia-driver-daemonset", .labels = {...}, .image = *image, ...}});
///     absl::Time again = maker.Keep(context, place);
///
/// A new version makes a new template; the engine replaces the pods. All but DriverMaker is pure.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_DRIVER_MAKER_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_DRIVER_MAKER_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/call_context.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/kubernetes/object_client.h"
#include "driverupgrade/label_selector.h"
#include "driverupgrade/log_sink.h"
#include "support/json.h"

namespace examples {

/// On DaemonSets of our making: `driverupgrade`. Others are left alone.
inline constexpr char kManagedByLabel[] = "app.kubernetes.io/managed-by";
inline constexpr char kManagedBy[] = "driverupgrade";
/// On the same: SpecDigest of what the template was made of.
inline constexpr char kSpecDigestAnnotation[] = "driverupgrade/driver-spec";

/// Of a container.
struct Variable {
  std::string name = {};
  std::string value = {};
  /// JSON of `valueFrom`, instead of a value; empty: none.
  std::string value_from = {};
  friend bool operator==(const Variable&, const Variable&) = default;
};
using Variables = std::vector<Variable>;

/// `repository`, `image` and `version` of a section, as NVIDIA's resources have them, with `env`.
struct DriverImage {
  /// `nvcr.io/nvidia/driver:550.54.15`, as the section names it; with a version `sha256:...` it is `@sha256:...`. The
  /// operating system of the nodes is added for a driver's image only, once it is known (node_system.h).
  std::string reference = {};
  /// `imagePullPolicy`; empty: Kubernetes' own.
  std::string pull_policy = {};
  Variables env = {};
  friend bool operator==(const DriverImage&, const DriverImage&) = default;
};

/// The times of a probe, as Kubernetes names them: `periodSeconds` and the like.
using ProbeTimes = std::map<std::string, int>;

/// What a policy resource says of the driver's pods, its image apart.
struct DriverPods {
  /// `imagePullSecrets` of the section.
  std::vector<std::string> pull_secrets = {};
  /// JSON of the driver's container's `resources`; empty: none.
  std::string resources = {};
  /// By the kind of the probe; what is not here is as DriverProbe says.
  std::map<std::string, ProbeTimes> probe_times = {};
  /// JSON of each toleration, beside that of nvidia.com/gpu.
  std::vector<std::string> tolerations = {};
  /// Empty: system-node-critical.
  std::string priority_class = {};
  /// Why no DaemonSet can be made of it: a field is set that is not understood here.
  absl::Status refusal = absl::OkStatus();
  friend bool operator==(const DriverPods&, const DriverPods&) = default;
};

/// Where a resource says it. Paths with dots, from the root of the object: `spec.driver`. Empty: the resource has none.
struct DriverPodsPaths {
  std::string section = {};
  std::string tolerations = {};
  std::string priority_class = {};
  /// They change the driver or its pods in ways that this maker does not know. What is false, empty or 0 is not set.
  std::vector<std::string> refused = {};
};
/// Errors: InvalidArgument with the path of what has a wrong type.
absl::StatusOr<DriverPods> ReadDriverPods(const rapidjson::Value& object, const DriverPodsPaths& paths);

/// nullopt: the section has no version, so nobody asked for a DaemonSet. Errors: InvalidArgument with the path of what is
/// missing or no text.
absl::StatusOr<std::optional<DriverImage>> ReadDriverImage(const rapidjson::Value& object, JsonPath path);

/// By what a container tells that the driver is loaded. A pod without one is Ready as soon as its container runs.
struct DriverProbe {
  /// startupProbe, readinessProbe or livenessProbe.
  std::string kind = {};
  /// For `sh -c`.
  std::string command = {};
  ProbeTimes times = {};
  friend bool operator==(const DriverProbe&, const DriverProbe&) = default;
};

struct DriverDaemonSet {
  std::string ns = {};
  std::string name = {};
  /// The name of the policy resource that it is made of.
  std::string made_of = {};
  /// Labels of the DaemonSet and its pods, and the selector of the pods.
  driverupgrade::StringMap labels = {};
  /// Of the DaemonSet alone.
  driverupgrade::StringMap own_labels = {};
  driverupgrade::StringMap node_selector = {};
  std::string service_account = {};
  /// The driver's container.
  std::string container = {};
  DriverImage image = {};
  std::vector<std::string> args = {};
  std::vector<DriverProbe> probes = {};
  DriverPods pods = {};
  /// What goes first; nullopt: nothing.
  struct InitContainer {
    std::string name = {};
    DriverImage image = {};
    /// Empty: the image's own.
    std::vector<std::string> command = {};
    std::vector<std::string> args = {};
    friend bool operator==(const InitContainer&, const InitContainer&) = default;
  };
  std::optional<InitContainer> init = std::nullopt;
  /// Folders of the host in both containers, at the same place.
  std::vector<std::string> host_paths = {};
  int grace_period_seconds = 120;
  friend bool operator==(const DriverDaemonSet&, const DriverDaemonSet&) = default;
};

/// Of all that a pod is made of.
std::string SpecDigest(const DriverDaemonSet& wish);
/// The whole object. Its pods roll by OnDelete, and carry the digest in DRIVER_CONFIG_DIGEST.
std::string DaemonSetJson(const DriverDaemonSet& wish);

/// Returns the DaemonSets of a wish for the nodes that it selects: images and names follow the operating systems of the
/// nodes. Empty: the nodes have not been read yet.
using PlaceDriver = std::function<std::vector<DriverDaemonSet>(const DriverDaemonSet&)>;

/// Not thread-safe.
class DriverMaker {
 public:
  DriverMaker(std::shared_ptr<const driverupgrade::ObjectClient> objects, std::shared_ptr<driverupgrade::Clock> clock,
              driverupgrade::LogSink log);

  void Wish(std::vector<DriverDaemonSet> wishes);
  /// Creates DaemonSets that are missing, and patches those of ours that were made of something else. A DaemonSet that is
  /// no longer wished stays, because its pods are the driver of workloads. Returns the time of the next call: a deleted
  /// DaemonSet is noticed within half a minute. `place` is called for each wish; null: the wishes are complete.
  absl::Time Keep(const driverupgrade::CallContext& context, const PlaceDriver& place = nullptr);
  /// Why the DaemonSet of that policy resource is not as it wishes, as of the last Keep: Unavailable. OK: it is, or nothing
  /// is wished of it.
  absl::Status Failure(const std::string& made_of) const;

 private:
  absl::Status KeepOne(const driverupgrade::CallContext& context, const DriverDaemonSet& wish);
  void Note(const DriverDaemonSet& wish, const absl::Status& kept, const std::map<std::string, absl::Status>& before);
  void Log(driverupgrade::Severity severity, const char* message, const DriverDaemonSet& wish) const;

  const std::shared_ptr<const driverupgrade::ObjectClient> objects_;
  const std::shared_ptr<driverupgrade::Clock> clock_;
  const driverupgrade::LogSink log_;
  std::vector<DriverDaemonSet> wishes_;
  absl::Time again_ = absl::InfinitePast();
  std::map<std::string, absl::Status> failures_;  // by made_of
};

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_DRIVER_MAKER_H_
