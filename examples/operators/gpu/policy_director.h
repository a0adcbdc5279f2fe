// Provides the policies of gpu_operator through directors.
//
// Defines FileDirector, for a single policy that was read at the start, and ClusterPolicyDirector, which follows the
// cluster's custom resources and reports the result in their status.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_POLICY_DIRECTOR_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_POLICY_DIRECTOR_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/clock.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/kubernetes/object_client.h"
#include "driverupgrade/observer.h"
#include "driverupgrade/service/director.h"
#include "gpu/cluster_policy.h"
#include "gpu/decide.h"
#include "gpu/node_keeper.h"
#include "support/driver_maker.h"
#include "support/policy_memory.h"
#include "support/resource_condition.h"
#include "support/resource_watch.h"

namespace gpu_operator {

/// Name of this component in Events.
inline constexpr char kComponent[] = "nvidia-gpu-operator";

class FileDirector final : public driverupgrade::Director {
 public:
  /// `nodes` writes the marks that the policy requires. `bell` is rung when nodes have changed.
  FileDirector(driverupgrade::EngineSpec spec, NodeKeeper nodes, std::shared_ptr<driverupgrade::Doorbell> bell);
  std::optional<std::vector<driverupgrade::EngineSpec>> Wanted() override { return specs_; }
  absl::Time Work(const driverupgrade::CallContext& context, driverupgrade::WatchCache* cache,
                  std::size_t scope) override;

 private:
  const std::vector<driverupgrade::EngineSpec> specs_;
  NodeKeeper nodes_;
  const std::shared_ptr<driverupgrade::Doorbell> bell_;
};

class ClusterPolicyDirector final : public driverupgrade::Director {
 public:
  struct Options {
    driverupgrade::DriverIdentity identity;
    DriverLabels labels = {};
    /// True if nodes of a deleted policy are released; otherwise they stay as they are.
    bool release_deleted = true;
    /// True to mark the nodes (see NodeKeeper); false if another client marks them.
    bool mark_nodes = true;
    /// True to report the progress in status.state of the policies; false if another client writes that field.
    bool write_state = true;
    /// Namespace and creator of the driver's DaemonSets.
    std::string ns = {};
    examples::DriverDaemonSets daemon_sets = examples::DriverDaemonSets::kLeave;
    std::shared_ptr<driverupgrade::Doorbell> bell = nullptr;
    driverupgrade::LogSink log = nullptr;
    /// Null: SystemClock().
    std::shared_ptr<driverupgrade::Clock> clock = nullptr;
  };
  ClusterPolicyDirector(std::shared_ptr<const driverupgrade::ObjectClient> objects,
                        std::shared_ptr<driverupgrade::ClusterFacade> cluster, Options options);

  /// Starts threads that follow the custom resources.
  void Start();
  /// Replaces Start: runs one watch of each kind until it ends.
  void Turn(const driverupgrade::CallContext& context);

  std::optional<std::vector<driverupgrade::EngineSpec>> Wanted() override;
  std::vector<driverupgrade::EngineSpec> Gone() override;
  std::vector<driverupgrade::Finding> Findings() override;
  absl::Status OnRefused(const std::map<std::string, absl::Status>& refused) override;
  void OnProgress(const std::map<std::string, driverupgrade::EngineProgress>& engines) override;
  absl::Time Work(const driverupgrade::CallContext& context, driverupgrade::WatchCache* cache,
                  std::size_t scope) override;
  absl::Status Ready() const override;

 private:
  void Decide();
  std::vector<examples::ResourceVerdict> Verdicts() const;
  std::string StateOfActive() const;
  void Amend(const std::map<std::string, std::string>& idle, const std::string& engine,
             examples::ResourceVerdict& verdict) const;
  void AmendByMaker(examples::ResourceVerdict& verdict) const;

  const Options options_;
  NodeKeeper nodes_;
  absl::Status nodes_told_ = absl::OkStatus();
  examples::DriverMaker maker_;
  examples::ResourceReporter reporter_;
  examples::PolicyMemory<ClusterPolicy> policy_memory_;
  examples::PolicyMemory<NvidiaDriver> driver_memory_;
  examples::ResourceWatch::Objects policies_;
  examples::ResourceWatch::Objects drivers_;
  std::optional<Decision> decision_;
  std::map<std::string, absl::Status> refused_;
  std::map<std::string, driverupgrade::EngineProgress> progress_;
  // These members are last, because their threads must end before the other members are destroyed.
  examples::ResourceWatch policy_watch_;
  examples::ResourceWatch driver_watch_;
};

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_POLICY_DIRECTOR_H_
