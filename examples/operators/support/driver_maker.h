/// Creates the driver DaemonSets that policy resources request (the wishes). If another client creates the DaemonSets,
/// only reports those that are missing.
///
/// Defines PlaceDriver, DriverDaemonSets and DriverMaker.
///
///     DriverMaker maker(objects, clock, log, DriverDaemonSets::kMake);
///     maker.Wish({{.ns = "gpu-operator", .name = "nvidia-driver-daemonset", .labels = {...}, .image = *image, ...}});
///     absl::Time again = maker.Keep(context, place);
///
/// A new version creates a new template; the engine replaces the pods.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_DRIVER_MAKER_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_DRIVER_MAKER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/kubernetes/object_client.h"
#include "driverupgrade/observer.h"
#include "support/driver_daemon_set.h"

namespace examples {

/// Returns the DaemonSets that a wish requests. The operating systems of the nodes that the wish selects determine the
/// images and names. Empty if these nodes have not been read yet.
using PlaceDriver = std::function<std::vector<DriverDaemonSet>(const DriverDaemonSet&)>;

enum class DriverDaemonSets {
  /// This operator creates and changes the DaemonSets.
  kMake,
  /// Another operator or an administrator creates the DaemonSets, and this operator only reads them.
  kLeave
};

/// Not thread-safe.
class DriverMaker {
 public:
  DriverMaker(std::shared_ptr<const driverupgrade::ObjectClient> objects, std::shared_ptr<driverupgrade::Clock> clock,
              driverupgrade::LogSink log, DriverDaemonSets mode);

  void Wish(std::vector<DriverDaemonSet> wishes);
  /// Creates missing DaemonSets, and patches our DaemonSets whose source has changed. A DaemonSet that is no longer
  /// requested stays, because workloads use the driver that its pods have loaded. Returns the time at which the next
  /// call is due, early enough to notice a deleted DaemonSet within half a minute. Calls `place` for each wish; `place`
  /// is null if the wishes are complete. With kLeave, Keep only compares the images in the wishes with the images of
  /// the driver's DaemonSets: ten seconds after the wishes have changed, and then every half minute while a DaemonSet
  /// is missing.
  absl::Time Keep(const driverupgrade::CallContext& context, const PlaceDriver& place = nullptr);
  /// Returns Unavailable, with the reason, if the policy resource `made_of` requests a DaemonSet that was missing or
  /// different at the last Keep. Returns OK if the DaemonSet matched, or if the resource requests no DaemonSet.
  absl::Status Failure(const std::string& made_of) const;

 private:
  using Failures = std::map<std::string, absl::Status>;  // by made_of
  // Return the pause until the next call.
  absl::Duration MakeAll(const driverupgrade::CallContext& context, const PlaceDriver& place, const Failures& before);
  absl::Duration LookForAll(const driverupgrade::CallContext& context, const Failures& before);
  absl::Status Make(const driverupgrade::CallContext& context, const DriverDaemonSet& wish);
  absl::Status CreateOrPatch(const driverupgrade::CallContext& context, const DriverDaemonSet& wish);
  // Returns NotFound if no DaemonSet has the image.
  absl::Status LookFor(const driverupgrade::CallContext& context, const DriverDaemonSet& wish);
  void Note(const std::string& made_of, const absl::Status& kept, const Failures& before);
  void Log(driverupgrade::Severity severity, const char* message, const DriverDaemonSet& wish) const;

  const std::shared_ptr<const driverupgrade::ObjectClient> objects_;
  const std::shared_ptr<driverupgrade::Clock> clock_;
  const driverupgrade::LogSink log_;
  const DriverDaemonSets mode_;
  std::vector<DriverDaemonSet> wishes_;
  absl::Time again_ = absl::InfinitePast();
  Failures failures_;
};

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_DRIVER_MAKER_H_
