#include "engine/cache_reader.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "engine/pod_lists.h"
#include "model/unreadable.h"

namespace driverupgrade::internal {

CacheReader::CacheReader(std::shared_ptr<WatchCache> cache, std::size_t driver, std::shared_ptr<Clock> clock,
                         absl::Duration call_timeout, PlanExecutor& executor, std::function<void()> on_change)
    : cache_(std::move(cache)),
      driver_(driver),
      clock_(std::move(clock)),
      call_timeout_(call_timeout),
      executor_(executor),
      on_change_(std::move(on_change)) {
  cache_->Attach(driver_);
  cache_->Subscribe(driver_, on_change_);
}

CacheReader::~CacheReader() {
  cache_->Subscribe(driver_, nullptr);
  cache_->SetInterest(driver_, {});
}

absl::Status CacheReader::Begin(const CallContext& context, LedgerSteps*) {
  context_ = context;
  return absl::OkStatus();
}

absl::Status CacheReader::Ready() const {
  if (!cache_->Synced()) return absl::UnavailableError("the cache is not synced yet, or is being synced again");
  // Decisions and deadlines must not rely on objects that may be outdated.
  return cache_->Health();
}

std::optional<Node> CacheReader::FindNode(const std::string& name) const {
  const std::shared_ptr<const Node> node = cache_->FindNode(name);
  return node == nullptr ? std::nullopt : std::optional(*node);
}

CacheChanges CacheReader::Take() {
  CacheChanges changes = cache_->Take(driver_);
  changes.driver |= TakeRevisions();
  return changes;
}

// DaemonSets and their revisions have separate watches, so the cached revisions may be outdated when a DaemonSet
// changes. The revisions are therefore listed, and each listed revision is kept until the watch reports it. Until the
// list has finished, passes use the DaemonSets and revisions of the previous list.
absl::StatusOr<DriverObjects> CacheReader::Driver() {
  TakeRevisions();
  std::vector<DaemonSet> daemon_sets = cache_->DaemonSets(driver_);
  if (daemon_sets == daemon_sets_) {
    list_status_ = absl::OkStatus();
  } else if (!is_listing_) {
    listed_for_ = std::move(daemon_sets);
    ListRevisions();
    TakeRevisions();
  }
  DRIVERUPGRADE_RETURN_IF_ERROR(list_status_);
  std::map<std::string, ControllerRevision> newest = revisions_;
  for (ControllerRevision& revision : cache_->Revisions(driver_)) {
    ControllerRevision& known = newest[revision.name];
    if (known.name.empty() || IsUnreadable(revision) || known.owner_uid != revision.owner_uid ||
        known.revision < revision.revision) {
      known = std::move(revision);
    }
  }
  DriverObjects objects{.daemon_sets = daemon_sets_};
  objects.revisions.reserve(newest.size());
  for (auto& [name, revision] : newest) objects.revisions.push_back(std::move(revision));
  return objects;
}

void CacheReader::ListRevisions() {
  is_listing_ = true;
  const auto list = [this](const CallContext& bounded) {
    absl::StatusOr<std::vector<ControllerRevision>> listed = cache_->ListRevisions(bounded, driver_);
    const std::lock_guard lock(mutex_);
    listed_ = std::move(listed);
  };
  // The first pass has no earlier list, so it waits for the new list.
  if (daemon_sets_.empty()) {
    return list({.deadline = std::min(context_.deadline, clock_->Now() + call_timeout_), .stop = context_.stop});
  }
  executor_.Submit(context_, [this, list](const CallContext& bounded) {
    list(bounded);
    on_change_();
  });
}

bool CacheReader::TakeRevisions() {
  std::optional<absl::StatusOr<std::vector<ControllerRevision>>> listed;
  {
    const std::lock_guard lock(mutex_);
    listed.swap(listed_);
  }
  if (!listed) return false;
  is_listing_ = false;
  list_status_ = listed->status();
  if (!listed->ok()) return true;
  revisions_.clear();
  for (const ControllerRevision& revision : **listed) revisions_[revision.name] = revision;
  daemon_sets_ = std::move(listed_for_);
  return true;
}

std::vector<std::string> CacheReader::SetInterest(const std::set<std::string>& nodes) {
  cache_->SetInterest(driver_, nodes);
  return {};
}

void CacheReader::ReadPods(const CallContext& context, const UpgradePolicy& policy,
                           const std::set<std::string>& nodes) {
  std::set<std::string> wanted;
  for (const std::string& node : nodes) {
    if (reading_.insert(node).second) wanted.insert(node);
  }
  const auto submit = [&](std::function<std::map<std::string, absl::Status>(const CallContext&)> read) {
    executor_.Submit(context, [this, read = std::move(read)](const CallContext& bounded) {
      std::map<std::string, absl::Status> statuses = read(bounded);
      {
        const std::lock_guard lock(mutex_);
        for (auto& [node, status] : statuses) read_.insert_or_assign(node, std::move(status));
      }
      on_change_();
    });
  };
  if (ReadsAllPods(policy, wanted.size())) {
    return submit([this, wanted](const CallContext& bounded) { return cache_->ReadAllPods(bounded, wanted); });
  }
  for (const std::string& node : wanted) {
    submit([this, node](const CallContext& bounded) {
      return std::map<std::string, absl::Status>{{node, cache_->ReadPods(bounded, node)}};
    });
  }
}

std::map<std::string, absl::Status> CacheReader::TakeRead() {
  std::map<std::string, absl::Status> read;
  {
    const std::lock_guard lock(mutex_);
    read.swap(read_);
  }
  for (const auto& [node, status] : read) reading_.erase(node);
  return read;
}

}  // namespace driverupgrade::internal
