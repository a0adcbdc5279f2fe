#include "exhaustive/node_world.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

namespace driverupgrade::tests {
namespace {

// A version that is newer than all others. IdOf replaces it with the next rank.
constexpr std::uint8_t kNewest = 255;

// Replaces the k-th oldest version with k. A version of 0 stays, because 0 means no version.
void RankVersions(NodeState& state) {
  const std::array versions = {&state.version,          &state.grant,          &state.late_grant,
                               &state.sides[0].version, &state.sides[0].grant, &state.sides[1].version,
                               &state.sides[1].grant};
  std::array<std::uint8_t, versions.size() + 1> old = {};  // contains a 0
  for (std::size_t i = 0; i < versions.size(); ++i) old[i] = *versions[i];
  std::sort(old.begin(), old.end());
  const auto end = std::unique(old.begin(), old.end());
  for (std::uint8_t* version : versions) {
    *version = static_cast<std::uint8_t>(std::lower_bound(old.begin(), end, *version) - old.begin());
  }
}

std::uint64_t Mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 29);
}

SeenPods Visible(Workload workload) { return workload == Workload::kNone ? SeenPods::kNone : SeenPods::kSome; }

}  // namespace

std::string_view ToString(MoveKind kind) {
  switch (kind) {
    case MoveKind::kPatchLands: return "the patch under way is applied";
    case MoveKind::kSeesNode: return "sees the node";
    case MoveKind::kSeesDriver: return "sees the driver pod";
    case MoveKind::kSeesPods: return "sees the other pods";
    case MoveKind::kListsPods: return "lists the pods";
    case MoveKind::kDriverStarts: return "the DaemonSet makes the new driver pod";
    case MoveKind::kDriverReady: return "the new driver pod is ready";
    case MoveKind::kDriverRecovers: return "the driver pod recovers";
    case MoveKind::kBudgetYields: return "the disruption budget allows the eviction";
    case MoveKind::kPatchesAndRestarts: return "patches and deletes the driver pod";
    case MoveKind::kPatches: return "patches";
    case MoveKind::kEvicts: return "evicts";
    case MoveKind::kRestartsDriver: return "deletes the driver pod";
    case MoveKind::kKubeletReports: return "the kubelet reports";
    case MoveKind::kPatchConflicts: return "patches an old version, 409";
    case MoveKind::kPatchNeverLands: return "the patch under way is lost";
    case MoveKind::kDriverCrashes: return "the new driver pod crashes";
    case MoveKind::kBudgetBlocks: return "the disruption budget blocks the eviction";
    case MoveKind::kWorkloadComes: return "a pod is scheduled to the node";
    case MoveKind::kRelistsNodes: return "lists the nodes anew";
    case MoveKind::kPatchLate: return "patches, no answer, still under way";
    case MoveKind::kPatchLateAndCrash: return "patches and crashes, still under way";
    case MoveKind::kAdminCordons: return "an administrator cordons";
    case MoveKind::kAdminUncordons: return "an administrator uncordons";
  }
  return "";
}

std::size_t NodeWorld::Hash::operator()(const NodeState& state) const {
  std::uint64_t hash = state.content | std::uint64_t{state.version} << 8 |
                       static_cast<std::uint64_t>(state.driver) << 16 |
                       static_cast<std::uint64_t>(state.workload) << 20 | std::uint64_t{state.admin_cordon} << 24 |
                       std::uint64_t{state.started} << 25 | std::uint64_t{state.late} << 32 |
                       std::uint64_t{state.grant} << 40 | std::uint64_t{state.late_grant} << 48;
  for (const Side& side : state.sides) {
    hash = Mix(hash, side.view | std::uint64_t{side.version} << 16 | std::uint64_t{side.missed_cordon} << 24 |
                         std::uint64_t{side.grant} << 32);
  }
  return hash;
}

NodeWorld::NodeWorld(const ModelOptions& options) : options_(options), judge_(options) {
  NodeState state{.content = judge_.NewNode(/*cordoned=*/false)};
  for (std::size_t c = 0; c < state.sides.size(); ++c) {
    const bool used = static_cast<int>(c) < options_.controllers;
    state.sides[c] = {.view = judge_.IdOf(View{.content = state.content}),
                      .version = used ? state.version : std::uint8_t{0}};
  }
  first_ = IdOf(state);
}

NodeId NodeWorld::IdOf(NodeState state) {
  RankVersions(state);
  // A node's workload no longer matters once the node's driver has been restarted.
  if (state.driver != Driver::kOld) state.workload = Workload::kNone;
  const auto [known, is_new] = ids_.emplace(state, static_cast<NodeId>(states_.size()));
  if (is_new) {
    states_.push_back(state);
    known_.emplace_back();
  }
  return known->second;
}

void NodeWorld::Add(std::vector<Move>& moves, MoveKind kind, int controller, NodeState state, std::uint8_t broken) {
  moves.push_back({.kind = kind,
                   .controller = static_cast<std::int8_t>(controller),
                   .to = IdOf(std::move(state)),
                   .broken = broken});
}

std::uint8_t NodeWorld::Broken(const std::string& what) {
  auto known = std::find(broken_.begin(), broken_.end(), what);
  if (known == broken_.end()) known = broken_.insert(broken_.end(), what);
  return static_cast<std::uint8_t>(known - broken_.begin());
}

const std::vector<Move>& NodeWorld::moves(NodeId id) {
  if (known_[id].moves_known) return known_[id].moves;
  const NodeState state = states_[id];
  std::vector<Move> moves;
  Environment(state, moves);
  Administrator(state, moves);
  for (int controller = 0; controller < options_.controllers; ++controller) {
    Deliveries(state, controller, moves);
    Acts(state, controller, moves);
  }
  std::erase_if(moves, [&](const Move& move) { return move.to == id && move.broken == 0; });
  std::stable_sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) { return a.kind < b.kind; });
  known_[id].moves = std::move(moves);
  known_[id].moves_known = true;
  return known_[id].moves;
}

const std::vector<Move>& NodeWorld::starts(NodeId id, int controller) {
  const auto c = static_cast<std::size_t>(controller);
  if (known_[id].starts_known[c]) return known_[id].starts[c];
  std::vector<Move> moves;
  if (judged(id, controller).candidate) {
    const NodeState state = states_[id];
    Patches(state, controller, judged(id, controller).start, moves);
  }
  known_[id].starts[c] = std::move(moves);
  known_[id].starts_known[c] = true;
  return known_[id].starts[c];
}

// ----- the environment

void NodeWorld::Environment(const NodeState& state, std::vector<Move>& moves) {
  const auto with = [&](MoveKind kind, auto change) {
    NodeState next = state;
    change(next);
    Add(moves, kind, -1, next);
  };
  if (state.late != 0) {
    NodeState landed = state;
    const std::uint8_t broken = Commit(landed, state.late, judge_.content(state.content).state);
    Add(moves, MoveKind::kPatchLands, -1, landed, broken);
    with(MoveKind::kPatchNeverLands, [](NodeState& next) { next.late = 0; });
  }
  if (VersionMatters(state)) with(MoveKind::kKubeletReports, [&](NodeState& next) { Externally(next, next.content); });
  const bool cordoned = judge_.content(state.content).node.unschedulable;
  switch (state.driver) {
    case Driver::kOld: break;
    case Driver::kGone: with(MoveKind::kDriverStarts, [](NodeState& s) { s.driver = Driver::kStarting; }); break;
    case Driver::kStarting:
      with(MoveKind::kDriverReady, [](NodeState& s) { s.driver = Driver::kReady; });
      with(MoveKind::kDriverCrashes, [](NodeState& s) { s.driver = Driver::kCrashing; });
      break;
    case Driver::kCrashing: with(MoveKind::kDriverRecovers, [](NodeState& s) { s.driver = Driver::kReady; }); break;
    case Driver::kReady: break;
  }
  if (state.driver != Driver::kOld) return;
  if (state.workload == Workload::kNone && !cordoned)
    with(MoveKind::kWorkloadComes, [](NodeState& s) { s.workload = Workload::kEvictable; });
  if (state.workload == Workload::kEvictable && cordoned)
    with(MoveKind::kBudgetBlocks, [](NodeState& s) { s.workload = Workload::kBlocked; });
  if (state.workload == Workload::kBlocked)
    with(MoveKind::kBudgetYields, [](NodeState& s) { s.workload = Workload::kEvictable; });
}

// Returns whether a status report of the kubelet, which creates a new version, can change anything. A write in
// progress, a grant or a patch with an unclear outcome must depend on the version, and all controllers must have seen
// the current version and driver.
bool NodeWorld::VersionMatters(const NodeState& state) const {
  bool open = state.late != 0 || state.grant == state.version || state.late_grant == state.version;
  for (int c = 0; c < options_.controllers; ++c) {
    const Side& side = state.sides[static_cast<std::size_t>(c)];
    const View& view = judge_.view(side.view);
    if (side.version != state.version || view.driver != state.driver) return false;
    open |= !view.possible.empty();
  }
  return open;
}

// In an upgrade that started on a schedulable node, a cordon that an administrator sets before our cordon, or after
// lifting our cordon, counts as ours (I3). Such a cordon looks like one that the Go library has set, because the Go
// library leaves no mark.
void NodeWorld::Administrator(const NodeState& state, std::vector<Move>& moves) {
  const Content& content = judge_.content(state.content);
  const bool cordons = !content.node.unschedulable;
  NodeState next = state;
  next.admin_cordon = cordons && (!IsInProgress(content.state) || content.initially_cordoned);
  Externally(next, judge_.WithCordon(state.content, cordons));
  Add(moves, cordons ? MoveKind::kAdminCordons : MoveKind::kAdminUncordons, -1, next);
}

// Creates a new version of the node on the server. No controller has seen this version yet.
void NodeWorld::Externally(NodeState& state, ContentId after) {
  const bool flips = judge_.content(state.content).node.unschedulable != judge_.content(after).node.unschedulable;
  state.content = after;
  state.version = kNewest;
  state.late = 0;  // the write's precondition can no longer hold
  for (int c = 0; c < options_.controllers; ++c) state.sides[static_cast<std::size_t>(c)].missed_cordon |= flips;
}

// Applies one of our patches on the server. `from` is the state on which the decision was based. Returns the number of
// the broken invariant.
std::uint8_t NodeWorld::Commit(NodeState& state, ContentId after_id, UpgradeState from) {
  const Content& before = judge_.content(state.content);
  const Content& after = judge_.content(after_id);
  std::string broken;
  if (before.state != from)
    broken = fmt::format("I7: a patch from {} applied in {}", ToString(from), ToString(before.state));
  const bool uncordons = before.node.unschedulable && !after.node.unschedulable;
  if (uncordons && state.admin_cordon) broken = "I3: an administrator's cordon is lifted";
  if (after.state == UpgradeState::kDone && after.node.unschedulable && !state.admin_cordon)
    broken = "I3: our own cordon is left behind";
  if (after.state == UpgradeState::kDone && after.marked) broken = "L2: annotations are left behind";
  const bool starts = !IsInProgress(before.state) && IsInProgress(after.state);
  state.started = IsInProgress(after.state) && (state.started || (starts && after.holds_slot));
  Externally(state, after_id);
  return Broken(broken);
}

// ----- what a controller sees

// Returns the view after the node is read in its current state. Pods read under another cordon are forgotten.
ViewId NodeWorld::Seen(const NodeState& state, const Side& side, bool forget_pods) {
  View view = judge_.view(side.view);
  const bool flips =
      judge_.content(view.content).node.unschedulable != judge_.content(state.content).node.unschedulable;
  if ((flips || forget_pods) && options_.defect != Defect::kKeepsOldPods) view.pods = SeenPods::kUnread;
  view.content = state.content;
  view.possible.clear();
  return judge_.IdOf(std::move(view));
}

void NodeWorld::Deliveries(const NodeState& state, int controller, std::vector<Move>& moves) {
  const Side& side = state.sides[static_cast<std::size_t>(controller)];
  const View view = judge_.view(side.view);
  const auto with = [&](MoveKind kind, ViewId seen, bool node) {
    NodeState next = state;
    Side& after = next.sides[static_cast<std::size_t>(controller)];
    after.view = seen;
    if (node) after.version = next.version;
    if (node) after.missed_cordon = false;
    Add(moves, kind, controller, next);
  };
  if (options_.sees_all_at_once) {
    View all = judge_.view(Seen(state, side, side.missed_cordon));
    all.driver = state.driver;
    if (all.pods != SeenPods::kUnread) all.pods = Visible(state.workload);
    with(MoveKind::kSeesNode, judge_.IdOf(all), true);
    if (view.pods != SeenPods::kUnread || !judge_.judged(side.view).pod_interest) return;
  }
  if (side.version != state.version && !options_.sees_all_at_once) {
    with(MoveKind::kSeesNode, Seen(state, side, side.missed_cordon), true);
    // A list shows only the current state and no earlier changes, so the controller forgets pods that it read earlier.
    const bool trusts = options_.defect == Defect::kTrustsLists;
    if (view.pods != SeenPods::kUnread) with(MoveKind::kRelistsNodes, Seen(state, side, !trusts), true);
  }
  if (view.driver != state.driver && !options_.sees_all_at_once) {
    View seen = view;
    seen.driver = state.driver;
    with(MoveKind::kSeesDriver, judge_.IdOf(seen), false);
  }
  View seen = view;
  seen.pods = Visible(state.workload);
  if (view.pods == SeenPods::kUnread) {
    if (judge_.judged(side.view).pod_interest) with(MoveKind::kListsPods, judge_.IdOf(seen), false);
  } else if (view.pods != seen.pods) {
    with(MoveKind::kSeesPods, judge_.IdOf(seen), false);
  }
}

// ----- what a controller does

void NodeWorld::Acts(const NodeState& state, int controller, std::vector<Move>& moves) {
  const Side& side = state.sides[static_cast<std::size_t>(controller)];
  const Action& action = judge_.judged(side.view).action;
  if (action.patch != 0) return Patches(state, controller, action, moves);
  if (action.evict && state.workload == Workload::kEvictable) {
    NodeState next = state;
    next.workload = Workload::kNone;
    Add(moves, MoveKind::kEvicts, controller, next);
  }
  const bool asks = action.confirms && options_.defect != Defect::kDeletesUnconfirmed;
  const bool refused = asks && side.version != state.version;
  if (!refused) RestartsDriver(MoveKind::kRestartsDriver, state, controller, action, moves);
}

void NodeWorld::RestartsDriver(MoveKind kind, NodeState state, int controller, const Action& action,
                               std::vector<Move>& moves) {
  if (!action.remove_driver || state.driver != Driver::kOld) return;
  std::string broken = action.broken;
  if (state.workload != Workload::kNone) broken = "I2: the driver pod is deleted while protected pods run";
  state.driver = Driver::kGone;
  Add(moves, kind, controller, std::move(state), Broken(broken));
}

void NodeWorld::Patches(const NodeState& state, int controller, const Action& action, std::vector<Move>& moves) {
  const auto c = static_cast<std::size_t>(controller);
  const UpgradeState from = judge_.content(judge_.view(state.sides[c].view).content).state;
  const auto unclear = [&](NodeState next) {
    if (options_.defect == Defect::kForgetsUnclearPatches) return next;
    View view = judge_.view(next.sides[c].view);
    view.possible.push_back(action.patch);
    std::sort(view.possible.begin(), view.possible.end());
    view.possible.erase(std::unique(view.possible.begin(), view.possible.end()), view.possible.end());
    next.sides[c].view = judge_.IdOf(std::move(view));
    return next;
  };
  const bool fits = state.sides[c].version == state.version || options_.defect == Defect::kPatchesAnyVersion;
  if (!fits) return Add(moves, MoveKind::kPatchConflicts, controller, unclear(state));
  NodeState next = state;
  std::uint8_t broken = Commit(next, action.patch, from);
  if (broken == 0) broken = Broken(action.broken);
  next.sides[c].view = Seen(next, state.sides[c], false);
  next.sides[c].version = next.version;
  next.sides[c].missed_cordon = false;
  // The patch is durable before anything else happens (arch-A12). The restart follows immediately. If the restart
  // fails, the next pass decides on it again.
  if (broken == 0) RestartsDriver(MoveKind::kPatchesAndRestarts, next, controller, action, moves);
  Add(moves, MoveKind::kPatches, controller, next, broken);
  if (state.late != 0 || state.sides[c].version != state.version) return;  // one write in progress is enough
  NodeState late = state;
  late.late = action.patch;
  Add(moves, MoveKind::kPatchLate, controller, unclear(late));
  Add(moves, MoveKind::kPatchLateAndCrash, controller, states_[Crashed(IdOf(late), controller)]);
}

NodeId NodeWorld::Crashed(NodeId id, int controller) {
  const auto c = static_cast<std::size_t>(controller);
  if (known_[id].crashed[c] != 0) return known_[id].crashed[c] - 1;
  NodeState state = states_[id];
  const View view{.content = state.content, .driver = state.driver};
  state.sides[c] = {.view = judge_.IdOf(view), .version = state.version, .grant = state.grant};
  const NodeId crashed = IdOf(state);
  known_[id].crashed[c] = crashed + 1;
  return crashed;
}

NodeId NodeWorld::Swapped(NodeId id) {
  if (known_[id].swapped != 0) return known_[id].swapped - 1;
  NodeState state = states_[id];
  std::swap(state.sides[0], state.sides[1]);
  const NodeId swapped = IdOf(state);
  known_[id].swapped = swapped + 1;
  known_[swapped].swapped = id + 1;
  return swapped;
}

bool NodeWorld::IsFinished(NodeId id) const {
  const NodeState& state = states_[id];
  const Content& content = judge_.content(state.content);
  return content.state == UpgradeState::kDone && content.node.unschedulable == state.admin_cordon && !content.marked &&
         state.driver == Driver::kReady && state.late == 0;
}

std::string NodeWorld::Describe(NodeId id) const {
  const NodeState& state = states_[id];
  std::string text =
      fmt::format("{}; driver {}", tests::Describe(judge_.content(state.content)), ToString(state.driver));
  if (state.workload != Workload::kNone) text += "; a workload";
  if (state.workload == Workload::kBlocked) text += " that may not be evicted";
  if (state.admin_cordon) text += "; the administrator's cordon";
  if (state.late != 0) text += fmt::format("; under way: {}", tests::Describe(judge_.content(state.late)));
  if (state.grant != 0) text += state.grant == state.version ? "; granted" : "; granted at an old version";
  for (int c = 0; c < options_.controllers; ++c) {
    const Side& side = state.sides[static_cast<std::size_t>(c)];
    const View& view = judge_.view(side.view);
    if (side.version != state.version)
      text += fmt::format("; controller {} still sees {}", c + 1, tests::Describe(judge_.content(view.content)));
    if (!view.possible.empty()) text += fmt::format("; controller {} has an open patch", c + 1);
  }
  return text;
}

}  // namespace driverupgrade::tests
