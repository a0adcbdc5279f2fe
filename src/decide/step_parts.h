// What StateMachine::Step and IncrementalPlanner do alike.
#ifndef DRIVERUPGRADE_SRC_DECIDE_STEP_PARTS_H_
#define DRIVERUPGRADE_SRC_DECIDE_STEP_PARTS_H_

#include <cstddef>
#include <map>
#include <string>

#include "driverupgrade/admission_grants.h"
#include "driverupgrade/state_machine.h"

namespace driverupgrade::inline v1::internal {

// The sum over all nodes, with what the policy counts besides them.
Tally Totals(Tally nodes, const DriverFacts& driver, const UpgradePolicy& policy);

// What the grants have to do with a node, when it is judged without being admitted.
struct GrantShare {
  bool granted = false;  // it has one,
  bool counts = false;   // which counts against the budgets,
  bool first = false;    // and is for the version that was read of a candidate, which is admitted first
};
GrantShare ShareOf(const Grants& grants, const NodeView& view, const Verdict& verdict);

// The sums over nodes that admission goes by, see AdmitGrantedFirst.
struct Sums {
  Tally with = {};     // each grant that counts
  Tally without = {};  // all but those of the candidates that go first
  void Add(const Tally& node, const GrantShare& share);
  void Subtract(const Tally& node, const GrantShare& share);
  // Grants whose nodes are not among those that are judged.
  Sums AndElsewhere(std::size_t grants) const;
};

NodeReading ReadingOf(const NodeView& view, const Verdict& verdict);
// Of a node of which nothing is known, so that its grant stays as it is.
NodeReading ReadingElsewhere(const std::string& uid, const std::string& version);

// Adds the verdict on `node` to all but the totals, the budget and the readings of `plan`.
void AddVerdict(const std::string& node, Verdict&& verdict, Plan& plan);

// What was planned for a node is not to be done now, and it waits for `gate`: it stays where it is.
void Withhold(const Gate& gate, Verdict& verdict);
// The same in a complete plan, by the nodes' names.
void Withhold(const std::map<std::string, Gate>& gates, Plan& plan);

}  // namespace driverupgrade::inline v1::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_STEP_PARTS_H_
