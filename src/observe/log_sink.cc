#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <tuple>

#include "base/status_macros.h"
#include "driverupgrade/observer.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "observe/gate_memory.h"

namespace driverupgrade {
namespace {

constexpr std::size_t kValueSizeMax = 1024;

std::string_view ToString(Severity severity) {
  switch (severity) {
    case Severity::kInfo: return "info";
    case Severity::kWarning: return "warning";
    case Severity::kError: return "error";
  }
  return "";
}

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-_./:@%+").find(c) != std::string_view::npos;
}

// Escapes everything except printable ASCII, so that a value can neither end the line nor reorder text on a terminal.
void AppendQuoted(std::string_view value, std::string& line) {
  line += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      line += '\\';
      line += c;
    } else if (c == '\n') {
      line += "\\n";
    } else if (c < ' ' || c > '~') {
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      line += c;
    }
  }
  line += '"';
}

void AppendField(std::string_view key, std::string_view value, std::string& line) {
  line += fmt::format("{}{}=", line.empty() ? "" : " ", key);
  const std::string_view cut = value.substr(0, kValueSizeMax);
  if (!cut.empty() && std::all_of(cut.begin(), cut.end(), IsPlain)) {
    line += cut;
  } else {
    AppendQuoted(cut, line);
  }
}

class LoggingObserver final : public Observer {
 public:
  LoggingObserver(const DriverIdentity& identity, LogSink sink) : driver_(identity.Name()), sink_(std::move(sink)) {}

  void OnPlan(const Plan& plan) override {
    const std::lock_guard lock(mutex_);
    NoteGates(plan);
    LogFindings(plan);
  }

  void OnNodeApplied(const NodePlan& plan, const NodeOutcome& outcome) override {
    if (!plan.path.empty() && outcome.patched) {
      std::vector<std::string_view> path;
      for (const UpgradeState state : plan.path) path.push_back(driverupgrade::ToString(state));
      Log(plan.to() == UpgradeState::kFailed ? Severity::kError : Severity::kInfo, "node moved",
          {{"node", plan.node},
           {"from", std::string(driverupgrade::ToString(plan.from))},
           {"to", fmt::format("{}", fmt::join(path, ","))},
           {"reason", plan.reason}});
    }
    LogWait(plan.node, outcome.patched);
    if (outcome.evictions_accepted > 0 || outcome.evictions_refused > 0) {
      Log(Severity::kInfo, outcome.evictions_accepted > 0 ? "pods evicted" : "evictions refused",
          {{"node", plan.node},
           {"accepted", fmt::format("{}", outcome.evictions_accepted)},
           {"refused", fmt::format("{}", outcome.evictions_refused)}});
    }
    if (outcome.pods_deleted > 0) Log(Severity::kInfo, "driver pod deleted", {{"node", plan.node}});
    if (outcome.status.ok()) {
      for (const DeviceCall& call : plan.devices) {
        Log(Severity::kInfo, "device taint rule written",
            {{"node", plan.node},
             {"request", std::string(driverupgrade::ToString(call.kind))},
             {"rule", call.object.name},
             {"effect", std::string(driverupgrade::ToString(call.object.effect))}});
      }
      for (const MaintenanceCall& call : plan.maintenance) {
        Log(Severity::kInfo, "maintenance operator requested",
            {{"node", plan.node},
             {"request", std::string(driverupgrade::ToString(call.kind))},
             {"object", call.object.ToString()}});
      }
    } else {
      Log(Severity::kWarning, "request failed",
          {{"node", plan.node}, {"error", std::string(internal::Message(outcome.status))}});
    }
  }

  void OnTrouble(const absl::Status& trouble) override {
    if (trouble.ok()) return Log(Severity::kInfo, "trouble has ended", {});
    Log(Severity::kWarning, "trouble", {{"error", std::string(internal::Message(trouble))}});
  }

  void OnLeading(bool leads) override { Log(Severity::kInfo, leads ? "leads" : "no longer leads", {}); }

  void OnRolloutOver(const Tally& totals) override {
    Log(totals.failed > 0 ? Severity::kError : Severity::kInfo, "rollout ended",
        {{"nodes", fmt::format("{}", totals.total)},
         {"done", fmt::format("{}", totals.done)},
         {"failed", fmt::format("{}", totals.failed)}});
  }

  void OnFinding(const Finding& finding) override { LogFinding(finding); }

 private:
  using Fields = std::vector<std::pair<std::string, std::string>>;

  // Logs the gates of nodes without a patch immediately, and the gate of a patched node once its patch has been
  // applied.
  void NoteGates(const Plan& plan) {
    for (const NodePlan& node : plan.nodes) {
      if (node.patch) patched_.insert(node.node);
    }
    for (NodeGate& node : gates_.Follow(plan)) {
      std::string name = node.node;
      waits_.insert_or_assign(std::move(name), std::move(node));
    }
    DropPassed(plan);
    std::erase_if(waits_, [this](const auto& wait) {
      if (patched_.contains(wait.first)) return false;
      LogGate(wait.second);
      return true;
    });
  }

  // Drops waits that ended before they were logged.
  void DropPassed(const Plan& plan) {
    if (waits_.empty()) return;
    for (const std::string& node : plan.ungated) waits_.erase(node);
    if (!plan.gates_complete) return;
    std::set<std::string_view> waiting;
    for (const NodeGate& node : plan.gates) waiting.insert(node.node);
    std::erase_if(waits_, [&](const auto& wait) { return !waiting.contains(wait.first); });
  }

  // Called when the requests of the node have responses. Logs the node's gate if the patch was applied. If not, the
  // next plan contains the current gate.
  void LogWait(const std::string& node, bool patched) {
    const std::lock_guard lock(mutex_);
    patched_.erase(node);
    const auto wait = waits_.find(node);
    if (!patched || wait == waits_.end()) return;
    LogGate(wait->second);
    waits_.erase(wait);
  }

  void LogGate(const NodeGate& node) {
    Fields fields = {{"node", node.node},
                     {"state", std::string(driverupgrade::ToString(node.state))},
                     {"gate", std::string(driverupgrade::ToString(node.gate.reason))},
                     {"detail", node.gate.detail}};
    if (node.gate.not_before && *node.gate.not_before < absl::InfiniteFuture()) {
      fields.emplace_back("until", absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", *node.gate.not_before, absl::UTCTimeZone()));
    }
    Log(Severity::kInfo, "node waits", std::move(fields));
  }

  void LogFindings(const Plan& plan) {
    std::set<std::tuple<FindingCode, std::string, std::string>> findings;
    for (const Finding& finding : plan.findings) {
      auto key = std::make_tuple(finding.code, finding.node, finding.message);
      if (!findings_.contains(key)) LogFinding(finding);
      findings.insert(std::move(key));
    }
    findings_ = std::move(findings);
  }

  void LogFinding(const Finding& finding) {
    Fields fields = {{"code", std::string(driverupgrade::ToString(finding.code))}};
    if (!finding.node.empty()) fields.emplace_back("node", finding.node);
    fields.emplace_back("detail", finding.message);
    Log(Severity::kWarning, "finding", std::move(fields));
  }

  void Log(Severity severity, std::string message, Fields fields) {
    fields.insert(fields.begin(), {"driver", driver_});
    sink_({.severity = severity, .message = std::move(message), .fields = std::move(fields)});
  }

  const std::string driver_;
  const LogSink sink_;
  std::mutex mutex_;
  internal::GateMemory gates_;
  std::set<std::string> patched_;          // nodes whose patch has no response yet
  std::map<std::string, NodeGate> waits_;  // gates that have not been logged yet, by node
  std::set<std::tuple<FindingCode, std::string, std::string>> findings_;
};

}  // namespace

std::string FormatLogfmt(const LogRecord& record) {
  std::string line;
  AppendField("level", ToString(record.severity), line);
  AppendField("msg", record.message, line);
  for (const auto& [key, value] : record.fields) AppendField(key, value, line);
  return line;
}

std::shared_ptr<Observer> MakeLoggingObserver(const DriverIdentity& identity, LogSink sink) {
  return std::make_shared<LoggingObserver>(identity, std::move(sink));
}

}  // namespace driverupgrade
