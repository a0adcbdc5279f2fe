#include "decide/admission/grants.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "decide/admission/upgrade_budget.h"
#include "decide/attempt_log.h"
#include "driverupgrade/cluster_snapshot.h"
#include "fmt/format.h"

namespace driverupgrade {
namespace {

// Returns the version to store for the grant; nullopt if the grant can be dropped.
std::optional<std::string> Kept(const std::string& version, const NodeReading& node) {
  // If the version of the grant was lost, it may be the current version of the node. A patch with this version as its
  // precondition may then still be in flight.
  if (version.empty()) return node.resource_version;
  if (!node.holds_slot && internal::IsNewerVersion(node.resource_version, version)) return std::nullopt;
  return version;
}

// Returns true if the node may get a grant or use its existing grant.
bool MayHave(const Grants& grants, const NodeReading& node, std::size_t grants_max) {
  const auto kept = grants.find(node.uid);
  if (kept == grants.end()) return grants.size() < grants_max;
  // A grant for the version that was read is safe: at most one patch can be applied at that version, no matter how many
  // are sent. A grant for an older version is renewed, because no patch at the older version can be applied any longer.
  // Such a grant still exists for a node that holds a slot, for example for a failed node that an administrator
  // uncordoned and that starts again. A grant for a newer version means that the node was read before another replica
  // renewed the grant.
  return kept->second == node.resource_version || internal::IsNewerVersion(node.resource_version, kept->second);
}

// Returns the text up to the next separator, and removes both from `text`.
std::string_view Cut(std::string_view& text, std::string_view separators) {
  const std::size_t end = std::min(text.find_first_of(separators), text.size());
  const std::string_view head = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return head;
}

std::string_view CutWord(std::string_view& line) {
  std::string_view word;
  while (word.empty() && !line.empty()) word = Cut(line, " \t\r");
  return word;
}

}  // namespace

NodeReading ReadingOf(const NodeView& view, const Verdict& verdict) {
  return {.uid = view.node.uid, .resource_version = view.node.resource_version, .holds_slot = verdict.tally.slots > 0};
}

NodeReading ReadingElsewhere(const std::string& uid, const std::string& version) {
  return {.uid = uid, .resource_version = version};
}

std::optional<std::string> KeptGrant(const Grants& grants, const NodeReading& node) {
  const auto grant = grants.find(node.uid);
  return grant == grants.end() ? std::nullopt : Kept(grant->second, node);
}

bool Counts(const Grants& grants, const NodeReading& node) { return KeptGrant(grants, node).has_value(); }

bool IsCurrent(const Grants& grants, const NodeReading& node) {
  const auto grant = grants.find(node.uid);
  return grant != grants.end() && !grant->second.empty() && grant->second == node.resource_version;
}

Tally WithGrant(Tally tally) {
  tally.slots = std::max(tally.slots, 1);
  tally.unavailable = std::max(tally.unavailable, 1);
  return tally;
}

GrantShare ShareOf(const Grants& grants, const NodeView& view, const Verdict& verdict) {
  if (grants.empty()) return {};
  const NodeReading reading = ReadingOf(view, verdict);
  return {.granted = grants.contains(reading.uid),
          .counts = Counts(grants, reading),
          .first = verdict.candidate && IsCurrent(grants, reading)};
}

bool CountsAsUnavailable(const Tally& node, const GrantShare& share) { return share.counts || node.unavailable > 0; }

void Sums::Add(const Tally& node, const GrantShare& share) {
  with += share.counts ? WithGrant(node) : node;
  without += share.counts && !share.first ? WithGrant(node) : node;
  kept += share.counts ? 1 : 0;
}

void Sums::Subtract(const Tally& node, const GrantShare& share) {
  with -= share.counts ? WithGrant(node) : node;
  without -= share.counts && !share.first ? WithGrant(node) : node;
  kept -= share.counts ? 1 : 0;
}

Sums Sums::AndElsewhere(std::size_t grants) const {
  const Tally elsewhere{.slots = static_cast<int>(grants), .unavailable = static_cast<int>(grants)};
  return {.with = with + elsewhere, .without = without + elsewhere, .kept = kept + grants};
}

int SlotsAfter(const Plan& plan) {
  const auto starts = std::count_if(plan.nodes.begin(), plan.nodes.end(),
                                    [](const NodePlan& node) { return node.needs_grant && IsInProgress(node.to()); });
  return plan.totals.slots + static_cast<int>(starts);
}

Budgets Sums::Against(const AdmissionLimits& limits, const std::optional<SharedSlots>& shared,
                      std::vector<std::string> unavailable) const {
  Budgets budgets{.all = internal::ComputeBudget(with, limits, shared),
                  .granted = internal::ComputeBudget(without, limits, shared)};
  if (budgets.all.unavailable_max) budgets.all.unavailable_nodes = std::move(unavailable);
  return budgets;
}

GrantDecision DecideGrants(const Grants& grants, const std::vector<NodeReading>& nodes,
                           const std::vector<std::string>& wanted, std::size_t grants_max) {
  GrantDecision decision;
  std::map<std::string_view, const NodeReading*> by_uid;
  for (const NodeReading& node : nodes) {
    by_uid.emplace(node.uid, &node);
    if (std::optional<std::string> kept = KeptGrant(grants, node)) decision.grants[node.uid] = *std::move(kept);
  }
  for (const std::string& uid : wanted) {
    const auto node = by_uid.find(uid);
    if (node == by_uid.end() || !MayHave(decision.grants, *node->second, grants_max)) {
      decision.held_back.push_back(uid);
      continue;
    }
    decision.grants[uid] = node->second->resource_version;
    decision.admitted.push_back(uid);
  }
  return decision;
}

std::string FormatGrants(const Grants& grants) {
  std::string text;
  for (const auto& [uid, version] : grants) text += fmt::format("{} {}\n", uid, version);
  return text;
}

ParsedGrants ParseGrants(std::string_view text) {
  ParsedGrants parsed;
  int senseless = 0;
  int first = 0;
  for (int number = 1; !text.empty(); ++number) {
    std::string_view line = Cut(text, "\n");
    const std::string_view uid = CutWord(line);
    if (uid.empty()) continue;
    std::string_view version = CutWord(line);
    const bool sensible = !version.empty() && CutWord(line).empty();
    if (!sensible) version = {};
    const auto [grant, is_new] = parsed.grants.emplace(uid, version);
    // If a node has two grants, a grant whose version was lost may be the newer grant.
    if (!is_new && (version.empty() || (!grant->second.empty() && internal::IsNewerVersion(version, grant->second)))) {
      grant->second = version;
    }
    if (sensible && is_new) continue;
    if (++senseless == 1) first = number;
  }
  if (senseless > 0) parsed.error = fmt::format("{} invalid lines, first: line {}", senseless, first);
  return parsed;
}

}  // namespace driverupgrade
