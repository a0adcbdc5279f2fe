// docs/the-parts.md
#include <iostream>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "driverupgrade/testing/facade_contract.h"

using namespace driverupgrade;

struct Store {};
std::unique_ptr<ClusterFacade> MakeFacade(Store& store);
absl::StatusOr<std::string> MakeNamespaceIn(Store& store, int number);
absl::StatusOr<Node> Put(Store& store, const Node& node);
absl::StatusOr<Pod> Put(Store& store, const Pod& pod);
absl::Status Touch(Store& store, const std::string& node);
absl::Status PutBudget(Store& store, const std::string& ns, const std::string& name, const StringMap& labels);
absl::StatusOr<DaemonSet> PutDaemonSet(Store& store, const std::string& ns, const std::string& name);

// BLOCK
