#include "whatif/plan_json.h"

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "base/rapidjson.h"
#include "driverupgrade/upgrade_state.h"
#include "fmt/format.h"
// clang-format off: base/rapidjson.h must come first, because the next header uses its settings.
#include <rapidjson/prettywriter.h>
// clang-format on

namespace driverupgrade::whatif {
namespace {

namespace json = ::driverupgrade_rapidjson;

class JsonReport {
 public:
  std::string Write(const Report& report) {
    writer_.SetIndent(' ', 2);
    writer_.StartObject();
    Array("nodes", report.nodes, [this](const NodeReport& node) { Node(node); });
    Array("findings", report.findings, [this](const Finding& finding) { WriteFinding(finding, /*with_node=*/true); });
    Key("totals");
    Totals(report.totals);
    if (report.rollout) Rollout(*report.rollout);
    writer_.EndObject();
    return std::string(buffer_.GetString(), buffer_.GetSize()) + "\n";
  }

 private:
  void Key(std::string_view key) { writer_.Key(key.data(), static_cast<json::SizeType>(key.size())); }
  void String(std::string_view text) { writer_.String(text.data(), static_cast<json::SizeType>(text.size())); }
  void Member(std::string_view key, std::string_view text) {
    Key(key);
    String(text);
  }
  void Member(std::string_view key, int value) {
    Key(key);
    writer_.Int(value);
  }
  template <typename T, typename F>
  void Array(std::string_view key, const std::vector<T>& items, F&& write) {
    Key(key);
    writer_.StartArray();
    for (const T& item : items) write(item);
    writer_.EndArray();
  }

  void Node(const NodeReport& node) {
    const NodePlan& plan = node.plan;
    const auto write_pod = [this](const PodRef& pod) { String(pod.ToString()); };
    writer_.StartObject();
    Member("name", plan.node);
    Member("state", ToString(plan.from));
    Array("path", plan.path, [this](UpgradeState state) { String(ToString(state)); });
    Member("next", ToString(plan.to()));
    Key("confirm");
    if (plan.confirm) {
      String(plan.confirm->ToString());
    } else {
      writer_.Null();
    }
    Key("patch");
    Patch(plan);
    if (!plan.devices.empty()) {
      Array("devices", plan.devices, [this](const DeviceCall& call) { String(Describe(call)); });
    }
    Array("evict", plan.evict, write_pod);
    Array("delete", plan.remove, write_pod);
    Array("maintenance", plan.maintenance, [this](const MaintenanceCall& call) {
      String(fmt::format("{} {}", ToString(call.kind), call.object.ToString()));
    });
    Key("gate");
    WriteGate(node.gate);
    Array("findings", node.findings, [this](const Finding& finding) { WriteFinding(finding, /*with_node=*/false); });
    writer_.EndObject();
  }

  // Writes the body that an engine would send.
  void Patch(const NodePlan& plan) {
    if (!plan.patch) {
      writer_.Null();
      return;
    }
    const std::string body = FormatNodePatch({.name = plan.node,
                                              .uid = plan.uid,
                                              .resource_version = plan.resource_version,
                                              .labels = plan.patch->labels,
                                              .annotations = plan.patch->annotations,
                                              .unschedulable = plan.patch->unschedulable,
                                              .taints = plan.patch->taints});
    json::Document document;
    document.Parse(body.data(), body.size());
    document.Accept(writer_);
  }

  void WriteGate(const std::optional<Gate>& gate) {
    if (!gate) {
      writer_.Null();
      return;
    }
    writer_.StartObject();
    Member("reason", ToString(gate->reason));
    Member("detail", gate->detail);
    Key("notBefore");
    if (gate->not_before) {
      String(TimeText(*gate->not_before));
    } else {
      writer_.Null();
    }
    WriteSubject(*gate);
    writer_.EndObject();
  }

  void WriteSubject(const Gate& gate) {
    if (gate.fails_at) Member("failsAt", TimeText(*gate.fails_at));
    if (gate.subject) {
      Key("subject");
      writer_.StartObject();
      Member("kind", ToString(gate.subject->kind));
      Member("namespace", gate.subject->ns);
      Member("name", gate.subject->name);
      writer_.EndObject();
    }
    if (!gate.count) return;
    Key("count");
    writer_.StartObject();
    Key("used");
    writer_.Int(gate.count->used);
    Key("limit");
    writer_.Int(gate.count->limit);
    writer_.EndObject();
  }

  void WriteFinding(const Finding& finding, bool with_node) {
    writer_.StartObject();
    Member("code", ToString(finding.code));
    if (with_node) Member("node", finding.node);
    Member("message", finding.message);
    writer_.EndObject();
  }

  // Called only if the policy has a rollout, so that the JSON of any other plan has the same members as in earlier
  // releases.
  void Rollout(const RolloutStatus& rollout) {
    Key("rollout");
    writer_.StartObject();
    Member("revision", rollout.revision);
    if (rollout.began) Member("began", TimeText(*rollout.began));
    const auto open = static_cast<std::size_t>(rollout.open);
    Member("stage", open < rollout.stages.size() ? rollout.stages[open].name : std::string());
    Array("stages", rollout.stages, [this](const RolloutStageStatus& stage) {
      writer_.StartObject();
      Member("name", stage.name);
      Member("nodes", stage.nodes);
      Member("underWay", stage.under_way);
      Member("done", stage.done);
      Member("failed", stage.failed);
      Member("leftOut", stage.left_out);
      if (!stage.why_left_out.empty()) Member("whyLeftOut", stage.why_left_out);
      writer_.EndObject();
    });
    // Absent during a rollout of a new revision.
    if (rollout.rollback) Member("rollback", ToString(*rollout.rollback));
    if (rollout.gangs) Gangs(*rollout.gangs);
    Key("waitsFor");
    WriteGate(rollout.next);
    Key("halted");
    WriteGate(rollout.halted);
    Key("closed");
    WriteGate(rollout.closed);
    writer_.EndObject();
  }

  void Gangs(const RolloutGangs& gangs) {
    Key("gangs");
    writer_.StartObject();
    Member("gangs", gangs.gangs);
    Member("units", gangs.units);
    Member("interruptions", gangs.interruptions);
    Member("byName", gangs.by_name);
    writer_.EndObject();
  }

  void Totals(const Tally& totals) {
    writer_.StartObject();
    Member("total", totals.total);
    Member("pending", totals.pending);
    Member("inProgress", totals.in_progress);
    Member("failed", totals.failed);
    Member("done", totals.done);
    Member("notReady", totals.not_ready);
    Member("slots", totals.slots);
    Member("unavailable", totals.unavailable);
    writer_.EndObject();
  }

  json::StringBuffer buffer_;
  json::PrettyWriter<json::StringBuffer> writer_{buffer_};
};

}  // namespace

std::string FormatJson(const Report& report) { return JsonReport().Write(report); }

std::string TimeText(absl::Time time) { return absl::FormatTime("%Y-%m-%d%ET%H:%M:%E*SZ", time, absl::UTCTimeZone()); }

}  // namespace driverupgrade::whatif
