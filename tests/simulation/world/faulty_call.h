// Runs each call of a FaultyCluster with the fate that the seed draws for this call.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_WORLD_FAULTY_CALL_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_WORLD_FAULTY_CALL_H_

#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "simulation/world/faulty_cluster.h"

namespace driverupgrade::testing::internal {

bool IsUpgradeWrite(Operation operation);

template <class T>
T ToAnswer(const absl::Status& status, Random& random) {
  if constexpr (std::is_same_v<T, absl::StatusOr<EvictionAnswer>>) {
    if (absl::IsResourceExhausted(status)) {
      return EvictionAnswer{
          .refusal = Refusal::kThrottled,
          .message = "too many requests",
          .retry_after = random.Pick({absl::ZeroDuration(), absl::Seconds(1), absl::Seconds(30), absl::Minutes(5)})};
    }
    if (absl::IsNotFound(status)) return EvictionAnswer{.gone = true};
  }
  (void)random;
  return T(status);
}

template <class T>
const absl::Status& StatusOf(const absl::StatusOr<T>& answer) {
  return answer.status();
}
inline const absl::Status& StatusOf(const absl::Status& answer) { return answer; }

template <class T, class F>
T FaultyCluster::Run(const CallContext& context, Operation operation, F call) {
  if (std::optional<absl::Status> over = Begin(context, operation)) return T(*std::move(over));
  const Fate fate = Draw(operation);
  if (fate.kind != Fate::Kind::kNormal) {
    ++troubles_;
    Note(operation, fate.answer);
  }
  switch (fate.kind) {
    case Fate::Kind::kNormal: break;
    case Fate::Kind::kRefused: return ToAnswer<T>(fate.answer, random_);
    case Fate::Kind::kCrashBefore: crashed_ = true; return T(absl::CancelledError("the process is dead"));
    case Fate::Kind::kAnswerLost: (void)call(ToClusterTime(context)); return T(fate.answer);
    case Fate::Kind::kLate:
      late_.Add(world_.Now() + fate.delay, [next = next_, writer = sender_.value_or(next_->writer()), call]() mutable {
        writer.late = true;
        next->As(writer, [&] { (void)call(CallContext{}); });
      });
      return T(fate.answer);
    case Fate::Kind::kCrashAfter:
      (void)call(ToClusterTime(context));
      crashed_ = true;
      return T(absl::CancelledError("the process is dead"));
  }
  T answer = call(ToClusterTime(context));
  AwaitAnswer(operation);
  if (crashed_) return T(absl::CancelledError("the process is dead"));
  return answer;
}

template <class T, class F>
T FaultyCluster::Write(const CallContext& context, Operation operation, F call) {
  loses_answer_ = false;  // calls during this call get their own responses
  if (swallows_) return T(absl::UnavailableError("swallowed"));
  // The request can arrive after its sender has died, so the request must not refer to the sender.
  return Run<T>(
      context, operation,
      [world = &world_, next = next_, sender = sender_, name = name_, operation, call](const CallContext& at) -> T {
        if (IsUpgradeWrite(operation)) ++world->writes;
        T answer;
        if (sender && !next->writer().late) {
          next->As(*sender, [&] { answer = call(at); });
        } else {
          answer = call(at);
        }
        if (world->trace.on()) world->trace.Line("{}: {}: {}", name, ToString(operation), StatusOf(answer).ToString());
        return answer;
      });
}

template <class T, class F>
absl::StatusOr<std::vector<T>> FaultyCluster::List(const CallContext& context, Operation operation, F call) {
  auto objects = Run<absl::StatusOr<std::vector<T>>>(context, operation, call);
  list_version_ = world_.cluster->revision();
  if (objects.ok()) NoteListed(operation);
  return objects;
}

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WORLD_FAULTY_CALL_H_
