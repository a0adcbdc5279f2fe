// The steps around every call through the facade: hooks, faults and the journal.
#ifndef DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_RUN_H_
#define DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_RUN_H_

#include <fmt/format.h>

#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "testing/fake_cluster_impl.h"

namespace driverupgrade::testing {

namespace internal {

/// The members `object` and `parameters` of a Call, as formatted by `describe`.
using Description = std::pair<std::string, std::string>;

inline std::string SelectorText(const LabelSelector& selector) {
  return selector.empty() ? std::string() : fmt::format("labels({})", selector.ToString());
}

/// The result of an operation that returns no value.
struct Done {};

/// Converts a fault to the result of the call.
template <class T>
absl::StatusOr<T> Answer(const absl::Status& status) {
  if constexpr (std::is_same_v<T, EvictionAnswer>) {
    return ToEvictionAnswer(status);
  } else {
    if (status.ok()) return T{};
    return status;
  }
}

template <class T>
absl::StatusOr<T> Answer(const Fault& fault) {
  if constexpr (std::is_same_v<T, EvictionAnswer>) {
    if (fault.eviction.has_value()) return *fault.eviction;
  }
  return Answer<T>(fault.status);
}

template <class T>
void Write(const absl::StatusOr<T>& result, Call& call) {
  call.code = result.status().code();
  call.answer = std::string(result.status().message());
  if constexpr (std::is_same_v<T, EvictionAnswer>) {
    if (result.ok()) call.answer = std::string(ToString(*result));
  }
}

}  // namespace internal

template <class T, class Describe, class Body>
absl::StatusOr<T> FakeCluster::Impl::RunAround(const CallContext& context, Operation operation, Describe describe,
                                               Body body) {
  const Hooks the_hooks = CopyHooks();
  Call call{.operation = operation};
  if (options.keep_journal || the_hooks.before != nullptr || the_hooks.after != nullptr) {
    std::tie(call.object, call.parameters) = describe();
  }
  auto finish = [&](absl::StatusOr<T> result) {
    internal::Write(result, call);
    End(call);
    return result;
  };
  if (absl::Status status = Begin(context, call); !status.ok()) return finish(std::move(status));
  if (the_hooks.before != nullptr) {
    if (std::optional<absl::Status> status = (*the_hooks.before)(call)) return finish(internal::Answer<T>(*status));
  }
  absl::StatusOr<T> result = body(call);
  internal::Write(result, call);
  if (the_hooks.after != nullptr) {
    if (std::optional<absl::Status> status = (*the_hooks.after)(call)) result = internal::Answer<T>(*status);
  }
  return finish(std::move(result));
}

template <class T, class Describe, class Apply>
absl::StatusOr<T> FakeCluster::Impl::Run(const CallContext& context, Operation operation, Describe describe,
                                         Apply apply) {
  return RunAround<T>(context, operation, describe, [&](Call& call) -> absl::StatusOr<T> {
    Section section(*this);
    // The hook may have moved the clock, so other effects may be due.
    Settle();
    const std::optional<internal::Fault> fault = faults.Take(operation);
    absl::StatusOr<T> result;
    if (!fault.has_value() || fault->after_applying) {
      call.applied = true;
      result = apply(model);
    }
    if (fault.has_value()) result = internal::Answer<T>(*fault);
    return result;
  });
}

}  // namespace driverupgrade::testing

#endif  // DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_RUN_H_
