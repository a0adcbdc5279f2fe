#include "upgradectl/report.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "driverupgrade/upgrade_state.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "rapidjson/document.h"
#include "rapidjson/prettywriter.h"
#include "rapidjson/stringbuffer.h"
#include "upgradectl/text.h"

namespace upgradectl {
namespace {

using driverupgrade::Finding;
using driverupgrade::Gate;
using driverupgrade::MaintenanceCall;
using driverupgrade::NodePlan;
using driverupgrade::PodRef;
using driverupgrade::Tally;
using driverupgrade::ToString;
using driverupgrade::UpgradeState;

constexpr std::size_t kPodsInTable = 3;

class JsonReport {
 public:
  std::string Write(const Report& report) {
    writer_.SetIndent(' ', 2);
    writer_.StartObject();
    Array("nodes", report.nodes, [this](const NodeReport& node) { Node(node); });
    Array("findings", report.findings, [this](const Finding& finding) { WriteFinding(finding, /*with_node=*/true); });
    Key("totals");
    Totals(report.totals);
    writer_.EndObject();
    return std::string(buffer_.GetString(), buffer_.GetSize()) + "\n";
  }

 private:
  void Key(std::string_view key) { writer_.Key(key.data(), static_cast<rapidjson::SizeType>(key.size())); }
  void String(std::string_view text) { writer_.String(text.data(), static_cast<rapidjson::SizeType>(text.size())); }
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

  // The body that an engine would send.
  void Patch(const NodePlan& plan) {
    if (!plan.patch) {
      writer_.Null();
      return;
    }
    const std::string body = driverupgrade::FormatNodePatch({.name = plan.node,
                                                             .uid = plan.uid,
                                                             .resource_version = plan.resource_version,
                                                             .labels = plan.patch->labels,
                                                             .annotations = plan.patch->annotations,
                                                             .unschedulable = plan.patch->unschedulable});
    rapidjson::Document document;
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
    writer_.EndObject();
  }

  void WriteFinding(const Finding& finding, bool with_node) {
    writer_.StartObject();
    Member("code", ToString(finding.code));
    if (with_node) Member("node", finding.node);
    Member("message", finding.message);
    writer_.EndObject();
  }

  void Totals(const Tally& totals) {
    writer_.StartObject();
    Member("total", totals.total);
    Member("pending", totals.pending);
    Member("inProgress", totals.in_progress);
    Member("failed", totals.failed);
    Member("done", totals.done);
    Member("slots", totals.slots);
    Member("unavailable", totals.unavailable);
    writer_.EndObject();
  }

  rapidjson::StringBuffer buffer_;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer_{buffer_};
};

using Row = std::array<std::string, 5>;

void Append(std::string_view part, std::string& text) {
  if (!text.empty()) text += "; ";
  text += part;
}

std::string Pods(std::string_view what, const std::vector<PodRef>& pods) {
  std::string text(what);
  for (std::size_t i = 0; i < std::min(pods.size(), kPodsInTable); ++i) {
    text += fmt::format("{}{}", i == 0 ? " " : ", ", pods[i].ToString());
  }
  if (pods.size() > kPodsInTable) text += fmt::format(" and {} more", pods.size() - kPodsInTable);
  return text;
}

std::string Actions(const NodePlan& plan) {
  std::string text;
  if (plan.confirm) Append(fmt::format("confirm NodeMaintenance {}", plan.confirm->ToString()), text);
  if (plan.patch) {
    if (plan.patch->empty()) Append("confirm node", text);
    if (!plan.patch->labels.empty()) Append("label", text);
    if (!plan.patch->annotations.empty()) Append("annotate", text);
    if (plan.patch->unschedulable) Append(*plan.patch->unschedulable ? "cordon" : "uncordon", text);
  }
  if (!plan.evict.empty()) Append(Pods("evict", plan.evict), text);
  if (!plan.remove.empty()) Append(Pods("delete", plan.remove), text);
  for (const MaintenanceCall& call : plan.maintenance) {
    Append(fmt::format("{} NodeMaintenance {}", ToString(call.kind), call.object.ToString()), text);
  }
  return text.empty() ? "-" : text;
}

std::string GateText(const std::optional<Gate>& gate) {
  if (!gate) return "-";
  std::string text(ToString(gate->reason));
  if (!gate->detail.empty()) text += fmt::format(": {}", gate->detail);
  if (gate->not_before) text += fmt::format(" (not before {})", TimeText(*gate->not_before));
  return text;
}

std::vector<Row> Rows(const Report& report) {
  std::vector<Row> rows = {{"NODE", "STATE", "NEXT", "ACTIONS", "GATE"}};
  for (const NodeReport& node : report.nodes) {
    rows.push_back({Printable(node.plan.node), std::string(ToString(node.plan.from)),
                    std::string(node.plan.path.empty() ? "-" : ToString(node.plan.to())), Printable(Actions(node.plan)),
                    Printable(GateText(node.gate))});
  }
  return rows;
}

std::string Aligned(const std::vector<Row>& rows) {
  std::array<std::size_t, std::tuple_size_v<Row>> widths = {};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string text;
  for (const Row& row : rows) {
    // The last column is not padded: no line ends in spaces.
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      text += row[i] + std::string(widths[i] - Width(row[i]) + 2, ' ');
    }
    text += row.back() + "\n";
  }
  return text;
}

std::string Line(const Finding& finding) {
  const std::string about = finding.node.empty() ? "" : fmt::format(" on {}", finding.node);
  return Printable(fmt::format("finding {}{}: {}", ToString(finding.code), about, finding.message)) + "\n";
}

}  // namespace

std::string FormatJson(const Report& report) { return JsonReport().Write(report); }

std::string FormatTable(const Report& report) {
  std::string text = Aligned(Rows(report)) + "\n";
  for (const Finding& finding : report.findings) text += Line(finding);
  for (const NodeReport& node : report.nodes) {
    for (const Finding& finding : node.findings) text += Line(finding);
  }
  const Tally& totals = report.totals;
  text += fmt::format("{} nodes: {} pending, {} in progress, {} failed, {} done; {} slots in use, {} unavailable\n",
                      totals.total, totals.pending, totals.in_progress, totals.failed, totals.done, totals.slots,
                      totals.unavailable);
  return text;
}

}  // namespace upgradectl
