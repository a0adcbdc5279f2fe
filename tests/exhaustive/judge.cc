#include "exhaustive/judge.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "decide/admission/upgrade_budget.h"
#include "decide/transitions/walk.h"
#include "fmt/format.h"
#include "model/cordon.h"
#include "support/node_under_test.h"
#include "testing/transition_table.h"

namespace driverupgrade::tests {
namespace {

// Version at which every node is evaluated. Only the order of versions matters, and NodeWorld keeps track of this
// order.
constexpr const char* kVersion = "5";

std::vector<Pod> DriverPods(Driver driver) {
  switch (driver) {
    case Driver::kOld: return {DriverPod("old", "old").Build()};
    case Driver::kGone: return {};
    case Driver::kStarting: return {DriverPod("new", "new").NotReady().Build()};
    case Driver::kReady: return {DriverPod("new", "new").Build()};
    case Driver::kCrashing: return {DriverPod("new", "new").Crashing(100).Build()};
  }
  return {};
}

std::string Key(const Node& node) {
  std::string key = node.unschedulable ? "cordoned" : "";
  for (const auto* map : {&node.labels, &node.annotations}) {
    for (const auto& [name, value] : *map) key += fmt::format("\n{}={}", name, value);
  }
  return key;
}

std::string BrokenPath(const NodePlan& plan) {
  UpgradeState from = plan.from;
  for (const UpgradeState to : plan.path) {
    if (!IsLegalEdge(from, to)) return fmt::format("I7: {} -> {} is no transition", ToString(from), ToString(to));
    from = to;
  }
  return "";
}

std::string WhatOf(const NodePlan& plan) {
  std::string what(ToString(plan.from));
  for (const UpgradeState state : plan.path) what += fmt::format(" -> {}", ToString(state));
  return what;
}

}  // namespace

Judge::Judge(const ModelOptions& options)
    : defect_(options.defect), policy_(PolicyOf(options)), machine_(Gpu(), {}), facts_(Facts("new")), contents_(1) {}

ContentId Judge::IdOf(Node node) {
  const auto [id, is_new] = content_ids_.emplace(Key(node), static_cast<ContentId>(contents_.size()));
  if (!is_new) return id->second;
  if (contents_.size() > std::numeric_limits<ContentId>::max()) throw std::length_error("too many contents of nodes");
  node.name = "n1";
  node.uid = "n1-uid";
  node.resource_version = kVersion;
  const auto label = node.labels.find(identity().StateLabel());
  Content content{.state = *ParseUpgradeState(label == node.labels.end() ? "" : label->second),
                  .holds_slot = internal::TallyOf({.node = node}, identity(), policy_).slots > 0,
                  .initially_cordoned = internal::WasInitiallyUnschedulable(internal::DecodeMarks(node, identity())),
                  .marked = node.labels.size() > 1 || !node.annotations.empty()};
  content.node = std::move(node);
  contents_.push_back(std::move(content));
  return id->second;
}

ContentId Judge::WithCordon(ContentId id, bool cordoned) {
  Node node = contents_[id].node;
  node.unschedulable = cordoned;
  return IdOf(std::move(node));
}

ViewId Judge::IdOf(View view) {
  if (const auto known = view_ids_.find(view); known != view_ids_.end()) return known->second;
  Judged judged = JudgeView(view);
  ViewId id = 0;
  if (view.pods != SeenPods::kUnread && !judged.pod_interest) {
    View forgotten = view;
    forgotten.pods = SeenPods::kUnread;
    id = IdOf(std::move(forgotten));
  } else {
    if (views_.size() > std::numeric_limits<ViewId>::max()) throw std::length_error("too many views of nodes");
    id = static_cast<ViewId>(views_.size());
    views_.push_back(view);
    judged_.push_back(std::move(judged));
  }
  view_ids_.emplace(std::move(view), id);
  return id;
}

NodeView Judge::MakeView(const View& view) const {
  NodeView made{.node = contents_[view.content].node, .driver_pods = DriverPods(view.driver)};
  const bool unread = view.pods == SeenPods::kUnread && defect_ != Defect::kTakesUnreadForNone;
  if (!unread) made.pods.emplace();
  if (view.pods == SeenPods::kSome) made.pods->push_back(WebPod().Build());
  if (view.possible.empty()) return made;
  PatchAttempt& attempt = made.attempts.patch.emplace();
  attempt = {.based_on = kVersion, .count = 1, .outcome = Outcome::kUnclear, .answered_at = absl::InfinitePast()};
  for (const ContentId possible : view.possible) {
    attempt.possible.push_back(PatchBetween(made.node, internal::DecodeMarks(made.node, identity()),
                                            internal::DecodeMarks(contents_[possible].node, identity()), identity()));
  }
  return made;
}

Judged Judge::JudgeView(const View& view) {
  const NodeView made = MakeView(view);
  const auto judge = [&](bool admitted) {
    return machine_.Judge(made, facts_, policy_, kNow, absl::InfinitePast(), admitted);
  };
  const Verdict verdict = judge(false);
  Judged judged{.action = ActionOf(made, verdict.plan),
                .candidate = verdict.candidate,
                .tally = verdict.tally,
                .pod_interest = verdict.pod_interest};
  if (judged.candidate) judged.start = ActionOf(made, judge(true).plan);
  return judged;
}

Action Judge::ActionOf(const NodeView& view, const NodePlan& plan) {
  Action action{.evict = !plan.evict.empty() && defect_ != Defect::kNeverEvicts,
                .remove_driver = !plan.remove.empty(),
                .what = WhatOf(plan),
                .broken = BrokenPath(plan)};
  action.confirms = plan.patch && plan.patch->empty();
  if (plan.patch && !action.confirms) {
    Node after = Patched(view.node, *plan.patch);
    if (defect_ == Defect::kUncordonsAlways && plan.to() == UpgradeState::kDone) after.unschedulable = false;
    action.patch = IdOf(std::move(after));
    if (contents_[action.patch].state != plan.to()) action.broken = "I7: the label is not the end of the path";
  }
  const auto is_new = [](const PodRef& pod) { return pod.name == "new"; };
  if (std::any_of(plan.remove.begin(), plan.remove.end(), is_new)) action.broken = "deletes a driver that is new";
  return action;
}

std::string Describe(const Content& content) {
  std::string text(ToString(content.state));
  if (content.node.unschedulable) text += ", cordoned";
  for (const auto& [key, value] : content.node.annotations) text += fmt::format(", {}={}", key, value);
  return text;
}

std::string_view ToString(Driver driver) {
  switch (driver) {
    case Driver::kOld: return "old";
    case Driver::kGone: return "gone";
    case Driver::kStarting: return "starting";
    case Driver::kReady: return "ready";
    case Driver::kCrashing: return "crashing";
  }
  return "";
}

}  // namespace driverupgrade::tests
