// What a cluster of earlier versions of the Network Operator needs before the first upgrade (§2.3 step 1, §2.6).
//
// Defines Migration and what it plans by, which is pure.
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

/// On every DaemonSet of the driver and on its pods; its value is of no meaning.
inline constexpr char kOfedDriverLabel[] = "nvidia.com/ofed-driver";
/// Only on DaemonSets of the present format.
inline constexpr char kFormatLabel[] = "mofed-ds-format-version";
/// On DaemonSets and pods: whose they are.
inline constexpr char kOwnerLabel[] = "ds-owner";
inline constexpr char kOwner[] = "NicClusterPolicy";
/// Of the states before they were labels.
inline constexpr char kLegacyStateAnnotation[] = "nvidia.com/ofed-upgrade-state";

/// Takes the legacy annotation from each node that has it.
std::vector<driverupgrade::PatchNodeParams> LegacyAnnotationPatches(const std::vector<driverupgrade::Node>& nodes);

/// DaemonSets that no present version has made.
std::vector<driverupgrade::DaemonSet> OldDaemonSets(const std::vector<driverupgrade::DaemonSet>& daemon_sets);

/// Asks for an upgrade of each node that runs a pod of `daemon_set`, unless it is asked for already.
std::vector<driverupgrade::PatchNodeParams> RequestPatches(const std::vector<driverupgrade::Node>& nodes,
                                                           const std::vector<driverupgrade::Pod>& pods,
                                                           const driverupgrade::DaemonSet& daemon_set,
                                                           const driverupgrade::DriverIdentity& identity);

/// Each step may be repeated: it does only what is not done yet. A failure in the middle, a crash too, is mended by
/// another Run. The order of the last two matters: a DaemonSet that is gone tells no more which nodes ran its pods.
class Migration {
 public:
  Migration(std::shared_ptr<driverupgrade::ClusterFacade> cluster,
            std::shared_ptr<const driverupgrade::ObjectClient> objects, std::string ns,
            const driverupgrade::DriverIdentity& identity, driverupgrade::LogSink log);

  /// `has_driver`: the policy has a driver; otherwise old DaemonSets are left alone. Errors: those of the first call
  /// that failed.
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
