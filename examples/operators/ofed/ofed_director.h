// Contains the logic of ofed_operator: follows the NicClusterPolicy and the NicNodePolicies, rolls out the driver
// accordingly, and maintains labels and other objects that depend on the driver.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_OFED_DIRECTOR_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_OFED_DIRECTOR_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driverupgrade/clock.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/engine_options.h"
#include "driverupgrade/label_selector.h"
#include "driverupgrade/observer.h"
#include "driverupgrade/service/director.h"
#include "driverupgrade/upgrade_policy.h"
#include "ofed/decide.h"
#include "ofed/init_config.h"
#include "ofed/migration.h"
#include "ofed/nic_cluster_policy.h"
#include "ofed/node_keeper.h"
#include "support/driver_maker.h"
#include "support/operator_process.h"
#include "support/policy_memory.h"
#include "support/resource_condition.h"
#include "support/resource_watch.h"

namespace ofed_operator {

/// Name of this component in Events.
inline constexpr char kComponent[] = "nvidia-network-operator";

class OfedDirector final : public driverupgrade::Director {
 public:
  struct Options {
    driverupgrade::DriverIdentity identity;
    std::string ns = {};
    driverupgrade::LabelSelector driver_labels = {};
    /// nullopt: use the NicClusterPolicy and the NicNodePolicies of the cluster.
    std::optional<driverupgrade::UpgradePolicy> policy = std::nullopt;
    bool migrate = true;
    /// The requestor of NodeMaintenances; nullopt: requestor mode is off.
    std::optional<driverupgrade::RequestorOptions> requestor = std::nullopt;
    /// Creator of the driver's DaemonSets, and the image of their init container. An empty image means no init
    /// container.
    examples::DriverDaemonSets daemon_sets = examples::DriverDaemonSets::kLeave;
    std::string init_image = {};
    /// True to report the progress in status.state of the policies; false if another client writes that field.
    bool write_state = true;
    /// True if nodes of a deleted policy are released; otherwise they stay as they are.
    bool release_deleted = true;
    std::shared_ptr<driverupgrade::Doorbell> bell = nullptr;
    driverupgrade::LogSink log = nullptr;
    /// Null: SystemClock().
    std::shared_ptr<driverupgrade::Clock> clock = nullptr;
  };
  OfedDirector(const examples::Connection& connection, Options options);

  /// Starts threads that follow the cluster's policies, unless the options contain a policy.
  void Start();
  /// Replaces Start: runs one watch of each kind until it ends.
  void Turn(const driverupgrade::CallContext& context);

  std::optional<std::vector<driverupgrade::EngineSpec>> Wanted() override;
  std::vector<driverupgrade::EngineSpec> Gone() override;
  std::vector<driverupgrade::Finding> Findings() override;
  absl::Status OnRefused(const std::map<std::string, absl::Status>& refused) override;
  void OnProgress(const std::map<std::string, driverupgrade::EngineProgress>& engines) override;
  absl::Status Prepare(const driverupgrade::CallContext& context) override;
  absl::Time Work(const driverupgrade::CallContext& context, driverupgrade::WatchCache* cache,
                  std::size_t scope) override;
  absl::Status Ready() const override;

 private:
  // Reads the policies from the watches, and derives the decision. Returns false until every watch has a list.
  bool Read();
  void Take(NicClusterPolicy policy, std::vector<NicNodePolicy> nodes);
  std::vector<NicNodePolicy> MadeOf(std::vector<NicNodePolicy> nodes) const;
  absl::Status GiveBackStrays(const driverupgrade::CallContext& context);
  std::vector<examples::ResourceVerdict> Verdicts() const;
  void AmendByMaker(examples::ResourceVerdict& verdict) const;
  absl::Time KeepNodes(const driverupgrade::CallContext& context, driverupgrade::WatchCache* cache, std::size_t scope);
  void Tell(const char* message, const absl::Status& status, absl::Status& told) const;

  const Options options_;
  const std::shared_ptr<driverupgrade::ClusterFacade> cluster_;
  Migration migration_;
  NodeKeeper node_keeper_;
  InitConfigKeeper config_keeper_;
  examples::DriverMaker maker_;
  examples::ResourceReporter reporter_;
  examples::PolicyMemory<NicClusterPolicy> policy_memory_;
  examples::PolicyMemory<NicNodePolicy> node_memory_;
  examples::ResourceWatch::Objects policies_;
  examples::ResourceWatch::Objects nodes_;
  examples::ResourceWatch::Objects ignored_;  // NicClusterPolicies with other names
  std::optional<NicClusterPolicy> policy_;
  Decision decision_;
  std::vector<NicNodePolicy> seen_;  // the last version of every policy that ever had an engine
  std::map<std::string, absl::Status> refused_;
  std::map<std::string, driverupgrade::EngineProgress> progress_;
  std::set<std::string> claimants_;             // policies that may own NodeMaintenances
  driverupgrade::WatchCache* cache_ = nullptr;  // the cache from which the node keeper takes changes
  absl::Status nodes_told_ = absl::OkStatus();
  absl::Status config_told_ = absl::OkStatus();
  // These members are last, because their threads must end before the other members are destroyed.
  examples::ResourceWatch policy_watch_;
  examples::ResourceWatch node_watch_;
};

}  // namespace ofed_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_OFED_DIRECTOR_H_
