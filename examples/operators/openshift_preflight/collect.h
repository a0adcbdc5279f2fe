/// Reads what the checks need from a cluster.
///
/// Defines CollectOptions and Collect.
///
///     absl::StatusOr<Facts> facts = Collect({.deadline = clock.Now() + absl::Minutes(1)}, objects, {});
///
/// Reads only, and no Secret: whether `builder` has one, its ServiceAccount says. Thread-safe as ObjectClient is.
/// Example: tests/examples/operators/openshift_preflight/collect_test.cc.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_COLLECT_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_COLLECT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/kubernetes/object_client.h"
#include "openshift_preflight/facts.h"

namespace openshift_preflight {

struct CollectOptions {
  /// The GPU Operator's.
  std::string ns = "nvidia-gpu-operator";
  /// Time from which the age of pods is measured; InfiniteFuture: all pods are old.
  absl::Time now = absl::InfiniteFuture();
};

/// What is not there is nothing; what was refused or not understood is the error, which names it. A log that cannot be
/// read is no error but DriverPod::unread. If it is not OpenShift, one request is all.
absl::StatusOr<Facts> Collect(const driverupgrade::CallContext& context, const driverupgrade::ObjectClient& objects,
                              const CollectOptions& options);

/// `410.84.202203290245-0` out of `Red Hat Enterprise Linux CoreOS 410.84.202203290245-0 (Ootpa)`; empty if it is not
/// RHCOS.
std::string RhcosVersion(std::string_view os_image);

}  // namespace openshift_preflight

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_COLLECT_H_
