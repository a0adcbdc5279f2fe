#include "embed/engine_json.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status_macros.h"
#include "driverupgrade/upgrade_state.h"
#include "wire/json_writer.h"

namespace driverupgrade::internal {
namespace {

// Writes the milliseconds since 1970. Rounds up, so that a call at that time is not too early.
void TimeMember(std::string_view key, std::optional<absl::Time> time, JsonWriter& writer) {
  if (time && *time < absl::InfiniteFuture()) {
    const absl::Duration since = absl::Ceil(*time - absl::UnixEpoch(), absl::Milliseconds(1));
    return writer.Member(key, std::int64_t{absl::ToInt64Milliseconds(since)});
  }
  writer.Key(key);
  writer.Null();
}

template <typename Items>
void Texts(std::string_view key, const Items& items, JsonWriter& writer) {
  writer.ArrayMember(key, [&] {
    for (const std::string& text : items) writer.String(text);
  });
}

// Writes each item as an object. `members(item)` writes the members of the object.
template <typename Items, typename F>
void Objects(std::string_view key, const Items& items, JsonWriter& writer, F members) {
  writer.ArrayMember(key, [&] {
    for (const auto& item : items) writer.Object([&] { members(item); });
  });
}

void WriteGate(const Gate& gate, JsonWriter& writer) {
  writer.Member("reason", ToString(gate.reason));
  writer.Member("detail", gate.detail);
  TimeMember("notBefore", gate.not_before, writer);
  if (gate.fails_at) TimeMember("failsAt", gate.fails_at, writer);
  if (gate.subject) {
    writer.ObjectMember("subject", [&] {
      writer.Member("kind", ToString(gate.subject->kind));
      writer.Member("namespace", gate.subject->ns);
      writer.Member("name", gate.subject->name);
    });
  }
  if (gate.count) {
    writer.ObjectMember("count", [&] {
      writer.Member("used", gate.count->used);
      writer.Member("limit", gate.count->limit);
    });
  }
}

void WritePlan(const NodePlan& plan, JsonWriter& writer) {
  writer.Member("node", plan.node);
  writer.Member("uid", plan.uid);
  writer.Member("resourceVersion", plan.resource_version);
  writer.Member("state", ToString(plan.from));
  writer.ArrayMember("path", [&] {
    for (const UpgradeState state : plan.path) writer.String(ToString(state));
  });
  writer.Member("patch", plan.patch.has_value());
  writer.Member("evict", static_cast<int>(plan.evict.size()));
  writer.Member("delete", static_cast<int>(plan.remove.size()));
}

void WriteTotals(const Tally& totals, JsonWriter& writer) {
  writer.ObjectMember("totals", [&] {
    writer.Member("total", totals.total);
    writer.Member("pending", totals.pending);
    writer.Member("inProgress", totals.in_progress);
    writer.Member("failed", totals.failed);
    writer.Member("done", totals.done);
    writer.Member("notReady", totals.not_ready);
    writer.Member("slots", totals.slots);
    writer.Member("unavailable", totals.unavailable);
    writer.Member("devicesIsolated", totals.devices_isolated);
  });
}

void GateMember(std::string_view key, const std::optional<Gate>& gate, JsonWriter& writer) {
  if (gate) writer.ObjectMember(key, [&] { WriteGate(*gate, writer); });
}

void WriteGangs(const RolloutGangs& gangs, JsonWriter& writer) {
  writer.ObjectMember("gangs", [&] {
    writer.Member("gangs", gangs.gangs);
    writer.Member("units", gangs.units);
    writer.Member("interruptions", gangs.interruptions);
    writer.Member("byName", gangs.by_name);
    writer.Member("interrupted", gangs.interrupted);
    writer.Member("caused", gangs.caused);
    writer.ObjectMember("byInterruptions", [&] {
      for (const auto& [interruptions, number] : gangs.by_interruptions) {
        writer.Member(std::to_string(interruptions), number);
      }
    });
  });
}

// Omits members without a value.
void WriteRollout(const RolloutStatus& rollout, JsonWriter& writer) {
  const auto open = static_cast<std::size_t>(rollout.open);
  writer.Member("revision", rollout.revision);
  if (rollout.began) TimeMember("began", rollout.began, writer);
  writer.Member("stage", open < rollout.stages.size() ? rollout.stages[open].name : std::string());
  Objects("stages", rollout.stages, writer, [&](const RolloutStageStatus& stage) {
    writer.Member("name", stage.name);
    writer.Member("nodes", stage.nodes);
    writer.Member("underWay", stage.under_way);
    writer.Member("done", stage.done);
    writer.Member("failed", stage.failed);
    writer.Member("leftOut", stage.left_out);
    if (!stage.why_left_out.empty()) writer.Member("whyLeftOut", stage.why_left_out);
  });
  if (rollout.rollback) writer.Member("rollback", ToString(*rollout.rollback));
  if (rollout.gangs) WriteGangs(*rollout.gangs, writer);
  GateMember("waitsFor", rollout.next, writer);
  GateMember("halted", rollout.halted, writer);
  GateMember("closed", rollout.closed, writer);
}

void WriteEvent(const RecordEventParams& event, JsonWriter& writer) {
  writer.Member("node", event.node_name);
  writer.Member("nodeUid", event.node_uid);
  if (event.pod) {
    writer.ObjectMember("pod", [&] {
      writer.Member("namespace", event.pod->ns);
      writer.Member("name", event.pod->name);
      writer.Member("uid", event.pod->uid);
    });
  } else {
    writer.Key("pod");
    writer.Null();
  }
  writer.Member("type", event.type == EventType::kWarning ? "Warning" : "Normal");
  writer.Member("reason", event.reason);
  writer.Member("message", event.message);
}

void WriteOutcome(const NodeOutcome& outcome, JsonWriter& writer) {
  writer.Member("node", outcome.node);
  writer.Member("code", static_cast<int>(outcome.status.code()));
  writer.Member("message", Message(outcome.status));
  writer.Member("patched", outcome.patched);
  writer.Member("evictionsAccepted", outcome.evictions_accepted);
  writer.Member("evictionsRefused", outcome.evictions_refused);
  writer.Member("podsDeleted", outcome.pods_deleted);
  writer.Member("gangsInterrupted", outcome.gangs_interrupted);
  writer.Member("lateHoldersEvicted", outcome.late_holders_evicted);
  writer.Member("podsKept", outcome.pods_kept);
}

void WritePart(const OwnedPart& part, const std::vector<std::string>& warnings, JsonWriter& writer) {
  writer.Member("owner", part.owner);
  WriteTotals(part.totals, writer);
  writer.ObjectMember("waiting", [&] {
    for (const auto& [reason, nodes] : part.waiting) writer.Member(ToString(reason), nodes);
  });
  Texts("warnings", warnings, writer);
  if (part.rollout) writer.ObjectMember("rollout", [&] { WriteRollout(*part.rollout, writer); });
}

}  // namespace

std::string FormatReading(const std::vector<ManagedNode>& nodes, const std::vector<HostQuestion>& questions) {
  JsonWriter writer;
  writer.Object([&] {
    Objects("nodes", nodes, writer, [&](const ManagedNode& node) {
      writer.Member("name", node.name);
      writer.Member("uid", node.uid);
      writer.Member("state", node.state_label);
      Texts("driverPods", node.driver_pods, writer);
    });
    Objects("questions", questions, writer, [&](const HostQuestion& question) {
      writer.Member("id", question.id);
      writer.Member("kind", "restartOnly");
      writer.Member("node", question.node);
      writer.Member("pod", question.pod.ToString());
      writer.Member("podUid", question.pod.uid);
      writer.Member("podResourceVersion", question.pod_version);
      writer.Member("running", question.running);
      writer.Member("wanted", question.wanted);
    });
  });
  return writer.Take();
}

std::string FormatPass(const HostPass& pass) {
  JsonWriter writer;
  writer.Object([&] {
    writer.ArrayMember("work", [&] {
      if (pass.ledger_begins) writer.String(kLedger);
      for (const NodePlan& plan : pass.plan.nodes) writer.String(plan.node);
    });
    Objects("plans", pass.plan.nodes, writer, [&](const NodePlan& plan) { WritePlan(plan, writer); });
    Texts("wantedPods", pass.wanted_pods, writer);
    Texts("podInterest", pass.pod_interest, writer);
    Objects("gates", pass.plan.gates, writer, [&](const NodeGate& waits) {
      writer.Member("node", waits.node);
      writer.Member("state", ToString(waits.state));
      WriteGate(waits.gate, writer);
    });
    Texts("ungated", pass.plan.ungated, writer);
    Objects("findings", pass.plan.findings, writer, [&](const Finding& finding) {
      writer.Member("code", ToString(finding.code));
      writer.Member("node", finding.node);
      writer.Member("message", finding.message);
    });
    Texts("warnings", pass.warnings, writer);
    WriteTotals(pass.plan.totals, writer);
    if (pass.plan.rollout) writer.ObjectMember("rollout", [&] { WriteRollout(*pass.plan.rollout, writer); });
    if (!pass.parts.empty()) {
      Objects("parts", pass.parts, writer, [&](const OwnedPart& part) {
        const auto warnings = pass.warnings_by_owner.find(part.owner);
        WritePart(part, warnings == pass.warnings_by_owner.end() ? std::vector<std::string>() : warnings->second,
                  writer);
      });
    }
    TimeMember("wakeAt", pass.plan.wake_at, writer);
  });
  return writer.Take();
}

absl::StatusOr<std::string> FormatRequest(const HttpRequest* request, bool metadata_only) {
  if (request == nullptr) return std::string("{}");
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string target, EncodeRequestTarget(*request));
  JsonWriter writer;
  writer.Object([&] {
    writer.Member("verb", ToString(request->verb));
    writer.Member("target", target);
    writer.Member("contentType", request->content_type);
    if (metadata_only) writer.Member("accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
    writer.Member("body", request->body);
  });
  return writer.Take();
}

std::string FormatSettled(const Settled& settled) {
  JsonWriter writer;
  writer.Object([&] {
    Objects("outcomes", settled.outcomes, writer, [&](const NodeOutcome& outcome) { WriteOutcome(outcome, writer); });
    Objects("events", settled.events, writer, [&](const RecordEventParams& event) { WriteEvent(event, writer); });
  });
  return writer.Take();
}

std::string FormatExplanation(const std::string& node, const std::optional<Gate>& gate) {
  JsonWriter writer;
  writer.Object([&] {
    writer.Member("node", node);
    if (gate) return writer.ObjectMember("gate", [&] { WriteGate(*gate, writer); });
    writer.Key("gate");
    writer.Null();
  });
  return writer.Take();
}

std::string FormatFlag(const char* name, bool value) {
  JsonWriter writer;
  writer.Object([&] { writer.Member(name, value); });
  return writer.Take();
}

}  // namespace driverupgrade::internal
