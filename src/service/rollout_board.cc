#include "service/rollout_board.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "report/rollout_document.h"

namespace driverupgrade::internal {
namespace {

constexpr absl::Duration kMadeAnewAfter = absl::Seconds(1);

}  // namespace

// Records the passes and outcomes of one engine.
class RolloutBoard::Record final : public Observer {
 public:
  explicit Record(std::shared_ptr<const Clock> clock) : clock_(std::move(clock)) {}

  void OnPlan(const Plan& plan) override {
    const std::lock_guard lock(mutex_);
    histories_.Follow(plan, clock_->Now());
    if (plan.finished) histories_.Trim(static_cast<std::size_t>(plan.totals.total));
  }
  void OnNodeApplied(const NodePlan& plan, const NodeOutcome& outcome) override {
    const std::lock_guard lock(mutex_);
    histories_.Follow(plan, outcome, clock_->Now());
  }
  void OnPassEnded(const PassOutcome& pass) override {
    const std::lock_guard lock(mutex_);
    pass_ = pass;
  }

  // Adds the engine to `report`.
  void AddTo(RolloutReport& report, const std::string& name, FleetStatus status) {
    const std::lock_guard lock(mutex_);
    const std::vector<std::string_view> nodes = NamesOf(status);
    histories_.Keep(nodes);
    if (pass_) {
      report.last_pass = std::max(pass_->ended, report.last_pass.value_or(absl::InfinitePast()));
      if (!pass_->status.ok()) report.last_error = std::string(pass_->status.message());
    }
    auto histories = histories_.Of(nodes);
    report.pools.push_back({.name = name, .status = std::move(status), .histories = std::move(histories)});
  }

 private:
  const std::shared_ptr<const Clock> clock_;
  std::mutex mutex_;
  NodeHistories histories_;
  std::optional<PassOutcome> pass_;
};

RolloutBoard::RolloutBoard(DriverIdentity identity, std::shared_ptr<const Clock> clock,
                           std::function<EnginesSeen()> look)
    : identity_(std::move(identity)), clock_(std::move(clock)), look_(std::move(look)) {}
RolloutBoard::~RolloutBoard() = default;

std::shared_ptr<Observer> RolloutBoard::ObserverOf(const std::string& engine) {
  const std::lock_guard lock(records_mutex_);
  std::shared_ptr<Record>& record = records_[engine];
  if (record == nullptr) record = std::make_shared<Record>(clock_);
  return record;
}

auto RolloutBoard::Tell() -> Document {
  const std::lock_guard lock(document_mutex_);
  const absl::Time now = clock_->Now();
  // `now >= made_at_`: if the clock was set back, the old document must not be kept longer.
  if (document_.text != nullptr && now >= made_at_ && now < made_at_ + kMadeAnewAfter) return document_;
  made_at_ = now;
  std::string text = Format();
  if (document_.text != nullptr && *document_.text == text) return document_;
  // The process's start time ensures that documents of different processes have different tags.
  document_.etag = fmt::format("\"{:x}-{:x}\"", absl::ToUnixNanos(began_), ++version_);
  document_.text = std::make_shared<const std::string>(std::move(text));
  return document_;
}

std::string RolloutBoard::Format() const {
  EnginesSeen seen = look_();
  RolloutReport report{.identity = identity_, .leads = seen.leads, .replica = std::move(seen.replica)};
  for (auto& [name, status] : seen.engines) {
    std::shared_ptr<Record> record;
    {
      const std::lock_guard lock(records_mutex_);
      const auto found = records_.find(name);
      if (found != records_.end()) record = found->second;
    }
    if (record != nullptr) record->AddTo(report, name, std::move(status));
  }
  if (!seen.trouble.empty()) report.last_error = std::move(seen.trouble);
  return FormatRolloutDocument(report);
}

}  // namespace driverupgrade::internal
