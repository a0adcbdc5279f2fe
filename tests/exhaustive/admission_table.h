// A table of the library's decisions about several nodes: which nodes the budgets admit, and how the grants change.
//
// Defines NodeShare, LedgerDecision and AdmissionTable. Admit and DecideGrants use only a few properties of a node, so
// the table decides each combination of these properties only once.
#ifndef DRIVERUPGRADE_TESTS_EXHAUSTIVE_ADMISSION_TABLE_H_
#define DRIVERUPGRADE_TESTS_EXHAUSTIVE_ADMISSION_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "exhaustive/node_world.h"

namespace driverupgrade::tests {

// Compares the version in a node's grant with the version of the node that a controller has read. The grant is taken
// from the controller's copy of the ledger.
enum class Relation : std::uint8_t { kNone, kOlder, kEqual, kNewer };

// The relevant properties of a node, as one controller sees it.
struct NodeShare {
  Relation relation = Relation::kNone;
  bool holds_slot = false;
  bool unavailable = false;
  bool candidate = false;
  bool needs_slot = false;
  bool needs_headroom = false;
  bool takes_headroom = false;
};
NodeShare ShareOf(const Judged& judged, const Side& side);

using NodeShares = std::array<NodeShare, kNodesMax>;

// DecideGrants' decision about each node's grant.
struct LedgerDecision {
  enum class Grant : std::uint8_t { kAsItIs, kNone, kOfThisVersion };
  bool changes = false;
  // True if the requested node may start once the decision is stored.
  bool admits = false;
  std::array<Grant, kNodesMax> grants = {};
};

class AdmissionTable {
 public:
  explicit AdmissionTable(const ModelOptions& options) : options_(options) {}

  // Returns whether the budgets have room for the node, assuming that it comes first in name order.
  bool Admits(const NodeShares& shares, std::size_t node);
  const LedgerDecision& Decide(const NodeShares& shares, const std::optional<std::size_t>& wanted);

 private:
  std::size_t size() const { return static_cast<std::size_t>(options_.nodes); }
  std::uint64_t Key(const NodeShares& shares, std::size_t question) const;
  bool Admit(const NodeShares& shares, std::size_t node) const;
  LedgerDecision DecideAnew(const NodeShares& shares, const std::optional<std::size_t>& wanted) const;

  const ModelOptions options_;
  std::unordered_map<std::uint64_t, bool> admitted_;
  std::unordered_map<std::uint64_t, LedgerDecision> decided_;
};

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_EXHAUSTIVE_ADMISSION_TABLE_H_
