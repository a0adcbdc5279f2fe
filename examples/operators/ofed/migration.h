// Prepares a cluster that earlier versions of the Network Operator managed for the first upgrade (upstream-behaviour.md
// §2.3 step 1, §2.6).
//
// Defines Migration and its planning functions, which are pure.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_MIGRATION_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_MIGRATION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/kubernetes/object_client.h"
#include "driverupgrade/observer.h"

namespace ofed_operator {

/// Label on the driver's DaemonSets and on their pods. The value is not used.
inline constexpr char kOfedDriverLabel[] = "nvidia.com/ofed-driver";
/// Label on DaemonSets of the current format only.
inline constexpr char kFormatLabel[] = "mofed-ds-format-version";
/// Label with the owner, on DaemonSets and pods.
inline constexpr char kOwnerLabel[] = "ds-owner";
inline constexpr char kOwner[] = "NicClusterPolicy";
/// Node annotation in which earlier versions stored the state, because these versions did not use labels.
inline constexpr char kLegacyStateAnnotation[] = "nvidia.com/ofed-upgrade-state";

/// Returns the patches that remove the legacy annotation from each node that has it.
std::vector<driverupgrade::PatchNodeParams> LegacyAnnotationPatches(const std::vector<driverupgrade::Node>& nodes);

/// Returns the DaemonSets that were not created by a current version.
std::vector<driverupgrade::DaemonSet> OldDaemonSets(const std::vector<driverupgrade::DaemonSet>& daemon_sets);

/// Returns the patches that request an upgrade of each node with a pod of `daemon_set`, unless an upgrade is already
/// requested.
std::vector<driverupgrade::PatchNodeParams> RequestPatches(const std::vector<driverupgrade::Node>& nodes,
                                                           const std::vector<driverupgrade::Pod>& pods,
                                                           const driverupgrade::DaemonSet& daemon_set,
                                                           const driverupgrade::DriverIdentity& identity);

/// Migrates the cluster in steps that can be repeated: each step performs only the remaining work, so after a failure
/// or a crash, another Run completes the migration. The order of the last two steps matters, because once a DaemonSet
/// is deleted, the nodes that ran its pods are unknown.
class Migration {
 public:
  Migration(std::shared_ptr<driverupgrade::ClusterFacade> cluster,
            std::shared_ptr<const driverupgrade::ObjectClient> objects, std::string ns,
            const driverupgrade::DriverIdentity& identity, driverupgrade::LogSink log);

  /// `has_driver`: the policy has a driver; if false, old DaemonSets are not touched. Returns the error of the first
  /// failed call.
  absl::Status Run(const driverupgrade::CallContext& context, bool has_driver);

 private:
  absl::Status DropLegacyAnnotations(const driverupgrade::CallContext& context);
  absl::Status NameOwners(const driverupgrade::CallContext& context);
  absl::Status OrphanOldPods(const driverupgrade::CallContext& context);
  absl::Status Patch(const driverupgrade::CallContext& context,
                     const std::vector<driverupgrade::PatchNodeParams>& patches);
  void Log(const char* message, std::string key, std::string value) const;

  const std::shared_ptr<driverupgrade::ClusterFacade> cluster_;
  const std::shared_ptr<const driverupgrade::ObjectClient> objects_;
  const std::string ns_;
  const driverupgrade::DriverIdentity identity_;
  const driverupgrade::LogSink log_;
};

}  // namespace ofed_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_MIGRATION_H_
