#include "whatif/cluster_facts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <tuple>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "whatif/json_view.h"

namespace driverupgrade::whatif {
namespace {

Quantities QuantitiesAt(const json::Value& value, JsonPath path) {
  Quantities quantities;
  const json::Value* found = Find(value, path);
  if (found == nullptr || !found->IsObject()) return quantities;
  for (const auto& member : found->GetObject()) {
    // In manually written files, the amount of an extended resource is often a number.
    quantities[member.name.GetString()] = member.value.IsNumber()
                                              ? member.value.GetDouble()
                                              : (member.value.IsString() ? ParseQuantity(member.value.GetString()) : 0);
  }
  return quantities;
}

// Returns the resource requests of one container. As in Kubernetes, a limit serves as the request if there is no
// request.
Quantities RequestsOf(const json::Value& container) {
  Quantities requests = QuantitiesAt(container, {"resources", "requests"});
  requests.merge(QuantitiesAt(container, {"resources", "limits"}));
  return requests;
}

Quantities RequestsOfPod(const json::Value& pod) {
  Quantities sum;
  for (const json::Value& container : Items(pod, {"spec", "containers"})) {
    for (const auto& [resource, amount] : RequestsOf(container)) sum[resource] += amount;
  }
  // Init containers run one at a time, before all other containers.
  for (const json::Value& container : Items(pod, {"spec", "initContainers"})) {
    for (const auto& [resource, amount] : RequestsOf(container)) sum[resource] = std::max(sum[resource], amount);
  }
  return sum;
}

void AddWaiting(const json::Value& pod, const char* list, PodFacts& facts) {
  for (const json::Value& status : Items(pod, {"status", list})) {
    if (Find(status, {"state", "waiting"}) == nullptr) continue;
    facts.waiting.push_back({.container = Text(status, {"name"}),
                             .reason = Text(status, {"state", "waiting", "reason"}),
                             .message = Text(status, {"state", "waiting", "message"})});
  }
}

void AddConditions(const json::Value& pod, PodFacts& facts) {
  for (const json::Value& condition : Items(pod, {"status", "conditions"})) {
    const std::string type = Text(condition, {"type"});
    if (Text(condition, {"status"}) == "True") {
      if (type == "Ready") facts.ready = TimeAt(condition, {"lastTransitionTime"});
      continue;
    }
    const std::string message = Text(condition, {"message"});
    facts.false_conditions.emplace_back(
        type, Text(condition, {"reason"}) + (message.empty() ? "" : fmt::format(": {}", message)));
  }
}

PodFacts ReadPod(const json::Value& pod) {
  PodFacts facts{.grace_seconds = Integer(pod, {"spec", "terminationGracePeriodSeconds"}, 30),
                 .requests = RequestsOfPod(pod),
                 .created = TimeAt(pod, {"metadata", "creationTimestamp"})};
  for (const json::Value& finalizer : Items(pod, {"metadata", "finalizers"})) {
    if (finalizer.IsString()) facts.finalizers.emplace_back(finalizer.GetString());
  }
  AddWaiting(pod, "initContainerStatuses", facts);
  AddWaiting(pod, "containerStatuses", facts);
  AddConditions(pod, facts);
  return facts;
}

absl::Time EventTime(const json::Value& event) {
  // The two Event APIs fill in different members.
  return std::max(
      {TimeAt(event, {"lastTimestamp"}), TimeAt(event, {"series", "lastObservedTime"}), TimeAt(event, {"eventTime"})});
}

// Returns the resource version as a number; 0 if it is not a number. Every API server uses numbers.
std::int64_t VersionOf(const json::Value& object) {
  const std::string version = Text(object, {"metadata", "resourceVersion"});
  std::int64_t number = 0;
  std::from_chars(version.data(), version.data() + version.size(), number);
  return number;
}

void ReadEvent(const json::Value& event, std::string_view reason, ClusterFacts& facts) {
  if (Text(event, {"reason"}) != reason || Text(event, {"involvedObject", "kind"}) != "Node") return;
  facts.events.push_back({.node = Text(event, {"involvedObject", "name"}),
                          .warning = Text(event, {"type"}) == "Warning",
                          .message = Text(event, {"message"}),
                          .last = EventTime(event),
                          .version = VersionOf(event),
                          .count = static_cast<int>(Integer(event, {"count"}, 1))});
}

// Parses a message such as "Successfully assigned gpu-operator/driver-x7k2p to gpu-7".
void ReadAssignment(const json::Value& event, ClusterFacts& facts) {
  if (Text(event, {"reason"}) != "Scheduled" || Text(event, {"involvedObject", "kind"}) != "Pod") return;
  const std::string message = Text(event, {"message"});
  const std::size_t to = message.rfind(" to ");
  if (to == std::string::npos) return;
  facts.assigned_pods.push_back({.ns = Text(event, {"involvedObject", "namespace"}),
                                 .name = Text(event, {"involvedObject", "name"}),
                                 .node = message.substr(to + 4),
                                 .at = EventTime(event)});
}

bool HasText(const json::Value& value, JsonPath path, std::initializer_list<std::string_view> wanted) {
  const auto items = Items(value, path);
  return std::any_of(items.begin(), items.end(), [&](const json::Value& item) {
    return item.IsString() && std::find(wanted.begin(), wanted.end(), item.GetString()) != wanted.end();
  });
}

void ReadWebhooks(const json::Value& configuration, ClusterFacts& facts) {
  for (const json::Value& webhook : Items(configuration, {"webhooks"})) {
    const auto rules = Items(webhook, {"rules"});
    const bool asked = std::any_of(rules.begin(), rules.end(), [](const json::Value& rule) {
      return HasText(rule, {"resources"}, {"pods/eviction", "pods/*", "*/*"}) &&
             HasText(rule, {"operations"}, {"CREATE", "*"});
    });
    if (!asked) continue;
    facts.webhooks.push_back({.configuration = Text(configuration, {"metadata", "name"}),
                              .name = Text(webhook, {"name"}),
                              .fails_closed = Text(webhook, {"failurePolicy"}) != "Ignore"});
  }
}

void ReadBudget(const json::Value& budget, ClusterFacts& facts) {
  const std::string key = KeyOf(budget);
  if (const std::int64_t expected = Integer(budget, {"status", "expectedPods"}, -1); expected >= 0) {
    facts.expected_pods[key] = expected;
  }
  facts.always_allow_unhealthy[key] = Text(budget, {"spec", "unhealthyPodEvictionPolicy"}) == "AlwaysAllow";
}

void ReadClaim(const json::Value& claim, ClusterFacts& facts) {
  for (const json::Value& result : Items(claim, {"status", "allocation", "devices", "results"})) {
    const json::Value* admin = Find(result, {"adminAccess"});
    if (admin != nullptr && admin->IsBool() && admin->GetBool()) continue;
    ++facts.claimed_devices[KeyOf(claim)][{Text(result, {"driver"}), Text(result, {"pool"})}];
  }
}

void ReadLedger(const json::Value& config_map, ClusterFacts& facts) {
  const json::Value* data = Find(config_map, {"data"});
  if (data == nullptr || !data->IsObject()) return;
  for (const auto& entry : data->GetObject()) {
    const std::string key = entry.name.GetString();
    if (key.starts_with("_rollout_") && entry.value.IsString()) facts.rollout_records[key] = entry.value.GetString();
  }
}

void ReadItem(const json::Value& item, std::string_view event_reason, ClusterFacts& facts) {
  const std::string kind = Text(item, {"kind"});
  if (kind == "Pod") {
    facts.pods[KeyOf(item)] = ReadPod(item);
  } else if (kind == "Node") {
    facts.allocatable[Text(item, {"metadata", "name"})] = QuantitiesAt(item, {"status", "allocatable"});
  } else if (kind == "Event") {
    ReadEvent(item, event_reason, facts);
    ReadAssignment(item, facts);
  } else if (kind == "PodDisruptionBudget") {
    ReadBudget(item, facts);
  } else if (kind == "ResourceClaim") {
    ReadClaim(item, facts);
  } else if (kind == "ConfigMap") {
    ReadLedger(item, facts);
  } else if (kind == "ValidatingWebhookConfiguration" || kind == "MutatingWebhookConfiguration") {
    ReadWebhooks(item, facts);
  }
}

}  // namespace

std::string KeyOf(const json::Value& object) {
  return Text(object, {"metadata", "namespace"}) + "/" + Text(object, {"metadata", "name"});
}

std::string RecordKey(const DriverIdentity& identity) {
  std::string key = "_rollout_" + identity.Name();
  std::replace(key.begin(), key.end(), '/', '_');
  return key;
}

std::optional<std::string> RecordOf(const ClusterFacts& facts, const DriverIdentity& identity) {
  const auto record = facts.rollout_records.find(RecordKey(identity));
  return record == facts.rollout_records.end() ? std::nullopt : std::optional(record->second);
}

double ParseQuantity(std::string_view text) {
  struct Suffix {
    std::string_view name;
    double factor;
  };
  static constexpr std::array<Suffix, 15> kSuffixes = {{{"", 1},
                                                        {"n", 1e-9},
                                                        {"u", 1e-6},
                                                        {"m", 1e-3},
                                                        {"k", 1e3},
                                                        {"M", 1e6},
                                                        {"G", 1e9},
                                                        {"T", 1e12},
                                                        {"P", 1e15},
                                                        {"Ki", 1024.0},
                                                        {"Mi", 1048576.0},
                                                        {"Gi", 1073741824.0},
                                                        {"Ti", 1099511627776.0},
                                                        {"Pi", 1125899906842624.0},
                                                        {"E", 1e18}}};
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  if (end == copy.c_str() || !std::isfinite(number)) return 0;
  const std::string_view suffix(end);
  for (const Suffix& known : kSuffixes) {
    if (suffix == known.name) return number * known.factor;
  }
  return 0;
}

absl::StatusOr<json::Document> ParseDump(std::string_view dump) {
  json::Document document;
  document.Parse<json::kParseIterativeFlag>(dump.data(), dump.size());
  if (!document.HasParseError()) return document;
  return absl::InvalidArgumentError(fmt::format("malformed JSON at byte {}", document.GetErrorOffset()));
}

ClusterFacts FactsOf(const json::Value& dump, std::string_view event_reason) {
  ClusterFacts facts;
  for (const json::Value& item : Items(dump, {"items"})) ReadItem(item, event_reason, facts);
  std::stable_sort(facts.events.begin(), facts.events.end(), [](const EventFact& a, const EventFact& b) {
    return std::tie(a.last, a.version) < std::tie(b.last, b.version);
  });
  std::stable_sort(facts.assigned_pods.begin(), facts.assigned_pods.end(),
                   [](const AssignedPod& a, const AssignedPod& b) { return a.at < b.at; });
  return facts;
}

}  // namespace driverupgrade::whatif
