#include "upgradectl/operator_view.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "upgradectl/text.h"
#include "wire/json_document.h"
#include "wire/node_maintenance_json.h"

namespace upgradectl {
namespace {

using driverupgrade::Finding;
using driverupgrade::FindingCode;
using driverupgrade::Gate;
using driverupgrade::GateSubjectKind;
using driverupgrade::Rollback;
using driverupgrade::Tally;
using driverupgrade::UpgradeBudget;
using driverupgrade::internal::JsonField;
using driverupgrade::internal::ReadTime;

// Returns the value with this ToString name. The values of the enumeration must be 0 to `last`.
template <typename T>
T ValueOf(const JsonField& field, T last) {
  const std::string name = field.String();
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    if (ToString(static_cast<T>(i)) == name) return static_cast<T>(i);
  }
  field.Fail(fmt::format("`{}` is not known: use the operator's version of upgradectl", Printable(name)));
  return last;
}

std::optional<absl::Time> TimeAt(const JsonField& object, std::string_view key) {
  const JsonField time = object.Member(key);
  return ReadTime(time);
}

std::string StringAt(const JsonField& object, std::string_view key) {
  const JsonField text = object.Member(key);
  return text.String();
}

int IntAt(const JsonField& object, std::string_view key) {
  const JsonField number = object.Member(key);
  return number.Int();
}

bool BoolAt(const JsonField& object, std::string_view key) {
  const JsonField flag = object.Member(key);
  return flag.Bool();
}

driverupgrade::UpgradeState StateAt(const JsonField& object, std::string_view key) {
  const JsonField field = object.Member(key);
  const auto state = driverupgrade::ParseUpgradeState(field.String());
  if (!state) field.Fail("is not a state");
  return state.value_or(driverupgrade::UpgradeState::kUnknown);
}

std::optional<Gate> GateAt(const JsonField& object, std::string_view key) {
  const JsonField field = object.Member(key);
  if (!field.present()) return std::nullopt;
  const JsonField reason = field.Member("reason");
  Gate gate{.reason = ValueOf(reason, driverupgrade::GateReason::kFailed),
            .detail = StringAt(field, "detail"),
            .not_before = TimeAt(field, "notBefore"),
            .fails_at = TimeAt(field, "failsAt"),
            .place = IntAt(field, "place")};
  if (const JsonField subject = field.Member("subject"); subject.present()) {
    const JsonField kind = subject.Member("kind");
    gate.subject.emplace(ValueOf(kind, GateSubjectKind::kGroup), StringAt(subject, "namespace"),
                         StringAt(subject, "name"));
  }
  if (const JsonField count = field.Member("count"); count.present()) {
    gate.count = driverupgrade::GateCount{.used = IntAt(count, "used"), .limit = IntAt(count, "limit")};
  }
  return gate;
}

Tally TotalsOf(const JsonField& pool) {
  const JsonField totals = pool.Member("totals");
  return {.total = IntAt(totals, "total"),
          .pending = IntAt(totals, "pending"),
          .in_progress = IntAt(totals, "inProgress"),
          .failed = IntAt(totals, "failed"),
          .done = IntAt(totals, "done"),
          .not_ready = IntAt(totals, "notReady"),
          .slots = IntAt(totals, "slots"),
          .unavailable = IntAt(totals, "unavailable")};
}

UpgradeBudget BudgetOf(const JsonField& pool) {
  UpgradeBudget budget;
  const JsonField budgets = pool.Member("budgets");
  budgets.ForEachItem([&](const JsonField& item) {
    const std::string name = StringAt(item, "name");
    const int used = IntAt(item, "used");
    const JsonField limit = item.Member("limit");
    const std::optional<int> max = limit.present() ? std::optional(limit.Int()) : std::nullopt;
    if (name == "parallel") {
      budget.parallel_used = used;
      budget.parallel_max = max;
    } else if (name == "unavailable") {
      budget.unavailable = used;
      budget.unavailable_max = max;
      const JsonField nodes = item.Member("items");
      nodes.ForEachItem([&](const JsonField& node) { budget.unavailable_nodes.push_back(node.String()); });
    } else if (name == "failures") {
      budget.failed = used;
      budget.failures_max = max;
    }
  });
  return budget;
}

driverupgrade::RolloutStageStatus StageOf(const JsonField& stage) {
  return {.name = StringAt(stage, "name"),
          .nodes = IntAt(stage, "nodes"),
          .under_way = IntAt(stage, "underWay"),
          .done = IntAt(stage, "done"),
          .failed = IntAt(stage, "failed"),
          .left_out = IntAt(stage, "leftOut"),
          .why_left_out = StringAt(stage, "whyLeftOut")};
}

std::optional<driverupgrade::RolloutStatus> RolloutOf(const JsonField& pool) {
  const JsonField field = pool.Member("rollout");
  if (!field.present()) return std::nullopt;
  driverupgrade::RolloutStatus rollout{.revision = StringAt(field, "revision"), .began = TimeAt(field, "began")};
  const JsonField stages = field.Member("stages");
  stages.ForEachItem([&](const JsonField& stage) { rollout.stages.push_back(StageOf(stage)); });
  const std::string open = StringAt(field, "stage");
  const auto found = std::find_if(rollout.stages.begin(), rollout.stages.end(),
                                  [&](const driverupgrade::RolloutStageStatus& stage) { return stage.name == open; });
  // If no stage is open, all stages have ended.
  rollout.open = static_cast<int>(found - rollout.stages.begin());
  rollout.next = GateAt(field, "waitsFor");
  rollout.halted = GateAt(field, "halted");
  rollout.closed = GateAt(field, "closed");
  if (const JsonField rollback = field.Member("rollback"); rollback.present()) {
    rollout.rollback = ValueOf(rollback, Rollback::kFast);
  }
  if (const JsonField gangs = field.Member("gangs"); gangs.present()) {
    rollout.gangs = driverupgrade::RolloutGangs{.gangs = IntAt(gangs, "gangs"),
                                                .units = IntAt(gangs, "units"),
                                                .interruptions = IntAt(gangs, "interruptions"),
                                                .by_name = IntAt(gangs, "byName"),
                                                .interrupted = IntAt(gangs, "interrupted"),
                                                .caused = IntAt(gangs, "caused")};
  }
  return rollout;
}

std::vector<Finding> FindingsOf(const JsonField& pool) {
  std::vector<Finding> findings;
  const JsonField items = pool.Member("findings");
  items.ForEachItem([&](const JsonField& item) {
    const JsonField code = item.Member("code");
    findings.push_back({.code = ValueOf(code, FindingCode::kSelectsNothing),
                        .node = StringAt(item, "node"),
                        .message = StringAt(item, "message")});
  });
  return findings;
}

// Adds only the counts, because sums of the other fields are meaningless.
void Add(const Tally& tally, Tally& sum) {
  for (int Tally::*count : {&Tally::total, &Tally::pending, &Tally::in_progress, &Tally::failed, &Tally::done,
                            &Tally::not_ready, &Tally::slots, &Tally::unavailable}) {
    sum.*count += tally.*count;
  }
}

driverupgrade::FleetStatus PoolOf(const JsonField& pool) {
  return {.auto_upgrade = BoolAt(pool, "autoUpgrade"),
          .paused = BoolAt(pool, "paused"),
          .totals = TotalsOf(pool),
          .budget = BudgetOf(pool),
          .rollout = RolloutOf(pool),
          .findings = FindingsOf(pool)};
}

void Merge(driverupgrade::FleetStatus pool, driverupgrade::FleetStatus& fleet) {
  Add(pool.totals, fleet.totals);
  fleet.auto_upgrade = fleet.auto_upgrade || pool.auto_upgrade;
  fleet.paused = fleet.paused && pool.paused;
  fleet.budget = {.total = fleet.totals.total};
  fleet.rollout = std::nullopt;
  fleet.findings.insert(fleet.findings.end(), std::make_move_iterator(pool.findings.begin()),
                        std::make_move_iterator(pool.findings.end()));
}

NodeView NodeOf(const JsonField& node) {
  NodeView view{.status = {.name = StringAt(node, "name"),
                           .state = StateAt(node, "state"),
                           .since = TimeAt(node, "since"),
                           .revision = StringAt(node, "revision"),
                           .up_to_date = BoolAt(node, "upToDate"),
                           .driver_ready = BoolAt(node, "driverReady"),
                           .unavailable = BoolAt(node, "unavailable"),
                           .stage = StringAt(node, "stage"),
                           .group = StringAt(node, "group"),
                           .gate = GateAt(node, "gate")}};
  if (const JsonField gate = node.Member("gate"); gate.present()) view.gate_since = TimeAt(gate, "since");
  const JsonField transitions = node.Member("transitions");
  transitions.ForEachItem([&](const JsonField& item) {
    view.transitions.push_back({.at = TimeAt(item, "at").value_or(absl::InfinitePast()),
                                .state = StateAt(item, "state"),
                                .reason = StringAt(item, "reason")});
  });
  const JsonField requests = node.Member("requests");
  requests.ForEachItem([&](const JsonField& item) {
    view.failed_requests.push_back(
        {.at = TimeAt(item, "at").value_or(absl::InfinitePast()), .message = StringAt(item, "message")});
  });
  return view;
}

absl::Status Malformed(std::string_view why) {
  return absl::InvalidArgumentError(fmt::format("the operator's rollout document: {}", why));
}

}  // namespace

const NodeView* OperatorView::Find(std::string_view node) const {
  const auto found =
      std::find_if(nodes.begin(), nodes.end(), [&](const NodeView& view) { return view.status.name == node; });
  return found == nodes.end() ? nullptr : &*found;
}

absl::StatusOr<OperatorView> ParseOperatorView(std::string_view document, const std::string& pool) {
  driverupgrade::internal::JsonDocument parsed;
  if (const absl::Status status = parsed.Parse(document); !status.ok()) return Malformed(Message(status));
  std::string error;
  const JsonField root(parsed.root(), error);
  if (StringAt(root, "apiVersion") != "driverupgrade/v1" || StringAt(root, "kind") != "Rollout") {
    return Malformed("is not a Rollout of driverupgrade/v1");
  }
  OperatorView view{.at = TimeAt(root, "at").value_or(absl::InfinitePast()),
                    .leads = BoolAt(root, "leader"),
                    .last_pass = TimeAt(root, "lastPass"),
                    .last_error = StringAt(root, "lastError")};
  int count = 0;
  const auto is_wanted = [&](const std::string& name) { return pool.empty() || name == pool; };
  const JsonField pools = root.Member("pools");
  pools.ForEachItem([&](const JsonField& item) {
    if (!is_wanted(StringAt(item, "name"))) return;
    if (count++ == 0) {
      view.fleet = PoolOf(item);
    } else {
      Merge(PoolOf(item), view.fleet);
    }
  });
  const JsonField nodes = root.Member("nodes");
  nodes.ForEachItem([&](const JsonField& item) {
    if (is_wanted(StringAt(item, "pool"))) view.nodes.push_back(NodeOf(item));
  });
  if (!error.empty()) return Malformed(error);
  if (count == 0 && !pool.empty()) return absl::NotFoundError(fmt::format("the operator has no policy {}", pool));
  return view;
}

}  // namespace upgradectl
