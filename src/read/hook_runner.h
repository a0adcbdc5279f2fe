// Runs the embedding operator's callbacks on a separate thread and for a limited time, so that a callback that hangs or
// throws cannot harm the engine.
#ifndef DRIVERUPGRADE_SRC_READ_HOOK_RUNNER_H_
#define DRIVERUPGRADE_SRC_READ_HOOK_RUNNER_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"

namespace driverupgrade::internal {

// Runs one call at a time. A call that exceeds its time limit keeps its thread until it returns, either on its own or
// because of its stop token. The next call gets a new thread, but the number of abandoned threads is limited.
class HookRunner {
 public:
  using Call = std::function<absl::StatusOr<bool>(const CallContext& context)>;
  // Makes the call on the caller's thread, without a limit. Errors: the errors of `call`; Internal if `call` throws.
  static absl::StatusOr<bool> RunHere(const CallContext& context, std::string_view what,
                                      absl::FunctionRef<absl::StatusOr<bool>(const CallContext&)> call);

  // `limit` is measured in real time, regardless of the engine's clock, because a callback hangs in real time. `now`:
  // clock that measures the total duration of the calls in a round, for tests; absl::Now if empty.
  explicit HookRunner(absl::Duration limit, std::function<absl::Time()> now = nullptr);
  ~HookRunner();

  // Starts a round. After a call has exceeded the limit, or the calls of a round have taken `limit` in total, further
  // calls of the round fail immediately. A caller with a thousand objects thus waits only once per round, and can do
  // other work between rounds.
  void BeginRound() {
    overrun_ = false;
    spent_ = absl::ZeroDuration();
  }

  // Makes the call on the separate thread, and waits for its result. `what` is the start of error messages. `call` must
  // own everything that it uses, because it may outlive this object. Errors: the errors of `call`; Internal if `call`
  // throws; DeadlineExceeded if `call` exceeds the limit; Cancelled if a stop is requested.
  absl::StatusOr<bool> Run(const CallContext& context, std::string_view what, Call call);

 private:
  class Worker;
  absl::Duration limit_;
  std::function<absl::Time()> now_;
  bool overrun_ = false;
  absl::Duration spent_ = absl::ZeroDuration();  // in this round
  std::shared_ptr<Worker> worker_;               // nullptr until the first call
  // Number of abandoned threads that have not ended.
  std::shared_ptr<std::atomic<int>> given_away_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_READ_HOOK_RUNNER_H_
