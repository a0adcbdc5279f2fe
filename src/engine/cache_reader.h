// Reads objects from a WatchCache, so that a pass examines only changes (arch-A10).
#ifndef DRIVERUPGRADE_SRC_ENGINE_CACHE_READER_H_
#define DRIVERUPGRADE_SRC_ENGINE_CACHE_READER_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/watch_cache.h"
#include "engine/reader.h"
#include "write/plan_executor.h"

namespace driverupgrade::internal {

class CacheReader final : public Reader, private ObjectSource {
 public:
  // `driver`: index of the driver's scope in the cache options. `call_timeout`: timeout for the calls that the first
  // pass awaits. `executor` must outlive this object, but its threads must end before this object is destroyed.
  // `on_change` can be called from any thread, when there is new data for the next pass.
  CacheReader(std::shared_ptr<WatchCache> cache, std::size_t driver, std::shared_ptr<Clock> clock,
              absl::Duration call_timeout, PlanExecutor& executor, std::function<void()> on_change);
  ~CacheReader() override;

  ObjectSource& objects() override { return *this; }
  absl::Status Begin(const CallContext& context, LedgerSteps* ledger) override;
  // Starts reading the pods, and returns without waiting for the results.
  void ReadPods(const CallContext& context, const UpgradePolicy& policy, const std::set<std::string>& nodes) override;
  std::map<std::string, absl::Status> TakeRead() override;

 private:
  absl::Status Ready() const override;
  CacheChanges Take() override;
  std::optional<Node> FindNode(const std::string& name) const override;
  std::vector<Pod> DriverPods(const std::string& node) const override { return cache_->DriverPods(driver_, node); }
  std::optional<std::vector<NodeMaintenance>> Maintenances(const std::string& node) const override {
    return cache_->Maintenances(driver_, node);
  }
  absl::StatusOr<NodeDevices> Devices(const std::string& node) const override { return cache_->Devices(driver_, node); }
  bool KnowsClaim(const std::string& ns, const std::string& name) const override {
    return cache_->KnowsClaim(ns, name);
  }
  std::vector<Finding> Findings() const override { return cache_->DeviceFindings(driver_); }
  absl::StatusOr<DriverObjects> Driver() override;
  std::optional<std::vector<Pod>> PodsOn(const std::string& node) const override { return cache_->PodsOn(node); }
  bool KnowsPodsOn(const std::string& node) const override { return cache_->KnowsPodsOn(node); }
  std::vector<std::string> SetInterest(const std::set<std::string>& nodes) override;
  void NodeWritten(const Node& node) override { cache_->NodeWritten(node); }

  // Lists the revisions for listed_for_.
  void ListRevisions();
  // Accepts the result of a finished list. Returns false if no list has finished.
  bool TakeRevisions();

  const std::shared_ptr<WatchCache> cache_;
  const std::size_t driver_;
  const std::shared_ptr<Clock> clock_;
  const absl::Duration call_timeout_;
  PlanExecutor& executor_;
  const std::function<void()> on_change_;
  CallContext context_ = {};                             // context of the current pass
  std::vector<DaemonSet> daemon_sets_;                   // the DaemonSets at the time when revisions_ was listed
  std::map<std::string, ControllerRevision> revisions_;  // by name, from the last list
  std::vector<DaemonSet> listed_for_;
  bool is_listing_ = false;
  absl::Status list_status_ = absl::OkStatus();  // result of the latest list
  std::set<std::string> reading_;                // nodes whose pods are being read
  std::mutex mutex_;
  std::map<std::string, absl::Status> read_;                               // results by node; guarded by mutex_
  std::optional<absl::StatusOr<std::vector<ControllerRevision>>> listed_;  // guarded by mutex_
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_ENGINE_CACHE_READER_H_
