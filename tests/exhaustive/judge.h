// StateMachine::Judge as a table: nodes and views are few, so each is judged once and known by its number from then on.
//
// Defines Judge, View and Judged. The nodes are real ones, with the labels and annotations that the library writes, but
// without their versions, names and UIDs, so that nodes that are alike are one. Time stands still: what waits for a
// pause between two tries is due, what waits for a deadline waits for ever.
#ifndef DRIVERUPGRADE_TESTS_EXHAUSTIVE_JUDGE_H_
#define DRIVERUPGRADE_TESTS_EXHAUSTIVE_JUDGE_H_

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "decide/verdict.h"
#include "driverupgrade/state_machine.h"
#include "exhaustive/model_options.h"

namespace driverupgrade::tests {

// Number of a node's content; 0 is none.
using ContentId = std::uint8_t;
using ViewId = std::uint16_t;

struct Content {
  Node node = {};
  UpgradeState state = UpgradeState::kUnknown;
  bool holds_slot = false;
  // An administrator's cordon was noted when the upgrade began.
  bool initially_cordoned = false;
  // Labels and annotations of ours beside the state label.
  bool marked = false;
};

enum class Driver : std::uint8_t { kOld, kGone, kStarting, kReady, kCrashing };
enum class SeenPods : std::uint8_t { kUnread, kNone, kSome };

// What a controller knows of a node.
struct View {
  ContentId content = 0;
  Driver driver = Driver::kOld;
  SeenPods pods = SeenPods::kUnread;
  // What patches of unclear outcome, sent at this version, may have made of the node; a sorted set.
  std::vector<ContentId> possible = {};
  friend auto operator<=>(const View&, const View&) = default;
};

// What is to be done about a node.
struct Action {
  // What the patch makes of it; 0: no patch that changes anything.
  ContentId patch = 0;
  // By a patch without a change, which must fit, before the driver pod is deleted.
  bool confirms = false;
  bool evict = false;
  bool remove_driver = false;
  // `upgrade-required -> drain-required`, for people.
  std::string what = {};
  // What is wrong with it by itself (I7); empty: nothing.
  std::string broken = {};
};

struct Judged {
  Action action = {};
  std::optional<Candidate> candidate = std::nullopt;
  // What is done once the candidate has a slot.
  Action start = {};
  Tally tally = {};
  bool pod_interest = false;
};

class Judge {
 public:
  explicit Judge(const ModelOptions& options);

  // A node without a label, cordoned or not.
  ContentId NewNode(bool cordoned) { return IdOf(Node{.unschedulable = cordoned}); }
  ContentId WithCordon(ContentId id, bool cordoned);
  const Content& content(ContentId id) const { return contents_[id]; }

  // Pods that nobody would look at are forgotten, as the cache does.
  ViewId IdOf(View view);
  const View& view(ViewId id) const { return views_[id]; }
  const Judged& judged(ViewId id) const { return judged_[id]; }

  const DriverIdentity& identity() const { return machine_.identity(); }
  const UpgradePolicy& policy() const { return policy_; }
  std::size_t contents() const { return contents_.size() - 1; }
  std::size_t views() const { return views_.size(); }

 private:
  ContentId IdOf(Node node);
  NodeView MakeView(const View& view) const;
  Judged JudgeView(const View& view);
  Action ActionOf(const NodeView& view, const NodePlan& plan);

  const Defect defect_;
  UpgradePolicy policy_;
  StateMachine machine_;
  DriverFacts facts_;
  std::deque<Content> contents_;
  std::map<std::string, ContentId> content_ids_;
  std::deque<View> views_;
  std::deque<Judged> judged_;
  std::map<View, ViewId> view_ids_;
};

// `drain-required, cordoned, driver old`.
std::string Describe(const Content& content);
std::string_view ToString(Driver driver);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_EXHAUSTIVE_JUDGE_H_
