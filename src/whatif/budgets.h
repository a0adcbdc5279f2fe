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

  // Returns the budgets that may select the pod. A namespace can have one for each workload, which is too many to check
  // every budget for every pod.
  std::vector<const PodDisruptionBudget*> Candidates(const Pod& pod) const;
  // Returns the budgets that select the pod, by name.
  std::vector<const PodDisruptionBudget*> Of(const Pod& pod) const;
  // Returns why an eviction of the pod would be refused now; nullopt if it would be accepted.
  std::optional<Gate> Refusal(const Pod& pod) const;
  // Returns true if the budget never allows an eviction, even when every pod is healthy.
  bool NeverAllows(const PodDisruptionBudget& budget) const;

 private:
  using List = std::vector<const PodDisruptionBudget*>;
  struct OfNamespace {
    // Budgets, by the key and value of a label that they require.
    std::map<std::pair<std::string, std::string>, List> by_label = {};
    List others = {};
  };
  const ClusterFacts& facts_;
  std::map<std::string, OfNamespace> by_namespace_;
};

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_BUDGETS_H_
