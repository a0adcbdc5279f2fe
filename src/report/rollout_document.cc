#include "report/rollout_document.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/upgrade_state.h"
#include "driverupgrade/version.h"
#include "fmt/format.h"
#include "report/advice.h"
#include "wire/json_writer.h"

namespace driverupgrade::internal {
namespace {

// Formats times. Remembers the text of each minute, because most of the tens of thousands of times in a document fall
// into the same few minutes.
class TimeTexts {
 public:
  // Valid until the next call.
  const std::string& Of(absl::Time time) {
    const std::int64_t seconds = absl::ToUnixSeconds(time);
    const std::int64_t second = ((seconds % 60) + 60) % 60;
    if (const std::int64_t minute = seconds - second; text_ == nullptr || minute != minute_) {
      minute_ = minute;
      text_ = &minutes_[minute];
      if (text_->empty()) {
        *text_ = absl::FormatTime("%Y-%m-%dT%H:%M:00Z", absl::FromUnixSeconds(minute), absl::UTCTimeZone());
      }
    }
    std::string& text = *text_;
    text[text.size() - 3] = static_cast<char>('0' + second / 10);
    text[text.size() - 2] = static_cast<char>('0' + second % 10);
    return text;
  }

 private:
  std::unordered_map<std::int64_t, std::string> minutes_ = {};
  // The minute of the last call, and its text in the map.
  std::int64_t minute_ = 0;
  std::string* text_ = nullptr;
};

std::string_view ToString(GateOpener opener) {
  switch (opener) {
    case GateOpener::kRollout: return "Rollout";
    case GateOpener::kAdministrator: return "Administrator";
    case GateOpener::kOtherOperator: return "OtherOperator";
    case GateOpener::kWorkloads: return "Workloads";
    case GateOpener::kDriver: return "Driver";
    case GateOpener::kClock: return "Clock";
  }
  return "Rollout";
}

class DocumentWriter {
 public:
  std::string Write(const RolloutReport& report) {
    identity_ = &report.identity;
    writer_.Object([&] {
      writer_.Member("apiVersion", "driverupgrade/v1");
      writer_.Member("kind", "Rollout");
      writer_.Member("version", DRIVERUPGRADE_VERSION_STRING);
      writer_.ObjectMember("driver", [&] {
        writer_.Member("domain", report.identity.domain());
        writer_.Member("name", report.identity.driver());
      });
      writer_.Member("leader", report.leads);
      writer_.MemberIfAny("replica", report.replica);
      Time("lastPass", report.last_pass);
      writer_.MemberIfAny("lastError", report.last_error);
      writer_.ArrayMember("pools", [&] {
        for (const PoolReport& pool : report.pools) Pool(pool);
      });
      writer_.ArrayMember("nodes", [&] {
        for (const PoolReport& pool : report.pools) {
          for (std::size_t i = 0; i < pool.status.nodes.size(); ++i) {
            Node(pool.name, pool.status.nodes[i], pool.histories[i].get());
          }
        }
      });
    });
    return writer_.Take();
  }

 private:
  void Time(std::string_view key, const std::optional<absl::Time>& time) {
    if (time) writer_.Member(key, times_.Of(*time));
  }

  void Pool(const PoolReport& pool) {
    writer_.Object([&] {
      writer_.Member("name", pool.name);
      writer_.Member("autoUpgrade", pool.status.auto_upgrade);
      writer_.Member("paused", pool.status.paused);
      Totals(pool.status.totals);
      Budgets(pool.status.budget);
      if (pool.status.rollout) Rollout(*pool.status.rollout);
      writer_.ArrayMember("findings", [&] {
        for (const Finding& finding : pool.status.findings) {
          writer_.Object([&] {
            writer_.Member("code", driverupgrade::ToString(finding.code));
            writer_.MemberIfAny("node", finding.node);
            writer_.Member("message", finding.message);
          });
        }
      });
    });
  }

  void Totals(const Tally& totals) {
    writer_.ObjectMember("totals", [&] {
      writer_.Member("total", totals.total);
      writer_.Member("pending", totals.pending);
      writer_.Member("inProgress", totals.in_progress);
      writer_.Member("failed", totals.failed);
      writer_.Member("done", totals.done);
      writer_.Member("notReady", totals.not_ready);
      writer_.Member("slots", totals.slots);
      writer_.Member("unavailable", totals.unavailable);
    });
  }

  void Budget(std::string_view name, int used, const std::optional<int>& limit, const std::vector<std::string>& items) {
    writer_.Object([&] {
      writer_.Member("name", name);
      writer_.Member("used", used);
      if (limit) writer_.Member("limit", *limit);
      if (items.empty()) return;
      writer_.ArrayMember("items", [&] {
        for (const std::string& item : items) writer_.String(item);
      });
    });
  }

  void Budgets(const UpgradeBudget& budget) {
    writer_.ArrayMember("budgets", [&] {
      Budget("parallel", budget.parallel_used, budget.parallel_max, {});
      Budget("unavailable", budget.unavailable, budget.unavailable_max, budget.unavailable_nodes);
      if (budget.failures_max || budget.failed > 0) Budget("failures", budget.failed, budget.failures_max, {});
    });
  }

  void Stage(const RolloutStageStatus& stage) {
    writer_.Object([&] {
      writer_.Member("name", stage.name);
      writer_.Member("nodes", stage.nodes);
      writer_.Member("underWay", stage.under_way);
      writer_.Member("done", stage.done);
      writer_.Member("failed", stage.failed);
      writer_.Member("leftOut", stage.left_out);
      writer_.MemberIfAny("whyLeftOut", stage.why_left_out);
    });
  }

  void Rollout(const RolloutStatus& rollout) {
    writer_.ObjectMember("rollout", [&] {
      writer_.MemberIfAny("revision", rollout.revision);
      Time("began", rollout.began);
      const auto open = static_cast<std::size_t>(rollout.open);
      if (open < rollout.stages.size()) writer_.Member("stage", rollout.stages[open].name);
      writer_.ArrayMember("stages", [&] {
        for (const RolloutStageStatus& stage : rollout.stages) Stage(stage);
      });
      GateMember("waitsFor", rollout.next, /*node=*/"", std::nullopt);
      GateMember("halted", rollout.halted, /*node=*/"", std::nullopt);
      GateMember("closed", rollout.closed, /*node=*/"", std::nullopt);
      if (rollout.rollback) writer_.Member("rollback", driverupgrade::ToString(*rollout.rollback));
      if (rollout.gangs) Gangs(*rollout.gangs);
    });
  }

  void Gangs(const RolloutGangs& gangs) {
    writer_.ObjectMember("gangs", [&] {
      writer_.Member("gangs", gangs.gangs);
      writer_.Member("units", gangs.units);
      writer_.Member("interruptions", gangs.interruptions);
      writer_.Member("byName", gangs.by_name);
      writer_.Member("interrupted", gangs.interrupted);
      writer_.Member("caused", gangs.caused);
    });
  }

  // `node` is the waiting node, or empty for a gate of the whole rollout.
  void GateMember(std::string_view key, const std::optional<Gate>& gate, const std::string& node,
                  const std::optional<absl::Time>& since) {
    if (!gate) return;
    writer_.ObjectMember(key, [&] {
      writer_.Member("reason", driverupgrade::ToString(gate->reason));
      writer_.Member("opener", ToString(TraitsOf(gate->reason).opener));
      writer_.MemberIfAny("detail", gate->detail);
      Time("since", since);
      Time("notBefore", gate->not_before);
      Time("failsAt", gate->fails_at);
      if (gate->subject) Subject(*gate->subject);
      if (gate->count) {
        writer_.ObjectMember("count", [&] {
          writer_.Member("used", gate->count->used);
          writer_.Member("limit", gate->count->limit);
        });
      }
      if (gate->place > 0) writer_.Member("place", gate->place);
      WriteAdvice(*gate, node);
    });
  }

  // Omits advice for nodes that only wait for their turn. There may be thousands of them, and their advice would make
  // up most of the document.
  void WriteAdvice(const Gate& gate, const std::string& node) {
    if (!node.empty() && OpensByItself(gate)) return;
    const OperatorCommands maker(*identity_);
    Advice advice = AdviceFor(*identity_, gate, node, maker);
    if (!node.empty()) advice.commands.push_back(maker.Upgradectl("explain", node));
    writer_.Member("advice", advice.text);
    if (advice.commands.empty()) return;
    writer_.ArrayMember("commands", [&] {
      for (const std::string& command : advice.commands) writer_.String(command);
    });
  }

  void Subject(const GateSubject& subject) {
    writer_.ObjectMember("subject", [&] {
      writer_.Member("kind", driverupgrade::ToString(subject.kind));
      writer_.MemberIfAny("namespace", subject.ns);
      writer_.MemberIfAny("name", subject.name);
    });
  }

  // `history` is nullptr if nothing has happened on the node.
  void Node(const std::string& pool, const NodeStatus& node, const NodeHistory* history) {
    writer_.Object([&] {
      writer_.Member("name", node.name);
      writer_.Member("pool", pool);
      writer_.Member("state", ToLabelValue(node.state));
      Time("since", SinceOf(node, history));
      writer_.MemberIfAny("revision", node.revision);
      writer_.Member("upToDate", node.up_to_date);
      writer_.Member("driverReady", node.driver_ready);
      if (node.unavailable) writer_.Member("unavailable", true);
      writer_.MemberIfAny("stage", node.stage);
      writer_.MemberIfAny("group", node.group);
      std::optional<absl::Time> since;
      if (history != nullptr && history->waiting) since = history->waiting->since;
      GateMember("gate", node.gate, node.name, since);
      if (history != nullptr) History(*history);
    });
  }

  static std::optional<absl::Time> SinceOf(const NodeStatus& node, const NodeHistory* history) {
    if (node.since || history == nullptr || history->transitions.empty()) return node.since;
    const NodeHistory::Transition& last = history->transitions.back();
    return last.state == node.state ? std::optional(last.at) : std::nullopt;
  }

  void History(const NodeHistory& history) {
    if (!history.transitions.empty()) Transitions(history.transitions);
    if (history.failed_requests.empty()) return;
    writer_.ArrayMember("requests", [&] {
      for (const NodeHistory::FailedRequest& request : history.failed_requests) {
        writer_.Object([&] {
          writer_.Member("at", times_.Of(request.at));
          writer_.Member("code", request.code);
          writer_.Member("message", request.message);
        });
      }
    });
  }

  // Builds the text without the writer, because that is faster and ten transitions for each node make up most of a
  // document. Times and states need no escapes.
  void Transitions(const std::vector<NodeHistory::Transition>& transitions) {
    text_.assign(1, '[');
    for (const NodeHistory::Transition& transition : transitions) {
      text_.append(text_.size() > 1 ? R"(,{"at":")" : R"({"at":")").append(times_.Of(transition.at));
      text_.append(R"(","state":")").append(ToLabelValue(transition.state)).append("\"");
      if (!transition.reason.empty()) Reason(transition.reason);
      text_.append("}");
    }
    writer_.RawMember("transitions", text_.append("]"));
  }

  void Reason(const std::string& reason) {
    text_.append(R"(,"reason":)");
    if (JsonWriter::IsPlain(reason)) {
      text_.append("\"").append(reason).append("\"");
      return;
    }
    JsonWriter writer;
    writer.String(reason);
    text_.append(writer.Take());
  }

  TimeTexts times_;
  const DriverIdentity* identity_ = nullptr;
  JsonWriter writer_;
  // Buffer for the transitions of one node, reused for all nodes.
  std::string text_ = {};
};

}  // namespace

std::vector<std::string_view> NamesOf(const FleetStatus& status) {
  std::vector<std::string_view> names;
  names.reserve(status.nodes.size());
  for (const NodeStatus& node : status.nodes) names.push_back(node.name);
  return names;
}

std::string FormatRolloutDocument(const RolloutReport& report) { return DocumentWriter().Write(report); }

std::string AtTime(const std::string& document, absl::Time now) {
  return fmt::format(R"({{"at":"{}",{})", TimeTexts().Of(now), std::string_view(document).substr(1));
}

}  // namespace driverupgrade::internal
