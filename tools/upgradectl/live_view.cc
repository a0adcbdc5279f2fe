#include "upgradectl/live_view.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/time/clock.h"
#include "driverupgrade/cluster_reads.h"
#include "fmt/format.h"
#include "upgradectl/json_view.h"
#include "upgradectl/text.h"

namespace upgradectl {

using driverupgrade::ApiObject;
using driverupgrade::ObjectKind;

// A watch and its results.
struct LiveView::Followed {
  ObjectKind of = {};
  std::string kind = {};
  std::string ns = {};
  std::string labels = {};
  /// Name of the single object to watch; empty to watch all.
  std::string name = {};
  /// True if the user may lack permission to watch this kind, which is then listed together with the kinds that are not
  /// watched.
  bool optional = false;
  bool refused = false;
  /// String that an object must contain to be kept; empty to keep all objects.
  std::string keep = {};
  bool listed = false;
  /// Error of the last attempt; empty if the watch has delivered a result since then.
  std::string trouble = {};
  std::map<std::string, std::string> objects = {};
};

class LiveView::Sink final : public driverupgrade::WatchSink<ApiObject> {
 public:
  Sink(LiveView& view, Followed& followed) : view_(view), followed_(followed) {}
  bool OnList(std::vector<ApiObject> objects, std::string_view version) override {
    const std::lock_guard lock(view_.mutex_);
    const std::map<std::string, std::string> before = std::exchange(followed_.objects, {});
    for (ApiObject& object : objects) Keep(std::move(object));
    for (const auto& [name, text] : before) {
      if (!followed_.objects.contains(name)) NoteGone(name);
    }
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
    NoteGone(object.ns + "/" + object.name);
    return Tell(version);
  }
  bool OnBookmark(std::string_view version) override {
    const std::lock_guard lock(view_.mutex_);
    version_ = version;
    view_.Recovered(followed_);
    return true;
  }
  const std::string& version() const { return version_; }
  void BeginAnew() { version_.clear(); }

 private:
  void Keep(ApiObject object) {
    if (!followed_.keep.empty() && object.json.find(followed_.keep) == std::string::npos) return;
    followed_.objects[object.ns + "/" + object.name] = std::move(object.json);
  }
  void NoteGone(const std::string& name) { view_.gone_.insert(followed_.kind + "/" + name); }
  bool Tell(std::string_view version) {
    version_ = version;
    view_.news_ = true;
    ++view_.changes_;
    followed_.trouble.clear();
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
                   DriverPlace place, absl::Duration pause)
    : transport_(std::move(transport)), identity_(std::move(identity)), place_(std::move(place)), pause_(pause) {
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
    if (ended.ok()) {
      const std::lock_guard lock(mutex_);
      Recovered(followed);
      continue;
    }
    if (ended.code() == absl::StatusCode::kOutOfRange) {
      sink.BeginAnew();
      continue;
    }
    std::unique_lock lock(mutex_);
    const bool for_good = absl::IsPermissionDenied(ended) || absl::IsUnauthenticated(ended) || absl::IsNotFound(ended);
    if (for_good && followed.optional) followed.listed = followed.refused = true;
    if (for_good && !followed.optional && failure_.ok()) failure_ = ended;
    const std::string trouble(Message(ended));
    if (!for_good && followed.trouble != trouble) {
      followed.trouble = trouble;
      news_ = true;
    }
    changed_.notify_all();
    if (for_good) return;
    std::condition_variable_any pause;
    pause.wait_for(lock, stop, absl::ToChronoNanoseconds(pause_), [] { return false; });
  }
}

// Notifies Await, because a watch that resumes does not deliver a list.
void LiveView::Recovered(Followed& followed) {
  if (std::exchange(followed.trouble, {}).empty()) return;
  news_ = true;
  changed_.notify_all();
}

absl::Status LiveView::Await(absl::Duration patience) {
  std::unique_lock lock(mutex_);
  const auto has_answer = [](const auto& followed) { return followed->listed || !followed->trouble.empty(); };
  changed_.wait_for(lock, absl::ToChronoNanoseconds(patience), [&] {
    return !failure_.ok() || (news_ && std::all_of(followed_.begin(), followed_.end(), has_answer));
  });
  news_ = false;
  return failure_;
}

bool LiveView::Complete() const {
  const std::lock_guard lock(mutex_);
  return std::all_of(followed_.begin(), followed_.end(), [](const auto& followed) { return followed->listed; });
}

std::vector<std::string> LiveView::Troubles() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> troubles;
  for (const auto& followed : followed_) {
    if (!followed->trouble.empty()) {
      troubles.push_back(followed->trouble);
    } else if (!followed->listed) {
      troubles.push_back(
          fmt::format("watch {} {}: no response yet", followed->of.group_version, followed->of.resource));
    }
  }
  return troubles;
}

absl::StatusOr<std::string> LiveView::Read(const Wanted& wanted, absl::Time now, std::vector<std::string>& notes) {
  MixedList list;
  Wanted beside = wanted;
  std::int64_t changes = 0;
  {
    const std::lock_guard lock(mutex_);
    changes = changes_;
    listed_.gone.merge(std::exchange(gone_, {}));
    for (const auto& followed : followed_) {
      for (const auto& [name, text] : followed->objects) list.AddText(text, followed->kind, followed->of.group_version);
      if (followed->optional && !followed->refused) beside.ledger = false;
    }
  }
  const absl::Duration age = now - listed_.at;
  const bool changed = changes != listed_.changes;
  const bool clock_set_back = age < absl::ZeroDuration();
  if (clock_set_back || age >= kListedAtLeast || (changed && age >= kListedAtMost)) {
    Listed listed{.at = now, .changes = changes};
    absl::StatusOr<MixedList> read = ReadBeside(*transport_, place_, beside, listed.notes);
    if (!read.ok()) return read.status();
    listed.beside = *std::move(read);
    listed_ = std::move(listed);
  }
  notes.insert(notes.end(), listed_.notes.begin(), listed_.notes.end());
  for (const std::string& trouble : Troubles()) notes.push_back(trouble);
  list.AddAll(listed_.beside);
  const absl::StatusOr<std::set<std::string>> nodes = NodesOfInterest(list.Text(), identity_, wanted);
  if (!nodes.ok()) return nodes.status();
  for (const std::string& node : *nodes) {
    if (!listed_.pods.contains(node)) {
      absl::StatusOr<MixedList> pods = ReadPodsOf(*transport_, node);
      if (!pods.ok()) return pods.status();
      listed_.pods[node] = *std::move(pods);
    }
    list.AddAll(listed_.pods[node], listed_.gone);
  }
  if (wanted.claims) AddClaims(*transport_, list, notes);
  return list.Text();
}

}  // namespace upgradectl
