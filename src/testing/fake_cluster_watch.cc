// Watches. Each watch reads the log of its kind on its own thread, and waits for the bell when it has read everything.
// A requested stop or an injected fault ends a watch immediately; a timeout ends it after all pending changes.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "testing/fake_cluster_run.h"

namespace driverupgrade::testing {

using internal::Description;
using internal::Done;
using internal::LogEntry;
using internal::Model;
using internal::ObjectLog;
using internal::SelectorText;

namespace {

const std::string& NamespaceOf(const Pod& pod) { return pod.ref.ns; }
template <class T>
requires requires(const T& object) { object.ns; }
const std::string& NamespaceOf(const T& object) { return object.ns; }

template <class T>
constexpr bool kIsOfDevices =
    std::is_same_v<T, DeviceTaintRule> || std::is_same_v<T, ResourceClaim> || std::is_same_v<T, ResourceSlice>;

template <class T>
bool Selects(const WatchParams& params, const T& object) {
  if constexpr (requires { object.labels; }) {
    if (!params.label_selector.Matches(object.labels)) return false;
  } else {
    if (!params.label_selector.Matches({})) return false;
  }
  if constexpr (requires { NamespaceOf(object); }) {
    return params.ns.empty() || NamespaceOf(object) == params.ns;
  } else {
    return true;
  }
}

template <class T>
std::vector<T> ListOf(const Model& model, const WatchParams& params) {
  if constexpr (std::is_same_v<T, Node>) {
    return model.ListNodes(params.label_selector);
  } else if constexpr (std::is_same_v<T, Pod>) {
    return model.ListPods({.ns = params.ns, .label_selector = params.label_selector});
  } else if constexpr (std::is_same_v<T, DaemonSet>) {
    return model.ListDaemonSets(params.ns, params.label_selector);
  } else if constexpr (std::is_same_v<T, ControllerRevision>) {
    return model.ListControllerRevisions(params.ns, params.label_selector);
  } else if constexpr (kIsOfDevices<T>) {
    std::vector<T> objects = model.devices().List<T>();
    std::erase_if(objects, [&](const T& object) { return !Selects(params, object); });
    return objects;
  } else {
    if (!params.label_selector.Matches({})) return {};
    return model.ListNodeMaintenances(params.ns);
  }
}

template <class T>
constexpr Operation WatchOperation() {
  if constexpr (std::is_same_v<T, Node>) {
    return Operation::kWatchNodes;
  } else if constexpr (std::is_same_v<T, Pod>) {
    return Operation::kWatchPods;
  } else if constexpr (std::is_same_v<T, DaemonSet>) {
    return Operation::kWatchDaemonSets;
  } else if constexpr (std::is_same_v<T, ControllerRevision>) {
    return Operation::kWatchControllerRevisions;
  } else if constexpr (std::is_same_v<T, DeviceTaintRule>) {
    return Operation::kWatchDeviceTaintRules;
  } else if constexpr (std::is_same_v<T, ResourceClaim>) {
    return Operation::kWatchResourceClaims;
  } else if constexpr (std::is_same_v<T, ResourceSlice>) {
    return Operation::kWatchResourceSlices;
  } else {
    return Operation::kWatchNodeMaintenances;
  }
}

// Returns the object with its version set to `version`. A deletion has its own version, and the last state of the
// object must be delivered with this version (api-A6).
template <class T>
T WithVersion(T object, const std::string& version) {
  if constexpr (requires { object.resource_version; }) object.resource_version = version;
  return object;
}

// api-A16: returns the error for a watch that would start at a version whose history has been dropped.
absl::Status TooOld(const std::string& version, const Model& model) {
  return absl::OutOfRangeError(fmt::format("too old resource version: {} ({})", version, model.revision()));
}

Description Describe(const WatchParams& params) {
  std::string text = SelectorText(params.label_selector);
  auto append = [&](const std::string& word) { text += (text.empty() ? "" : " ") + word; };
  if (!params.resource_version.empty()) append("resourceVersion=" + params.resource_version);
  if (params.resource_version.empty() && !params.list) append("without list");
  return {params.ns, std::move(text)};
}

}  // namespace

template <class T>
struct FakeCluster::Impl::Feed {
  CallContext context = {};
  WatchParams params = {};
  /// All changes up to this revision have been delivered or do not concern this watch.
  std::int64_t revision = 0;
  /// If false, the watch ends with `last` after everything has been delivered.
  bool follow = true;
  absl::Status last = {};
  bool must_list = false;
  /// Times at which the watch ends and at which its next bookmark is due, on the virtual clock.
  absl::Time end = absl::InfiniteFuture();
  absl::Time next_bookmark = absl::InfiniteFuture();
  std::int64_t bookmark_number = 0;
  std::int64_t break_number = 0;
};

template <class T>
struct FakeCluster::Impl::Delivery {
  enum class Kind : std::uint8_t { kNothingYet, kList, kChange, kDelete, kBookmark, kEnd };
  Kind kind = Kind::kNothingYet;
  std::string version = {};
  std::vector<T> list = {};
  std::shared_ptr<const T> object = {};
  /// Status with which the watch ends, for kEnd.
  absl::Status status = {};

  static Delivery End(absl::Status status) { return {.kind = Kind::kEnd, .status = std::move(status)}; }

  /// Passes the item to the sink. Returns true if the watch can continue.
  bool GiveTo(WatchSink<T>& sink) {
    switch (kind) {
      case Kind::kNothingYet:
      case Kind::kEnd: return true;
      case Kind::kList: return sink.OnList(std::move(list), version);
      case Kind::kChange: return sink.OnChange(*object, version);
      case Kind::kDelete: return sink.OnDelete(WithVersion(*object, version), version);
      case Kind::kBookmark: return sink.OnBookmark(version);
    }
    return false;
  }
};

template <class T>
std::optional<absl::Status> FakeCluster::Impl::BeginWatch(Feed<T>& feed, Call& call) {
  Section section(*this);
  Settle();
  // A poll sends a bookmark before it ends. -1 differs from every bookmark number, so a bookmark is due.
  feed.bookmark_number = feed.follow ? bookmark_number : -1;
  if (const std::optional<internal::Fault> fault = faults.Take(call.operation)) {
    if (!fault->after_applying) return fault->status;
    feed.follow = false;
    feed.last = fault->status;
  }
  call.applied = true;
  if constexpr (kIsOfDevices<T>) {
    if (absl::Status served = model.devices().Served<T>(); !served.ok()) return served;
  }
  const absl::Time now = clock->Now();
  feed.end = now + feed.params.timeout;
  feed.next_bookmark = now + options.bookmark_period;
  feed.break_number = break_number;
  const std::string& version = feed.params.resource_version;
  feed.must_list = version.empty();
  if (feed.must_list) return std::nullopt;
  const auto [rest, error] = std::from_chars(version.data(), version.data() + version.size(), feed.revision);
  if (error != std::errc() || rest != version.data() + version.size()) {
    return absl::InvalidArgumentError(fmt::format("invalid resource version: \"{}\"", version));
  }
  // A real server accepts a version that it has not reached yet, and sends no events (ADR 0007). A restore cannot
  // interrupt a poll, so this error shows the client that the server's state was restored from a backup.
  if (feed.revision > model.revision() && !feed.follow) {
    return absl::UnavailableError(
        fmt::format("too large resource version: {}, current: {}", version, model.revision()));
  }
  if (!model.log<T>().CanBegin(feed.revision)) return TooOld(version, model);
  return std::nullopt;
}

template <class T>
FakeCluster::Impl::Delivery<T> FakeCluster::Impl::NextChange(Feed<T>& feed) {
  using Kind = typename Delivery<T>::Kind;
  const ObjectLog<T>& log = model.log<T>();
  if (!log.CanGoOn(feed.revision)) {
    return Delivery<T>::End(TooOld(std::to_string(feed.revision), model));
  }
  while (const LogEntry<T>* entry = log.After(feed.revision)) {
    feed.revision = entry->revision;
    const bool did_match = entry->before != nullptr && Selects(feed.params, *entry->before);
    const bool does_match = entry->after != nullptr && Selects(feed.params, *entry->after);
    if (!did_match && !does_match) continue;
    // api-A13: an object that no longer matches is reported as deleted.
    return {.kind = does_match ? Kind::kChange : Kind::kDelete,
            .version = std::to_string(entry->revision),
            .object = does_match ? entry->after : entry->before};
  }
  feed.revision = std::max(feed.revision, model.revision());
  return {};
}

template <class T>
FakeCluster::Impl::Delivery<T> FakeCluster::Impl::Next(Feed<T>& feed) {
  using Kind = typename Delivery<T>::Kind;
  Section section(*this);
  Settle();
  const absl::Time now = clock->Now();
  if (feed.context.stop.stop_requested()) return Delivery<T>::End(absl::CancelledError("the watch was stopped"));
  if (feed.break_number != break_number) return Delivery<T>::End(break_status);
  if (feed.context.deadline <= now) {
    return Delivery<T>::End(absl::DeadlineExceededError("the deadline of the watch has passed"));
  }
  if (std::exchange(feed.must_list, false)) {
    feed.revision = model.revision();
    return {.kind = Kind::kList,
            .version = std::to_string(feed.revision),
            .list = feed.params.list ? ListOf<T>(model, feed.params) : std::vector<T>()};
  }
  if (!watches_paused) {
    Delivery<T> change = NextChange(feed);
    if (change.kind != Kind::kNothingYet) return change;
    if (feed.bookmark_number != bookmark_number || feed.next_bookmark <= now) {
      feed.bookmark_number = bookmark_number;
      feed.next_bookmark = now + options.bookmark_period;
      return {.kind = Kind::kBookmark, .version = std::to_string(feed.revision)};
    }
  }
  if (!feed.follow) return Delivery<T>::End(feed.last);
  if (feed.end <= now) return Delivery<T>::End(absl::OkStatus());
  return {};
}

template <class T>
absl::Status FakeCluster::Impl::Watch(const CallContext& context, const WatchParams& params, bool follow,
                                      WatchSink<T>& sink) {
  constexpr Operation operation = WatchOperation<T>();
  const auto body = [&](Call& call) -> absl::StatusOr<Done> {
    Feed<T> feed{.context = context, .params = params, .follow = follow};
    internal::WatchBell::Watcher watcher(*bell);
    std::optional<absl::Status> end = BeginWatch(feed, call);
    while (!end.has_value()) {
      const std::uint64_t rings = watcher.rings();
      Delivery<T> next = Next(feed);
      if (next.kind == Delivery<T>::Kind::kNothingYet) watcher.Wait(rings, context.stop);
      if (next.kind == Delivery<T>::Kind::kEnd) end = std::move(next.status);
      if (!next.GiveTo(sink)) end = absl::OkStatus();
    }
    if (!end->ok()) return *std::move(end);
    return Done{};
  };
  return RunAround<Done>(
             context, operation, [&] { return Describe(params); }, body)
      .status();
}

absl::Status FakeCluster::WatchNodes(const CallContext& context, const WatchParams& params, WatchSink<Node>& sink) {
  return impl_->Watch(context, params, impl_->options.watches_follow, sink);
}

absl::Status FakeCluster::WatchPods(const CallContext& context, const WatchParams& params, WatchSink<Pod>& sink) {
  return impl_->Watch(context, params, impl_->options.watches_follow, sink);
}

absl::Status FakeCluster::WatchDaemonSets(const CallContext& context, const WatchParams& params,
                                          WatchSink<DaemonSet>& sink) {
  return impl_->Watch(context, params, impl_->options.watches_follow, sink);
}

absl::Status FakeCluster::WatchControllerRevisions(const CallContext& context, const WatchParams& params,
                                                   WatchSink<ControllerRevision>& sink) {
  return impl_->Watch(context, params, impl_->options.watches_follow, sink);
}

absl::Status FakeCluster::WatchNodeMaintenances(const CallContext& context, const WatchParams& params,
                                                WatchSink<NodeMaintenance>& sink) {
  return impl_->Watch(context, params, impl_->options.watches_follow, sink);
}

absl::Status FakeCluster::WatchDeviceTaintRules(const CallContext& context, const WatchParams& params,
                                                WatchSink<DeviceTaintRule>& sink) {
  return impl_->Watch(context, params, impl_->options.watches_follow, sink);
}

absl::Status FakeCluster::WatchResourceClaims(const CallContext& context, const WatchParams& params,
                                              WatchSink<ResourceClaim>& sink) {
  return impl_->Watch(context, params, impl_->options.watches_follow, sink);
}

absl::Status FakeCluster::WatchResourceSlices(const CallContext& context, const WatchParams& params,
                                              WatchSink<ResourceSlice>& sink) {
  return impl_->Watch(context, params, impl_->options.watches_follow, sink);
}

template <class T>
absl::Status FakeCluster::Poll(const CallContext& context, const WatchParams& params, WatchSink<T>& sink) {
  return impl_->Watch(context, params, /*follow=*/false, sink);
}

template absl::Status FakeCluster::Poll(const CallContext&, const WatchParams&, WatchSink<Node>&);
template absl::Status FakeCluster::Poll(const CallContext&, const WatchParams&, WatchSink<Pod>&);
template absl::Status FakeCluster::Poll(const CallContext&, const WatchParams&, WatchSink<DaemonSet>&);
template absl::Status FakeCluster::Poll(const CallContext&, const WatchParams&, WatchSink<ControllerRevision>&);
template absl::Status FakeCluster::Poll(const CallContext&, const WatchParams&, WatchSink<NodeMaintenance>&);
template absl::Status FakeCluster::Poll(const CallContext&, const WatchParams&, WatchSink<DeviceTaintRule>&);
template absl::Status FakeCluster::Poll(const CallContext&, const WatchParams&, WatchSink<ResourceClaim>&);
template absl::Status FakeCluster::Poll(const CallContext&, const WatchParams&, WatchSink<ResourceSlice>&);

void FakeCluster::CompactLog() {
  impl_->With([](Model& model) { model.CompactLog(); });
  impl_->bell->Ring();
}

void FakeCluster::SendBookmarks() {
  impl_->With([&](Model&) { ++impl_->bookmark_number; });
  impl_->bell->Ring();
}

void FakeCluster::BreakWatches(const absl::Status& status) {
  impl_->With([&](Model&) {
    ++impl_->break_number;
    impl_->break_status = status;
  });
  impl_->bell->Ring();
}

void FakeCluster::BackUp() {
  impl_->With([&](Model& model) { impl_->backup.emplace(model); });
}

bool FakeCluster::RestoreBackup() {
  return impl_->With([&](Model& model) {
    if (!impl_->backup) return false;
    model.SetBackTo(*impl_->backup);
    ++impl_->break_number;
    impl_->break_status = absl::UnavailableError("the connection to the API server was lost");
    return true;
  });
}

void FakeCluster::PauseWatches() {
  impl_->With([&](Model&) { impl_->watches_paused = true; });
}

void FakeCluster::ResumeWatches() {
  impl_->With([&](Model&) { impl_->watches_paused = false; });
  impl_->bell->Ring();
}

void FakeCluster::AwaitWatchesIdle(int watches) {
  Settle();
  impl_->bell->AwaitIdle(watches);
}

}  // namespace driverupgrade::testing
