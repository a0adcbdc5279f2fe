#include "support/resource_condition.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "support/json.h"

namespace examples {
namespace {

using driverupgrade::ApiObject;
using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

constexpr char kReasonTaken[] = "Accepted";
constexpr char kReasonRefused[] = "InvalidPolicy";
constexpr char kReasonIdle[] = "NotInEffect";
constexpr char kReasonNotMade[] = "DriverNotMade";
constexpr char kFrozen[] = "Frozen";
constexpr char kTaken[] = "the upgrade policy is in effect";
// Maximum size of a condition's message in bytes. The message of an Event can have 1024 bytes.
constexpr std::size_t kMessageMax = 1000;

std::string TimeText(absl::Time time) { return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone()); }

std::string Message(const absl::Status& error) {
  return error.ok() ? std::string(kTaken) : std::string(error.message().substr(0, kMessageMax));
}

const char* Reason(const absl::Status& error) {
  if (error.ok()) return kReasonTaken;
  if (absl::IsUnavailable(error)) return kReasonNotMade;
  return absl::IsFailedPrecondition(error) ? kReasonIdle : kReasonRefused;
}

void Put(Writer& writer, const char* key, const std::string& value) {
  writer.Key(key);
  writer.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}

// The target content of one condition.
struct Saying {
  std::string type;
  std::string status;
  std::string reason;
  std::string message;
  std::int64_t generation = 0;
  bool IsIn(const rapidjson::Value& condition) const {
    return Text(condition, {"status"}) == status && Text(condition, {"reason"}) == reason &&
           Text(condition, {"message"}) == message && Integer(condition, {"observedGeneration"}) == generation;
  }
};

void PutCondition(Writer& writer, const Saying& saying, const std::string& since) {
  writer.StartObject();
  Put(writer, "type", saying.type);
  Put(writer, "status", saying.status);
  Put(writer, "reason", saying.reason);
  Put(writer, "message", saying.message);
  Put(writer, "lastTransitionTime", since);
  writer.Key("observedGeneration");
  writer.Int64(saying.generation);
  writer.EndObject();
}

Saying ValiditySaying(const absl::Status& error, std::int64_t generation,
                      const std::vector<std::string>& warnings = {}) {
  std::string message = Message(error);
  if (error.ok() && !warnings.empty()) {
    message = fmt::format("{}, with warnings: {}", message, fmt::join(warnings, "; ")).substr(0, kMessageMax);
  }
  return {.type = kPolicyValid,
          .status = error.ok() ? "True" : "False",
          .reason = Reason(error),
          .message = std::move(message),
          .generation = generation};
}

}  // namespace

UpgradeStanding StandingOf(const driverupgrade::EngineProgress& progress, bool auto_upgrade) {
  const driverupgrade::Tally& totals = progress.totals;
  UpgradeStanding standing{
      .done = auto_upgrade && totals.done + progress.left_out == totals.total,
      .message = fmt::format("{} of {} nodes done, {} failed, {} in progress, {} pending", totals.done, totals.total,
                             totals.failed, totals.in_progress - totals.failed, totals.pending)};
  if (totals.not_ready > 0) standing.message += fmt::format(", {} without a Ready driver", totals.not_ready);
  if (progress.left_out > 0) standing.message += fmt::format(", {} left out", progress.left_out);
  if (standing.done) {
    standing.reason = "Done";
  } else if (!auto_upgrade) {
    standing.reason = kFrozen;
  } else if (progress.halted) {
    standing.reason = "Halted";
  } else {
    const bool only_drivers = totals.not_ready > 0 && totals.pending + totals.in_progress == 0;
    standing.reason = totals.failed > 0 ? "Failed" : only_drivers ? "DriverNotReady" : "UnderWay";
  }
  return standing;
}

std::optional<UpgradeStanding> StandingOf(const std::map<std::string, driverupgrade::EngineProgress>& progress,
                                          const std::vector<driverupgrade::EngineSpec>& engines,
                                          const std::string& name) {
  const auto engine = std::find_if(engines.begin(), engines.end(), [&](const auto& spec) { return spec.name == name; });
  const auto known = progress.find(name);
  if (engine == engines.end() || known == progress.end()) return std::nullopt;
  return StandingOf(known->second, engine->policy.auto_upgrade);
}

std::string StateOf(const std::vector<std::optional<UpgradeStanding>>& standings) {
  bool all_known = true;
  bool any_done = false;
  for (const std::optional<UpgradeStanding>& standing : standings) {
    all_known = all_known && standing;
    if (!standing || standing->reason == kFrozen) continue;
    if (!standing->done) return kNotReady;
    any_done = true;
  }
  return all_known && any_done ? kReady : "";
}

std::optional<std::string> ConditionPatch(const ApiObject& object, const absl::Status& error, absl::Time now,
                                          const std::string& state, const std::optional<UpgradeStanding>& standing,
                                          const std::vector<std::string>& warnings) {
  const absl::StatusOr<rapidjson::Document> parsed = ParseJson(object.json);
  if (!parsed.ok()) return std::nullopt;
  const std::int64_t generation = Integer(*parsed, {"metadata", "generation"});
  std::vector<Saying> sayings = {ValiditySaying(error, generation, warnings)};
  if (standing) {
    sayings.push_back({.type = kDriversUpgraded,
                       .status = standing->done ? "True" : "False",
                       .reason = standing->reason,
                       .message = standing->message,
                       .generation = generation});
  }
  const auto before = Items(*parsed, {"status", "conditions"});
  const auto find = [&](const std::string& type) {
    return std::find_if(before.begin(), before.end(),
                        [&](const rapidjson::Value& condition) { return Text(condition, {"type"}) == type; });
  };
  const bool all_said = std::all_of(sayings.begin(), sayings.end(), [&](const Saying& saying) {
    const auto found = find(saying.type);
    return found != before.end() && saying.IsIn(*found);
  });
  const bool state_is_said = state.empty() || Text(*parsed, {"status", "state"}) == state;
  if (all_said && state_is_said) return std::nullopt;
  rapidjson::StringBuffer buffer;
  Writer writer(buffer);
  writer.StartObject();
  writer.Key("metadata");
  writer.StartObject();
  Put(writer, "resourceVersion", object.resource_version);
  writer.EndObject();
  writer.Key("status");
  writer.StartObject();
  if (!state_is_said) Put(writer, "state", state);
  writer.Key("conditions");
  writer.StartArray();
  for (const rapidjson::Value& condition : before) {
    const bool is_ours = std::any_of(sayings.begin(), sayings.end(),
                                     [&](const Saying& saying) { return Text(condition, {"type"}) == saying.type; });
    if (!is_ours) condition.Accept(writer);
  }
  for (const Saying& saying : sayings) {
    const auto found = find(saying.type);
    const bool stood = found != before.end() && Text(*found, {"status"}) == saying.status;
    PutCondition(writer, saying, stood ? Text(*found, {"lastTransitionTime"}) : TimeText(now));
  }
  writer.EndArray();
  writer.EndObject();
  writer.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize());
}

bool IsSaid(const ApiObject& object, const absl::Status& error) {
  const absl::StatusOr<rapidjson::Document> parsed = ParseJson(object.json);
  if (!parsed.ok()) return false;
  const Saying saying = ValiditySaying(error, Integer(*parsed, {"metadata", "generation"}));
  const auto conditions = Items(*parsed, {"status", "conditions"});
  return std::any_of(conditions.begin(), conditions.end(), [&](const rapidjson::Value& condition) {
    return Text(condition, {"type"}) == saying.type && saying.IsIn(condition);
  });
}

std::string WarningEvent(const ApiObject& object, const std::string& name, const std::string& component,
                         const absl::Status& error, absl::Time now) {
  const absl::StatusOr<rapidjson::Document> parsed = ParseJson(object.json);
  const auto text = [&](const char* key) { return parsed.ok() ? Text(*parsed, {key}) : std::string(); };
  const std::string ns = object.ns.empty() ? "default" : object.ns;
  rapidjson::StringBuffer buffer;
  Writer writer(buffer);
  writer.StartObject();
  Put(writer, "apiVersion", "v1");
  Put(writer, "kind", "Event");
  writer.Key("metadata");
  writer.StartObject();
  Put(writer, "name", name);
  Put(writer, "namespace", ns);
  writer.EndObject();
  writer.Key("involvedObject");
  writer.StartObject();
  Put(writer, "apiVersion", text("apiVersion"));
  Put(writer, "kind", text("kind"));
  Put(writer, "name", object.name);
  if (!object.ns.empty()) Put(writer, "namespace", object.ns);
  Put(writer, "uid", object.uid);
  Put(writer, "resourceVersion", object.resource_version);
  writer.EndObject();
  Put(writer, "type", "Warning");
  Put(writer, "reason", Reason(error));
  Put(writer, "message", Message(error));
  Put(writer, "firstTimestamp", TimeText(now));
  Put(writer, "lastTimestamp", TimeText(now));
  writer.Key("count");
  writer.Int(1);
  writer.Key("source");
  writer.StartObject();
  Put(writer, "component", component);
  writer.EndObject();
  Put(writer, "reportingComponent", component);
  Put(writer, "reportingInstance", component);
  writer.EndObject();
  return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace examples
