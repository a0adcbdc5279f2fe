// Provides StateMachine::Judge as a table. There are only a few distinct nodes and views, so each is evaluated only
// once and is then identified by a number.
//
// Defines Judge, View and Judged. The table uses real Node objects with the labels and annotations that the library
// writes. The nodes have no versions, names or UIDs, so that equal nodes have the same number. Time does not advance:
// the pause before a further attempt has always passed, and deadlines never expire.
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

// Number that identifies the content of a node; 0 means no content.
using ContentId = std::uint8_t;
using ViewId = std::uint16_t;

struct Content {
  Node node = {};
  UpgradeState state = UpgradeState::kUnknown;
  bool holds_slot = false;
  // True if the upgrade noted an administrator's cordon when it started.
  bool initially_cordoned = false;
  // True if some of our labels or annotations exist in addition to the state label.
  bool marked = false;
};

enum class Driver : std::uint8_t { kOld, kGone, kStarting, kReady, kCrashing };
enum class SeenPods : std::uint8_t { kUnread, kNone, kSome };

// A controller's knowledge about a node.
struct View {
  ContentId content = 0;
  Driver driver = Driver::kOld;
  SeenPods pods = SeenPods::kUnread;
  // Sorted set of contents that the node may have because of patches with an unclear outcome that were sent at this
  // version.
  std::vector<ContentId> possible = {};
  friend auto operator<=>(const View&, const View&) = default;
};

// The actions that a plan requires for a node.
struct Action {
  // Content of the node after the patch; 0 if no patch changes anything.
  ContentId patch = 0;
  // True if a patch without a change must succeed before the driver pod is deleted.
  bool confirms = false;
  bool evict = false;
  bool remove_driver = false;
  // Description for a reader, such as `upgrade-required -> drain-required`.
  std::string what = {};
  // The violation (I7) of the action itself; empty if there is no violation.
  std::string broken = {};
};

struct Judged {
  Action action = {};
  std::optional<Candidate> candidate = std::nullopt;
  // The action that follows once the candidate has a slot.
  Action start = {};
  Tally tally = {};
  bool pod_interest = false;
};

class Judge {
 public:
  explicit Judge(const ModelOptions& options);

  // Returns the number that identifies the content of a node without labels, which is cordoned if `cordoned` is true.
  ContentId NewNode(bool cordoned) { return IdOf(Node{.unschedulable = cordoned}); }
  ContentId WithCordon(ContentId id, bool cordoned);
  const Content& content(ContentId id) const { return contents_[id]; }

  // Returns the number that identifies the view. Drops pods that are irrelevant to the decision, as the cache does.
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

// Returns a description such as `drain-required, cordoned, driver old`.
std::string Describe(const Content& content);
std::string_view ToString(Driver driver);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_EXHAUSTIVE_JUDGE_H_
