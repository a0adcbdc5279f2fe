// The input of preflights and simulations.
#ifndef DRIVERUPGRADE_SRC_WHATIF_SITUATION_H_
#define DRIVERUPGRADE_SRC_WHATIF_SITUATION_H_

#include <string>

#include "whatif/cluster_facts.h"
#include "whatif/what_if.h"

namespace driverupgrade::whatif {

// A question about a driver, its policy and a cluster, with further facts from the cluster's objects. `question` and
// `facts` must outlive the situation.
struct Situation {
  const Question& question;
  const ClusterFacts& facts;
  // Origin of the policy, for messages: a file, a custom resource, or a member of a document.
  std::string policy_name = "policy";
  // False if the policy is not known and the question has the default policy.
  bool knows_policy = true;
};

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_SITUATION_H_
