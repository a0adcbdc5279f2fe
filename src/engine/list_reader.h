// Reads objects without a cache: lists all of them in every pass.
#ifndef DRIVERUPGRADE_SRC_ENGINE_LIST_READER_H_
#define DRIVERUPGRADE_SRC_ENGINE_LIST_READER_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "engine/pod_lists.h"
#include "engine/reader.h"
#include "read/listed_objects.h"

namespace driverupgrade::internal {

class ListReader final : public Reader {
 public:
  ListReader(std::shared_ptr<ClusterReader> cluster, ViewScope scope)
      : cluster_(std::move(cluster)), scope_(std::move(scope)) {}

  ObjectSource& objects() override { return objects_; }
  absl::Status Begin(const CallContext& context, LedgerSteps* ledger) override {
    DRIVERUPGRADE_RETURN_IF_ERROR(objects_.List(context, *cluster_, scope_));
    if (ledger != nullptr) ledger->NodesListed(objects_.Uids());
    return absl::OkStatus();
  }
  // Reads the pods, and waits for the results.
  void ReadPods(const CallContext& context, const UpgradePolicy& policy, const std::set<std::string>& nodes) override {
    read_ = ReadsAllPods(policy, nodes.size()) ? objects_.ListAllPods(context, *cluster_, nodes)
                                               : objects_.ListPodsOf(context, *cluster_, nodes);
  }
  void End() override { objects_ = {}; }
  std::map<std::string, absl::Status> TakeRead() override { return std::exchange(read_, {}); }

 private:
  const std::shared_ptr<ClusterReader> cluster_;
  const ViewScope scope_;
  ListedObjects objects_;
  std::map<std::string, absl::Status> read_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_ENGINE_LIST_READER_H_
