#include "decide/admission_queue.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "fmt/format.h"

namespace driverupgrade::inline v1::internal {

std::optional<GateReason> AdmissionRound::Closed() const {
  if (paused_) return GateReason::kPaused;
  if (budget_.Halted()) return GateReason::kMaxFailures;
  return std::nullopt;
}

std::optional<GateReason> AdmissionRound::Refusal(const Candidate& candidate) const {
  if (const auto closed = Closed()) return closed;
  if (candidate.needs_slot && SlotsAreOut()) return GateReason::kMaxParallel;
  if (candidate.needs_headroom && taken_headroom_ >= budget_.Headroom()) return GateReason::kMaxUnavailable;
  return std::nullopt;
}

void AdmissionRound::Take(const Candidate& candidate) {
  taken_slots_ += candidate.needs_slot;
  taken_headroom_ += candidate.takes_headroom;
}

Gate AdmissionRound::Describe(GateReason reason) const {
  switch (reason) {
    case GateReason::kPaused: return {.reason = reason, .detail = "the policy is paused"};
    case GateReason::kMaxFailures:
      return {.reason = reason,
              .detail = fmt::format("failurePolicy.maxFailures: {} nodes have failed, {} stop the rollout",
                                    budget_.failed, budget_.failures_max.value_or(0))};
    case GateReason::kMaxParallel:
      return {.reason = reason,
              .detail = fmt::format("maxParallelUpgrades: {} of {} slots are taken",
                                    budget_.parallel_used + taken_slots_, budget_.parallel_max.value_or(0))};
    default:
      return {.reason = GateReason::kMaxUnavailable,
              .detail = fmt::format("maxUnavailable: {} of {} nodes are unavailable",
                                    budget_.unavailable + taken_headroom_, budget_.unavailable_max.value_or(0))};
  }
}

Gate AtPlace(Gate gate, int place) {
  absl::StrAppend(&gate.detail, "; place ", place, " in the queue");
  return gate;
}

std::size_t AdmissionQueue::KindOf(const Candidate& candidate) {
  return (candidate.needs_slot ? 4U : 0U) + (candidate.needs_headroom ? 2U : 0U) + (candidate.takes_headroom ? 1U : 0U);
}

Candidate AdmissionQueue::OfKind(std::size_t kind) {
  return {.needs_slot = (kind & 4U) != 0, .needs_headroom = (kind & 2U) != 0, .takes_headroom = (kind & 1U) != 0};
}

void AdmissionQueue::Add(const Candidate& candidate) {
  waiting_[KindOf(candidate)].insert({candidate.own_node, candidate.node});
}

void AdmissionQueue::Remove(const Candidate& candidate) {
  waiting_[KindOf(candidate)].erase({candidate.own_node, candidate.node});
}

std::optional<std::size_t> AdmissionQueue::NextKind(const AdmissionRound& budgets) const {
  std::optional<std::size_t> next;
  for (std::size_t kind = 0; kind < waiting_.size(); ++kind) {
    if (waiting_[kind].empty() || budgets.Refusal(OfKind(kind))) continue;
    if (!next || *waiting_[kind].begin() < *waiting_[*next].begin()) next = kind;
  }
  return next;
}

std::vector<Candidate> AdmissionQueue::Admit(const UpgradeBudget& budget, bool paused) {
  before_ = std::move(round_);
  round_ = {.budgets = AdmissionRound(budget, paused)};
  if (round_.budgets.SlotsAreOut()) round_.last_slot = Key();
  std::vector<Candidate> admitted;
  while (const std::optional<std::size_t> kind = NextKind(round_.budgets)) {
    auto first = waiting_[*kind].extract(waiting_[*kind].begin());
    Candidate candidate = OfKind(*kind);
    std::tie(candidate.own_node, candidate.node) = first.value();
    round_.budgets.Take(candidate);
    if (!round_.last_slot && round_.budgets.SlotsAreOut()) round_.last_slot = std::move(first.value());
    admitted.push_back(std::move(candidate));
  }
  return admitted;
}

// Of the two budgets a refusal names the slots, once they are out. Only a node that needs both can be refused before.
GateReason AdmissionQueue::ReasonAt(std::size_t kind, const Key& key) const {
  if (const auto closed = round_.budgets.Closed()) return *closed;
  const bool needs_slot = OfKind(kind).needs_slot;
  return needs_slot && round_.last_slot && *round_.last_slot < key ? GateReason::kMaxParallel
                                                                   : GateReason::kMaxUnavailable;
}

std::vector<std::string> AdmissionQueue::ChangedRefusals() const {
  const bool all = round_.budgets.Closed() != before_.budgets.Closed();
  if (!all && (round_.budgets.Closed() || round_.last_slot == before_.last_slot)) return {};
  std::vector<std::string> changed;
  for (std::size_t kind = 0; kind < waiting_.size(); ++kind) {
    const Nodes& nodes = waiting_[kind];
    auto from = nodes.begin();
    auto to = nodes.end();
    if (!all) {
      // Only those between the two ends of the slots: before both, and behind both, nothing has changed.
      if (!OfKind(kind).needs_slot || !OfKind(kind).needs_headroom) continue;
      const auto position = [&](const std::optional<Key>& key) { return key ? nodes.upper_bound(*key) : nodes.end(); };
      const bool later = before_.last_slot && (!round_.last_slot || *before_.last_slot < *round_.last_slot);
      from = position(later ? before_.last_slot : round_.last_slot);
      to = position(later ? round_.last_slot : before_.last_slot);
    }
    for (; from != to; ++from) changed.push_back(from->second);
  }
  return changed;
}

Gate AdmissionQueue::Refusal(const Candidate& candidate) const {
  return round_.budgets.Describe(ReasonAt(KindOf(candidate), {candidate.own_node, candidate.node}));
}

Gate AdmissionQueue::RefusalAtPlace(const Candidate& candidate, std::size_t ahead) const {
  const Key key(candidate.own_node, candidate.node);
  auto before = static_cast<std::ptrdiff_t>(ahead);
  for (const Nodes& nodes : waiting_) before += std::distance(nodes.begin(), nodes.lower_bound(key));
  return AtPlace(Refusal(candidate), static_cast<int>(before) + 1);
}

std::map<std::string, Gate> AdmissionQueue::AllRefusals(std::size_t ahead) const {
  std::map<Key, std::size_t> kinds;
  for (std::size_t kind = 0; kind < waiting_.size(); ++kind) {
    for (const Key& key : waiting_[kind]) kinds.emplace(key, kind);
  }
  std::map<std::string, Gate> refusals;
  auto place = static_cast<int>(ahead);
  for (const auto& [key, kind] : kinds) {
    refusals[key.second] = AtPlace(round_.budgets.Describe(ReasonAt(kind, key)), ++place);
  }
  return refusals;
}

std::size_t AdmissionQueue::size() const {
  std::size_t size = 0;
  for (const Nodes& nodes : waiting_) size += nodes.size();
  return size;
}

}  // namespace driverupgrade::inline v1::internal
