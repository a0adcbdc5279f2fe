// What stands on a node about the upgrade of one driver: the labels and annotations that are ours or the Go library's.
//
// They are decoded once, when a view is made (ShareView), into NodeMarks, which a walk edits, and encoded when the patch
// is made. Nothing else in src/ knows how one of them is spelled; their keys are DriverIdentity's.
#ifndef DRIVERUPGRADE_SRC_MODEL_NODE_MARKS_H_
#define DRIVERUPGRADE_SRC_MODEL_NODE_MARKS_H_

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/upgrade_state.h"

namespace driverupgrade::internal {

// One label or annotation. Until it is written anew it keeps the text that was read: what makes no sense, or is spelled
// in another way than ours, stays on the node as it is.
template <typename T>
class Mark {
 public:
  Mark() = default;
  // As it was read; without a value if it makes no sense. `text` has to outlive the mark.
  Mark(std::string_view text, std::optional<T> value) : text_(text), value_(std::move(value)) {}

  bool present() const { return text_ || value_; }
  // nullopt: it is absent, or makes no sense.
  const std::optional<T>& value() const { return value_; }
  // As it was read. nullopt: it is absent, or has been written since.
  const std::optional<std::string_view>& text() const { return text_; }

  void Write(T value) {
    text_.reset();
    value_ = std::move(value);
  }
  void Remove() { *this = Mark(); }

  // Whether they say the same, in whatever spelling.
  friend bool operator==(const Mark& a, const Mark& b) {
    return a.present() == b.present() && a.value_ == b.value_ && (a.value_ || a.text_ == b.text_);
  }

 private:
  std::optional<std::string_view> text_;
  std::optional<T> value_;
};

// The value of a mark that says no more than that it is set.
struct Flag {
  friend bool operator==(const Flag&, const Flag&) = default;
};

// `<state>@<unix seconds>@<target revision>`.
struct Stage {
  // nullopt: a text that is no state.
  std::optional<UpgradeState> state = std::nullopt;
  // A whole second.
  absl::Time began = absl::UnixEpoch();
  std::string revision = {};
  friend bool operator==(const Stage&, const Stage&) = default;
};

// `<count>@<unix seconds>`; how often the upgrade of the node has failed at one revision.
struct Failures {
  int count = 0;
  // A whole second.
  absl::Time last = absl::UnixEpoch();
  friend bool operator==(const Failures&, const Failures&) = default;
};

// `<revision>[,<revision>...]@<target revision>`.
struct RestartOnly {
  // Separated by commas.
  std::string compared = {};
  std::string target = {};
  bool Covers(std::string_view revision) const;
  friend bool operator==(const RestartOnly&, const RestartOnly&) = default;
};

// Each mark is explained by DriverIdentity's function of the same name.
struct NodeMarks {
  // The node could not be read, and its state is not known.
  bool unreadable = false;
  // Not a mark, but what the marks are about.
  bool unschedulable = false;
  // Whether the node has the taint that steers gangs to other nodes (DriverIdentity::PendingTaint).
  bool steers = false;
  // First what each judgement looks at.
  Mark<UpgradeState> state = {};
  // The UID of a pod.
  Mark<std::string> restart_pod = {};
  Mark<Flag> skip_upgrade = {};
  Mark<Flag> safe_load = {};
  Mark<Flag> upgrade_requested = {};
  Mark<Flag> requestor_mode = {};
  Mark<Flag> initially_unschedulable = {};
  Mark<Stage> stage = {};
  Mark<absl::Time> pod_completion_start = {};
  Mark<absl::Time> validation_start = {};
  Mark<std::string> failed_revision = {};
  Mark<Failures> failures = {};
  Mark<std::string> failure_class = {};
  Mark<std::string> failure_cause = {};
  Mark<std::string> waiting_for = {};
  Mark<RestartOnly> restart_only = {};
  Mark<std::string> unit = {};
  // Instead of a cordon.
  Mark<int> isolated_devices = {};
  // Names of drivers, ours among them.
  Mark<std::set<std::string>> cordoned_by = {};

  // The state of an upgrade in progress whose label another client has removed, by the other marks. nullopt: the label is
  // there, or no upgrade is in progress. It follows from the rest and is never written.
  std::optional<UpgradeState> unlabelled = std::nullopt;

  // Returns the state that the label names. Without a label the other marks decide: kUnknown if they show no upgrade in
  // progress. nullopt if the label has another value, or if the node could not be read.
  std::optional<UpgradeState> State() const;
  // Whether the state label is present and not empty. Its value may be senseless.
  bool HasLabel() const { return state.value() != UpgradeState::kUnknown && state.present(); }
  friend bool operator==(const NodeMarks&, const NodeMarks&) = default;
};

// The marks of `identity`. They refer to texts of `node`, which has to outlive them. `driver_runs`: every driver pod on the
// node is ready, or nothing is known about its driver pods.
NodeMarks DecodeMarks(const Node& node, const DriverIdentity& identity, bool driver_runs = true);

// Returns the taints of the node with or without the one that steers gangs to other nodes. All others stay as they are.
std::vector<Taint> WithSteering(const Node& node, const DriverIdentity& identity, bool steers);
// Whether all taints of the node are known as a whole, so that they can be written.
bool CanWriteTaints(const Node& node);

// Removes what upgrades have left on the node, and a cordon of theirs. The label that skips the node stays.
void RemoveMarks(Node& node, const DriverIdentity& identity);

// Whether marks other than the name on the cordon show that an upgrade of the node was admitted.
bool WasAdmitted(const NodeMarks& marks);
// Whether the cordon of the node has our name.
bool IsInCordonSet(const NodeMarks& marks, const DriverIdentity& identity);
// Whether the node, or its devices instead, are kept from workloads for an upgrade of ours.
bool IsIsolated(const NodeMarks& marks, const DriverIdentity& identity);

// What has to be written to turn `from` into `to`, by key; nullopt removes it.
struct MarkChanges {
  std::map<std::string, std::optional<std::string>> labels = {};
  std::map<std::string, std::optional<std::string>> annotations = {};
  std::optional<bool> unschedulable = std::nullopt;
  std::optional<bool> steers = std::nullopt;
};
MarkChanges ChangesBetween(const NodeMarks& from, const NodeMarks& to, const DriverIdentity& identity);

// Size limit, in bytes, of marks that are texts for users.
inline constexpr std::size_t kMarkTextMax = 256;

// Values as they are written.
std::string Spell(Flag flag);
std::string Spell(UpgradeState state);
std::string Spell(absl::Time time);
std::string Spell(const std::string& text);
std::string Spell(int number);
std::string Spell(const Stage& stage);
std::string Spell(const Failures& failures);
std::string Spell(const RestartOnly& restart_only);
std::string Spell(const std::set<std::string>& names);

// Whether the mark is `value` already, in the text in which that would be written.
template <typename T>
bool IsWritten(const Mark<T>& mark, const T& value) {
  return mark.value() == value && (!mark.text() || *mark.text() == Spell(value));
}

// Same as NodeMarks::State, without knowledge of the driver pods.
std::optional<UpgradeState> StateOf(const Node& node, const DriverIdentity& identity);
// Whether there is a state label which is not empty, be it a state or not.
bool HasState(const Node& node, const DriverIdentity& identity);
// Whether the node has a state label which is not empty, or our name on its cordon: it is ours, with or without a driver pod.
bool IsMarked(const Node& node, const DriverIdentity& identity);
// The label as it is, whether it is a state or not; empty without one.
std::string StateText(const Node& node, const DriverIdentity& identity);
// The node's labels but for that of the state.
StringMap LabelsWithoutState(const Node& node, const DriverIdentity& identity);
// A label that is no state, or that could not be read, counts as an upgrade under way.
bool IsBusy(const Node& node, const DriverIdentity& identity);
// The annotation by which an administrator requests an upgrade of a node, for messages.
std::string KeyOfRequest(const DriverIdentity& identity);
// The approvals of a rollout that a DaemonSet of the driver carries; empty: none.
std::string ApprovalsOn(const DaemonSet& daemon_set, const DriverIdentity& identity);
// How a person gives one by kubectl.
std::string ApprovalCommand(const DaemonSet& daemon_set, const DriverIdentity& identity, std::string_view approval);
// Drivers with a state label on the node, by the order of their labels.
std::vector<DriverIdentity> DriversWithLabel(const Node& node);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_MODEL_NODE_MARKS_H_
