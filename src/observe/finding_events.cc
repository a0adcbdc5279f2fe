#include "observe/finding_events.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "fmt/format.h"
#include "observe/event_message.h"

namespace driverupgrade::internal {
namespace {

// Interval between two reports of a finding or gate that lasts. It is shorter than the lifetime of an Event, which is
// an hour by default.
constexpr absl::Duration kReminder = absl::Minutes(30);
// A label that is repeatedly removed does not affect the upgrade, so fewer Events are enough.
constexpr absl::Duration kLabelReminder = absl::Hours(1);

absl::Duration ReminderOf(FindingCode code) {
  return code == FindingCode::kLabelTakenAway ? kLabelReminder : kReminder;
}

// Returns true if the Event about the finding is not a warning.
bool IsForInformation(FindingCode code) {
  return code == FindingCode::kTimerRestarted || code == FindingCode::kPodLeftAlone ||
         code == FindingCode::kForeignCordon || code == FindingCode::kClaimLeftBehind;
}

// Returns true if the last report, at `told`, is too old, and then sets `told` to `now`.
bool IsDue(absl::Time& told, absl::Time now, absl::Duration reminder = kReminder) {
  if (told > now) told = now;  // the clock was set back
  if (now - told < reminder) return false;
  told = now;
  return true;
}

std::string Describe(const NodeGate& waits) {
  return CutEventMessage(fmt::format("The driver upgrade waits in {} ({}): {}", ToString(waits.state),
                                     ToString(waits.gate.reason), waits.gate.detail));
}

}  // namespace

FindingEvents::FindingEvents(const DriverIdentity& identity, std::optional<PodRef> own_pod)
    : reason_(identity.EventReason()), own_pod_(std::move(own_pod)) {}

std::vector<RecordEventParams> FindingEvents::Follow(const Plan& plan,
                                                     const std::function<std::string(const std::string& node)>& uid_of,
                                                     absl::Time now) {
  std::vector<RecordEventParams> news;
  FollowFindings(plan, now, news);
  FollowGates(plan, now, news);
  for (RecordEventParams& event : news) {
    event.reason = reason_;
    event.time = now;
    if (!event.node_name.empty()) event.node_uid = uid_of(event.node_name);
  }
  return news;
}

std::optional<RecordEventParams> FindingEvents::EventOf(const Finding& finding) const {
  if (finding.node.empty() && !own_pod_) return std::nullopt;
  RecordEventParams event{.node_name = finding.node,
                          .type = IsForInformation(finding.code) ? EventType::kNormal : EventType::kWarning,
                          .message = CutEventMessage(fmt::format("{}: {}", ToString(finding.code), finding.message))};
  if (finding.node.empty()) event.pod = own_pod_;
  return event;
}

void FindingEvents::FollowFindings(const Plan& plan, absl::Time now, std::vector<RecordEventParams>& news) {
  std::map<FindingKey, absl::Time> standing;
  for (const Finding& finding : plan.findings) {
    // The message of this finding contains a count, and a different count alone does not make it a new finding.
    const bool counts_on = finding.code == FindingCode::kLabelTakenAway;
    FindingKey key(finding.code, finding.node, counts_on ? std::string() : finding.message);
    const auto known = findings_.find(key);
    absl::Time told = known == findings_.end() ? absl::InfinitePast() : known->second;
    if (IsDue(told, now, ReminderOf(finding.code))) {
      if (std::optional<RecordEventParams> event = EventOf(finding)) news.push_back(*std::move(event));
    }
    standing[std::move(key)] = told;
  }
  findings_ = std::move(standing);
}

void FindingEvents::FollowGates(const Plan& plan, absl::Time now, std::vector<RecordEventParams>& news) {
  for (const std::string& node : plan.ungated) gates_.erase(node);
  if (plan.gates_complete) {
    std::set<std::string> waiting;
    for (const NodeGate& waits : plan.gates) waiting.insert(waits.node);
    std::erase_if(gates_, [&](const auto& told) { return !waiting.contains(told.first); });
  }
  for (const NodeGate& waits : plan.gates) {
    if (!TraitsOf(waits.gate.reason).is_event) {
      gates_.erase(waits.node);
      continue;
    }
    Told& told = gates_[waits.node];
    std::string message = Describe(waits);
    if (message != told.message) told = {.message = std::move(message)};
  }
  // Checks all gates that still exist, not only the gates in this plan.
  for (auto& [node, told] : gates_) {
    if (IsDue(told.at, now)) {
      news.push_back({.node_name = node, .type = EventType::kWarning, .message = told.message});
    }
  }
}

std::optional<absl::Time> FindingEvents::NextReminder() const {
  std::optional<absl::Time> next;
  const auto note = [&](absl::Time due) { next = std::min(next.value_or(absl::InfiniteFuture()), due); };
  for (const auto& [key, told] : findings_) note(told + ReminderOf(std::get<FindingCode>(key)));
  for (const auto& [node, told] : gates_) note(told.at + kReminder);
  return next;
}

}  // namespace driverupgrade::internal
