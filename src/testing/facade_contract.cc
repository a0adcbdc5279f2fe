#include "driverupgrade/testing/facade_contract.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "base/status_macros.h"
#include "testing/facade_contract_cases.h"

namespace driverupgrade::testing {

ContractWorld::~ContractWorld() = default;

absl::Status ContractWorld::RemoveNode(const std::string& /*name*/) {
  return absl::UnimplementedError("this world cannot remove nodes");
}

absl::StatusOr<DaemonSet> ContractWorld::MakeDaemonSet(const std::string& /*ns*/, const std::string& /*name*/) {
  return absl::UnimplementedError("this world cannot create DaemonSets");
}

std::string_view ToString(ContractOutcome outcome) {
  switch (outcome) {
    case ContractOutcome::kKept: return "kept";
    case ContractOutcome::kBroken: return "broken";
    case ContractOutcome::kSkipped: return "skipped";
  }
  return "unknown outcome";
}

int ContractReport::Count(ContractOutcome outcome) const {
  return static_cast<int>(std::count_if(results.begin(), results.end(),
                                        [outcome](const ContractResult& one) { return one.outcome == outcome; }));
}

absl::Status ContractReport::Verdict(const std::vector<std::string>& demanded) const {
  std::vector<std::string> objections;
  for (const ContractResult& one : results) {
    if (one.outcome == ContractOutcome::kBroken) objections.push_back(fmt::format("broken: {}", one.name));
  }
  if (Count(ContractOutcome::kKept) == 0) objections.emplace_back("no case is kept");
  for (const std::string& name : demanded) {
    const auto found = std::find_if(results.begin(), results.end(), [&](const auto& one) { return one.name == name; });
    if (found == results.end()) {
      objections.push_back(fmt::format("required, but not run: {}", name));
    } else if (found->outcome == ContractOutcome::kSkipped) {
      objections.push_back(fmt::format("demanded, but skipped: {} ({})", name, found->reason));
    }
  }
  if (objections.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("the facade violates its contract: {}", fmt::join(objections, "; ")));
}

std::string ContractReport::ToString() const {
  using enum ContractOutcome;
  std::string text = fmt::format("facade contract: {} cases kept, {} broken, {} skipped\n", Count(kKept),
                                 Count(kBroken), Count(kSkipped));
  for (const ContractOutcome outcome : {kBroken, kSkipped, kKept}) {
    for (const ContractResult& one : results) {
      if (one.outcome != outcome) continue;
      text += fmt::format("{:<8} {}{}{}\n", testing::ToString(outcome), one.name, one.reason.empty() ? "" : ": ",
                          one.reason);
    }
  }
  return text;
}

namespace {

using internal::Need;
using internal::NeededCase;

// Forwards every call, and records the name of a hook that a case needs but the world does not provide.
class NotingWorld final : public ContractWorld {
 public:
  explicit NotingWorld(ContractWorld& world) : world_(world) {}

  ClusterFacade& facade() override { return world_.facade(); }
  CallContext context() override { return world_.context(); }
  std::string prefix() override { return world_.prefix(); }
  absl::StatusOr<std::string> MakeNamespace() override { return Note("MakeNamespace", world_.MakeNamespace()); }
  absl::StatusOr<Node> MakeNode(const Node& node) override { return Note("MakeNode", world_.MakeNode(node)); }
  absl::Status TouchNode(const std::string& name) override { return Note("TouchNode", world_.TouchNode(name)); }
  absl::StatusOr<Pod> MakePod(const Pod& pod) override { return Note("MakePod", world_.MakePod(pod)); }
  absl::Status MakeBudget(const std::string& ns, const std::string& name, const StringMap& labels) override {
    return Note("MakeBudget", world_.MakeBudget(ns, name, labels));
  }
  absl::Status RemoveNode(const std::string& name) override { return Note("RemoveNode", world_.RemoveNode(name)); }
  absl::StatusOr<DaemonSet> MakeDaemonSet(const std::string& ns, const std::string& name) override {
    return Note("MakeDaemonSet", world_.MakeDaemonSet(ns, name));
  }

  /// Name of the missing hook; empty if the world provides every hook that was called.
  std::string_view missing() const { return missing_; }

 private:
  absl::Status Note(std::string_view hook, const absl::Status& status) {
    if (status.ok()) return status;
    if (absl::IsUnimplemented(status)) missing_ = hook;
    return {status.code(), fmt::format("{} of the world: {}", hook, driverupgrade::internal::Message(status))};
  }
  template <class T>
  absl::StatusOr<T> Note(std::string_view hook, absl::StatusOr<T> made) {
    if (made.ok()) return made;
    return Note(hook, made.status());
  }

  ContractWorld& world_;
  std::string_view missing_;
};

bool SupportsOneOf(const ClusterFacade& facade, const Need& need) {
  return std::any_of(need.begin(), need.end(), [&](Operation operation) { return facade.Supports(operation); });
}

// Returns a message that lists the needs that the facade does not meet, by the names of their operations; empty if the
// facade meets all needs.
std::string WhatIsMissing(const ClusterFacade& facade, const std::vector<Need>& needs) {
  std::vector<std::string> missing;
  for (const Need& need : needs) {
    if (SupportsOneOf(facade, need)) continue;
    std::vector<std::string_view> names;
    for (const Operation operation : need) names.push_back(driverupgrade::ToString(operation));
    missing.push_back(fmt::format("{}", fmt::join(names, " or ")));
  }
  return missing.empty() ? "" : fmt::format("the facade does not support: {}", fmt::join(missing, ", "));
}

ContractResult RunCase(const NeededCase& one, ContractWorld& world) {
  using enum ContractOutcome;
  ContractResult result{.name = std::string(one.name), .outcome = kSkipped, .reason = {}};
  result.reason = WhatIsMissing(world.facade(), one.needs);
  if (!result.reason.empty()) return result;
  NotingWorld noting(world);
  const absl::Status status = one.run(noting);
  if (status.ok()) {
    result.outcome = kKept;
  } else if (!noting.missing().empty()) {
    result.reason = fmt::format("the world has no {}", noting.missing());
  } else {
    result.outcome = kBroken;
    // A failed expectation is an Unknown error. Any other error comes from the facade or a hook, so its code is
    // reported.
    result.reason = absl::IsUnknown(status) ? std::string(driverupgrade::internal::Message(status)) : status.ToString();
  }
  return result;
}

}  // namespace

std::vector<ContractCase> FacadeContract() {
  std::vector<ContractCase> cases;
  for (const auto& group : {internal::ListCases(), internal::WriteCases(), internal::MaintenanceCases(),
                            internal::DeviceCases(), internal::WatchCases(), internal::LeaseCases()}) {
    for (const NeededCase& one : group) {
      cases.push_back(
          {.name = std::string(one.name), .run = [one](ContractWorld& world) { return RunCase(one, world); }});
    }
  }
  return cases;
}

ContractReport RunFacadeContract(ContractWorld& world) {
  ContractReport report;
  for (const ContractCase& one : FacadeContract()) report.results.push_back(one.run(world));
  return report;
}

}  // namespace driverupgrade::testing
