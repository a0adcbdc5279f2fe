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

// `objects` and `facts` must outlive this object.
class Budgets {
 public:
  Budgets(const ClusterObjects& objects, const ClusterFacts& facts);

  // Returns the budgets that may select the pod, found by namespace and label. A namespace can have a budget for each
  // workload, so checking every budget for every pod would take too long.
  std::vector<const PodDisruptionBudget*> Candidates(const Pod& pod) const;
  // Returns the budgets that select the pod, sorted by name.
  std::vector<const PodDisruptionBudget*> Of(const Pod& pod) const;
  // Returns the gate that describes why an eviction of the pod would be refused now; nullopt if it would be accepted.
  std::optional<Gate> Refusal(const Pod& pod) const;
  // Returns true if the budget never allows an eviction, even when every pod is healthy.
  bool NeverAllows(const PodDisruptionBudget& budget) const;

 private:
  using List = std::vector<const PodDisruptionBudget*>;
  struct OfNamespace {
    // Budgets that require a label, by the label's key and each allowed value.
    std::map<std::pair<std::string, std::string>, List> by_label = {};
    List others = {};
  };
  const ClusterFacts& facts_;
  std::map<std::string, OfNamespace> by_namespace_;
};

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_BUDGETS_H_
