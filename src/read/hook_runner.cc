#include "read/hook_runner.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

// Maximum number of threads that hang in a callback indefinitely. The stack of each such thread stays allocated until
// the process exits.
constexpr int kGivenAwayMax = 8;

}  // namespace

// A thread and its single call in flight. The thread shares ownership of this object.
class HookRunner::Worker : public std::enable_shared_from_this<Worker> {
 public:
  void Start() {
    thread_ = std::thread([self = shared_from_this()] { self->Loop(); });
  }

  void Submit(std::string what, Call call, CallContext context) {
    const std::lock_guard lock(mutex_);
    answer_.reset();
    begun_ = false;
    job_ = [what = std::move(what), call = std::move(call), context = std::move(context)] {
      return RunHere(context, what, call);
    };
    changed_.notify_all();
  }

  // Returns nullopt if the call did not finish within `limit` after its start, or was stopped. The time that a busy
  // machine takes to start the call does not count.
  std::optional<absl::StatusOr<bool>> Await(absl::Duration limit, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [this] { return begun_; });
    changed_.wait_for(lock, stop, absl::ToChronoNanoseconds(limit), [this] { return answer_.has_value(); });
    return std::exchange(answer_, std::nullopt);
  }

  void Finish() {
    EndLoop();
    thread_.join();
  }

  // Abandons the thread. `count`: number of abandoned threads that have not ended.
  void GiveAway(std::shared_ptr<std::atomic<int>> count) {
    ++*count;
    EndLoop(std::move(count));
    thread_.detach();
  }

 private:
  void EndLoop(std::shared_ptr<std::atomic<int>> count = nullptr) {
    const std::lock_guard lock(mutex_);
    over_ = true;
    given_away_ = std::move(count);
    changed_.notify_all();
  }

  void Loop() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return over_ || job_; });
      if (over_) break;
      {
        const auto job = std::exchange(job_, nullptr);
        begun_ = true;
        changed_.notify_all();
        lock.unlock();
        absl::StatusOr<bool> answer = job();
        lock.lock();
        answer_ = std::move(answer);
      }
      changed_.notify_all();
    }
    if (given_away_) --*given_away_;
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::function<absl::StatusOr<bool>()> job_;
  std::optional<absl::StatusOr<bool>> answer_;
  bool begun_ = false;
  bool over_ = false;
  std::shared_ptr<std::atomic<int>> given_away_;
  std::thread thread_;
};

HookRunner::HookRunner(absl::Duration limit, std::function<absl::Time()> now)
    : limit_(std::min(limit, absl::Hours(1))),
      now_(now ? std::move(now) : std::function<absl::Time()>(absl::Now)),
      given_away_(std::make_shared<std::atomic<int>>(0)) {}

HookRunner::~HookRunner() {
  if (worker_) worker_->Finish();
}

absl::StatusOr<bool> HookRunner::RunHere(const CallContext& context, std::string_view what,
                                         absl::FunctionRef<absl::StatusOr<bool>(const CallContext&)> call) {
  try {
    return call(context);
  } catch (const std::exception& error) {
    return absl::InternalError(fmt::format("{} threw: {}", what, error.what()));
  } catch (...) {
    return absl::InternalError(fmt::format("{} threw", what));
  }
}

absl::StatusOr<bool> HookRunner::Run(const CallContext& context, std::string_view what, Call call) {
  if (overrun_) return absl::DeadlineExceededError(fmt::format("{}: an earlier call has not returned in time", what));
  if (spent_ >= limit_) {
    return absl::DeadlineExceededError(
        fmt::format("{}: runs in the next pass, because the callbacks of this pass have taken {} s", what,
                    absl::StrCat(absl::ToDoubleSeconds(spent_))));
  }
  if (*given_away_ >= kGivenAwayMax) {
    return absl::DeadlineExceededError(fmt::format("{}: {} earlier calls have not returned yet", what, kGivenAwayMax));
  }
  if (!worker_) {
    auto worker = std::make_shared<Worker>();
    try {
      worker->Start();
    } catch (const std::system_error& error) {
      return absl::ResourceExhaustedError(fmt::format("{}: no thread to run it: {}", what, error.what()));
    }
    worker_ = std::move(worker);
  }
  std::stop_source stop;
  const std::stop_callback forward(context.stop, [&stop] { stop.request_stop(); });
  const absl::Time began = now_();
  worker_->Submit(std::string(what), std::move(call), {.deadline = context.deadline, .stop = stop.get_token()});
  auto answer = worker_->Await(limit_, context.stop);
  spent_ += std::max(now_() - began, absl::ZeroDuration());
  if (answer) return *std::move(answer);
  stop.request_stop();
  std::exchange(worker_, nullptr)->GiveAway(given_away_);
  overrun_ = !context.stop.stop_requested();
  if (context.stop.stop_requested()) return absl::CancelledError(fmt::format("{}: cancelled", what));
  return absl::DeadlineExceededError(
      fmt::format("{} has not returned within {} s", what, absl::StrCat(absl::ToDoubleSeconds(limit_))));
}

}  // namespace driverupgrade::internal
