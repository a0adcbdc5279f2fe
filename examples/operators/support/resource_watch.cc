#include "support/resource_watch.h"

#include <algorithm>

namespace examples {

using driverupgrade::ApiObject;
using driverupgrade::CallContext;
using driverupgrade::Severity;

// Time that the server has to end a watch after the watch timeout.
constexpr absl::Duration kGrace = absl::Seconds(30);

class ResourceWatch::Sink final : public driverupgrade::WatchSink<ApiObject> {
 public:
  explicit Sink(ResourceWatch& watch) : watch_(watch) {}
  bool OnList(std::vector<ApiObject> objects, std::string_view version) override {
    watch_.Listed(std::move(objects), version);
    return true;
  }
  bool OnChange(ApiObject object, std::string_view version) override {
    watch_.Changed(std::move(object), version);
    return true;
  }
  bool OnDelete(ApiObject object, std::string_view version) override {
    watch_.Deleted(object, version);
    return true;
  }
  bool OnBookmark(std::string_view version) override {
    watch_.Moved(version);
    return true;
  }

 private:
  ResourceWatch& watch_;
};

ResourceWatch::ResourceWatch(std::shared_ptr<const driverupgrade::ObjectClient> objects, driverupgrade::ObjectKind kind,
                             ResourceWatchOptions options)
    : client_(std::move(objects)),
      kind_(std::move(kind)),
      options_(std::move(options)),
      clock_(options_.clock ? options_.clock : driverupgrade::SystemClock()) {}

ResourceWatch::~ResourceWatch() { Stop(); }

void ResourceWatch::Start() {
  thread_ = std::jthread([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const absl::Duration pause = Turn({.stop = stop});
      if (pause > absl::ZeroDuration()) clock_->SleepFor(pause, stop);
    }
  });
}

void ResourceWatch::Stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

absl::Duration ResourceWatch::Turn(const CallContext& context) {
  moved_ = false;
  Sink sink(*this);
  const absl::Time deadline = std::min(context.deadline, clock_->Now() + options_.watch_timeout + kGrace);
  const absl::Status ended = client_->Watch(
      {.deadline = deadline, .stop = context.stop}, kind_,
      {.label_selector = options_.label_selector, .resource_version = version_, .timeout = options_.watch_timeout},
      sink);
  if (context.stop.stop_requested()) return absl::ZeroDuration();
  if (ended.ok()) {
    Recovered();
    // If a watch ended without delivering an event, the next watch starts after a pause.
    return moved_ ? absl::ZeroDuration() : options_.retry_first;
  }
  if (absl::IsOutOfRange(ended)) version_.clear();
  if (!absl::IsNotFound(ended)) return Failed(ended);
  version_.clear();
  Recovered();
  Listed({}, "");
  return options_.retry_max;
}

absl::Duration ResourceWatch::Failed(const absl::Status& status) {
  if (moved_) failures_ = 0;
  const absl::Duration pause = std::min(options_.retry_max, options_.retry_first * (1 << std::min(failures_++, 10)));
  bool is_new = false;
  {
    const std::lock_guard lock(mutex_);
    is_new = status_ != status;
    status_ = status;
  }
  const bool expected = absl::IsOutOfRange(status);  // a server returns 410 if it has dropped old versions
  if (is_new && !expected && options_.log) {
    options_.log({.severity = Severity::kWarning,
                  .message = "cannot watch custom resources",
                  .fields = {{"resource", kind_.resource}, {"error", std::string(status.message())}}});
  }
  return expected && failures_ == 1 ? absl::ZeroDuration() : pause;
}

void ResourceWatch::Recovered() {
  failures_ = 0;
  bool was_ill = false;
  {
    const std::lock_guard lock(mutex_);
    was_ill = !status_.ok() && !absl::IsOutOfRange(status_);
    status_ = absl::OkStatus();
  }
  if (was_ill && options_.log) {
    options_.log({.message = "custom resources are watched again", .fields = {{"resource", kind_.resource}}});
  }
}

void ResourceWatch::Listed(Objects objects, std::string_view version) {
  if (!version.empty()) {
    Moved(version);
    Recovered();
  }
  std::map<Key, ApiObject> known;
  for (ApiObject& object : objects) {
    Key key(object.ns, object.name);
    known.insert_or_assign(std::move(key), std::move(object));
  }
  {
    const std::lock_guard lock(mutex_);
    if (known_ == known) return;
    known_ = std::move(known);
  }
  Tell();
}

void ResourceWatch::Changed(ApiObject object, std::string_view version) {
  Moved(version);
  {
    const std::lock_guard lock(mutex_);
    if (!known_) known_.emplace();
    Key key(object.ns, object.name);
    known_->insert_or_assign(std::move(key), std::move(object));
  }
  Tell();
}

void ResourceWatch::Deleted(const ApiObject& object, std::string_view version) {
  Moved(version);
  {
    const std::lock_guard lock(mutex_);
    if (known_) known_->erase({object.ns, object.name});
  }
  Tell();
}

void ResourceWatch::Moved(std::string_view version) {
  version_ = version;
  moved_ = true;
}

void ResourceWatch::Tell() const {
  if (options_.on_change) options_.on_change();
}

std::optional<ResourceWatch::Objects> ResourceWatch::Latest() const {
  const std::lock_guard lock(mutex_);
  if (!known_) return std::nullopt;
  Objects objects;
  for (const auto& [_, object] : *known_) objects.push_back(object);
  return objects;
}

absl::Status ResourceWatch::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

}  // namespace examples
