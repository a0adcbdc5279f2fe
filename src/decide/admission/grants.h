// Which nodes have been promised a slot, what follows for the budgets, and how the promises are spelled.
//
//     sums.Add(verdict.tally, ShareOf(grants, view, verdict));                        // of every node
//     Budgets budgets = sums.AndElsewhere(elsewhere).Against(limits, shared_slots);   // for admission
//     GrantDecision decision = DecideGrants(grants, readings, admitted_uids, 5000);   // for the ledger
//
// A grant says: this node, at this version, may be started by whoever leads. The start is a patch with that version as
// precondition, so it can be applied only while the node is at it. From this follows when a grant may go:
// - when its node is read at a newer version in a state that holds no slot: no patch that relies on it can be applied
//   any more, and what one may have begun has ended;
// - when a consistent list of the nodes, begun after the grant was read, has no node of that UID.
// Until then it counts, whether the patch was sent, lost, or never made because the replica crashed. Pure.
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
// Of a node of which nothing is known, so that its grant stays as it is.
NodeReading ReadingElsewhere(const std::string& uid, const std::string& version);

// The version that the node's grant is to be for by what was read; nullopt: there is none, or it may go.
std::optional<std::string> KeptGrant(const Grants& grants, const NodeReading& node);
// Whether there is a grant for the node that counts against the budgets. One that would go with the next change counts
// no more: whoever is given the slot gets it in the same compare-and-set.
bool Counts(const Grants& grants, const NodeReading& node);
// Whether there is a grant for the very version that was read: the node may be started without another change.
bool IsCurrent(const Grants& grants, const NodeReading& node);
// The share of a node with a grant that counts: a slot, and unavailable. The totals for people stay as they are.
Tally WithGrant(Tally tally);

// What the grants have to do with a node, when it is judged without being admitted.
struct GrantShare {
  bool granted = false;  // it has one,
  bool counts = false;   // which counts against the budgets,
  bool first = false;    // and is for the version that was read of a candidate, which is admitted first
};
// Whether the node is one of Tally::unavailable in Sums::with.
bool CountsAsUnavailable(const Tally& node, const GrantShare& share);
GrantShare ShareOf(const Grants& grants, const NodeView& view, const Verdict& verdict);

// The sums over nodes that admission goes by.
struct Sums {
  Tally with = {};     // each grant that counts
  Tally without = {};  // all but those of the candidates that go first
  std::size_t kept = 0;  // grants that count
  void Add(const Tally& node, const GrantShare& share);
  void Subtract(const Tally& node, const GrantShare& share);
  // Grants whose nodes are not among those that are judged.
  Sums AndElsewhere(std::size_t grants) const;
  // `unavailable`: UpgradeBudget::unavailable_nodes.
  Budgets Against(const AdmissionLimits& limits, const std::optional<SharedSlots>& shared,
                  std::vector<std::string> unavailable = {}) const;
};

struct GrantDecision {
  // All grants as they are to be.
  Grants grants = {};
  // UIDs of those of `wanted` that may be started, at the version that was read, once `grants` are stored.
  std::vector<std::string> admitted = {};
  // UIDs of the rest: there are too many grants, or what was read of the node is out of date.
  std::vector<std::string> held_back = {};
  friend bool operator==(const GrantDecision&, const GrantDecision&) = default;
};
// `nodes`: those that exist, by a list begun after `grants` were known, at least all that have a grant or are wanted.
// `wanted`: UIDs to admit, in order; they have a slot in the budgets, with every grant counted that Counts. No more
// than `grants_max` grants come about.
GrantDecision DecideGrants(const Grants& grants, const std::vector<NodeReading>& nodes,
                           const std::vector<std::string>& wanted, std::size_t grants_max);

// One line for each grant, in order of the UIDs: `<node UID> <version>`.
std::string FormatGrants(const Grants& grants);
struct ParsedGrants {
  Grants grants = {};
  // What makes no sense; empty if all does.
  std::string error = {};
};
// Drops nothing that might be a grant: of a line that is no grant the first word is taken for a UID, and the version
// for lost. It counts until a list of the nodes shows that there is no such UID, so garbage neither frees a slot that
// is held nor keeps one for good. Of two grants for one node the newer counts.
ParsedGrants ParseGrants(std::string_view text);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_DECIDE_ADMISSION_GRANTS_H_
