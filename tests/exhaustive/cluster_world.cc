#include "exhaustive/cluster_world.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "driverupgrade/admission_grants.h"
#include "fmt/format.h"

namespace driverupgrade::tests {
namespace {

// How the grant in a controller's copy of the ledger stands to the version at which it sees the node.
enum class Relation : std::uint8_t { kNone, kOlder, kEqual, kNewer };

Relation RelationOf(const Side& side) {
  if (side.grant == 0) return Relation::kNone;
  if (side.grant == side.version) return Relation::kEqual;
  return side.grant < side.version ? Relation::kOlder : Relation::kNewer;
}

constexpr std::string_view kSeenVersion = "5";
std::string VersionOf(Relation relation) {
  return relation == Relation::kOlder ? "4" : relation == Relation::kEqual ? "5" : "6";
}

std::string UidOf(std::size_t node) { return fmt::format("uid-{}", node); }

// One node's part of a key, from which everything about it can be told.
struct Part {
  Relation relation = Relation::kNone;
  bool holds_slot = false;
  bool unavailable = false;
  bool candidate = false;
  bool needs_slot = false;
  bool needs_headroom = false;
  bool takes_headroom = false;
};
constexpr int kPartBits = 8;

std::uint64_t Pack(const Part& part) {
  return static_cast<std::uint64_t>(part.relation) | std::uint64_t{part.holds_slot} << 2 |
         std::uint64_t{part.unavailable} << 3 | std::uint64_t{part.candidate} << 4 |
         std::uint64_t{part.needs_slot} << 5 | std::uint64_t{part.needs_headroom} << 6 |
         std::uint64_t{part.takes_headroom} << 7;
}

Part Unpack(std::uint64_t key, std::size_t node) {
  const std::uint64_t bits = key >> (kPartBits * node);
  const auto bit = [&](int i) { return (bits >> i & 1) != 0; };
  return {.relation = static_cast<Relation>(bits & 3),
          .holds_slot = bit(2),
          .unavailable = bit(3),
          .candidate = bit(4),
          .needs_slot = bit(5),
          .needs_headroom = bit(6),
          .takes_headroom = bit(7)};
}

Part PartOf(const Judged& judged, const Side& side) {
  Part part{.relation = RelationOf(side),
            .holds_slot = judged.tally.slots > 0,
            .unavailable = judged.tally.unavailable > 0,
            .candidate = judged.candidate.has_value()};
  if (judged.candidate) {
    part.needs_slot = judged.candidate->needs_slot;
    part.needs_headroom = judged.candidate->needs_headroom;
    part.takes_headroom = judged.candidate->takes_headroom;
  }
  return part;
}

}  // namespace

ClusterWorld::ClusterWorld(const ModelOptions& options) : options_(options), nodes_(options) {}

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
    if (nodes_.judged(id, c).candidate && MayStart(state, c, i)) visit_moves(nodes_.starts(id, c), true);
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
  ExpandLedger(state, controller, std::nullopt, visit);
  for (std::size_t i = 0; i < size(); ++i) {
    if (i > 0 && state.nodes[i] == state.nodes[i - 1]) continue;
    if (NeedsGrant(state, controller, i) && IsAdmitted(state, controller, i)) ExpandLedger(state, controller, i, visit);
  }
}

// AdmissionLedger::Settle, and the Read that follows where it fails.
void ClusterWorld::ExpandLedger(const ClusterState& state, int controller, const std::optional<std::size_t>& wanted,
                                const Visitor& visit) {
  const LedgerDecision& decision = Decide(state, controller, wanted);
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
    if (decision.grants[i] == Grant::kNone) grant = 0;
    if (decision.grants[i] == Grant::kOfThisVersion) grant = node.sides[c].version;
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

// They are few, and nearly in order.
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

// Budgets are kept by all the nodes, grants included, as admission_ledger.h says.
bool ClusterWorld::AdmitBy(std::uint64_t key, std::size_t node) const {
  Tally without;
  Tally with;
  std::vector<Candidate> granted;
  std::vector<Candidate> others;
  for (std::size_t i = 0; i < size(); ++i) {
    const Part part = Unpack(key, i);
    const Tally own{.total = 1, .slots = part.holds_slot, .unavailable = part.unavailable};
    const bool has_grant = part.relation != Relation::kNone && options_.defect != Defect::kIgnoresGrants;
    const Grants grants = has_grant ? Grants{{UidOf(i), VersionOf(part.relation)}} : Grants{};
    const NodeReading reading{
        .uid = UidOf(i), .resource_version = std::string(kSeenVersion), .holds_slot = part.holds_slot};
    const bool current = part.candidate && IsCurrent(grants, reading);
    with += Counts(grants, reading) ? WithGrant(own) : own;
    without += Counts(grants, reading) && !current ? WithGrant(own) : own;
    if (!part.candidate) continue;
    (current ? granted : others)
        .push_back({.node = i == node ? "first" : fmt::format("later-{}", i),
                    .needs_slot = part.needs_slot,
                    .needs_headroom = part.needs_headroom,
                    .takes_headroom = part.takes_headroom});
  }
  const UpgradePolicy policy = PolicyOf(options_);
  const auto decisions =
      AdmitGrantedFirst(ComputeBudget(without, policy), ComputeBudget(with, policy), false, granted, others);
  return std::any_of(decisions.begin(), decisions.end(),
                     [](const AdmissionDecision& decision) { return decision.node == "first" && !decision.gate; });
}

bool ClusterWorld::IsAdmitted(const ClusterState& state, int controller, std::size_t node) {
  std::uint64_t key = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    const Side& side = nodes_.state(state.nodes[i]).sides[static_cast<std::size_t>(controller)];
    key |= Pack(PartOf(nodes_.judged(state.nodes[i], controller), side)) << (kPartBits * i);
  }
  const auto [known, is_new] = admitted_.try_emplace(key | std::uint64_t{node} << (kPartBits * kNodesMax));
  if (is_new) known->second = AdmitBy(key, node);
  return known->second;
}

// An administrator's cordoned node asks for nothing that could be granted (dep-F14).
bool ClusterWorld::NeedsGrant(const ClusterState& state, int controller, std::size_t node) const {
  const auto& candidate = nodes_.judged(state.nodes[node], controller).candidate;
  return candidate && (candidate->needs_slot || candidate->needs_headroom);
}

bool ClusterWorld::MayStart(const ClusterState& state, int controller, std::size_t node) {
  if (!IsAdmitted(state, controller, node)) return false;
  if (!options_.ledger || !NeedsGrant(state, controller, node)) return true;
  if (options_.defect == Defect::kIgnoresLostGrants) return true;
  const LedgerDecision& decision = Decide(state, controller, node);
  return decision.admits && !decision.changes;
}

ClusterWorld::LedgerDecision ClusterWorld::DecideBy(std::uint64_t key, const std::optional<std::size_t>& wanted) const {
  Grants grants;
  std::vector<NodeReading> readings;
  for (std::size_t i = 0; i < size(); ++i) {
    const Part part = Unpack(key, i);
    if (part.relation != Relation::kNone) grants.emplace(UidOf(i), VersionOf(part.relation));
    readings.push_back({.uid = UidOf(i), .resource_version = std::string(kSeenVersion), .holds_slot = part.holds_slot});
  }
  std::vector<std::string> uids;
  if (wanted) uids.push_back(UidOf(*wanted));
  const GrantDecision decided = DecideGrants(grants, readings, uids, /*grants_max=*/5000);
  LedgerDecision decision{.changes = decided.grants != grants, .admits = !decided.admitted.empty()};
  for (std::size_t i = 0; i < size(); ++i) {
    const auto before = grants.find(UidOf(i));
    const auto after = decided.grants.find(UidOf(i));
    if (after == decided.grants.end()) {
      decision.grants[i] = Grant::kNone;
    } else if (before == grants.end() || before->second != after->second) {
      decision.grants[i] = Grant::kOfThisVersion;
    }
  }
  return decision;
}

const ClusterWorld::LedgerDecision& ClusterWorld::Decide(const ClusterState& state, int controller,
                                                         const std::optional<std::size_t>& wanted) {
  std::uint64_t key = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    const Side& side = nodes_.state(state.nodes[i]).sides[static_cast<std::size_t>(controller)];
    const bool holds_slot = nodes_.judged(state.nodes[i], controller).tally.slots > 0;
    key |= Pack({.relation = RelationOf(side), .holds_slot = holds_slot}) << (kPartBits * i);
  }
  const auto [known, is_new] =
      decided_.try_emplace(key | std::uint64_t{wanted ? *wanted + 1 : 0} << (kPartBits * kNodesMax));
  if (is_new) known->second = DecideBy(key, wanted);
  return known->second;
}

// ----- the calm world

std::optional<ClusterState> ClusterWorld::CalmNext(const ClusterState& state, int first) {
  std::optional<ClusterState> next;
  const auto take = [&](const ClusterState& after, const Step&) {
    if (!next) next = after;
  };
  if (state.late_ledger) ExpandLateLedger(state, take);
  if (next) return next;
  const Move* earliest = nullptr;
  std::size_t node = 0;
  const auto turn = [&](const Move& move) { return move.controller < 0 ? 0 : (move.controller + first) % 2; };
  for (std::size_t i = 0; i < size(); ++i) {
    for (const Move& move : nodes_.moves(state.nodes[i])) {
      if (!IsCalm(move.kind)) break;
      const bool earlier =
          earliest == nullptr || std::pair(move.kind, turn(move)) < std::pair(earliest->kind, turn(*earliest));
      if (!earlier) continue;
      earliest = &move;
      node = i;
    }
  }
  if (earliest != nullptr) {
    Emit(With(state, node, earliest->to), {}, take);
    return next;
  }
  ClusterState calm = state;
  calm.faults = 0;
  for (int c = 0; c < options_.controllers && !next; ++c) {
    const int controller = options_.controllers == 2 ? (c + first) % 2 : c;
    for (std::size_t i = 0; i < size() && !next; ++i) {
      if (!nodes_.judged(state.nodes[i], controller).candidate || !MayStart(state, controller, i)) continue;
      for (const Move& move : nodes_.starts(state.nodes[i], controller)) {
        if (IsCalm(move.kind)) Emit(With(state, i, move.to), {}, take);
      }
    }
    if (!next) ExpandController(calm, controller, take);
  }
  for (std::size_t i = 0; i < size() && !next && !IsFinished(state); ++i) {
    for (const Move& move : nodes_.moves(state.nodes[i])) {
      if (move.kind == MoveKind::kKubeletReports) Emit(With(state, i, move.to), {}, take);
    }
  }
  if (next) next->faults = state.faults;
  return next;
}

std::string ClusterWorld::BrokenState(const ClusterState& state) const {
  int started = 0;
  for (std::size_t i = 0; i < size(); ++i) started += nodes_.state(state.nodes[i]).started;
  if (started <= options_.budget) return "";
  return fmt::format("I1: {} upgrades under way, {} allowed", started, options_.budget);
}

// A grant of which no controller knows, as the write that made it came late, does no harm: the next write of the ledger
// meets a conflict, finds it and drops it.
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
