#include "embed/object_documents.h"

#include <concepts>
#include <type_traits>
#include <utility>

#include "base/status_macros.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

template <typename T>
concept OfDevices =
    std::same_as<T, DeviceTaintRule> || std::same_as<T, ResourceClaim> || std::same_as<T, ResourceSlice>;

absl::Status Named(std::string_view what, const absl::Status& status) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", what, Message(status)));
}

template <typename T>
absl::StatusOr<ListPage<T>> Page(std::string_view list) {
  absl::StatusOr<ListPage<T>> page = ParseList<T>(list, OnUnreadable::kMark);
  if (!page.ok()) return Named("list", page.status());
  if (!page->continue_token.empty()) {
    return absl::InvalidArgumentError("list.metadata.continue: more pages follow; pass all pages as one list");
  }
  return page;
}

// The store accepts nodes and DRA objects for all drivers, and the other kinds for one driver.
void Take(ObjectStore& store, ListPage<Node>& page) { store.NodesListed(page.items, page.resource_version); }
template <typename T>
void Take(ObjectStore& store, ListPage<T>& page) {
  store.Listed(kHostDriver, std::move(page.items));
}
template <OfDevices T>
void Take(ObjectStore& store, ListPage<T>& page) {
  store.ChangeDevices([&](DeviceObjects& devices) { return devices.Listed(page.items); });
}
void Change(ObjectStore& store, Node& node) { store.NodeChanged(node); }
template <typename T>
void Change(ObjectStore& store, T& object) {
  store.Changed(kHostDriver, std::move(object));
}
template <OfDevices T>
void Change(ObjectStore& store, T& object) {
  store.ChangeDevices([&](DeviceObjects& devices) { return devices.Changed(object); });
}
void Delete(ObjectStore& store, const Node& node) { store.NodeDeleted(node); }
template <typename T>
void Delete(ObjectStore& store, const T& object) {
  store.Deleted(kHostDriver, object);
}

template <OfDevices T>
void Delete(ObjectStore& store, const T& object) {
  store.ChangeDevices([&](DeviceObjects& devices) { return devices.Deleted(object); });
}

template <typename T>
bool IsListed(const ObjectStore& store) {
  return store.IsListed<T>(kHostDriver);
}
template <OfDevices T>
bool IsListed(const ObjectStore& store) {
  return store.AreDevicesListed<T>();
}

// Returns NotFound if `list` is the response of a server that does not serve the kind, and OK otherwise.
absl::Status AbsentKind(std::string_view list) {
  const std::optional<ApiStatus> status = ParseApiStatus(list);
  return status && status->code == 404 ? absl::NotFoundError(status->message) : absl::OkStatus();
}

template <typename T>
absl::Status PutListOf(ObjectStore& store, std::string_view list) {
  if constexpr (OfDevices<T>) {
    if (const absl::Status absent = AbsentKind(list); !absent.ok()) {
      store.ChangeDevices([&](DeviceObjects& devices) { return devices.Failed<T>(absent); });
      return absl::OkStatus();
    }
  }
  DRIVERUPGRADE_ASSIGN_OR_RETURN(ListPage<T> page, Page<T>(list));
  Take(store, page);
  return absl::OkStatus();
}

template <typename T>
absl::Status PutLineOf(ObjectStore& store, std::string_view line) {
  using Type = typename WatchEvent<T>::Type;
  // If no list came first, a single object would be mistaken for the complete list of its kind.
  if (!IsListed<T>(store)) return absl::InvalidArgumentError("line: put a list of this kind first");
  absl::StatusOr<WatchEvent<T>> event = ParseWatchEvent<T>(line, OnUnreadable::kMark);
  if (!event.ok()) return Named("line", event.status());
  switch (event->type) {
    case Type::kAdded:
    case Type::kModified: Change(store, event->object); break;
    case Type::kDeleted: Delete(store, event->object); break;
    case Type::kError: return absl::InvalidArgumentError("line: the watch has ended; a list is needed");
    case Type::kBookmark:
    case Type::kUnknown: break;
  }
  return absl::OkStatus();
}

// Calls `put` with the C++ type of the kind.
template <typename F>
absl::Status ForTypeOf(ObjectKind kind, F put) {
  switch (kind) {
    case ObjectKind::kNode: return put(std::type_identity<Node>());
    case ObjectKind::kDriverPod: return put(std::type_identity<Pod>());
    case ObjectKind::kDaemonSet: return put(std::type_identity<DaemonSet>());
    case ObjectKind::kControllerRevision: return put(std::type_identity<ControllerRevision>());
    case ObjectKind::kNodeMaintenance: return put(std::type_identity<NodeMaintenance>());
    case ObjectKind::kDeviceTaintRule: return put(std::type_identity<DeviceTaintRule>());
    case ObjectKind::kResourceClaim: return put(std::type_identity<ResourceClaim>());
    case ObjectKind::kResourceSlice: return put(std::type_identity<ResourceSlice>());
  }
  return absl::InvalidArgumentError(fmt::format("kind: {} is not valid", static_cast<int>(kind)));
}

}  // namespace

absl::Status PutList(ObjectStore& store, ObjectKind kind, std::string_view list) {
  return ForTypeOf(kind, [&]<typename T>(std::type_identity<T>) { return PutListOf<T>(store, list); });
}

absl::Status PutWatchLine(ObjectStore& store, ObjectKind kind, std::string_view line) {
  return ForTypeOf(kind, [&]<typename T>(std::type_identity<T>) { return PutLineOf<T>(store, line); });
}

absl::StatusOr<bool> PutPodList(ObjectStore& store, const std::string& node, std::string_view list) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const ListPage<Pod> page, Page<Pod>(list));
  if (page.resource_version.empty()) {
    return absl::InvalidArgumentError(
        "list.metadata.resourceVersion: is missing: it shows whether the list is newer than the node's cordon");
  }
  return store.PutPods(kHostDriver, node, page.resource_version, page.items);
}

}  // namespace driverupgrade::internal
