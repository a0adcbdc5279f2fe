#include "decide/admission/limits_room.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

std::optional<Gate> Describe(const Limit* limit) {
  return limit == nullptr ? std::nullopt : std::optional(limit->Describe());
}

Gate DescribeWith(const Limit& limit, std::size_t taken, std::size_t together) {
  Gate gate = limit.Describe();
  gate.detail += fmt::format(", with {} of the {} nodes that start together", taken, together);
  return gate;
}

}  // namespace

LimitsRoom::LimitsRoom(Limits limits, RoomOfGroups groups, CandidateOf candidate_of)
    : limits_(std::move(limits)), groups_(groups), candidate_of_(std::move(candidate_of)) {
  // A limit that refuses a node without any requirements refuses every node.
  const Candidate nobody{.needs_slot = false, .needs_headroom = false, .takes_headroom = false};
  if (const Limit* limit = limits_.Refusing(nobody)) closed_ = limit->Describe();
}

std::optional<Gate> LimitsRoom::NeverFits(const std::vector<std::size_t>& nodes) const {
  if (groups_.grants_max && nodes.size() > *groups_.grants_max) {
    return Gate{
        .reason = GateReason::kLedger,
        .detail = fmt::format("the ledger: {} nodes start together, but at most {} can have a grant", nodes.size(),
                              *groups_.grants_max),
        .subject = GateSubject(GateSubjectKind::kGroup, "", ""),
        .count = GateCount{.used = static_cast<int>(nodes.size()), .limit = static_cast<int>(*groups_.grants_max)}};
  }
  const std::optional<int> max = groups_.unavailable_max;
  if (!max || nodes.size() < 2 || Takes(nodes) <= *max) return std::nullopt;
  return Gate{.reason = GateReason::kMaxUnavailable,
              .detail = fmt::format("maxUnavailable: {} nodes start together, but at most {} may be unavailable",
                                    Takes(nodes), *max),
              .subject = GateSubject(GateSubjectKind::kGroup, "", ""),
              .count = GateCount{.used = Takes(nodes), .limit = *max}};
}

bool LimitsRoom::FitsLater(const std::vector<std::size_t>& nodes) const {
  if (groups_.grants_max && nodes.size() + groups_.granted_for_long > *groups_.grants_max) return false;
  return !groups_.unavailable_max || Takes(nodes) + groups_.unavailable_for_long <= *groups_.unavailable_max;
}

int LimitsRoom::Takes(const std::vector<std::size_t>& nodes) const {
  return static_cast<int>(std::count_if(nodes.begin(), nodes.end(),
                                        [&](std::size_t node) { return candidate_of_(node).takes_headroom; }));
}

// Encodes all properties of the node that limits check, with one bit for each property.
std::optional<std::size_t> LimitsRoom::KindOf(std::size_t node) const {
  const Candidate& candidate = candidate_of_(node);
  std::size_t kind = 0;
  for (const bool bit :
       {candidate.needs_slot, candidate.needs_headroom, candidate.takes_headroom, candidate.has_grant}) {
    kind = 2 * kind + bit;
  }
  static_assert(kKinds == 16);
  return kind;
}

std::optional<Gate> LimitsRoom::Refusal(const std::vector<std::size_t>& nodes, bool takes_slot) const {
  if (nodes.size() == 1) return Describe(limits_.Refusing(Asked(nodes.front(), takes_slot)));
  Limits trial = limits_;
  for (std::size_t taken = 0; taken < nodes.size(); ++taken) {
    const Candidate candidate = Asked(nodes[taken], takes_slot);
    if (const Limit* limit = trial.Refusing(candidate)) {
      // If a limit refuses this node even on its own, that limit is the reason. If not, `limit` has already admitted
      // nodes of the group, and its counts include them.
      if (const Limit* anyway = limits_.Refusing(candidate)) return anyway->Describe();
      return DescribeWith(*limit, taken, nodes.size());
    }
    trial.Take(candidate);
    takes_slot &= !candidate.needs_slot;
  }
  return std::nullopt;
}

bool LimitsRoom::MayReload(std::size_t node) const {
  Candidate candidate = candidate_of_(node);
  candidate.reloads = true;
  return limits_.Refusing(candidate) == nullptr;
}

void LimitsRoom::Take(const std::vector<std::size_t>& nodes, bool takes_slot) {
  for (const std::size_t node : nodes) {
    const Candidate candidate = Asked(node, takes_slot);
    limits_.Take(candidate);
    takes_slot &= !candidate.needs_slot;
  }
}

Candidate LimitsRoom::Asked(std::size_t node, bool takes_slot) const {
  Candidate candidate = candidate_of_(node);
  candidate.needs_slot &= takes_slot;
  return candidate;
}

}  // namespace driverupgrade::internal
