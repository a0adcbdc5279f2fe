#include "exhaustive/admission_table.h"

#include <algorithm>
#include <string>
#include <vector>

#include "decide/admission/grants.h"
#include "fmt/format.h"
#include "support/admission.h"

namespace driverupgrade::tests {
namespace {

// Version of a node that a controller has read. The node's grant names an earlier version, the same version, or a later
// version.
constexpr const char* kSeenVersion = "5";
constexpr std::size_t kGrantsMax = 5000;
constexpr std::array<const char*, kNodesMax> kLater = {"later-0", "later-1", "later-2", "later-3", "later-4"};

std::string UidOf(std::size_t node) { return fmt::format("uid-{}", node); }

Grants GrantsOf(const NodeShare& share, std::size_t node) {
  switch (share.relation) {
    case Relation::kNone: return {};
    case Relation::kOlder: return {{UidOf(node), "4"}};
    case Relation::kEqual: return {{UidOf(node), kSeenVersion}};
    case Relation::kNewer: return {{UidOf(node), "6"}};
  }
  return {};
}

NodeReading ReadingOf(const NodeShare& share, std::size_t node) {
  return {.uid = UidOf(node), .resource_version = kSeenVersion, .holds_slot = share.holds_slot};
}

constexpr int kShareBits = 8;
std::uint64_t Pack(const NodeShare& share) {
  return static_cast<std::uint64_t>(share.relation) | std::uint64_t{share.holds_slot} << 2 |
         std::uint64_t{share.unavailable} << 3 | std::uint64_t{share.candidate} << 4 |
         std::uint64_t{share.needs_slot} << 5 | std::uint64_t{share.needs_headroom} << 6 |
         std::uint64_t{share.takes_headroom} << 7;
}

}  // namespace

NodeShare ShareOf(const Judged& judged, const Side& side) {
  NodeShare share{.holds_slot = judged.tally.slots > 0,
                  .unavailable = judged.tally.unavailable > 0,
                  .candidate = judged.candidate.has_value()};
  if (side.grant != 0) {
    share.relation = side.grant < side.version    ? Relation::kOlder
                     : side.grant == side.version ? Relation::kEqual
                                                  : Relation::kNewer;
  }
  if (judged.candidate) {
    share.needs_slot = judged.candidate->needs_slot;
    share.needs_headroom = judged.candidate->needs_headroom;
    share.takes_headroom = judged.candidate->takes_headroom;
  }
  return share;
}

std::uint64_t AdmissionTable::Key(const NodeShares& shares, std::size_t question) const {
  std::uint64_t key = question << (kShareBits * kNodesMax);
  for (std::size_t i = 0; i < size(); ++i) key |= Pack(shares[i]) << (kShareBits * i);
  return key;
}

bool AdmissionTable::Admits(const NodeShares& shares, std::size_t node) {
  const auto [known, is_new] = admitted_.try_emplace(Key(shares, node));
  if (is_new) known->second = Admit(shares, node);
  return known->second;
}

// Applies the budgets as described in ledger/admission_ledger.h.
bool AdmissionTable::Admit(const NodeShares& shares, std::size_t node) const {
  Sums sums;
  std::vector<WaitingNode> waiting;
  std::size_t first = 0;  // index of `node` among the waiting nodes
  for (std::size_t i = 0; i < size(); ++i) {
    const NodeShare& share = shares[i];
    const Tally own{.total = 1, .slots = share.holds_slot, .unavailable = share.unavailable};
    const Grants grants = options_.defect == Defect::kIgnoresGrants ? Grants{} : GrantsOf(share, i);
    const NodeReading reading = ReadingOf(share, i);
    const bool current = share.candidate && IsCurrent(grants, reading);
    sums.with += Counts(grants, reading) ? WithGrant(own) : own;
    sums.without += Counts(grants, reading) && !current ? WithGrant(own) : own;
    if (!share.candidate) continue;
    if (i == node) first = waiting.size();
    waiting.push_back({.node = i == node ? "first" : kLater[i],
                       .candidate = {.needs_slot = share.needs_slot,
                                     .needs_headroom = share.needs_headroom,
                                     .takes_headroom = share.takes_headroom,
                                     .has_grant = current}});
  }
  const Budgets budgets = sums.Against(PolicyOf(options_), /*shared=*/std::nullopt);
  const auto decisions = tests::Admit(Limits::Of(budgets, /*paused=*/false), waiting);
  return shares[node].candidate &&
         std::any_of(decisions.begin(), decisions.end(),
                     [&](const AdmissionDecision& decision) { return decision.index == first && !decision.gate; });
}

const LedgerDecision& AdmissionTable::Decide(const NodeShares& shares, const std::optional<std::size_t>& wanted) {
  const auto [known, is_new] = decided_.try_emplace(Key(shares, wanted ? *wanted + 1 : 0));
  if (is_new) known->second = DecideAnew(shares, wanted);
  return known->second;
}

LedgerDecision AdmissionTable::DecideAnew(const NodeShares& shares, const std::optional<std::size_t>& wanted) const {
  Grants grants;
  std::vector<NodeReading> readings;
  for (std::size_t i = 0; i < size(); ++i) {
    grants.merge(GrantsOf(shares[i], i));
    readings.push_back(ReadingOf(shares[i], i));
  }
  std::vector<std::string> uids;
  if (wanted) uids.push_back(UidOf(*wanted));
  const GrantDecision decided = DecideGrants(grants, readings, uids, kGrantsMax);
  LedgerDecision decision{.changes = decided.grants != grants, .admits = !decided.admitted.empty()};
  for (std::size_t i = 0; i < size(); ++i) {
    const auto before = grants.find(UidOf(i));
    const auto after = decided.grants.find(UidOf(i));
    if (after == decided.grants.end()) {
      decision.grants[i] = LedgerDecision::Grant::kNone;
    } else if (before == grants.end() || before->second != after->second) {
      decision.grants[i] = LedgerDecision::Grant::kOfThisVersion;
    }
  }
  return decision;
}

}  // namespace driverupgrade::tests
