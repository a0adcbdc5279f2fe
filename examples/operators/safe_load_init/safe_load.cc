#include "safe_load_init/safe_load.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "support/json.h"

namespace safe_load_init {
namespace {

using driverupgrade::CallContext;
using driverupgrade::Clock;
using driverupgrade::ClusterFacade;
using driverupgrade::ConfigMap;
using driverupgrade::LogSink;
using driverupgrade::Node;
using driverupgrade::Severity;
using driverupgrade::WatchSink;

constexpr absl::Duration kCallTimeout = absl::Seconds(10);
// Minimum pause between two requests of the same kind, regardless of the response.
constexpr absl::Duration kPauseMin = absl::Seconds(1);

std::string Text(const absl::Status& status) { return std::string(status.message()); }

// Returns true for errors that a retry would not change.
bool IsFinal(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kUnimplemented: return true;
    default: return false;
  }
}

// Determines from the state of the node whether the wait has ended, and with which result.
class Judge {
 public:
  Judge(const Node& asked, std::string annotation)
      : name_(asked.name), uid_(asked.uid), annotation_(std::move(annotation)) {}

  const std::string& name() const { return name_; }

  std::optional<absl::Status> Of(const Node& node) const {
    if (node.uid != uid_) {
      return absl::NotFoundError(fmt::format("node {} was replaced by another node with the same name", name_));
    }
    const auto value = node.annotations.find(annotation_);
    if (value != node.annotations.end() && !value->second.empty()) return std::nullopt;
    return absl::OkStatus();
  }
  absl::Status Gone() const { return absl::NotFoundError(fmt::format("node {} no longer exists", name_)); }

 private:
  std::string name_;
  std::string uid_;
  std::string annotation_;
};

// Ends the watch once `judge` returns a result.
class VerdictSink final : public WatchSink<Node> {
 public:
  explicit VerdictSink(const Judge& judge) : judge_(judge) {}

  bool OnList(std::vector<Node> nodes, std::string_view) override {
    const auto node = std::find_if(nodes.begin(), nodes.end(), [&](const Node& n) { return n.name == judge_.name(); });
    verdict_ = node == nodes.end() ? judge_.Gone() : judge_.Of(*node);
    return !verdict_;
  }
  bool OnChange(Node node, std::string_view) override {
    if (node.name == judge_.name()) verdict_ = judge_.Of(node);
    return !verdict_;
  }
  bool OnDelete(Node node, std::string_view) override {
    if (node.name == judge_.name()) verdict_ = judge_.Gone();
    return !verdict_;
  }
  bool OnBookmark(std::string_view) override { return true; }

  const std::optional<absl::Status>& verdict() const { return verdict_; }

 private:
  const Judge& judge_;
  std::optional<absl::Status> verdict_;
};

class SafeLoad {
 public:
  SafeLoad(const SafeLoadOptions& options, ClusterFacade& cluster, Clock& clock, const LogSink& log,
           std::stop_token stop)
      : options_(options),
        cluster_(cluster),
        clock_(clock),
        log_(log),
        stop_(std::move(stop)),
        deadline_(clock.Now() + options.timeout) {}

  absl::Status Run() {
    const absl::StatusOr<SafeLoadConfig> config = ReadConfig();
    if (!config.ok()) return config.status();
    if (!config->enabled) {
      Log(Severity::kInfo, "safe loading is off", {});
      return absl::OkStatus();
    }
    const absl::StatusOr<Node> node = AskForIt(config->annotation);
    if (!node.ok()) return node.status();
    Log(Severity::kInfo, "waiting until the node is evacuated", {{"annotation", config->annotation}});
    absl::Status ended = Wait(Judge(*node, config->annotation));
    if (ended.ok()) Log(Severity::kInfo, "the driver may be loaded", {});
    return ended;
  }

 private:
  using Fields = std::vector<std::pair<std::string, std::string>>;

  absl::StatusOr<SafeLoadConfig> ReadConfig() {
    const std::string place = fmt::format("config map {}/{}", options_.configmap_ns, options_.configmap_name);
    const absl::StatusOr<ConfigMap> map = UntilAnswered([&](const CallContext& context) {
      return cluster_.GetConfigMap(context, {.ns = options_.configmap_ns, .name = options_.configmap_name});
    });
    // A missing configuration must not be mistaken for a missing node, which has the exit code of NotFound.
    if (absl::IsNotFound(map.status())) return absl::InvalidArgumentError(map.status().message());
    if (!map.ok()) return map.status();
    const auto entry = map->data.find(options_.configmap_key);
    if (entry == map->data.end()) {
      return absl::InvalidArgumentError(fmt::format("{} has no key `{}`", place, options_.configmap_key));
    }
    absl::StatusOr<SafeLoadConfig> config = ParseSafeLoadConfig(entry->second);
    if (config.ok()) return config;
    return absl::InvalidArgumentError(fmt::format("{}: {}: {}", place, options_.configmap_key, Text(config.status())));
  }

  // Sets the annotation, and returns the node with it.
  absl::StatusOr<Node> AskForIt(const std::string& annotation) {
    return UntilAnswered([&](const CallContext& context) -> absl::StatusOr<Node> {
      const absl::StatusOr<Node> node = cluster_.GetNode(context, {.name = options_.node_name});
      if (!node.ok()) return node.status();
      return cluster_.PatchNode(context, {.name = node->name,
                                          .uid = node->uid,
                                          .resource_version = node->resource_version,
                                          .annotations = {{annotation, "true"}}});
    });
  }

  absl::Status Wait(const Judge& judge) {
    while (true) {
      if (absl::Status ended = Ended(); !ended.ok()) return ended;
      const absl::Time begun = clock_.Now();
      const absl::StatusOr<Node> node = cluster_.GetNode(Context(kCallTimeout), {.name = options_.node_name});
      if (absl::IsNotFound(node.status())) return judge.Gone();
      absl::Status asked = node.status();
      if (node.ok()) {
        if (const std::optional<absl::Status> verdict = judge.Of(*node)) return *verdict;
        VerdictSink sink(judge);
        asked = cluster_.WatchNodes(Context(options_.recheck),
                                    {.resource_version = node->resource_version, .timeout = options_.recheck}, sink);
        if (sink.verdict()) return *sink.verdict();
        // It is not an error if the version is too old, or if the watch was quiet until its deadline.
        if (absl::IsOutOfRange(asked) || absl::IsDeadlineExceeded(asked)) asked = absl::OkStatus();
      }
      Note(asked);
      // Pauses even after success, because a server may end watches as soon as they start. Pauses longer after an
      // error.
      Pause(begun + (asked.ok() ? kPauseMin : options_.recheck) - clock_.Now());
    }
  }

  // Calls `ask` until it succeeds or returns a permanent error, a stop is requested, or the deadline passes.
  template <typename F>
  auto UntilAnswered(const F& ask) -> decltype(ask(CallContext())) {
    absl::Duration pause = kPauseMin;
    while (true) {
      if (absl::Status ended = Ended(); !ended.ok()) return ended;
      auto answer = ask(Context(kCallTimeout));
      if (IsFinal(answer.status())) return answer;  // the caller reports it
      Note(answer.status());
      if (answer.ok()) return answer;
      Pause(pause);
      pause = std::min(2 * pause, options_.recheck);
    }
  }

  absl::Status Ended() const {
    if (stop_.stop_requested()) {
      return absl::CancelledError(
          fmt::format("node {}: stopped before the driver was allowed to load", options_.node_name));
    }
    if (clock_.Now() < deadline_) return absl::OkStatus();
    return absl::DeadlineExceededError(
        fmt::format("node {}: the driver was not allowed to load within {}; check that upgrades are switched on",
                    options_.node_name, absl::FormatDuration(options_.timeout)));
  }

  CallContext Context(absl::Duration timeout) const {
    return {.deadline = std::min(clock_.Now() + timeout, deadline_), .stop = stop_};
  }

  void Pause(absl::Duration duration) {
    // The caller checks next why the sleep ended.
    static_cast<void>(clock_.SleepFor(std::min(duration, deadline_ - clock_.Now()), stop_));
  }

  // Logs an error unless the previous request failed with the same code, and logs the first success after an error.
  // Ignores conflicts, which only show that the node has changed in the meantime.
  void Note(const absl::Status& asked) {
    if (stop_.stop_requested() || absl::IsAborted(asked)) return;
    if (asked.ok() && !trouble_.ok()) Log(Severity::kInfo, "the cluster responds again", {});
    if (!asked.ok() && !IsFinal(asked) && asked.code() != trouble_.code()) {
      Log(Severity::kWarning, "the cluster does not respond", {{"error", Text(asked)}});
    } else if (!asked.ok() && asked.code() != trouble_.code()) {
      Log(Severity::kWarning, "the cluster refuses requests", {{"error", Text(asked)}});
    }
    trouble_ = asked;
  }

  void Log(Severity severity, std::string message, Fields fields) {
    fields.insert(fields.begin(), {"node", options_.node_name});
    log_({.severity = severity, .message = std::move(message), .fields = std::move(fields)});
  }

  const SafeLoadOptions& options_;
  ClusterFacade& cluster_;
  Clock& clock_;
  const LogSink& log_;
  const std::stop_token stop_;
  const absl::Time deadline_;
  absl::Status trouble_;
};

// Returns the member; nullptr if it is missing or null. Returns `error` if the member has another type.
absl::StatusOr<const rapidjson::Value*> Member(const rapidjson::Value& object, const char* name,
                                               bool (rapidjson::Value::*is_type)() const, const char* error) {
  const rapidjson::Value* value = examples::Find(object, {name});
  if (value == nullptr || value->IsNull()) return nullptr;
  if (!(value->*is_type)()) return absl::InvalidArgumentError(error);
  return value;
}

}  // namespace

absl::StatusOr<SafeLoadConfig> ParseSafeLoadConfig(std::string_view json) {
  const absl::StatusOr<rapidjson::Document> document = examples::ParseJson(json);
  if (!document.ok()) return document.status();
  if (!document->IsObject()) return absl::InvalidArgumentError("not a JSON object");
  SafeLoadConfig config;
  const auto section =
      Member(*document, "safeDriverLoad", &rapidjson::Value::IsObject, "safeDriverLoad: not an object");
  if (!section.ok()) return section.status();
  if (*section == nullptr) return config;
  const auto enable = Member(**section, "enable", &rapidjson::Value::IsBool, "safeDriverLoad.enable: not a boolean");
  if (!enable.ok()) return enable.status();
  const auto annotation =
      Member(**section, "annotation", &rapidjson::Value::IsString, "safeDriverLoad.annotation: not a string");
  if (!annotation.ok()) return annotation.status();
  config.enabled = *enable != nullptr && (*enable)->GetBool();
  config.annotation = examples::Text(**section, {"annotation"});
  if (config.enabled && config.annotation.empty()) {
    return absl::InvalidArgumentError("safeDriverLoad.annotation: required if safeDriverLoad.enable is true");
  }
  return config;
}

absl::Status AwaitSafeLoad(const SafeLoadOptions& options, ClusterFacade& cluster, Clock& clock, const LogSink& log,
                           std::stop_token stop) {
  return SafeLoad(options, cluster, clock, log, std::move(stop)).Run();
}

int ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk: return kExitLoad;
    case absl::StatusCode::kInvalidArgument: return kExitUsage;
    case absl::StatusCode::kNotFound: return kExitNodeGone;
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kDeadlineExceeded: return kExitNotReleased;
    default: return kExitRefused;
  }
}

}  // namespace safe_load_init
