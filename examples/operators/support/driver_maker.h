/// Makes the driver's DaemonSets from what a policy resource says about its image, where no operator of the vendor does.
///
/// Defines DriverImage, DriverDaemonSet, ReadDriverImage, SpecDigest, DaemonSetJson and DriverMaker.
///
///     DriverMaker maker(objects, clock, log);
///     maker.Wish({{.ns = "gpu-operator", .name = "nvidia-driver-daemonset", .labels = {...}, .image = *image, ...}});
///     absl::Time again = maker.Keep(context);
///
/// A new version makes a new template; the engine replaces the pods. All but DriverMaker is pure.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_DRIVER_MAKER_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_DRIVER_MAKER_H_

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

using Variables = std::vector<std::pair<std::string, std::string>>;

/// `repository`, `image` and `version` of a section, as NVIDIA's resources have them, with `env`.
struct DriverImage {
  /// `nvcr.io/nvidia/driver:550.54.15-ubuntu22.04`; with a version `sha256:...` it is `@sha256:...`. The version is the whole
  /// tag: no name of an operating system is added.
  std::string reference = {};
  Variables env = {};
  friend bool operator==(const DriverImage&, const DriverImage&) = default;
};

/// nullopt: the section has no version, so nobody asked for a DaemonSet. Errors: InvalidArgument with the path of what is
/// missing or no text.
absl::StatusOr<std::optional<DriverImage>> ReadDriverImage(const rapidjson::Value& object, JsonPath path);

struct DriverDaemonSet {
  std::string ns = {};
  std::string name = {};
  /// Of the DaemonSet and its pods. `app` selects the pods.
  driverupgrade::StringMap labels = {};
  /// Of the DaemonSet alone.
  driverupgrade::StringMap own_labels = {};
  driverupgrade::StringMap node_selector = {};
  std::string service_account = {};
  /// The driver's container.
  std::string container = {};
  DriverImage image = {};
  std::vector<std::string> args = {};
  /// What goes first; nullopt: nothing.
  struct InitContainer {
    std::string name = {};
    DriverImage image = {};
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

/// Not thread-safe.
class DriverMaker {
 public:
  DriverMaker(std::shared_ptr<const driverupgrade::ObjectClient> objects, std::shared_ptr<driverupgrade::Clock> clock,
              driverupgrade::LogSink log);

  void Wish(std::vector<DriverDaemonSet> wishes);
  /// Creates what is missing, and patches what is ours and was made of something else. What is wished no more stays: its
  /// pods are the driver under workloads. Returns when to come again; it looks every half minute, for nothing tells of
  /// a DaemonSet that was deleted.
  absl::Time Keep(const driverupgrade::CallContext& context);
  const absl::Status& status() const { return status_; }

 private:
  absl::Status KeepOne(const driverupgrade::CallContext& context, const DriverDaemonSet& wish);
  void Log(driverupgrade::Severity severity, const char* message, const DriverDaemonSet& wish) const;

  const std::shared_ptr<const driverupgrade::ObjectClient> objects_;
  const std::shared_ptr<driverupgrade::Clock> clock_;
  const driverupgrade::LogSink log_;
  std::vector<DriverDaemonSet> wishes_;
  absl::Time again_ = absl::InfinitePast();
  std::map<std::string, bool> foreign_;  // by name: told that it is somebody else's
  absl::Status status_ = absl::OkStatus();
};

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_DRIVER_MAKER_H_
