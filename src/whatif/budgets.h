// Finds the disruption budgets that prevent an eviction, as the API server does.
#ifndef DRIVERUPGRADE_SRC_WHATIF_BUDGETS_H_
#define DRIVERUPGRADE_SRC_WHATIF_BUDGETS_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "whatif/cluster_facts.h"

namespace driverupgrade::whatif {

// Refers to `objects` and `facts`, which must outlive it.
class Budgets {
 public:
  Budgets(const ClusterObjects& objects, const ClusterFacts& facts);

  // Returns the budgets that may select the pod: a namespace has as many budgets as workloads, too many to check each
  // of them for each pod.
  std::vector<const PodDisruptionBudget*> Candidates(const Pod& pod) const;
  // Returns the budgets that select the pod, by name.
  std::vector<const PodDisruptionBudget*> Of(const Pod& pod) const;
  // Returns why an eviction of the pod would be refused now; nullopt if it would be accepted.
  std::optional<Gate> Refusal(const Pod& pod) const;
  // Returns true if the budget allows no eviction even if every pod is healthy.
  bool NeverAllows(const PodDisruptionBudget& budget) const;

 private:
  using List = std::vector<const PodDisruptionBudget*>;
  struct OfNamespace {
    // Budgets by a label that they require, and its value.
    std::map<std::pair<std::string, std::string>, List> by_label = {};
    List others = {};
  };
  const ClusterFacts& facts_;
  std::map<std::string, OfNamespace> by_namespace_;
};

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_BUDGETS_H_
