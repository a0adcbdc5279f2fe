#include "upgradectl/live_view.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "absl/time/clock.h"
#include "driverupgrade/watch.h"
#include "upgradectl/json_view.h"

namespace upgradectl {

using driverupgrade::ApiObject;
using driverupgrade::ObjectKind;

// One watch and what it has given.
struct LiveView::Followed {
  ObjectKind of = {};
  std::string kind = {};
  std::string ns = {};
  std::string labels = {};
  /// Of the one object; empty: all.
  std::string name = {};
  /// If it may not be watched, it is read whenever something else has changed.
  bool optional = false;
  /// Only objects with this text are kept; empty: all.
  std::string keep = {};
  bool listed = false;
  std::map<std::string, std::string> objects = {};
};

class LiveView::Sink final : public driverupgrade::WatchSink<ApiObject> {
 public:
  Sink(LiveView& view, Followed& followed) : view_(view), followed_(followed) {}
  bool OnList(std::vector<ApiObject> objects, std::string_view version) override {
    const std::lock_guard lock(view_.mutex_);
    followed_.objects.clear();
    for (ApiObject& object : objects) Keep(std::move(object));
    followed_.listed = true;
    return Tell(version);
  }
  bool OnChange(ApiObject object, std::string_view version) override {
    const std::lock_guard lock(view_.mutex_);
    Keep(std::move(object));
    return Tell(version);
  }
  bool OnDelete(ApiObject object, std::string_view version) override {
    const std::lock_guard lock(view_.mutex_);
    followed_.objects.erase(object.ns + "/" + object.name);
    return Tell(version);
  }
  bool OnBookmark(std::string_view version) override {
    version_ = version;
    return true;
  }
  const std::string& version() const { return version_; }
  void BeginAnew() { version_.clear(); }

 private:
  void Keep(ApiObject object) {
    if (!followed_.keep.empty() && object.json.find(followed_.keep) == std::string::npos) return;
    followed_.objects[object.ns + "/" + object.name] = std::move(object.json);
  }
  bool Tell(std::string_view version) {
    version_ = version;
    view_.news_ = true;
    view_.changed_.notify_all();
    return true;
  }
  LiveView& view_;
  Followed& followed_;
  std::string version_;
};

absl::Status LiveView::WatchOnce(const driverupgrade::ObjectClient& objects, const Followed& followed,
                                 const driverupgrade::WatchParams& params, const std::stop_token& stop, Sink& sink) {
  if (followed.name.empty()) return objects.Watch({.stop = stop}, followed.of, params, sink);
  driverupgrade::WatchParams of_one = params;
  of_one.ns.clear();
  return objects.WatchOne({.stop = stop}, followed.of, {.ns = followed.ns, .name = followed.name}, of_one, sink);
}

LiveView::LiveView(std::shared_ptr<driverupgrade::HttpTransport> transport, driverupgrade::DriverIdentity identity,
                   DriverPlace place)
    : transport_(std::move(transport)), identity_(std::move(identity)), place_(std::move(place)) {
  const auto follow = [&](Followed followed) { followed_.push_back(std::make_unique<Followed>(std::move(followed))); };
  follow({.of = {.group_version = "v1", .resource = "nodes", .namespaced = false}, .kind = "Node"});
  follow({.of = {.group_version = "v1", .resource = "pods"}, .kind = "Pod", .ns = place_.ns, .labels = place_.labels});
  follow({.of = {.group_version = "apps/v1", .resource = "daemonsets"},
          .kind = "DaemonSet",
          .ns = place_.ns,
          .labels = place_.labels});
  follow({.of = {.group_version = "v1", .resource = "events"},
          .kind = "Event",
          .ns = "default",
          .keep = identity_.EventReason()});
  if (!place_.ledger.empty()) {
    follow({.of = {.group_version = "v1", .resource = "configmaps"},
            .kind = "ConfigMap",
            .ns = place_.ledger_ns,
            .name = place_.ledger,
            .optional = true});
  }
  for (const auto& followed : followed_) {
    threads_.emplace_back([this, &followed = *followed](std::stop_token stop) { Follow(followed, std::move(stop)); });
  }
}

LiveView::~LiveView() = default;

void LiveView::Follow(Followed& followed, std::stop_token stop) {
  const driverupgrade::ObjectClient objects(transport_, "upgradectl");
  Sink sink(*this, followed);
  driverupgrade::WatchParams params{.ns = followed.ns};
  if (auto labels = driverupgrade::LabelSelector::Parse(followed.labels); labels.ok()) params.label_selector = *labels;
  while (!stop.stop_requested()) {
    params.resource_version = sink.version();
    const absl::Status ended = WatchOnce(objects, followed, params, stop, sink);
    if (ended.ok()) continue;
    if (ended.code() == absl::StatusCode::kOutOfRange) {
      sink.BeginAnew();
      continue;
    }
    std::unique_lock lock(mutex_);
    const bool for_good = absl::IsPermissionDenied(ended) || absl::IsUnauthenticated(ended) || absl::IsNotFound(ended);
    if (for_good && followed.optional) followed.listed = true;
    if (for_good && !followed.optional && failure_.ok()) failure_ = ended;
    changed_.notify_all();
    if (for_good) return;
    std::condition_variable_any pause;
    pause.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
  }
}

absl::Status LiveView::Await(absl::Duration patience) {
  std::unique_lock lock(mutex_);
  const auto is_listed = [](const auto& followed) { return followed->listed; };
  changed_.wait(lock, [&] { return !failure_.ok() || std::all_of(followed_.begin(), followed_.end(), is_listed); });
  changed_.wait_for(lock, absl::ToChronoNanoseconds(patience), [&] { return news_ || !failure_.ok(); });
  news_ = false;
  return failure_;
}

absl::StatusOr<std::string> LiveView::Read(const Wanted& wanted, std::vector<std::string>& notes) {
  MixedList list;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& followed : followed_) {
      for (const auto& [name, text] : followed->objects) list.AddText(text, followed->kind, followed->of.group_version);
    }
  }
  return ReadRest(*transport_, identity_, place_, wanted, std::move(list), notes);
}

}  // namespace upgradectl
