/// Reads the facts that the checks need from a cluster.
///
/// Defines CollectOptions and Collect.
///
///     absl::StatusOr<Facts> facts = Collect({.deadline = clock.Now() + absl::Minutes(1)}, objects, {});
///
/// Collect writes nothing, and does not read Secrets: the ServiceAccount `builder` shows whether its secret exists.
/// Thread-safe if ObjectClient is. Example: tests/examples/operators/openshift_preflight/collect_test.cc.
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
  /// Namespace of the GPU Operator.
  std::string ns = "nvidia-gpu-operator";
  /// Current time, from which the age of pods is computed. With InfiniteFuture, all pods are old.
  absl::Time now = absl::InfiniteFuture();
};

/// Reads the facts from the cluster. The facts about missing objects stay empty. If the server refuses a read, or an
/// object cannot be parsed, Collect returns an error that names the object. If a log cannot be read, Collect adds the
/// reason to DriverPod::unread instead. If the cluster is not OpenShift, Collect sends only one request.
absl::StatusOr<Facts> Collect(const driverupgrade::CallContext& context, const driverupgrade::ObjectClient& objects,
                              const CollectOptions& options);

/// Extracts `410.84.202203290245-0` from `Red Hat Enterprise Linux CoreOS 410.84.202203290245-0 (Ootpa)`; empty if the
/// system is not RHCOS.
std::string RhcosVersion(std::string_view os_image);

}  // namespace openshift_preflight

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_COLLECT_H_
