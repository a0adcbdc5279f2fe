// The input of a preflight and of a simulation.
#ifndef DRIVERUPGRADE_SRC_WHATIF_SITUATION_H_
#define DRIVERUPGRADE_SRC_WHATIF_SITUATION_H_

#include <string>

#include "whatif/cluster_facts.h"
#include "whatif/what_if.h"

namespace driverupgrade::whatif {

// A driver, its policy and a cluster, with all that the cluster's objects show. `question` and `facts` must outlive it.
struct Situation {
  const Question& question;
  const ClusterFacts& facts;
  // The origin of the policy, for messages: a file, a custom resource, a member of a document.
  std::string policy_name = "policy";
  // False: the policy is not known, and the question has default values.
  bool knows_policy = true;
};

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_SITUATION_H_
