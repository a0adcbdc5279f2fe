#include "exhaustive/cluster_world.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

namespace driverupgrade::tests {
ClusterWorld::ClusterWorld(const ModelOptions& options) : options_(options), nodes_(options), admission_(options) {}

ClusterState ClusterWorld::First() const {
  ClusterState state{.faults = static_cast<std::uint8_t>(options_.faults), .current = (1U << kControllersMax) - 1};
  std::fill_n(state.nodes.begin(), size(), nodes_.first());
  return state;
}

void ClusterWorld::Expand(const ClusterState& state, const Visitor& visit) {
  for (std::size_t i = 0; i < size(); ++i) {
    if (i == 0 || state.nodes[i] != state.nodes[i - 1]) ExpandNode(state, i, visit);
  }
  for (int c = 0; c < options_.controllers; ++c) ExpandController(state, c, visit);
  if (state.late_ledger) ExpandLateLedger(state, visit);
}

void ClusterWorld::ExpandNode(const ClusterState& state, std::size_t i, const Visitor& visit) {
  const NodeId id = state.nodes[i];
  const auto visit_moves = [&](const std::vector<Move>& moves, bool start) {
    for (const Move& move : moves) {
      if (IsFault(move.kind) && state.faults == 0) continue;
      if (move.kind > LastKind()) continue;
      ClusterState next = With(state, i, move.to);
      if (IsFault(move.kind)) --next.faults;
      if (move.kind == MoveKind::kPatchLateAndCrash) next = Crashed(next, move.controller);
      Emit(next,
           {.what = ToString(move.kind),
            .controller = move.controller,
            .from = id,
            .to = move.to,
            .start = start,
            .broken = nodes_.broken(move.broken)},
           visit);
    }
  };
  visit_moves(nodes_.moves(id), false);
  for (int c = 0; c < options_.controllers; ++c) {
    if (MayStart(state, c, i)) visit_moves(nodes_.starts(id, c), true);
  }
}

MoveKind ClusterWorld::LastKind() const {
  if (options_.kinds == FaultKinds::kLostAnswers) return MoveKind::kPatchLate;
  return options_.kinds == FaultKinds::kAll ? MoveKind::kAdminUncordons : MoveKind::kPatchLateAndCrash;
}

void ClusterWorld::ExpandController(const ClusterState& state, int controller, const Visitor& visit) {
  if (state.faults > 0 && options_.kinds != FaultKinds::kLostAnswers) {
    ClusterState crashed = Crashed(state, controller);
    --crashed.faults;
    Emit(crashed, {.what = "crashes", .controller = controller}, visit);
  }
  if (!options_.ledger) return;
  const NodeShares shares = Shares(state, controller);
  ExpandLedger(state, controller, std::nullopt, visit);
  for (std::size_t i = 0; i < size(); ++i) {
    if (i > 0 && state.nodes[i] == state.nodes[i - 1]) continue;
    if (NeedsGrant(state, controller, i) && admission_.Admits(shares, i)) ExpandLedger(state, controller, i, visit);
  }
}

// Models AdmissionLedger::Settle, including the Read that follows if Settle fails.
void ClusterWorld::ExpandLedger(const ClusterState& state, int controller, const std::optional<std::size_t>& wanted,
                                const Visitor& visit) {
  const LedgerDecision& decision = admission_.Decide(Shares(state, controller), wanted);
  if (!decision.changes) return;
  Step step{.what = "writes the ledger", .controller = controller};
  if (wanted) step.from = step.to = state.nodes[*wanted];
  if ((state.current >> controller & 1) == 0) {
    step.what = "writes an old version of the ledger, 409, and reads it";
    return Emit(CopyLedger(state, controller), step, visit);
  }
  Emit(StoreGrants(state, controller, decision, /*late=*/false), step, visit);
  if (state.faults == 0 || state.late_ledger) return;
  ClusterState late = StoreGrants(state, controller, decision, /*late=*/true);
  --late.faults;
  step.what = "writes the ledger, no answer, still under way";
  Emit(late, step, visit);
  step.what = "writes the ledger and crashes, still under way";
  Emit(Crashed(late, controller), step, visit);
}

void ClusterWorld::ExpandLateLedger(const ClusterState& state, const Visitor& visit) {
  ClusterState lost = Changed(state, [](NodeState& node) { node.late_grant = 0; });
  lost.late_ledger = false;
  Emit(lost, {.what = "the write of the ledger under way is lost"}, visit);
  ClusterState landed = Changed(state, [](NodeState& node) { node.grant = std::exchange(node.late_grant, 0); });
  landed.late_ledger = false;
  landed.current = 0;
  Emit(landed, {.what = "the write of the ledger under way is applied"}, visit);
}

// ----- states

ClusterState ClusterWorld::With(const ClusterState& state, std::size_t i, NodeId to) const {
  ClusterState next = state;
  next.nodes[i] = to;
  return next;
}

template <typename F>
ClusterState ClusterWorld::Changed(ClusterState state, F change) {
  for (std::size_t i = 0; i < size(); ++i) {
    NodeState node = nodes_.state(state.nodes[i]);
    change(node);
    state.nodes[i] = nodes_.IdOf(node);
  }
  return state;
}

ClusterState ClusterWorld::Crashed(ClusterState state, int controller) {
  for (std::size_t i = 0; i < size(); ++i) state.nodes[i] = nodes_.Crashed(state.nodes[i], controller);
  state.current |= static_cast<std::uint8_t>(1U << controller);
  return state;
}

ClusterState ClusterWorld::CopyLedger(ClusterState state, int controller) {
  const auto c = static_cast<std::size_t>(controller);
  state = Changed(state, [c](NodeState& node) { node.sides[c].grant = node.grant; });
  state.current |= static_cast<std::uint8_t>(1U << controller);
  return state;
}

ClusterState ClusterWorld::StoreGrants(ClusterState state, int controller, const LedgerDecision& decision, bool late) {
  const auto c = static_cast<std::size_t>(controller);
  for (std::size_t i = 0; i < size(); ++i) {
    NodeState node = nodes_.state(state.nodes[i]);
    std::uint8_t grant = node.sides[c].grant;
    if (decision.grants[i] == LedgerDecision::Grant::kNone) grant = 0;
    if (decision.grants[i] == LedgerDecision::Grant::kOfThisVersion) grant = node.sides[c].version;
    if (late) {
      node.late_grant = grant;
    } else {
      node.grant = node.sides[c].grant = grant;
      node.late_grant = 0;
    }
    state.nodes[i] = nodes_.IdOf(node);
  }
  if (!late) state.current = static_cast<std::uint8_t>(1U << controller);
  state.late_ledger = late;
  return state;
}

// Uses insertion sort, because there are few nodes, and they are almost sorted.
void ClusterWorld::SortNodes(ClusterState& state) const {
  for (std::size_t i = 1; i < size(); ++i) {
    for (std::size_t j = i; j > 0 && state.nodes[j] < state.nodes[j - 1]; --j)
      std::swap(state.nodes[j], state.nodes[j - 1]);
  }
}

void ClusterWorld::Emit(ClusterState state, const Step& step, const Visitor& visit) {
  SortNodes(state);
  if (options_.controllers == 2) {
    ClusterState swapped = state;
    for (std::size_t i = 0; i < size(); ++i) swapped.nodes[i] = nodes_.Swapped(state.nodes[i]);
    SortNodes(swapped);
    swapped.current = static_cast<std::uint8_t>((state.current & 1) << 1 | state.current >> 1);
    state = std::min(state, swapped);
  }
  visit(state, step);
}

// ----- admission

NodeShares ClusterWorld::Shares(const ClusterState& state, int controller) const {
  NodeShares shares;
  for (std::size_t i = 0; i < size(); ++i) {
    const Side& side = nodes_.state(state.nodes[i]).sides[static_cast<std::size_t>(controller)];
    shares[i] = ShareOf(nodes_.judged(state.nodes[i], controller), side);
  }
  return shares;
}

// Returns whether the node needs a grant. A node that an administrator cordoned needs neither a slot nor headroom
// (dep-F14).
bool ClusterWorld::NeedsGrant(const ClusterState& state, int controller, std::size_t node) const {
  const auto& candidate = nodes_.judged(state.nodes[node], controller).candidate;
  return candidate && (candidate->needs_slot || candidate->needs_headroom);
}

bool ClusterWorld::MayStart(const ClusterState& state, int controller, std::size_t node) {
  if (!nodes_.judged(state.nodes[node], controller).candidate) return false;
  const NodeShares shares = Shares(state, controller);
  if (!admission_.Admits(shares, node)) return false;
  if (!options_.ledger || !NeedsGrant(state, controller, node)) return true;
  if (options_.defect == Defect::kIgnoresLostGrants) return true;
  const LedgerDecision& decision = admission_.Decide(shares, node);
  return decision.admits && !decision.changes;
}

// ----- the calm world

std::optional<ClusterState> ClusterWorld::CalmNext(const ClusterState& state, int first) {
  std::optional<ClusterState> next;
  const Visitor take = [&](const ClusterState& after, const Step&) {
    if (!next) next = after;
  };
  if (state.late_ledger) ExpandLateLedger(state, take);
  if (!next) CalmMove(state, first, take);
  for (int turn = 0; turn < options_.controllers && !next; ++turn) {
    CalmAdmission(state, (turn + first) % options_.controllers, take);
  }
  for (std::size_t i = 0; i < size() && !next && !IsFinished(state); ++i) {
    for (const Move& move : nodes_.moves(state.nodes[i])) {
      if (move.kind == MoveKind::kKubeletReports) Emit(With(state, i, move.to), {}, take);
    }
  }
  if (next) next->faults = state.faults;
  return next;
}

// Visits the first fault-free move of any node. Moves are ordered by kind, and then by controller, starting at `first`.
void ClusterWorld::CalmMove(const ClusterState& state, int first, const Visitor& visit) {
  const Move* earliest = nullptr;
  std::size_t node = 0;
  const auto rank = [&](const Move& move) {
    return std::pair(move.kind, move.controller < 0 ? 0 : (move.controller + first) % options_.controllers);
  };
  for (std::size_t i = 0; i < size(); ++i) {
    for (const Move& move : nodes_.moves(state.nodes[i])) {
      if (!IsCalm(move.kind)) break;
      if (earliest != nullptr && rank(*earliest) <= rank(move)) continue;
      earliest = &move;
      node = i;
    }
  }
  if (earliest != nullptr) Emit(With(state, node, earliest->to), {}, visit);
}

void ClusterWorld::CalmAdmission(const ClusterState& state, int controller, const Visitor& visit) {
  for (std::size_t i = 0; i < size(); ++i) {
    if (!MayStart(state, controller, i)) continue;
    for (const Move& move : nodes_.starts(state.nodes[i], controller)) {
      if (IsCalm(move.kind)) return Emit(With(state, i, move.to), {}, visit);
    }
  }
  ClusterState calm = state;
  calm.faults = 0;
  ExpandController(calm, controller, visit);
}

std::string ClusterWorld::BrokenState(const ClusterState& state) const {
  int started = 0;
  for (std::size_t i = 0; i < size(); ++i) started += nodes_.state(state.nodes[i]).started;
  if (started <= options_.budget) return "";
  return fmt::format("I1: {} upgrades under way, {} allowed", started, options_.budget);
}

// If the write of a grant arrived late, no controller knows the grant. Such a grant is harmless: the next write to the
// ledger gets a conflict, finds the grant, and drops it.
bool ClusterWorld::IsFinished(const ClusterState& state) const {
  return std::all_of(state.nodes.begin(), state.nodes.begin() + options_.nodes, [&](NodeId id) {
    return nodes_.IsFinished(id) && (nodes_.state(id).grant == 0 || state.current == 0);
  });
}

std::string ClusterWorld::Describe(const Step& step) const {
  std::string text;
  if (step.controller >= 0) text = fmt::format("controller {} ", step.controller + 1);
  text += step.what;
  if (step.from == step.to) return text;
  if (step.start) text += ", a start";
  return fmt::format("{}\n      before: {}\n      after:  {}", text, nodes_.Describe(step.from),
                     nodes_.Describe(step.to));
}

}  // namespace driverupgrade::tests
