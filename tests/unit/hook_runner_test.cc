// Tests the time limits for the operator's callbacks.
#include "read/hook_runner.h"

#include <future>
#include <stdexcept>
#include <thread>

#include "support/catch.h"

namespace driverupgrade::internal {
namespace {

TEST_CASE("A callback runs on a separate thread, and its result is returned") {
  HookRunner hooks(absl::Minutes(2));
  const std::thread::id caller = std::this_thread::get_id();
  CHECK(*hooks.Run({}, "the filter", [&](const CallContext&) { return std::this_thread::get_id() != caller; }));
  CHECK(hooks
            .Run({}, "the filter",
                 [](const CallContext&) -> absl::StatusOr<bool> { return absl::NotFoundError("no claim"); })
            .status() == absl::NotFoundError("no claim"));
}

TEST_CASE("A callback without a limit runs on the caller's thread") {
  const std::thread::id caller = std::this_thread::get_id();
  CHECK(
      *HookRunner::RunHere({}, "the filter", [&](const CallContext&) { return std::this_thread::get_id() == caller; }));
  CHECK(HookRunner::RunHere({}, "the filter", [](const CallContext&) -> absl::StatusOr<bool> { throw 1; }).status() ==
        absl::InternalError("the filter threw"));
}

TEST_CASE("A callback that throws returns an error") {
  HookRunner hooks(absl::Minutes(2));
  CHECK(
      hooks.Run({}, "the filter", [](const CallContext&) -> absl::StatusOr<bool> { throw std::runtime_error("boom"); })
          .status() == absl::InternalError("the filter threw: boom"));
  CHECK(hooks.Run({}, "the filter", [](const CallContext&) -> absl::StatusOr<bool> { throw 1; }).status() ==
        absl::InternalError("the filter threw"));
  CHECK(*hooks.Run({}, "the filter", [](const CallContext&) { return true; }));
}

// Hangs until it is released, and ignores requests to stop.
struct HangingCall {
  std::shared_future<void> released;
  std::shared_ptr<std::promise<bool>> stop_asked = std::make_shared<std::promise<bool>>();
  absl::StatusOr<bool> operator()(const CallContext& context) const {
    released.wait();
    stop_asked->set_value(context.stop.stop_requested());
    return true;
  }
};

TEST_CASE(
    "A callback that exceeds its time limit is stopped and abandoned, and the rest of the round fails immediately") {
  HookRunner hooks(absl::Milliseconds(1));
  std::promise<void> release;
  const HangingCall hanging{release.get_future().share()};
  CHECK(hooks.Run({}, "the filter", hanging).status() ==
        absl::DeadlineExceededError("the filter has not returned within 0.001 s"));
  CHECK(hooks.Run({}, "the filter", [](const CallContext&) { return true; }).status() ==
        absl::DeadlineExceededError("the filter: an earlier call has not returned in time"));
  release.set_value();
  CHECK(hanging.stop_asked->get_future().get());
}

TEST_CASE("All callbacks of a round share one time limit") {
  // With this clock each callback seems to take half a minute.
  absl::Time now = absl::UnixEpoch();
  HookRunner hooks(absl::Minutes(2), [&now] { return now += absl::Seconds(30); });
  const auto run = [&hooks] { return hooks.Run({}, "the filter", [](const CallContext&) { return true; }); };
  for (int i = 0; i < 4; ++i) CHECK(run().ok());
  CHECK(run().status() == absl::DeadlineExceededError("the filter: runs in the next pass, because the callbacks of "
                                                      "this pass have taken 120 s"));
  hooks.BeginRound();
  CHECK(run().ok());
}

TEST_CASE("Callbacks that never return use a limited number of threads") {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  HookRunner hooks(absl::Milliseconds(1));
  for (int i = 0; i < 8; ++i) {
    hooks.BeginRound();
    CHECK(absl::IsDeadlineExceeded(hooks.Run({}, "the filter", HangingCall{released}).status()));
  }
  hooks.BeginRound();
  CHECK(hooks.Run({}, "the filter", HangingCall{released}).status() ==
        absl::DeadlineExceededError("the filter: 8 earlier calls have not returned yet"));
  release.set_value();
}

TEST_CASE("Stopping the engine ends the wait for a running callback") {
  std::promise<void> release;
  HookRunner hooks(absl::Hours(1));
  std::stop_source stop;
  const std::shared_future<void> released = release.get_future().share();
  // The callback has its own copy of `stop`, because the wait can end, and the test can finish, while request_stop()
  // still uses the state that the copies share.
  const auto call = [stop, released](const CallContext&) mutable -> absl::StatusOr<bool> {
    stop.request_stop();
    released.wait();
    return true;
  };
  CHECK(hooks.Run({.stop = stop.get_token()}, "the filter", call).status() ==
        absl::CancelledError("the filter: cancelled"));
  release.set_value();
}

}  // namespace
}  // namespace driverupgrade::internal
