// Defines the labels and annotations on a node for the upgrade of one driver, including those that the Go library uses.
//
// ShareView decodes the labels and annotations into NodeMarks once, when it creates a view. A walk edits the NodeMarks,
// which are encoded again when the patch is created. No other code in src/ depends on the format. DriverIdentity
// defines the keys.
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

// One label or annotation. Keeps the original text until the mark is written, so that a value that is invalid or has a
// different format stays unchanged on the node.
template <typename T>
class Mark {
 public:
  Mark() = default;
  // `value`: the parsed value, or nullopt if the text is invalid. `text` must outlive the mark.
  Mark(std::string_view text, std::optional<T> value) : text_(text), value_(std::move(value)) {}

  bool present() const { return text_ || value_; }
  // The value; nullopt if the mark is absent or invalid.
  const std::optional<T>& value() const { return value_; }
  // The text that was read. nullopt: the mark is absent, or was written after it was read.
  const std::optional<std::string_view>& text() const { return text_; }

  void Write(T value) {
    text_.reset();
    value_ = std::move(value);
  }
  void Remove() { *this = Mark(); }

  // Returns true if both marks have the same meaning, even if their texts differ.
  friend bool operator==(const Mark& a, const Mark& b) {
    return a.present() == b.present() && a.value_ == b.value_ && (a.value_ || a.text_ == b.text_);
  }

 private:
  std::optional<std::string_view> text_;
  std::optional<T> value_;
};

// The value of a mark whose presence is its only information.
struct Flag {
  friend bool operator==(const Flag&, const Flag&) = default;
};

// The timer of a state: `<state>@<unix seconds>@<target revision>`.
struct Stage {
  // The state; nullopt if the text is not a valid state.
  std::optional<UpgradeState> state = std::nullopt;
  // Time in whole seconds.
  absl::Time began = absl::UnixEpoch();
  std::string revision = {};
  friend bool operator==(const Stage&, const Stage&) = default;
};

// `<count>@<unix seconds>`: number of times that the upgrade of the node has failed at one revision.
struct Failures {
  int count = 0;
  // Time in whole seconds.
  absl::Time last = absl::UnixEpoch();
  friend bool operator==(const Failures&, const Failures&) = default;
};

// Returns true if the list, whose elements are separated by commas, contains the name.
bool IsListed(std::string_view name, std::string_view list);

// Revisions for which a restart is enough: `<revision>[,<revision>...]@<target revision>`.
struct RestartOnly {
  // Revisions that were compared with the target, separated by commas.
  std::string compared = {};
  std::string target = {};
  bool Covers(std::string_view revision) const { return IsListed(revision, compared); }
  friend bool operator==(const RestartOnly&, const RestartOnly&) = default;
};

// The marks on a node. DriverIdentity explains each mark at the function with the same name.
struct NodeMarks {
  // True if the node could not be read. Its state is then unknown.
  bool unreadable = false;
  // True if the node is cordoned. This is not a mark, but the cordon that the marks describe.
  bool unschedulable = false;
  // True if the node has the taint that steers gangs to other nodes (DriverIdentity::PendingTaint).
  bool steers = false;
  // The marks that every evaluation checks come first.
  Mark<UpgradeState> state = {};
  // UID of a pod.
  Mark<std::string> restart_pod = {};
  Mark<Flag> skip_upgrade = {};
  Mark<Flag> safe_load = {};
  Mark<Flag> upgrade_requested = {};
  Mark<Flag> requestor_mode = {};
  Mark<Flag> initially_unschedulable = {};
  Mark<Stage> stage = {};
  Mark<absl::Time> pod_completion_start = {};
  Mark<absl::Time> validation_start = {};
  Mark<absl::Time> drain_start = {};
  Mark<absl::Time> unwanted_since = {};
  Mark<std::string> failed_revision = {};
  Mark<Failures> failures = {};
  Mark<std::string> failure_class = {};
  Mark<std::string> failure_cause = {};
  Mark<std::string> waiting_for = {};
  Mark<RestartOnly> restart_only = {};
  Mark<std::string> reload_only = {};
  Mark<std::string> unit = {};
  Mark<std::string> rollout_labels = {};
  // Set if the upgrade isolates devices instead of cordoning the node.
  Mark<int> isolated_devices = {};
  // Names of all drivers in the cordon set, including ours.
  Mark<std::set<std::string>> cordoned_by = {};

  // State of an upgrade in progress whose state label another client has removed, derived from the other marks and
  // never written to the node. nullopt if the label is present, or if no upgrade is in progress.
  std::optional<UpgradeState> unlabelled = std::nullopt;

  // Returns the state that the label names. If the label is missing, the other marks decide: kUnknown if these marks
  // show no upgrade in progress. Returns nullopt if the label is invalid, or if the node could not be read.
  std::optional<UpgradeState> State() const;
  // Returns true if the state label is present and not empty, even if its value is invalid.
  bool HasLabel() const { return state.value() != UpgradeState::kUnknown && state.present(); }
  friend bool operator==(const NodeMarks&, const NodeMarks&) = default;
};

// Returns the marks of `identity`. The marks refer to strings in `node`, which must outlive them. `driver_runs`: true
// if every driver pod on the node is ready, or if the driver pods are unknown.
NodeMarks DecodeMarks(const Node& node, const DriverIdentity& identity, bool driver_runs = true);

// Returns the node's taints. They include the taint that steers gangs to other nodes only if `steers` is true. All
// other taints stay unchanged.
std::vector<Taint> WithSteering(const Node& node, const DriverIdentity& identity, bool steers);
// Returns true if the node's taints were read completely. Only then may the list of taints be written.
bool CanWriteTaints(const Node& node);

// Removes our marks from the node, except for the skip label. Also removes the cordon if an upgrade set it.
void RemoveMarks(Node& node, const DriverIdentity& identity);

// Returns the labels of the node, and the labels that the mark `rollout_labels` has recorded since the start of its
// upgrade, until the upgrade succeeds. `recorded_first`: a recorded label replaces the node's current label; otherwise, it
// replaces only a missing label.
StringMap KnownLabels(const Node& node, const NodeMarks& marks, bool recorded_first);

// Returns the labels that decide the node's stage and group. While its upgrade is in progress, these are the labels that
// the mark `rollout_labels` has recorded. Before another attempt, the current labels count, but a missing label keeps its
// recorded value, because the driver may be broken.
StringMap RolloutLabels(const Node& node, const NodeMarks& marks);

// Returns true if marks other than the cordon set show that an upgrade of the node was admitted.
bool WasAdmitted(const NodeMarks& marks);
// Returns true if the cordon set of the node contains our name.
bool IsInCordonSet(const NodeMarks& marks, const DriverIdentity& identity);
// Returns true if either the node or its devices are isolated from workloads for our upgrade.
bool IsIsolated(const NodeMarks& marks, const DriverIdentity& identity);

// The changes from `from` to `to`, by key; nullopt removes the key.
struct MarkChanges {
  std::map<std::string, std::optional<std::string>> labels = {};
  std::map<std::string, std::optional<std::string>> annotations = {};
  std::optional<bool> unschedulable = std::nullopt;
  std::optional<bool> steers = std::nullopt;
};
MarkChanges ChangesBetween(const NodeMarks& from, const NodeMarks& to, const DriverIdentity& identity);

// Size limit, in bytes, of marks that contain a message for users.
inline constexpr std::size_t kMarkTextMax = 256;

// Return the text of a mark with the given value.
std::string Spell(Flag flag);
std::string Spell(UpgradeState state);
std::string Spell(absl::Time time);
std::string Spell(const std::string& text);
std::string Spell(int number);
std::string Spell(const Stage& stage);
std::string Spell(const Failures& failures);
std::string Spell(const RestartOnly& restart_only);
std::string Spell(const std::set<std::string>& names);

// Returns true if the mark already has `value` in the format that we would write.
template <typename T>
bool IsWritten(const Mark<T>& mark, const T& value) {
  return mark.value() == value && (!mark.text() || *mark.text() == Spell(value));
}

// Same as NodeMarks::State, for callers that have not read the driver pods.
std::optional<UpgradeState> StateOf(const Node& node, const DriverIdentity& identity);
// Returns true if the state label is present and not empty, even if its value is invalid.
bool HasState(const Node& node, const DriverIdentity& identity);
// Returns true if the node has a non-empty state label, if the cordon set contains our name, or if other marks show an
// upgrade in progress. The engine then manages the node even without a driver pod.
bool IsMarked(const Node& node, const DriverIdentity& identity);
// Returns the value of the state label, even if the value is invalid; empty if the label is missing.
std::string StateText(const Node& node, const DriverIdentity& identity);
// Returns the node's labels except for the state label.
StringMap LabelsWithoutState(const Node& node, const DriverIdentity& identity);
// Returns true if an upgrade is in progress, or may be, because the label is invalid or the node could not be read.
bool IsBusy(const Node& node, const DriverIdentity& identity);
// Returns, for messages, the annotation with which an administrator requests an upgrade of a node.
std::string KeyOfRequest(const DriverIdentity& identity);
// Returns the rollout's approvals on one of the driver's DaemonSets, each as `<stage>@<revision>`. Commas, spaces or
// tabs separate the approvals.
std::set<std::string> ApprovalsOn(const DaemonSet& daemon_set, const DriverIdentity& identity);
// Returns the kubectl command with which a user approves a stage.
std::string ApprovalCommand(const DaemonSet& daemon_set, const DriverIdentity& identity, std::string_view approval);
// Returns the drivers that have a state label on the node, in label order.
std::vector<DriverIdentity> DriversWithLabel(const Node& node);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_MODEL_NODE_MARKS_H_
