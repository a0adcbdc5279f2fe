// Decides which nodes are granted a slot, and how grants count against the budgets. Formats and parses grants. Pure.
//
//     sums.Add(verdict.tally, ShareOf(grants, view, verdict));                        // of every node
//     Budgets budgets = sums.AndElsewhere(elsewhere).Against(limits, shared_slots);   // for admission
//     GrantDecision decision = DecideGrants(grants, readings, admitted_uids, 5000);   // for the ledger
//
// A grant names a node and its resource version, and allows any leading replica to start the node at that version. The
// start is a patch with this version as its precondition, so the patch can be applied only while the node is at this
// version. A grant can therefore be dropped:
// - when the node is read at a newer version in a state that holds no slot. Patches that rely on the grant can no
//   longer be applied, and an upgrade that such a patch may have started has ended;
// - when a consistent list of the nodes, started after the grant was read, does not contain the node's UID. Until
//   then the grant counts, even if the patch was lost, or was never sent because the replica crashed.
#ifndef DRIVERUPGRADE_SRC_DECIDE_ADMISSION_GRANTS_H_
#define DRIVERUPGRADE_SRC_DECIDE_ADMISSION_GRANTS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decide/admission/limits.h"
#include "decide/verdict.h"
#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/upgrade_policy.h"

namespace driverupgrade {

NodeReading ReadingOf(const NodeView& view, const Verdict& verdict);
// Returns a reading for a node of which only the UID and the version are known. This reading leaves the node's grant
// unchanged.
NodeReading ReadingElsewhere(const std::string& uid, const std::string& version);

// Returns the version that the node's grant must name; nullopt if the node has no grant or no longer needs a grant.
std::optional<std::string> KeptGrant(const Grants& grants, const NodeReading& node);
// Returns true if the node has a grant that counts against the budgets. A grant that the next change would drop no
// longer counts, because the compare-and-set that drops the grant can also give the slot to another node.
bool Counts(const Grants& grants, const NodeReading& node);
// Returns true if the node has a grant for exactly the version that was read. Such a node can start without a change to
// the grants.
bool IsCurrent(const Grants& grants, const NodeReading& node);
// Returns `tally` with the effect of a grant that counts: the node holds a slot and counts as unavailable. All other
// counts stay the same.
Tally WithGrant(Tally tally);

// The effect of the grants on one node, based on the verdict that the node has without admission.
struct GrantShare {
  bool granted = false;  // the node has a grant
  bool counts = false;   // the grant counts against the budgets
  bool first = false;    // a candidate with a grant for the version that was read; it is admitted first
};
// Returns true if the node counts towards Tally::unavailable in Sums::with.
bool CountsAsUnavailable(const Tally& node, const GrantShare& share);
GrantShare ShareOf(const Grants& grants, const NodeView& view, const Verdict& verdict);

// Sums of the tallies of all nodes, for admission.
struct Sums {
  Tally with = {};       // includes all grants that count
  Tally without = {};    // same as `with`, but without the grants of candidates that are admitted first
  std::size_t kept = 0;  // number of grants that count
  void Add(const Tally& node, const GrantShare& share);
  void Subtract(const Tally& node, const GrantShare& share);
  // Returns these sums plus the grants of nodes that the sums do not include. `grants`: number of such grants.
  Sums AndElsewhere(std::size_t grants) const;
  // Returns the budgets for these sums under `limits`. `unavailable`: UpgradeBudget::unavailable_nodes.
  Budgets Against(const AdmissionLimits& limits, const std::optional<SharedSlots>& shared,
                  std::vector<std::string> unavailable = {}) const;
};

// Returns the number of slots in use after `plan`: slots that nodes already hold, and slots of nodes that the plan
// starts.
int SlotsAfter(const Plan& plan);

struct GrantDecision {
  // All grants to store.
  Grants grants = {};
  // UIDs of the nodes in `wanted` that may start at the version that was read, once `grants` are stored.
  std::vector<std::string> admitted = {};
  // UIDs of the other nodes in `wanted`. They wait because the number of grants is at its limit, or because the data
  // about them is outdated.
  std::vector<std::string> held_back = {};
  friend bool operator==(const GrantDecision&, const GrantDecision&) = default;
};
// Decides which nodes may start, and which grants to store. `nodes`: existing nodes, from a list that was started after
// `grants` had been read. The list must include every existing node that has a grant or is in `wanted`. `wanted`: UIDs
// to admit, in order. The budgets must have a slot for each of these UIDs, in addition to the slots of all grants for
// which Counts returns true. The result has at most `grants_max` grants unless `grants` already exceeds this limit.
GrantDecision DecideGrants(const Grants& grants, const std::vector<NodeReading>& nodes,
                           const std::vector<std::string>& wanted, std::size_t grants_max);

// Returns one line for each grant, sorted by UID: `<node UID> <version>`.
std::string FormatGrants(const Grants& grants);
struct ParsedGrants {
  Grants grants = {};
  // Description of the invalid lines; empty if all lines are valid.
  std::string error = {};
};
// Parses the text of FormatGrants. Never drops a line that could be a grant: the first word of a malformed line is
// treated as a UID, and the version counts as lost. Such a grant counts until a list of the nodes shows that no node
// has this UID. An invalid line can therefore neither free a used slot nor occupy a slot permanently. If a node has two
// grants, the newer grant counts.
ParsedGrants ParseGrants(std::string_view text);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_DECIDE_ADMISSION_GRANTS_H_
