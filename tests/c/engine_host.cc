#include "c/engine_host.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace driverupgrade::tests {
namespace {

// Returns the text that a call returned. Throws if the call failed.
std::string Must(const Said& said) {
  if (said.code == 13) throw std::logic_error("a defect: " + said.text);
  if (said.code != 0) throw std::runtime_error(fmt::format("code {}: {}", said.code, said.text));
  return said.text;
}

JsonDocument Parsed(const std::string& text) {
  JsonDocument document;
  document.Parse(text.data(), text.size());
  if (document.HasParseError()) throw std::runtime_error("no JSON: " + text);
  return document;
}

std::vector<std::string> Texts(const JsonDocument& document, const char* member) {
  std::vector<std::string> texts;
  for (const auto& text : document[member].GetArray()) texts.emplace_back(text.GetString(), text.GetStringLength());
  return texts;
}

HttpVerb VerbOf(std::string_view verb) {
  for (const HttpVerb known : {HttpVerb::kGet, HttpVerb::kPost, HttpVerb::kPut, HttpVerb::kPatch, HttpVerb::kDelete}) {
    if (ToString(known) == verb) return known;
  }
  throw std::runtime_error("no verb: " + std::string(verb));
}

std::string Unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      plain += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

absl::StatusOr<bool> AsksForGpu(const Pod& pod) {
  const auto& names = pod.resource_names;
  return std::find(names.begin(), names.end(), "nvidia.com/gpu") != names.end();
}

template <typename T>
const T* Find(const std::vector<T>& objects, const auto& is_it) {
  const auto found = std::find_if(objects.begin(), objects.end(), is_it);
  return found == objects.end() ? nullptr : &*found;
}

}  // namespace

EngineHost::EngineHost(HostedDriver driver, std::shared_ptr<HttpTransport> server, Network network)
    : driver_(std::move(driver)),
      server_(std::move(server)),
      network_(std::move(network)),
      engine_(nullptr, du_engine_free) {
  Restart();
}

void EngineHost::PutTimeZone(const TimeZoneTable& zone) {
  std::vector<std::string> offsets;
  for (const TimeZoneTable::Offset& offset : zone.offsets()) {
    offsets.push_back(fmt::format(R"({{"from":{},"seconds":{}}})", absl::ToUnixSeconds(offset.from),
                                  absl::ToInt64Seconds(offset.offset)));
  }
  const std::string text = fmt::format(R"({{"name":"{}","offsets":[{}]}})", zone.name(), fmt::join(offsets, ","));
  if (text == std::exchange(time_zones_[zone.name()], text)) return;
  Must(Call(du_engine_put_time_zone, engine(), Str(text)));
}

void EngineHost::PutTimeZones(const UpgradePolicy& policy) {
  if (!policy.rollout) return;
  for (const RolloutWindow& window : policy.rollout->windows) PutTimeZone(window.time_zone);
  if (policy.rollout->closed_time_zone) PutTimeZone(*policy.rollout->closed_time_zone);
}

void EngineHost::Restart() {
  du_engine* engine = nullptr;
  Must(Call(du_engine_new, Str(driver_.options), &engine));
  engine_.reset(engine);
  for (const auto& [name, text] : time_zones_) Must(Call(du_engine_put_time_zone, engine, Str(text)));
}

std::string EngineHost::List(const std::string& path, std::vector<std::pair<std::string, std::string>> query,
                             bool may_be_absent) {
  for (int attempt = 0; attempt < driver_.attempts; ++attempt) {
    const absl::StatusOr<HttpResponse> answer = server_->Send({}, {.path = path, .query = query});
    if (answer.ok() && (answer->status == 200 || (may_be_absent && answer->status == 404))) return answer->body;
  }
  throw std::runtime_error("cannot list " + path);
}

void EngineHost::Put(std::int32_t kind) {
  const std::string apps = "/apis/apps/v1/namespaces/" + driver_.ns;
  const std::vector<std::pair<std::string, std::string>> of_driver = {{"labelSelector", driver_.driver_labels}};
  std::string list;
  switch (kind) {
    case DU_NODES: list = List("/api/v1/nodes", {}); break;
    case DU_DRIVER_PODS: list = pods_ = List("/api/v1/namespaces/" + driver_.ns + "/pods", of_driver); break;
    case DU_DAEMON_SETS: list = List(apps + "/daemonsets", of_driver); break;
    default: list = revisions_ = List(apps + "/controllerrevisions", {}); break;
  }
  Must(Call(du_engine_put, engine(), kind, Str(list)));
}

void EngineHost::Read() {
  for (const std::int32_t kind : {DU_NODES, DU_DRIVER_PODS, DU_DAEMON_SETS, DU_CONTROLLER_REVISIONS}) Put(kind);
  if (driver_.has_devices) PutDevices();
  if (driver_.maintenance_ns.empty()) return;
  Must(Call(du_engine_put, engine(), DU_NODE_MAINTENANCES,
            Str(List("/apis/maintenance.nvidia.com/v1alpha1/namespaces/" + driver_.maintenance_ns + "/nodemaintenances",
                     {}))));
}

void EngineHost::PutDevices() {
  const std::string resource = "/apis/resource.k8s.io/v1/";
  for (const auto& [kind, name] : {std::pair(DU_DEVICE_TAINT_RULES, "devicetaintrules"),
                                   {DU_RESOURCE_CLAIMS, "resourceclaims"},
                                   {DU_RESOURCE_SLICES, "resourceslices"}}) {
    Must(Call(du_engine_put, engine(), kind, Str(List(resource + name, {}, /*may_be_absent=*/true))));
  }
}

void EngineHost::PutPods(const std::string& node) {
  Said said{.code = 3};
  try {
    const std::string list = List("/api/v1/pods", {{"fieldSelector", "spec.nodeName=" + node}});
    said = Call(du_engine_put_pods, engine(), Str(node), Str(list), Str(UsesDriver(list)));
  } catch (const std::runtime_error&) {
  }
  if (said.code == 3)
    said = Call(du_engine_put_pods, engine(), Str(node), Str(""), Str(""));  // the host could not read the pods
  Must(said);
}

// Calls the operator's callback for each pod, and returns the results as a document for du_engine_put_pods.
std::string EngineHost::UsesDriver(const std::string& list) const {
  std::vector<std::string> uids;
  std::vector<std::string> errors;
  const absl::StatusOr<ListPage<Pod>> pods = ParseList<Pod>(list);
  if (!pods.ok()) throw std::runtime_error(std::string(pods.status().message()));
  for (const Pod& pod : pods->items) {
    absl::StatusOr<bool> uses = absl::UnknownError("it threw");
    try {
      uses = driver_.uses_driver ? driver_.uses_driver(pod) : AsksForGpu(pod);
    } catch (const std::runtime_error&) {
    }
    if (!uses.ok())
      errors.push_back(
          fmt::format(R"({{"uid":"{}","error":"{}"}})", pod.ref.uid, std::string(uses.status().message())));
    if (uses.ok() && *uses) uids.push_back('"' + pod.ref.uid + '"');
  }
  return fmt::format(R"({{"uids":[{}],"errors":[{}]}})", fmt::join(uids, ","), fmt::join(errors, ","));
}

void EngineHost::AnswerQuestions(absl::Time now, bool answer) {
  AnswerQuestions(now, [&](const Pod&, const ControllerRevision&, const ControllerRevision&) { return answer; });
}

void EngineHost::AnswerQuestions(absl::Time now, const RestartOnly& restart_only) {
  Read();
  const JsonDocument read = Parsed(Must(Call(du_engine_read, engine(), absl::ToUnixMillis(now))));
  if (read["questions"].Empty()) return;
  const ListPage<Pod> pods = ParseList<Pod>(pods_).value();
  const ListPage<ControllerRevision> revisions = ParseList<ControllerRevision>(revisions_).value();
  const auto revision = [&](const char* name) {
    return Find(revisions.items, [&](const ControllerRevision& one) { return one.name == name; });
  };
  for (const auto& question : read["questions"].GetArray()) {
    const std::string name = question["pod"].GetString();
    const Pod* const pod = Find(pods.items, [&](const Pod& one) { return one.ref.ToString() == name; });
    const ControllerRevision* const running = revision(question["running"].GetString());
    const ControllerRevision* const wanted = revision(question["wanted"].GetString());
    if (pod == nullptr || running == nullptr || wanted == nullptr) continue;
    const absl::StatusOr<bool> answer = restart_only(*pod, *running, *wanted);
    const std::string said = answer.ok() ? fmt::format(R"("answer":{})", *answer)
                                         : fmt::format(R"("error":"{}")", std::string(answer.status().message()));
    Must(Call(du_engine_tell, engine(),
              Str(fmt::format(R"({{"answers":[{{"id":"{}",{}}}]}})", question["id"].GetString(), said))));
  }
}

bool EngineHost::Pass(const std::optional<std::set<std::string>>& nodes, std::string_view policy, absl::Time now,
                      std::string_view owner) {
  std::string part = nodes ? fmt::format("[\"{}\"]", fmt::join(*nodes, "\",\"")) : std::string();
  if (!owner.empty()) part = fmt::format(R"({{"owner":"{}","names":{}}})", owner, part);
  // The test of this member has one part with all nodes.
  if (!rollout_sick_.empty()) part = fmt::format(R"({{"rolloutSick":"{}"}})", rollout_sick_);
  const auto apply = [&] {
    const absl::Time at = driver_.clock ? driver_.clock->Now() : now;
    last_ = Must(Call(du_engine_apply, engine(), Str(part), Str(policy), absl::ToUnixMillis(at)));
  };
  Read();
  // The pods may have changed since the last pass.
  for (const std::string& node : interest_) PutPods(node);
  apply();
  bool sent = Carry(now);
  // Nodes can start once the ledger has responded.
  for (int answers = 0; answers < 3 && ledger_answered_; ++answers) {
    apply();
    sent = Carry(now) || sent;
  }
  interest_ = Texts(Parsed(last_), "podInterest");
  if (interest_.empty()) return sent;
  for (const std::string& node : interest_) PutPods(node);
  apply();
  return Carry(now) || sent;
}

bool EngineHost::Release(absl::Time now) {
  Read();
  last_ = Must(Call(du_engine_release, engine(), Str(""), absl::ToUnixMillis(now)));
  return Carry(now);
}

void EngineHost::Announce(const JsonDocument& pass) {
  if (observer_ == nullptr) return;
  Plan plan;
  for (const auto& node : pass["plans"].GetArray()) {
    NodePlan& added = plan.nodes.emplace_back();
    added.node = node["node"].GetString();
    added.uid = node["uid"].GetString();
    added.resource_version = node["resourceVersion"].GetString();
    const auto state = [](std::string_view text) {
      return text == "unknown" ? UpgradeState::kUnknown : ParseUpgradeState(text).value();
    };
    added.from = state(node["state"].GetString());
    for (const auto& next : node["path"].GetArray()) added.path.push_back(state(next.GetString()));
  }
  observer_->OnPlan(plan);
}

// Sends the requests of all nodes in rounds, with one request per node in each round, as if nodes were handled
// concurrently.
bool EngineHost::Carry(absl::Time began) {
  const auto now = [&] { return absl::ToUnixMillis(driver_.clock ? driver_.clock->Now() : began); };
  const JsonDocument pass = Parsed(last_);
  Announce(pass);
  wake_at_.reset();
  if (pass["wakeAt"].IsInt64()) wake_at_ = absl::FromUnixMillis(pass["wakeAt"].GetInt64());
  std::vector<std::string> nodes = Texts(pass, "work");
  const bool any = !nodes.empty();
  ledger_answered_ = std::find(nodes.begin(), nodes.end(), "") != nodes.end();
  while (!nodes.empty()) {
    std::vector<std::string> left;
    for (const std::string& node : nodes) {
      const JsonDocument request = Parsed(Must(Call(du_engine_next, engine(), Str(node), now())));
      if (!request.HasMember("verb")) continue;
      const HttpAnswer answer = network_([&] { return Send(request); });
      Must(Call(du_engine_answer, engine(), Str(node), answer.status, answer.retry_after_s, Str(answer.body), now()));
      left.push_back(node);
    }
    nodes = std::move(left);
  }
  const JsonDocument settled = Parsed(Must(Call(du_engine_settle, engine(), now())));
  for (const auto& event : settled["events"].GetArray()) {
    events_.push_back(fmt::format("{}: {}", event["node"].GetString(), event["message"].GetString()));
  }
  return any;
}

HttpAnswer EngineHost::Send(const JsonDocument& request) {
  const std::optional<absl::Time> until = leads_until_ ? leads_until_() : absl::InfiniteFuture();
  if (!until) return {.status = DU_NOT_SENT};
  ++requests_;
  const std::string target(request["target"].GetString());
  const std::size_t mark = std::min(target.find('?'), target.size());
  HttpRequest http{.verb = VerbOf(request["verb"].GetString()),
                   .path = target.substr(0, mark),
                   .content_type = request["contentType"].GetString(),
                   .body = std::string(request["body"].GetString(), request["body"].GetStringLength())};
  if (mark < target.size()) {
    const std::string query = target.substr(mark + 1);
    const std::size_t equals = query.find('=');
    http.query = {{Unescaped(query.substr(0, equals)), Unescaped(query.substr(equals + 1))}};
  }
  const absl::StatusOr<HttpResponse> answer = server_->Send({.deadline = *until}, http);
  if (!answer.ok()) return {.status = RequestWasNotSent(answer.status()) ? DU_NOT_SENT : DU_NO_ANSWER};
  const std::string retry_after(answer->Header("Retry-After").value_or("0"));
  return {.status = answer->status, .retry_after_s = std::atoi(retry_after.c_str()), .body = answer->body};
}

}  // namespace driverupgrade::tests
