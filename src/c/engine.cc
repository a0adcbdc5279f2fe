#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "c/guard.h"
#include "driverupgrade/c/driverupgrade.h"
#include "driverupgrade/policy_codec.h"
#include "embed/engine_json.h"
#include "embed/host_engine.h"
#include "embed/object_documents.h"
#include "fmt/format.h"
#include "whatif/driver_members.h"
#include "wire/document.h"

using namespace driverupgrade;            // NOLINT: all of this file belongs to the C interface.
using namespace driverupgrade::internal;  // NOLINT

struct du_engine {
  du_engine(DriverIdentity identity, const PolicyDefaults& defaults, bool spares_skipped_pods, HostOptions options)
      : identity(std::move(identity)),
        defaults(defaults),
        spares_skipped_pods(spares_skipped_pods),
        engine(this->identity, std::move(options)) {}

  DriverIdentity identity;
  PolicyDefaults defaults;
  bool spares_skipped_pods;
  HostEngine engine;
  // The last policy and its document, kept because a policy is applied far more often than it changes.
  std::string policy_text = {};
  UpgradePolicy policy = {};
  std::vector<std::string> warnings = {};
  // The warnings about each owner's last policy.
  std::map<std::string, std::vector<std::string>> warnings_by_owner = {};
  std::map<std::string, TimeZoneTable, std::less<>> time_zones = {};
};

namespace {

const char* const kNothing = "{}";

absl::StatusOr<std::optional<AdmissionLedger>> LedgerMember(const Document& options, const DriverIdentity& identity) {
  if (!options.Has("ledger")) return std::optional<AdmissionLedger>();
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Document place,
                                 options.Object("ledger", {"namespace", "name", "owner", "grantsMax"}));
  AdmissionLedgerOptions made;
  DRIVERUPGRADE_ASSIGN_OR_RETURN(made.ns, place.Text("namespace"));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(made.name, place.Text("name"));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(made.owner, place.TextOr("owner", ""));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const int grants_max, place.CountOr("grantsMax", static_cast<int>(made.grants_max)));
  made.grants_max = static_cast<std::size_t>(grants_max);
  absl::StatusOr<AdmissionLedger> ledger = AdmissionLedger::Create(identity, std::move(made));
  if (!ledger.ok()) return options.Wrong("ledger", Message(ledger.status()));
  return std::optional(*std::move(ledger));
}

absl::StatusOr<std::unique_ptr<du_engine>> NewEngine(std::string_view text) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(
      const Document options,
      Document::Parse(
          "options", text,
          {"identity", "namespace", "driverLabels", "nodeSelector", "policyDefaults", "spareSkippedPods",
           "validationSelector", "earlyValidation", "podDeletion", "restartOnly", "requestor", "driverRestartCountMax",
           "parallelTotal", "ownPod", "ownNode", "fieldManager", "ledger", "devices"}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(DriverIdentity identity, IdentityMember(options));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const PolicyDefaults defaults, DefaultsMember(options));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const bool spare, options.FlagOr("spareSkippedPods", true));
  HostOptions host;
  DRIVERUPGRADE_ASSIGN_OR_RETURN(host.core.scope.ns, options.Text("namespace"));
  if (host.core.scope.ns.empty()) return options.Wrong("namespace", "must not be empty");
  DRIVERUPGRADE_ASSIGN_OR_RETURN(host.core.scope.driver_labels, SelectorMember(options, "driverLabels"));
  if (options.Has("nodeSelector")) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(host.core.scope.node_selector, SelectorMember(options, "nodeSelector"));
  }
  if (options.Has("validationSelector")) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(host.core.machine.validation_selector,
                                   SelectorMember(options, "validationSelector"));
  }
  DRIVERUPGRADE_ASSIGN_OR_RETURN(host.core.machine.early_validation, EarlyValidationMember(options));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(host.core.scope.asks_uses_driver, options.FlagOr("podDeletion", false));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(host.core.scope.asks_restart_only, options.FlagOr("restartOnly", false));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(host.core.scope.requestor, RequestorMember(options));
  host.core.machine.requestor = host.core.scope.requestor;
  DRIVERUPGRADE_ASSIGN_OR_RETURN(host.core.scope.devices, options.Texts("devices"));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(host.core.machine.driver_restart_count_max,
                                 options.CountOr("driverRestartCountMax", host.core.machine.driver_restart_count_max));
  if (options.Has("parallelTotal")) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(host.core.parallel_total, options.CountOr("parallelTotal", 0));
    if (host.core.parallel_total == 0) return options.Wrong("parallelTotal", "must be at least 1");
  }
  DRIVERUPGRADE_ASSIGN_OR_RETURN(host.core.machine.own_node, options.TextOr("ownNode", ""));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(host.field_manager, options.TextOr("fieldManager", host.field_manager));
  if (host.field_manager.empty()) return options.Wrong("fieldManager", "must not be empty");
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string own_pod, options.TextOr("ownPod", ""));
  if (!own_pod.empty()) {
    const std::size_t slash = own_pod.find('/');
    if (slash == 0 || slash == std::string::npos || slash + 1 == own_pod.size()) {
      return options.Wrong("ownPod", "must be a namespace and a name, as in gpu-operator/gpu-operator-0");
    }
    host.core.machine.own_pod = PodRef{.ns = own_pod.substr(0, slash), .name = own_pod.substr(slash + 1)};
  }
  DRIVERUPGRADE_ASSIGN_OR_RETURN(host.core.ledger, LedgerMember(options, identity));
  return std::unique_ptr<du_engine>(new du_engine(std::move(identity), defaults, spare, std::move(host)));
}

absl::StatusOr<ObjectKind> KindOf(std::int32_t kind) {
  if (kind < 0 || kind >= DU_KINDS)
    return absl::InvalidArgumentError(fmt::format("kind: {} is not a kind of object", kind));
  return static_cast<ObjectKind>(kind);
}

// The nodes of a pass, and the inputs that apply only to this pass.
struct PassInput {
  Part part = {};
  PassFacts facts = {};
};

// Reads the members `owner` and `names`. If both are absent, the part has no owner, and contains all nodes. An object
// without any members is an error, because it is more likely a mistake of the host.
absl::StatusOr<Part> PartMembers(const Document& document) {
  Part part;
  if (document.Has("owner")) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(part.owner, document.Text("owner"));
    if (part.owner.empty()) return document.Wrong("owner", "must not be empty");
    if (!document.Has("names")) return document.Wrong("names", "is missing");
  }
  if (!document.Has("names")) {
    return document.Has("rolloutSick") ? absl::StatusOr<Part>(part) : document.Wrong("owner", "is missing");
  }
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<std::string> names, document.Texts("names"));
  part.nodes.emplace(names.begin(), names.end());
  return part;
}

// Parses an empty string, an array of names, or an object. `more`: the object's members besides `owner` and `names`.
absl::StatusOr<PassInput> PassInputOf(std::string_view text, std::initializer_list<std::string_view> more) {
  PassInput input;
  if (text.empty()) return input;
  if (text.front() != '{') {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<std::string> names, ParseTexts("nodes", text));
    input.part.nodes.emplace(names.begin(), names.end());
    return input;
  }
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Document document, Document::Parse("nodes", text, {"owner", "names"}, more));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(input.part, PartMembers(document));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(input.facts.sick, document.TextOr("rolloutSick", ""));
  return input;
}

absl::Status TakeTimeZone(du_engine& host, std::string_view text) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(TimeZoneTable zone, ParseTimeZone(text));
  host.time_zones.insert_or_assign(zone.name(), std::move(zone));
  host.policy_text.clear();
  return absl::OkStatus();
}

absl::StatusOr<TimeZoneTable> FindTimeZone(const du_engine& host, std::string_view name) {
  const auto zone = host.time_zones.find(name);
  if (zone != host.time_zones.end()) return zone->second;
  return absl::InvalidArgumentError(fmt::format("time zone {} has not been put (du_engine_put_time_zone)", name));
}

absl::Status TakePolicy(du_engine& host, std::string_view text) {
  if (!host.policy_text.empty() && text == host.policy_text) return absl::OkStatus();
  absl::StatusOr<UpgradePolicy> policy =
      ParseUpgradePolicyJson(text, host.defaults, [&host](std::string_view name) { return FindTimeZone(host, name); });
  if (!policy.ok()) return absl::InvalidArgumentError(fmt::format("policy: {}", Message(policy.status())));
  if (host.spares_skipped_pods) SpareSkippedPods(host.identity, *policy);
  host.policy = *std::move(policy);
  host.warnings = Warnings(host.policy);
  host.policy_text = std::string(text);
  return absl::OkStatus();
}

// Returns the warnings about the policies of these parts, without duplicates.
std::vector<std::string> AllWarnings(const du_engine& engine, const std::vector<OwnedPart>& parts) {
  std::vector<std::string> all;
  for (const OwnedPart& part : parts) {
    const auto found = engine.warnings_by_owner.find(part.owner);
    if (found == engine.warnings_by_owner.end()) continue;
    for (const std::string& warning : found->second) {
      if (std::find(all.begin(), all.end(), warning) == all.end()) all.push_back(warning);
    }
  }
  return all;
}

absl::StatusOr<PodAnswers> PodAnswersOf(std::string_view text) {
  PodAnswers answers;
  if (text.empty()) return answers;
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Document document, Document::Parse("uses_driver", text, {"uids", "errors"}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<std::string> uids, document.Texts("uids"));
  answers.uids.insert(uids.begin(), uids.end());
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<Document> errors, document.Objects("errors", {"uid", "error"}));
  for (const Document& error : errors) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(std::string uid, error.Text("uid"));
    DRIVERUPGRADE_ASSIGN_OR_RETURN(answers.errors[std::move(uid)], error.Text("error"));
  }
  return answers;
}

// Passes a node's pods to the engine. An empty `list` means that the host could not read the pods.
absl::StatusOr<bool> PutPods(HostEngine& engine, const std::string& node, std::string_view list,
                             std::string_view uses_driver) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(PodAnswers answers, PodAnswersOf(uses_driver));
  if (list.empty()) {
    engine.objects().PodsFailed(kHostDriver, node, "the host could not read the pods on the node");
    return false;
  }
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const bool taken, PutPodList(engine.objects(), node, list));
  if (taken) engine.SetPodAnswers(node, std::move(answers));
  return taken;
}

absl::Status Tell(HostEngine& engine, std::string_view text) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Document document, Document::Parse("answers", text, {"answers"}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<Document> answers,
                                 document.Objects("answers", {"id", "answer", "error", "revisionUnknown"}));
  for (const Document& answer : answers) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string id, answer.Text("id"));
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string error, answer.TextOr("error", ""));
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const bool unknown, answer.FlagOr("revisionUnknown", false));
    if (error.empty() && unknown)
      return answer.Wrong("error", "is required with revisionUnknown, and must name the revision");
    if (error.empty() && !answer.Has("answer")) return answer.Wrong("answer", "is missing");
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const bool yes, answer.FlagOr("answer", false));
    absl::StatusOr<bool> told = yes;
    if (!error.empty()) told = unknown ? absl::NotFoundError(error) : absl::UnknownError(error);
    engine.Tell(id, std::move(told));
  }
  return absl::OkStatus();
}

absl::Time At(std::int64_t now_ms) { return absl::FromUnixMillis(now_ms); }

std::string Name(const du_str& text) { return std::string(View(text)); }

// Same as Guard, for functions that need an engine.
template <typename F>
du_code Guarded(du_engine* engine, du_buf* out, std::initializer_list<du_str> documents, F answer) {
  return Guard(out, documents, [&]() -> absl::StatusOr<std::string> {
    if (engine == nullptr) return absl::InvalidArgumentError("engine: is null");
    return answer(engine->engine);
  });
}

}  // namespace

du_code du_engine_new(du_str options, du_engine** engine, du_buf* out) {
  std::unique_ptr<du_engine> made;
  const du_code code = Guard(out, {options}, [&]() -> absl::StatusOr<std::string> {
    if (engine == nullptr || *engine != nullptr) {
      return absl::InvalidArgumentError("engine: must point to a pointer that is null");
    }
    DRIVERUPGRADE_ASSIGN_OR_RETURN(made, NewEngine(View(options)));
    return kNothing;
  });
  // Guard also fails if there is no memory for its result. `*engine` must then stay null.
  if (code == 0) *engine = made.release();
  return code;
}

void du_engine_free(du_engine* engine) { delete engine; }

du_code du_engine_put(du_engine* engine, int32_t kind, du_str list, du_buf* out) {
  return Guarded(engine, out, {list}, [&](HostEngine& host) -> absl::StatusOr<std::string> {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const ObjectKind known, KindOf(kind));
    DRIVERUPGRADE_RETURN_IF_ERROR(PutList(host.objects(), known, View(list)));
    return kNothing;
  });
}

du_code du_engine_watch_line(du_engine* engine, int32_t kind, du_str line, du_buf* out) {
  return Guarded(engine, out, {line}, [&](HostEngine& host) -> absl::StatusOr<std::string> {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const ObjectKind known, KindOf(kind));
    DRIVERUPGRADE_RETURN_IF_ERROR(PutWatchLine(host.objects(), known, View(line)));
    return kNothing;
  });
}

du_code du_engine_put_pods(du_engine* engine, du_str node, du_str list, du_str uses_driver, du_buf* out) {
  return Guarded(engine, out, {node, list, uses_driver}, [&](HostEngine& host) -> absl::StatusOr<std::string> {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const bool taken, PutPods(host, Name(node), View(list), View(uses_driver)));
    return FormatFlag("taken", taken);
  });
}

du_code du_engine_read(du_engine* engine, int64_t now_ms, du_buf* out) {
  return Guarded(engine, out, {}, [&](HostEngine& host) -> absl::StatusOr<std::string> {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<ManagedNode> nodes, host.Read(At(now_ms)));
    return FormatReading(nodes, host.Questions());
  });
}

du_code du_engine_tell(du_engine* engine, du_str answers, du_buf* out) {
  return Guarded(engine, out, {answers}, [&](HostEngine& host) -> absl::StatusOr<std::string> {
    DRIVERUPGRADE_RETURN_IF_ERROR(Tell(host, View(answers)));
    return kNothing;
  });
}

du_code du_engine_put_time_zone(du_engine* engine, du_str zone, du_buf* out) {
  return Guarded(engine, out, {zone}, [&](HostEngine&) -> absl::StatusOr<std::string> {
    DRIVERUPGRADE_RETURN_IF_ERROR(TakeTimeZone(*engine, View(zone)));
    return kNothing;
  });
}

du_code du_engine_apply(du_engine* engine, du_str nodes, du_str policy, int64_t now_ms, du_buf* out) {
  return Guarded(engine, out, {nodes, policy}, [&](HostEngine& host) -> absl::StatusOr<std::string> {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const PassInput input, PassInputOf(View(nodes), {"rolloutSick"}));
    DRIVERUPGRADE_RETURN_IF_ERROR(TakePolicy(*engine, View(policy)));
    DRIVERUPGRADE_ASSIGN_OR_RETURN(HostPass pass, host.Apply(input.part, engine->policy, input.facts, At(now_ms)));
    pass.warnings = engine->warnings;
    engine->warnings_by_owner[input.part.owner] = engine->warnings;
    return FormatPass(pass);
  });
}

du_code du_engine_release(du_engine* engine, du_str nodes, int64_t now_ms, du_buf* out) {
  return Guarded(engine, out, {nodes}, [&](HostEngine& host) -> absl::StatusOr<std::string> {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const PassInput input, PassInputOf(View(nodes), {}));
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const HostPass pass, host.Release(input.part.nodes, At(now_ms)));
    return FormatPass(pass);
  });
}

du_code du_engine_next(du_engine* engine, du_str node, int64_t now_ms, du_buf* out) {
  return Guarded(engine, out, {node}, [&](HostEngine& host) {
    const std::string name = Name(node);
    const HttpRequest* request = host.Next(name, At(now_ms));
    return FormatRequest(request, name == kLedger && host.LedgerAsksForMetadata());
  });
}

du_code du_engine_answer(du_engine* engine, du_str node, int32_t http_status, int32_t retry_after_s, du_str body,
                         int64_t now_ms, du_buf* out) {
  return Guarded(engine, out, {node, body}, [&](HostEngine& host) -> absl::StatusOr<std::string> {
    const absl::StatusOr<HttpResponse> response = ResponseOf(http_status, retry_after_s, Name(body));
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const bool more, host.Answer(Name(node), response, At(now_ms)));
    return FormatFlag("more", more);
  });
}

du_code du_engine_settle(du_engine* engine, int64_t, du_buf* out) {
  return Guarded(engine, out, {},
                 [&](HostEngine& host) -> absl::StatusOr<std::string> { return FormatSettled(host.Settle()); });
}

du_code du_engine_explain(du_engine* engine, du_str node, du_buf* out) {
  return Guarded(engine, out, {node}, [&](HostEngine& host) -> absl::StatusOr<std::string> {
    return FormatExplanation(Name(node), host.Explain(Name(node)));
  });
}

du_code du_engine_everything(du_engine* engine, du_buf* out) {
  return Guarded(engine, out, {}, [&](HostEngine& host) -> absl::StatusOr<std::string> {
    HostPass everything = host.Everything();
    everything.warnings = AllWarnings(*engine, everything.parts);
    everything.warnings_by_owner = engine->warnings_by_owner;
    return FormatPass(everything);
  });
}

du_code du_engine_rollout(du_engine* engine, du_str facts, int64_t now_ms, du_buf* out) {
  return Guarded(engine, out, {facts}, [&](HostEngine& host) -> absl::StatusOr<std::string> {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const Document given,
                                   Document::Parse("facts", Name(facts), {"leader", "replica", "lastError"}));
    RolloutReport report{.identity = engine->identity};
    DRIVERUPGRADE_ASSIGN_OR_RETURN(report.leads, given.FlagOr("leader", true));
    DRIVERUPGRADE_ASSIGN_OR_RETURN(report.replica, given.TextOr("replica", ""));
    DRIVERUPGRADE_ASSIGN_OR_RETURN(report.last_error, given.TextOr("lastError", ""));
    return host.Rollout(std::move(report), At(now_ms));
  });
}
