// Reading: ParseObject, ParseList, ParseWatchEvent, ParseMixedList, ParseApiStatus.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/wire/api_object.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "internal/quote.h"
#include "internal/status_macros.h"
#include "wire/json_document.h"
#include "wire/lease_json.h"
#include "wire/node_maintenance_json.h"
#include "wire/object_kind.h"

namespace driverupgrade::inline v1 {
namespace {

using internal::JsonDocument;
using internal::JsonField;
using internal::KindOf;
using internal::ReadTime;

std::vector<OwnerReference> ReadOwners(const JsonField& metadata) {
  std::vector<OwnerReference> owners;
  metadata.Member("ownerReferences").ForEachItem([&](const JsonField& owner) {
    owners.push_back({.api_version = owner.Member("apiVersion").String(),
                      .kind = owner.Member("kind").String(),
                      .name = owner.Member("name").String(),
                      .uid = owner.Member("uid").String(),
                      .controller = owner.Member("controller").Bool()});
  });
  return owners;
}

std::optional<LabelSelector::Operator> ReadOperator(const std::string& text) {
  if (text == "In") return LabelSelector::Operator::kIn;
  if (text == "NotIn") return LabelSelector::Operator::kNotIn;
  if (text == "Exists") return LabelSelector::Operator::kExists;
  if (text == "DoesNotExist") return LabelSelector::Operator::kDoesNotExist;
  return std::nullopt;
}

// S12. What cannot be parsed selects nothing, as the eviction API has it (E6).
LabelSelector ReadSelector(const JsonField& field) {
  if (!field.present()) return LabelSelector::Nothing();
  const StringMap match_labels = field.Member("matchLabels").Strings();
  std::vector<LabelSelector::Requirement> requirements;
  for (const auto& [key, value] : match_labels) {
    requirements.push_back({.key = key, .op = LabelSelector::Operator::kIn, .values = {value}});
  }
  bool operators_known = true;
  field.Member("matchExpressions").ForEachItem([&](const JsonField& expression) {
    const auto op = ReadOperator(expression.Member("operator").String());
    std::set<std::string> values;
    expression.Member("values").ForEachItem([&](const JsonField& value) { values.insert(value.String()); });
    operators_known = operators_known && op.has_value();
    requirements.push_back({.key = expression.Member("key").String(),
                            .op = op.value_or(LabelSelector::Operator::kExists),
                            .values = {values.begin(), values.end()}});
  });
  if (requirements.empty()) return {};
  absl::StatusOr<LabelSelector> selector = LabelSelector::FromRequirements(std::move(requirements));
  return operators_known && selector.ok() ? *std::move(selector) : LabelSelector::Nothing();
}

bool IsReady(const JsonField& status) {
  bool ready = true;
  status.Member("conditions").ForEachItem([&](const JsonField& condition) {
    if (condition.Member("type").String() == "Ready") ready = condition.Member("status").String() == "True";
  });
  return ready;
}

void Read(const JsonField& object, Node& node) {
  const JsonField metadata = object.Member("metadata");
  node.name = metadata.Member("name").String();
  node.uid = metadata.Member("uid").String();
  node.resource_version = metadata.Member("resourceVersion").String();
  node.labels = metadata.Member("labels").Strings();
  node.annotations = metadata.Member("annotations").Strings();
  const JsonField spec = object.Member("spec");
  node.unschedulable = spec.Member("unschedulable").Bool();
  const JsonField status = object.Member("status");
  node.ready = IsReady(status);
}

PodPhase ReadPhase(const std::string& text) {
  if (text == "Pending") return PodPhase::kPending;
  if (text == "Running") return PodPhase::kRunning;
  if (text == "Succeeded") return PodPhase::kSucceeded;
  if (text == "Failed") return PodPhase::kFailed;
  return PodPhase::kUnknown;
}

std::vector<ContainerStatus> ReadContainerStatuses(const JsonField& field) {
  std::vector<ContainerStatus> result;
  field.ForEachItem([&](const JsonField& status) {
    result.push_back({.name = status.Member("name").String(),
                      .ready = status.Member("ready").Bool(),
                      .restart_count = status.Member("restartCount").Int()});
  });
  return result;
}

void ReadPodSpec(const JsonField& spec, Pod& pod) {
  pod.node_name = spec.Member("nodeName").String();
  spec.Member("volumes").ForEachItem([&](const JsonField& volume) {
    // `emptyDir: {}` is one too (drain-D17).
    if (volume.Member("emptyDir").present()) pod.has_empty_dir = true;
  });
  std::set<std::string> names;
  spec.Member("containers").ForEachItem([&](const JsonField& container) {
    const JsonField resources = container.Member("resources");
    const auto add = [&](std::string_view name, const JsonField&) { names.emplace(name); };
    resources.Member("requests").ForEachMember(add);
    resources.Member("limits").ForEachMember(add);
  });
  pod.resource_names.assign(names.begin(), names.end());
}

// A claim that is named in the spec, or the one that was generated from a template: only the status knows its name.
std::vector<std::string> ReadResourceClaims(const JsonField& spec, const JsonField& status) {
  std::vector<std::string> names;
  const auto add = [&](const JsonField& claim) {
    std::string name = claim.Member("resourceClaimName").String();
    if (!name.empty()) names.push_back(std::move(name));
  };
  spec.Member("resourceClaims").ForEachItem(add);
  status.Member("resourceClaimStatuses").ForEachItem(add);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

void Read(const JsonField& object, Pod& pod) {
  const JsonField metadata = object.Member("metadata");
  pod.ref = {.ns = metadata.Member("namespace").String(),
             .name = metadata.Member("name").String(),
             .uid = metadata.Member("uid").String()};
  pod.resource_version = metadata.Member("resourceVersion").String();
  pod.labels = metadata.Member("labels").Strings();
  pod.owners = ReadOwners(metadata);
  pod.deletion_timestamp = ReadTime(metadata.Member("deletionTimestamp"));
  pod.mirror = metadata.Member("annotations").Strings().contains("kubernetes.io/config.mirror");
  const JsonField spec = object.Member("spec");
  ReadPodSpec(spec, pod);
  const JsonField status = object.Member("status");
  pod.resource_claims = ReadResourceClaims(spec, status);
  pod.phase = ReadPhase(status.Member("phase").String());
  pod.init_container_statuses = ReadContainerStatuses(status.Member("initContainerStatuses"));
  pod.container_statuses = ReadContainerStatuses(status.Member("containerStatuses"));
}

void Read(const JsonField& object, DaemonSet& daemon_set) {
  const JsonField metadata = object.Member("metadata");
  daemon_set.ns = metadata.Member("namespace").String();
  daemon_set.name = metadata.Member("name").String();
  daemon_set.uid = metadata.Member("uid").String();
  daemon_set.generation = metadata.Member("generation").Int64();
  daemon_set.labels = metadata.Member("labels").Strings();
  const JsonField spec = object.Member("spec");
  daemon_set.selector = ReadSelector(spec.Member("selector"));
  // The server always fills the strategy in; where it is missing, Kubernetes' own default is RollingUpdate
  // (R15).
  const JsonField strategy = spec.Member("updateStrategy");
  daemon_set.on_delete = strategy.Member("type").String() == "OnDelete";
  const JsonField status = object.Member("status");
  daemon_set.observed_generation = status.Member("observedGeneration").Int64();
}

void Read(const JsonField& object, ControllerRevision& revision) {
  const JsonField metadata = object.Member("metadata");
  revision.ns = metadata.Member("namespace").String();
  revision.name = metadata.Member("name").String();
  revision.labels = metadata.Member("labels").Strings();
  revision.revision = object.Member("revision").Int64();
  const std::vector<OwnerReference> owners = ReadOwners(metadata);
  const auto controller = std::find_if(owners.begin(), owners.end(), [](const auto& o) { return o.controller; });
  if (controller != owners.end()) revision.owner_uid = controller->uid;
  revision.data = object.Member("data").Json();
}

void Read(const JsonField& object, PodDisruptionBudget& budget) {
  const JsonField metadata = object.Member("metadata");
  budget.ns = metadata.Member("namespace").String();
  budget.name = metadata.Member("name").String();
  budget.uid = metadata.Member("uid").String();
  const JsonField spec = object.Member("spec");
  budget.selector = ReadSelector(spec.Member("selector"));
  const JsonField status = object.Member("status");
  budget.disruptions_allowed = status.Member("disruptionsAllowed").Int();
  budget.current_healthy = status.Member("currentHealthy").Int();
  budget.desired_healthy = status.Member("desiredHealthy").Int();
}

void Read(const JsonField& object, NodeMaintenance& maintenance) { internal::ReadNodeMaintenance(object, maintenance); }

void Read(const JsonField& object, Lease& lease) { internal::ReadLease(object, lease); }

void Read(const JsonField& object, ConfigMap& config_map) { internal::ReadConfigMap(object, config_map); }

void Read(const JsonField& root, ApiObject& object) {
  const JsonField metadata = root.Member("metadata");
  object.ns = metadata.Member("namespace").String();
  object.name = metadata.Member("name").String();
  object.uid = metadata.Member("uid").String();
  object.resource_version = metadata.Member("resourceVersion").String();
  object.json = root.Json();
}

// `expected` may be empty: any kind but that of an error.
void CheckKind(const JsonField& root, std::string_view expected) {
  const JsonField kind = root.Member("kind");
  if (expected.empty()) {
    if (kind.String() == "Status") kind.Fail("expected an object, got a Status");
    return;
  }
  if (!kind.present()) return kind.Fail(fmt::format("expected \"{}\", got nothing", expected));
  const std::string got = kind.String();
  if (got == expected) return;
  kind.Fail(fmt::format("expected \"{}\", got {}", expected, internal::Quote(got)));
}

// `of` may be empty: a list of any kind.
void CheckListKind(const JsonField& root, std::string_view of) {
  if (!of.empty()) return CheckKind(root, fmt::format("{}List", of));
  const JsonField kind = root.Member("kind");
  if (!kind.String().ends_with("List")) kind.Fail("expected the kind of a list");
}

// Parses `json`, which is an object, and gives it to `read`, which takes a const JsonField&.
template <typename F>
absl::Status ReadDocument(std::string_view json, F&& read) {
  JsonDocument document;
  DRIVERUPGRADE_RETURN_IF_ERROR(document.Parse(json));
  std::string error;
  const JsonField root(document.root(), error);
  if (!document.root().IsObject()) {
    error = "expected an object";
  } else {
    read(root);
  }
  return error.empty() ? absl::OkStatus() : absl::InvalidArgumentError(error);
}

// The same, of an object of that kind.
template <typename F>
absl::Status ReadDocument(std::string_view json, std::string_view kind, F&& read) {
  return ReadDocument(json, [&](const JsonField& root) {
    CheckKind(root, kind);
    read(root);
  });
}

// Sorts the items of a mixed list by their kinds.
class MixedListReader {
 public:
  void ReadItem(const JsonField& item) {
    const JsonField kind_field = item.Member("kind");
    const std::string kind = kind_field.String();
    if (kind.empty()) return kind_field.Fail("expected a kind, got nothing");
    const std::string api_version = item.Member("apiVersion").String();
    // At most one of them takes the item.
    TakeIf(item, kind, api_version, objects.nodes);
    TakeIf(item, kind, api_version, objects.pods);
    TakeIf(item, kind, api_version, objects.daemon_sets);
    TakeIf(item, kind, api_version, objects.controller_revisions);
    TakeIf(item, kind, api_version, objects.pod_disruption_budgets);
    TakeIf(item, kind, api_version, objects.node_maintenances);
  }

  ClusterObjects objects = {};

 private:
  template <typename T>
  void TakeIf(const JsonField& item, const std::string& kind, std::string_view api_version, std::vector<T>& list) {
    // Kinds are unique within a group only: there are custom resources named Node.
    const bool same_group = GroupOf(api_version) == GroupOf(internal::ApiVersionOf<T>());
    if (kind != KindOf<T>() || (!api_version.empty() && !same_group)) return;
    const JsonField metadata = item.Member("metadata");
    const JsonField name_field = metadata.Member("name");
    const std::string name = name_field.String();
    const std::string ns = metadata.Member("namespace").String();
    if (name.empty()) return name_field.Fail("expected a name, got nothing");
    if (!seen_.emplace(kind, ns, name).second) {
      return name_field.Fail(fmt::format("another {} of this namespace has the name {}", kind, internal::Quote(name)));
    }
    Read(item, list.emplace_back());
  }

  static std::string_view GroupOf(std::string_view api_version) {
    const std::size_t slash = api_version.find('/');
    return slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
  }

  std::set<std::tuple<std::string, std::string, std::string>> seen_;  // kind, namespace, name
};

ApiStatus ReadStatus(const JsonField& root) {
  const JsonField details = root.Member("details");
  ApiStatus status{.status = root.Member("status").String(),
                   .code = root.Member("code").Int(),
                   .reason = root.Member("reason").String(),
                   .message = root.Member("message").String(),
                   .details_group = details.Member("group").String(),
                   .details_kind = details.Member("kind").String(),
                   .details_name = details.Member("name").String(),
                   .retry_after_seconds = details.Member("retryAfterSeconds").Int()};
  details.Member("causes").ForEachItem([&](const JsonField& cause) {
    status.causes.push_back({.reason = cause.Member("reason").String(),
                             .message = cause.Member("message").String(),
                             .field = cause.Member("field").String()});
  });
  return status;
}

std::optional<ApiStatus> ReadIfStatus(const JsonField& root) {
  if (root.Member("kind").String() != "Status") return std::nullopt;
  return ReadStatus(root);
}

template <typename T>
typename WatchEvent<T>::Type ReadEventType(const JsonField& field) {
  using Type = typename WatchEvent<T>::Type;
  const std::string type = field.String();
  if (type.empty()) field.Fail("expected a type, got nothing");
  if (type == "ADDED") return Type::kAdded;
  if (type == "MODIFIED") return Type::kModified;
  if (type == "DELETED") return Type::kDeleted;
  if (type == "BOOKMARK") return Type::kBookmark;
  return type == "ERROR" ? Type::kError : Type::kUnknown;
}

std::string ReadEventVersion(const JsonField& object) {
  const JsonField metadata = object.Member("metadata");
  const JsonField field = metadata.Member("resourceVersion");
  std::string version = field.String();
  if (version.empty()) field.Fail("expected a version, got nothing");
  return version;
}

template <typename T>
void ReadWatchEvent(const JsonField& root, WatchEvent<T>& event) {
  using Type = typename WatchEvent<T>::Type;
  event.type = ReadEventType<T>(root.Member("type"));
  if (event.type == Type::kUnknown) return;
  const JsonField object = root.Member("object");
  if (event.type == Type::kError) {
    // As in ParseApiStatus: the error must not be lost because of the error in it.
    std::string ignored;
    event.error = ReadIfStatus(object.Detached(ignored)).value_or(ApiStatus());
    return;
  }
  CheckKind(object, KindOf<T>());
  event.resource_version = ReadEventVersion(object);
  if (event.type != Type::kBookmark) Read(object, event.object);
}

}  // namespace

template <typename T>
absl::StatusOr<T> ParseObject(std::string_view json) {
  T object;
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadDocument(json, KindOf<T>(), [&](const JsonField& root) { Read(root, object); }));
  return object;
}

template <typename T>
absl::StatusOr<ListPage<T>> ParseList(std::string_view json) {
  ListPage<T> page;
  absl::Status status = ReadDocument(json, [&](const JsonField& root) {
    CheckListKind(root, KindOf<T>());
    const JsonField metadata = root.Member("metadata");
    page.continue_token = metadata.Member("continue").String();
    page.resource_version = metadata.Member("resourceVersion").String();
    const JsonField items = root.Member("items");
    page.items.reserve(items.ItemCount());
    items.ForEachItem([&](const JsonField& item) { Read(item, page.items.emplace_back()); });
  });
  if (!status.ok()) return status;
  return page;
}

template <typename T>
absl::StatusOr<WatchEvent<T>> ParseWatchEvent(std::string_view line) {
  WatchEvent<T> event;
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadDocument(line, [&](const JsonField& root) { ReadWatchEvent(root, event); }));
  return event;
}

absl::StatusOr<ClusterObjects> ParseMixedList(std::string_view json) {
  MixedListReader reader;
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadDocument(json, "List", [&](const JsonField& root) {
    const JsonField items = root.Member("items");
    items.ForEachItem([&](const JsonField& item) { reader.ReadItem(item); });
  }));
  return std::move(reader.objects);
}

std::optional<ApiStatus> ParseApiStatus(std::string_view json) {
  JsonDocument document;
  if (!document.Parse(json).ok() || !document.root().IsObject()) return std::nullopt;
  std::string ignored;
  return ReadIfStatus(JsonField(document.root(), ignored));
}

#define DRIVERUPGRADE_INSTANTIATE_PARSE(T)                                  \
  template absl::StatusOr<T> ParseObject<T>(std::string_view json);         \
  template absl::StatusOr<ListPage<T>> ParseList<T>(std::string_view json); \
  template absl::StatusOr<WatchEvent<T>> ParseWatchEvent<T>(std::string_view line);
DRIVERUPGRADE_INSTANTIATE_PARSE(Node)
DRIVERUPGRADE_INSTANTIATE_PARSE(Pod)
DRIVERUPGRADE_INSTANTIATE_PARSE(DaemonSet)
DRIVERUPGRADE_INSTANTIATE_PARSE(ControllerRevision)
DRIVERUPGRADE_INSTANTIATE_PARSE(PodDisruptionBudget)
DRIVERUPGRADE_INSTANTIATE_PARSE(NodeMaintenance)
DRIVERUPGRADE_INSTANTIATE_PARSE(Lease)
DRIVERUPGRADE_INSTANTIATE_PARSE(ConfigMap)
DRIVERUPGRADE_INSTANTIATE_PARSE(ApiObject)
#undef DRIVERUPGRADE_INSTANTIATE_PARSE

}  // namespace driverupgrade::inline v1
