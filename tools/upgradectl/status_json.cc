#include <optional>
#include <string>

#include "fmt/format.h"
#include "upgradectl/json_view.h"
#include "upgradectl/reported.h"
#include "upgradectl/status.h"
#include "whatif/plan_json.h"

namespace upgradectl {
namespace {

using driverupgrade::Finding;
using driverupgrade::Gate;
using driverupgrade::whatif::TimeText;

// Builds the document of FormatStatusJson.
class StatusDocument {
 public:
  explicit StatusDocument(const RolloutStatus& status) {
    document_.SetObject();
    Add(document_, "driver", status.driver);
    Add(document_, "phase", std::string(ToString(status.phase)));
    Add(document_, "at", TimeText(status.at));
    AddOptional(document_, "policy", status.policy_source);
    AddReporter(status);
    AddPass(status);
    document_.AddMember("paused", status.paused, allocator());
    document_.AddMember("frozen", status.frozen, allocator());
    document_.AddMember("halted", status.budget.Halted() || (status.rollout && status.rollout->halted), allocator());
    AddTime(document_, "began", status.began);
    AddTotals(status);
    AddRollout(status);
    AddRemaining(status);
    AddLeader(status);
    AddNodes(status);
    AddFindings(status);
  }
  const json::Document& document() const { return document_; }

 private:
  json::Document::AllocatorType& allocator() { return document_.GetAllocator(); }
  void Add(json::Value& object, const char* name, const std::string& text) {
    object.AddMember(json::StringRef(name), json::Value(text, allocator()), allocator());
  }
  void Add(json::Value& object, const char* name, int number) {
    object.AddMember(json::StringRef(name), number, allocator());
  }
  void AddNull(json::Value& object, const char* name) {
    object.AddMember(json::StringRef(name), json::Value(), allocator());
  }
  void AddOptional(json::Value& object, const char* name, const std::string& text) {
    if (text.empty()) return AddNull(object, name);
    Add(object, name, text);
  }
  void AddLimit(json::Value& object, const char* name, std::optional<int> number) {
    if (!number) return AddNull(object, name);
    Add(object, name, *number);
  }
  void AddTime(json::Value& object, const char* name, std::optional<absl::Time> time) {
    if (!time) return AddNull(object, name);
    Add(object, name, TimeText(*time));
  }

  void AddTotals(const RolloutStatus& status) {
    json::Value totals(json::kObjectType);
    Add(totals, "total", status.totals.total);
    Add(totals, "pending", status.totals.pending);
    Add(totals, "inProgress", status.totals.in_progress);
    Add(totals, "failed", status.totals.failed);
    Add(totals, "done", status.totals.done);
    Add(totals, "notReady", status.totals.not_ready);
    Add(totals, "slots", status.totals.slots);
    AddLimit(totals, "slotsMax", status.budget.parallel_max);
    Add(totals, "unavailable", status.totals.unavailable);
    AddLimit(totals, "unavailableMax", status.budget.unavailable_max);
    document_.AddMember("totals", totals, allocator());
  }
  void AddRollout(const RolloutStatus& status) {
    if (!status.rollout) return AddNull(document_, "rollout");
    const driverupgrade::RolloutStatus& of = *status.rollout;
    json::Value rollout(json::kObjectType);
    Add(rollout, "revision", of.revision);
    const auto open = static_cast<std::size_t>(of.open);
    AddOptional(rollout, "stage", open < of.stages.size() ? of.stages[open].name : "");
    json::Value stages(json::kArrayType);
    for (const driverupgrade::RolloutStageStatus& stage : of.stages) {
      json::Value row(json::kObjectType);
      Add(row, "name", stage.name);
      Add(row, "nodes", stage.nodes);
      Add(row, "underWay", stage.under_way);
      Add(row, "done", stage.done);
      Add(row, "failed", stage.failed);
      Add(row, "leftOut", stage.left_out);
      stages.PushBack(row, allocator());
    }
    rollout.AddMember("stages", stages, allocator());
    AddOptional(rollout, "rollback", of.rollback ? std::string(ToString(*of.rollback)) : "");
    AddGate(rollout, "waitsFor", of.next);
    AddGate(rollout, "halted", of.halted);
    AddGate(rollout, "closed", of.closed);
    document_.AddMember("rollout", rollout, allocator());
  }
  void AddRemaining(const RolloutStatus& status) {
    if (!status.remaining) return AddNull(document_, "remainingSeconds");
    json::Value remaining(json::kObjectType);
    Add(remaining, "low", static_cast<int>(absl::ToInt64Seconds(status.remaining->low)));
    Add(remaining, "middle", static_cast<int>(absl::ToInt64Seconds(status.remaining->middle)));
    Add(remaining, "high", static_cast<int>(absl::ToInt64Seconds(status.remaining->high)));
    Add(remaining, "measuredNodes", status.remaining->measured);
    document_.AddMember("remainingSeconds", remaining, allocator());
  }
  void AddReporter(const RolloutStatus& status) {
    if (!status.policy_reporter) return AddNull(document_, "policyReported");
    json::Value reporter(json::kObjectType);
    AddOptional(reporter, "holder", status.policy_reporter->holder);
    Add(reporter, "renewed", TimeText(status.policy_reporter->renewed));
    reporter.AddMember("ended", HasRunOut(*status.policy_reporter, status.at), allocator());
    document_.AddMember("policyReported", reporter, allocator());
  }
  void AddPass(const RolloutStatus& status) {
    AddOptional(document_, "viewTrouble", status.view_trouble);
    if (!status.operator_pass) return AddNull(document_, "operatorPass");
    json::Value pass(json::kObjectType);
    Add(pass, "ageSeconds", static_cast<int>(absl::ToInt64Seconds(status.operator_pass->age)));
    AddOptional(pass, "error", status.operator_pass->error);
    document_.AddMember("operatorPass", pass, allocator());
  }
  void AddLeader(const RolloutStatus& status) {
    if (!status.leader) return AddNull(document_, "leader");
    json::Value leader(json::kObjectType);
    Add(leader, "lease", status.leader->ns + "/" + status.leader->name);
    Add(leader, "holder", status.leader->holder);
    Add(leader, "renewed", TimeText(status.leader->renewed));
    AddOptional(leader, "version", status.leader_version);
    AddOptional(leader, "trouble", status.operator_trouble);
    document_.AddMember("leader", leader, allocator());
  }
  void AddGate(json::Value& row, const char* name, const std::optional<Gate>& gate) {
    if (!gate) return AddNull(row, name);
    json::Value value(json::kObjectType);
    Add(value, "reason", std::string(driverupgrade::ToString(gate->reason)));
    Add(value, "detail", gate->detail);
    AddTime(value, "notBefore", gate->not_before);
    if (gate->fails_at) AddTime(value, "failsAt", gate->fails_at);
    AddSubject(value, *gate);
    row.AddMember(json::StringRef(name), value, allocator());
  }
  void AddSubject(json::Value& row, const Gate& gate) {
    if (gate.subject) {
      json::Value subject(json::kObjectType);
      Add(subject, "kind", std::string(driverupgrade::ToString(gate.subject->kind)));
      Add(subject, "namespace", gate.subject->ns);
      Add(subject, "name", gate.subject->name);
      row.AddMember("subject", subject, allocator());
    }
    if (!gate.count) return;
    json::Value count(json::kObjectType);
    count.AddMember("used", gate.count->used, allocator());
    count.AddMember("limit", gate.count->limit, allocator());
    row.AddMember("count", count, allocator());
  }
  void AddNodes(const RolloutStatus& status) {
    json::Value rows(json::kArrayType);
    for (const NodeStatus& node : status.nodes) {
      json::Value row(json::kObjectType);
      Add(row, "name", node.name);
      Add(row, "state", std::string(driverupgrade::ToString(node.state)));
      AddTime(row, "since", node.since);
      row.AddMember("cordoned", node.cordoned, allocator());
      row.AddMember("ready", node.ready, allocator());
      AddOptional(row, "pod", node.pod);
      row.AddMember("podReady", node.pod_ready, allocator());
      AddOptional(row, "revision", node.revision);
      AddGate(row, "gate", node.gate);
      if (!node.failure_cause.empty()) Add(row, "failureCause", node.failure_cause);
      if (!node.request_failure.empty()) Add(row, "requestFailure", node.request_failure);
      rows.PushBack(row, allocator());
    }
    document_.AddMember("nodes", rows, allocator());
  }
  void AddFindings(const RolloutStatus& status) {
    json::Value rows(json::kArrayType);
    for (const Finding& finding : status.findings) {
      json::Value row(json::kObjectType);
      Add(row, "code", std::string(driverupgrade::ToString(finding.code)));
      AddOptional(row, "node", finding.node);
      Add(row, "message", finding.message);
      rows.PushBack(row, allocator());
    }
    document_.AddMember("findings", rows, allocator());
  }

  json::Document document_;
};

}  // namespace

std::string FormatStatusJson(const RolloutStatus& status) { return ToPrettyJson(StatusDocument(status).document()); }

std::string FormatStatusYaml(const RolloutStatus& status) { return ToYaml(StatusDocument(status).document()); }

}  // namespace upgradectl
