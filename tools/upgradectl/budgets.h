// Which disruption budgets stand in the way of an eviction, as the API server would judge.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_BUDGETS_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_BUDGETS_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "upgradectl/facts.h"

namespace upgradectl {

/// Refers to `objects` and `facts`, which must outlive it.
class Budgets {
 public:
  Budgets(const driverupgrade::ClusterObjects& objects, const Facts& facts);

  /// Those that may select the pod: a namespace has as many as it has workloads, so that not each can be tried on each pod.
  std::vector<const driverupgrade::PodDisruptionBudget*> Candidates(const driverupgrade::Pod& pod) const;
  /// Those that select the pod, by name.
  std::vector<const driverupgrade::PodDisruptionBudget*> Of(const driverupgrade::Pod& pod) const;
  /// Why an eviction of the pod would be refused now; nullopt if it would not be.
  std::optional<driverupgrade::Gate> Refusal(const driverupgrade::Pod& pod) const;
  /// Even with every pod healthy it allows none to go.
  bool NeverAllows(const driverupgrade::PodDisruptionBudget& budget) const;

 private:
  using List = std::vector<const driverupgrade::PodDisruptionBudget*>;
  struct OfNamespace {
    // By a label, and its value, that a pod has to have.
    std::map<std::pair<std::string, std::string>, List> by_label = {};
    List others = {};
  };
  const Facts& facts_;
  std::map<std::string, OfNamespace> by_namespace_;
};

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_BUDGETS_H_
