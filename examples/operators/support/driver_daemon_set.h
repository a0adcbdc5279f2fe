/// Builds a driver's DaemonSet from a policy resource's settings for the driver's image and pods.
///
/// Defines DriverImage, DriverPods, DriverProbe, DriverDaemonSet, their readers, SpecDigest, DaemonSetJson and
/// ChangeJson.
///
///     DriverPods pods = ReadDriverPods(object, {.section = "spec.driver"});
///     std::optional<DriverImage> image = ReadDriverImage(object, {"spec", "driver"}, pods);
///
/// All functions are pure.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_DRIVER_DAEMON_SET_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_DRIVER_DAEMON_SET_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driverupgrade/label_selector.h"
#include "support/json.h"

namespace examples {

/// Label of DaemonSets that this code created, with the value `driverupgrade`. Other DaemonSets are not changed.
inline constexpr char kManagedByLabel[] = "app.kubernetes.io/managed-by";
inline constexpr char kManagedBy[] = "driverupgrade";
/// Annotation of DaemonSets that this code created: the SpecDigest of the template's source.
inline constexpr char kSpecDigestAnnotation[] = "driverupgrade/driver-spec";

/// Environment variable of a container.
struct Variable {
  std::string name = {};
  std::string value = {};
  /// JSON of `valueFrom`, used instead of `value`; empty: not used.
  std::string value_from = {};
  friend bool operator==(const Variable&, const Variable&) = default;
};
using Variables = std::vector<Variable>;

/// The members `repository`, `image`, `version`, `imagePullPolicy` and `env` of a section of NVIDIA's resources.
struct DriverImage {
  /// `nvcr.io/nvidia/driver:550.54.15`, as the section names it. A version `sha256:...` becomes `@sha256:...`. For a
  /// driver's image only, the nodes' operating system is appended once it is known (node_system.h).
  std::string reference = {};
  /// `imagePullPolicy`; empty: the Kubernetes default.
  std::string pull_policy = {};
  Variables env = {};
  friend bool operator==(const DriverImage&, const DriverImage&) = default;
};

/// The periods and thresholds of a probe, by the name of the field: `periodSeconds`, `failureThreshold` and so on.
using ProbeTimes = std::map<std::string, int>;

/// Fields of a policy resource that configure the driver's pods, except for the image.
struct DriverPods {
  /// `imagePullSecrets` of the section.
  std::vector<std::string> pull_secrets = {};
  /// JSON of the driver container's `resources`; empty: no resources.
  std::string resources = {};
  /// ProbeTimes by kind of probe. A missing field has the value in DriverProbe::times.
  std::map<std::string, ProbeTimes> probe_times = {};
  /// JSON of each toleration, in addition to the tolerations for nvidia.com/gpu and for nodes that are not ready or
  /// unreachable.
  std::vector<std::string> tolerations = {};
  /// Empty: system-node-critical.
  std::string priority_class = {};
  /// Reason why no DaemonSet can be created: a field is malformed or not supported here.
  absl::Status refusal = absl::OkStatus();
  friend bool operator==(const DriverPods&, const DriverPods&) = default;
};

/// Locations of the fields in DriverPods, as dotted paths from the root of the object, such as `spec.driver`; empty if
/// the resource does not have the field.
struct DriverPodsPaths {
  std::string section = {};
  std::string tolerations = {};
  std::string priority_class = {};
  /// Fields that change the driver or its pods in ways that are not supported here. A field that is false, empty or 0
  /// counts as not set.
  std::vector<std::string> refused = {};
};
/// Reads the fields at `paths`. A field of the wrong type only sets the refusal, because an upgrade policy does not
/// depend on these fields.
DriverPods ReadDriverPods(const rapidjson::Value& object, const DriverPodsPaths& paths);

/// Reads the image in the section at `path`. Returns nullopt if the section has no version, and therefore requests no
/// DaemonSet. Errors: InvalidArgument with the path of a field that is missing or has the wrong type.
absl::StatusOr<std::optional<DriverImage>> ReadDriverImage(const rapidjson::Value& object, JsonPath path);

/// Same as above, but stores an error as the refusal of `pods`, unless `pods` already has a refusal. After an error,
/// returns an image without a reference.
std::optional<DriverImage> ReadDriverImage(const rapidjson::Value& object, JsonPath path, DriverPods& pods);

/// A probe of the driver container: Kubernetes runs its command, which succeeds once the driver is loaded. Without a
/// probe, a pod is Ready as soon as its container runs.
struct DriverProbe {
  /// startupProbe, readinessProbe or livenessProbe.
  std::string kind = {};
  /// The script that `sh -c` runs.
  std::string command = {};
  ProbeTimes times = {};
  friend bool operator==(const DriverProbe&, const DriverProbe&) = default;
};

struct DriverDaemonSet {
  std::string ns = {};
  std::string name = {};
  /// Name of the policy resource that requests the DaemonSet.
  std::string made_of = {};
  /// Labels of the DaemonSet and its pods, which are also the DaemonSet's selector.
  driverupgrade::StringMap labels = {};
  /// Labels of the DaemonSet only.
  driverupgrade::StringMap own_labels = {};
  driverupgrade::StringMap node_selector = {};
  std::string service_account = {};
  /// Name of the driver's container.
  std::string container = {};
  DriverImage image = {};
  /// The operating system that was appended to the tag of `image`; empty if the policy names the complete tag.
  std::string system = {};
  /// A selected node whose operating system is unknown. While there is such a node, the operating system of an existing
  /// DaemonSet is not changed. Empty: no such node.
  std::string unlabelled_node = {};
  std::vector<std::string> args = {};
  std::vector<DriverProbe> probes = {};
  /// File that the driver container has while its driver works: the startup probe creates the file when it succeeds, and
  /// a preStop hook removes it. Empty: no file.
  std::string ready_file = {};
  DriverPods pods = {};
  /// The init container of the driver pods.
  struct InitContainer {
    std::string name = {};
    DriverImage image = {};
    /// Empty to use the image's own command.
    std::vector<std::string> command = {};
    std::vector<std::string> args = {};
    friend bool operator==(const InitContainer&, const InitContainer&) = default;
  };
  std::optional<InitContainer> init = std::nullopt;
  struct PodLabel {
    std::string key = {};
    /// Empty: any value.
    std::string value = {};
    friend bool operator==(const PodLabel&, const PodLabel&) = default;
  };
  /// Label of the driver's pods, including pods of other DaemonSets and of NVIDIA's operators. Kubernetes schedules a
  /// pod of this DaemonSet only to nodes without such a pod. nullopt: to all selected nodes.
  std::optional<PodLabel> apart_from = std::nullopt;
  /// Host directories that both containers mount at the same path.
  std::vector<std::string> host_paths = {};
  int grace_period_seconds = 120;
  /// Selects all DaemonSets of this driver, including DaemonSets that another client created.
  driverupgrade::LabelSelector driver_labels = {};
  friend bool operator==(const DriverDaemonSet&, const DriverDaemonSet&) = default;
};

/// Returns a digest of the pod template without the anti-affinity and the ready file. A DaemonSet that was created
/// without them therefore keeps its template, and its pods, until the driver changes.
std::string SpecDigest(const DriverDaemonSet& wish);
/// Returns the complete DaemonSet as JSON. Its update strategy is OnDelete, and its pods have the digest in
/// DRIVER_CONFIG_DIGEST.
std::string DaemonSetJson(const DriverDaemonSet& wish);
/// Returns the merge patch that changes the existing DaemonSet to `wish`.
std::string ChangeJson(const rapidjson::Value& found, const DriverDaemonSet& wish);

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_DRIVER_DAEMON_SET_H_
