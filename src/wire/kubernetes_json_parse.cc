// Implements ParseObject, ParseList, ParseWatchEvent, ParseMixedList and ParseApiStatus.
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/quote.h"
#include "base/status_macros.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "wire/json_document.h"
#include "wire/kubernetes_json_read.h"
#include "wire/object_kind.h"

namespace driverupgrade {
namespace {

using internal::JsonDocument;
using internal::JsonField;
using internal::KindOf;
using internal::ReadObject;
using internal::Wanted;
using internal::WantedMembers;

// Sets an error unless the object has the kind `expected`. If `expected` is empty, accepts any kind except Status.
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

// Sets an error unless the object is a list of the kind `of`. If `of` is empty, accepts a list of any kind.
void CheckListKind(const JsonField& root, std::string_view of) {
  if (!of.empty()) return CheckKind(root, fmt::format("{}List", of));
  const JsonField kind = root.Member("kind");
  if (!kind.String().ends_with("List")) kind.Fail("expected the kind of a list");
}

// Parses `json`, which must be an object, and calls `read` with a const JsonField& that contains the wanted members.
template <typename F>
absl::Status ReadDocument(std::string_view json, WantedMembers wanted, F&& read) {
  JsonDocument document;
  DRIVERUPGRADE_RETURN_IF_ERROR(document.Parse(json, wanted));
  std::string error;
  const JsonField root(document.root(), error);
  if (!document.root().IsObject()) {
    error = "expected an object";
  } else {
    read(root);
  }
  return error.empty() ? absl::OkStatus() : absl::InvalidArgumentError(error);
}

// Same as the function above, but the object must have the kind `kind`.
template <typename F>
absl::Status ReadDocument(std::string_view json, std::string_view kind, WantedMembers wanted, F&& read) {
  return ReadDocument(json, wanted, [&](const JsonField& root) {
    CheckKind(root, kind);
    read(root);
  });
}

// Sorts the items of a mixed list by kind.
class MixedListReader {
 public:
  explicit MixedListReader(OnUnreadable on_unreadable) : on_unreadable_(on_unreadable) {}

  void ReadItem(const JsonField& item) {
    const JsonField kind_field = item.Member("kind");
    const std::string kind = kind_field.String();
    if (kind.empty()) return kind_field.Fail("expected a kind, got nothing");
    const std::string api_version = item.Member("apiVersion").String();
    // At most one of these calls accepts the item.
    TakeIf(item, kind, api_version, objects.nodes);
    TakeIf(item, kind, api_version, objects.pods);
    TakeIf(item, kind, api_version, objects.daemon_sets);
    TakeIf(item, kind, api_version, objects.controller_revisions);
    TakeIf(item, kind, api_version, objects.pod_disruption_budgets);
    TakeIf(item, kind, api_version, objects.node_maintenances);
    TakeIf(item, kind, api_version, objects.device_taint_rules);
    TakeIf(item, kind, api_version, objects.resource_claims);
    TakeIf(item, kind, api_version, objects.resource_slices);
  }

  ClusterObjects objects = {};

 private:
  template <typename T>
  void TakeIf(const JsonField& item, const std::string& kind, std::string_view api_version, std::vector<T>& list) {
    // Kinds are unique only within an API group. For example, a custom resource may also have the kind Node.
    const bool same_group = GroupOf(api_version) == GroupOf(internal::ApiVersionOf<T>());
    if (kind != KindOf<T>() || (!api_version.empty() && !same_group)) return;
    const JsonField metadata = item.Member("metadata");
    const JsonField name_field = metadata.Member("name");
    const std::string name = name_field.String();
    const std::string ns = metadata.Member("namespace").String();
    if (name.empty()) return name_field.Fail("expected a name, got nothing");
    if (!seen_.emplace(kind, ns, name).second) {
      return name_field.Fail(fmt::format("another {}{} has the name {}", kind, ns.empty() ? "" : " in this namespace",
                                         internal::Quote(name)));
    }
    ReadObject(item, on_unreadable_, list.emplace_back());
  }

  static std::string_view GroupOf(std::string_view api_version) {
    const std::size_t slash = api_version.find('/');
    return slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
  }

  const OnUnreadable on_unreadable_;
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
void ReadWatchEvent(const JsonField& root, OnUnreadable on_unreadable, WatchEvent<T>& event) {
  using Type = typename WatchEvent<T>::Type;
  event.type = ReadEventType<T>(root.Member("type"));
  if (event.type == Type::kUnknown) return;
  const JsonField object = root.Member("object");
  if (event.type == Type::kError) {
    // Ignores read errors, as ParseApiStatus does, because an event with an unreadable error still reports an error.
    std::string ignored;
    event.error = ReadIfStatus(object.Detached(ignored)).value_or(ApiStatus());
    return;
  }
  CheckKind(object, KindOf<T>());
  event.resource_version = ReadEventVersion(object);
  if (event.type != Type::kBookmark) ReadObject(object, on_unreadable, event.object);
}

}  // namespace

template <typename T>
absl::StatusOr<T> ParseObject(std::string_view json) {
  T object;
  DRIVERUPGRADE_RETURN_IF_ERROR(
      ReadDocument(json, KindOf<T>(), Wanted<T>::Object(), [&](const JsonField& root) { ReadObject(root, object); }));
  return object;
}

template <typename T>
absl::StatusOr<ListPage<T>> ParseList(std::string_view json, OnUnreadable on_unreadable) {
  ListPage<T> page;
  absl::Status status = ReadDocument(json, Wanted<T>::List(), [&](const JsonField& root) {
    CheckListKind(root, KindOf<T>());
    const JsonField metadata = root.Member("metadata");
    page.continue_token = metadata.Member("continue").String();
    page.resource_version = metadata.Member("resourceVersion").String();
    const JsonField items = root.Member("items");
    page.items.reserve(items.ItemCount());
    items.ForEachItem([&](const JsonField& item) { ReadObject(item, on_unreadable, page.items.emplace_back()); });
  });
  if (!status.ok()) return status;
  return page;
}

template <typename T>
absl::StatusOr<WatchEvent<T>> ParseWatchEvent(std::string_view line, OnUnreadable on_unreadable) {
  WatchEvent<T> event;
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadDocument(
      line, Wanted<T>::WatchEvent(), [&](const JsonField& root) { ReadWatchEvent(root, on_unreadable, event); }));
  return event;
}

absl::StatusOr<ClusterObjects> ParseMixedList(std::string_view json, OnUnreadable on_unreadable) {
  MixedListReader reader(on_unreadable);
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadDocument(json, "List", {}, [&](const JsonField& root) {
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

#define DRIVERUPGRADE_INSTANTIATE_PARSE(T)                                                              \
  template absl::StatusOr<T> ParseObject<T>(std::string_view json);                                     \
  template absl::StatusOr<ListPage<T>> ParseList<T>(std::string_view json, OnUnreadable on_unreadable); \
  template absl::StatusOr<WatchEvent<T>> ParseWatchEvent<T>(std::string_view line, OnUnreadable on_unreadable);
DRIVERUPGRADE_INSTANTIATE_PARSE(Node)
DRIVERUPGRADE_INSTANTIATE_PARSE(Pod)
DRIVERUPGRADE_INSTANTIATE_PARSE(DaemonSet)
DRIVERUPGRADE_INSTANTIATE_PARSE(ControllerRevision)
DRIVERUPGRADE_INSTANTIATE_PARSE(PodDisruptionBudget)
DRIVERUPGRADE_INSTANTIATE_PARSE(NodeMaintenance)
DRIVERUPGRADE_INSTANTIATE_PARSE(DeviceTaintRule)
DRIVERUPGRADE_INSTANTIATE_PARSE(ResourceClaim)
DRIVERUPGRADE_INSTANTIATE_PARSE(ResourceSlice)
DRIVERUPGRADE_INSTANTIATE_PARSE(Lease)
DRIVERUPGRADE_INSTANTIATE_PARSE(ConfigMap)
DRIVERUPGRADE_INSTANTIATE_PARSE(ApiObject)
#undef DRIVERUPGRADE_INSTANTIATE_PARSE

}  // namespace driverupgrade
