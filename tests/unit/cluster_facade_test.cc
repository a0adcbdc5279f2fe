#include "driverupgrade/cluster_facade.h"

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cluster/check_supports.h"
#include "support/catch.h"

namespace driverupgrade {
namespace {

class EmptyFacade final : public ClusterFacade {
 public:
  bool Supports(Operation) const override { return false; }
};

class RecordingFacade final : public ClusterFacade {
 public:
  bool Supports(Operation operation) const override { return operation == Operation::kGetNode; }
  absl::StatusOr<Node> GetNode(const CallContext& context, const GetNodeParams& params) override {
    deadline = context.deadline;
    return Node{.name = params.name};
  }
  absl::Time deadline;
};

/// The example from the documentation of ForwardingFacade.
class CountingFacade final : public ForwardingFacade {
 public:
  using ForwardingFacade::ForwardingFacade;
  int writes() const { return writes_; }

 protected:
  absl::Status Around(Operation operation, const CallContext& context, const Call& call) override {
    if (IsWrite(operation)) ++writes_;
    return call(context);
  }

 private:
  std::atomic<int> writes_ = 0;
};

/// Does not forward any call, and returns the given status instead.
class RefusingFacade final : public ForwardingFacade {
 public:
  RefusingFacade(std::shared_ptr<ClusterFacade> next, absl::Status answer)
      : ForwardingFacade(std::move(next)), answer_(std::move(answer)) {}

 protected:
  absl::Status Around(Operation, const CallContext&, const Call&) override { return answer_; }

 private:
  const absl::Status answer_;
};

/// Replaces the deadline of every call with a fixed deadline.
class HastyFacade final : public ForwardingFacade {
 public:
  using ForwardingFacade::ForwardingFacade;

 protected:
  absl::Status Around(Operation, const CallContext&, const Call& call) override {
    return call({.deadline = absl::FromUnixSeconds(9)});
  }
};

template <typename T>
class NullSink final : public WatchSink<T> {
 public:
  bool OnList(std::vector<T>, std::string_view) override { return true; }
  bool OnChange(T, std::string_view) override { return true; }
  bool OnDelete(T, std::string_view) override { return true; }
  bool OnBookmark(std::string_view) override { return true; }
};

// Returns the status of every operation, in the order of the enumeration.
std::vector<absl::Status> CallAll(ClusterFacade& facade) {
  const CallContext context;
  NullSink<Node> nodes;
  NullSink<Pod> pods;
  NullSink<DaemonSet> daemon_sets;
  NullSink<ControllerRevision> revisions;
  NullSink<NodeMaintenance> maintenances;
  NullSink<DeviceTaintRule> rules;
  NullSink<ResourceClaim> claims;
  NullSink<ResourceSlice> slices;
  return {
      facade.GetNode(context, {}).status(),
      facade.ListNodes(context, {}).status(),
      facade.GetPod(context, {}).status(),
      facade.ListPods(context, {}).status(),
      facade.ListDaemonSets(context, {}).status(),
      facade.ListControllerRevisions(context, {}).status(),
      facade.ListPodDisruptionBudgets(context, {}).status(),
      facade.GetNodeMaintenance(context, {}).status(),
      facade.ListNodeMaintenances(context, {}).status(),
      facade.WatchNodes(context, {}, nodes),
      facade.WatchPods(context, {}, pods),
      facade.WatchDaemonSets(context, {}, daemon_sets),
      facade.WatchControllerRevisions(context, {}, revisions),
      facade.WatchNodeMaintenances(context, {}, maintenances),
      facade.ListDeviceTaintRules(context, {}).status(),
      facade.WatchDeviceTaintRules(context, {}, rules),
      facade.ListResourceClaims(context, {}).status(),
      facade.WatchResourceClaims(context, {}, claims),
      facade.ListResourceSlices(context, {}).status(),
      facade.WatchResourceSlices(context, {}, slices),
      facade.GetLease(context, {}).status(),
      facade.GetConfigMap(context, {}).status(),
      facade.PatchNode(context, {}).status(),
      facade.EvictPod(context, {}).status(),
      facade.DeletePod(context, {}),
      facade.CreateNodeMaintenance(context, {}).status(),
      facade.PatchNodeMaintenance(context, {}).status(),
      facade.DeleteNodeMaintenance(context, {}),
      facade.CreateDeviceTaintRule(context, {}).status(),
      facade.PatchDeviceTaintRule(context, {}).status(),
      facade.DeleteDeviceTaintRule(context, {}),
      facade.CreateLease(context, {}).status(),
      facade.UpdateLease(context, {}).status(),
      facade.CreateConfigMap(context, {}).status(),
      facade.PatchConfigMap(context, {}).status(),
      facade.RecordEvent(context, {}),
  };
}

TEST_CASE("An operation is a write unless it gets, lists or watches") {
  for (int i = 0; i <= static_cast<int>(Operation::kRecordEvent); ++i) {
    const auto operation = static_cast<Operation>(i);
    const std::string name(ToString(operation));
    CAPTURE(name);
    CHECK(IsWrite(operation) != (name.starts_with("get ") || name.starts_with("list ") || name.starts_with("watch ")));
  }
}

TEST_CASE(
    "an operation that a facade does not implement returns Unimplemented with its own name, even through a decorator") {
  ForwardingFacade decorated(std::make_shared<EmptyFacade>());
  const std::vector<absl::Status> answers = CallAll(decorated);
  REQUIRE(answers.size() == static_cast<std::size_t>(Operation::kRecordEvent) + 1);
  std::set<std::string> names;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::string name(ToString(static_cast<Operation>(i)));
    CAPTURE(name);
    CHECK(answers[i] == absl::UnimplementedError(name + ": this cluster facade does not implement it"));
    CHECK_FALSE(decorated.Supports(static_cast<Operation>(i)));
    names.insert(name);
  }
  CHECK(names.size() == answers.size());
}

TEST_CASE("W39: the error for a facade that cannot record Events names the option that disables Events") {
  CHECK(internal::CheckSupports(EmptyFacade(), {Operation::kRecordEvent}).message() ==
        "the cluster facade does not implement record event: implement RecordEvent, or set executor.events = false");
  CHECK(internal::CheckSupports(EmptyFacade(), {Operation::kGetLease}).message() ==
        "the cluster facade does not implement get lease");
}

TEST_CASE("a decorator forwards parameters and context") {
  const auto recorder = std::make_shared<RecordingFacade>();
  ForwardingFacade decorated(recorder);
  CHECK(decorated.Supports(Operation::kGetNode));
  CHECK_FALSE(decorated.Supports(Operation::kGetPod));
  const CallContext context{.deadline = absl::FromUnixSeconds(7)};
  CHECK(decorated.GetNode(context, {.name = "n1"})->name == "n1");
  CHECK(recorder->deadline == absl::FromUnixSeconds(7));
}

TEST_CASE("to count the calls of all operations, a decorator overrides only one hook") {
  CountingFacade counting(std::make_shared<RecordingFacade>());
  CHECK(absl::IsUnimplemented(counting.PatchNode({}, {.name = "n1"}).status()));
  CHECK(absl::IsUnimplemented(counting.DeletePod({}, {})));
  CHECK(counting.GetNode({}, {.name = "n1"}).ok());
  CHECK(counting.writes() == 2);
}

TEST_CASE(
    "a decorator that refuses a call does not forward it, and a refusal with an OK status becomes an Internal error") {
  const auto recorder = std::make_shared<RecordingFacade>();
  RefusingFacade refusing(recorder, absl::PermissionDeniedError("no"));
  CHECK(absl::IsPermissionDenied(refusing.GetNode({}, {.name = "n1"}).status()));
  CHECK(absl::IsPermissionDenied(refusing.DeletePod({}, {})));
  CHECK(recorder->deadline == absl::Time());
  RefusingFacade silent(recorder, absl::OkStatus());
  CHECK(absl::IsInternal(silent.GetNode({}, {.name = "n1"}).status()));
}

TEST_CASE("a decorator may make the call with a different context") {
  const auto recorder = std::make_shared<RecordingFacade>();
  HastyFacade hasty(recorder);
  CHECK(hasty.GetNode({}, {.name = "n1"}).ok());
  CHECK(recorder->deadline == absl::FromUnixSeconds(9));
}

TEST_CASE("WasNotApplied returns true only for status codes that rule out that the write was applied") {
  const std::set<absl::StatusCode> not_applied = {
      absl::StatusCode::kNotFound,         absl::StatusCode::kAlreadyExists,   absl::StatusCode::kInvalidArgument,
      absl::StatusCode::kPermissionDenied, absl::StatusCode::kUnauthenticated, absl::StatusCode::kResourceExhausted,
      absl::StatusCode::kUnimplemented,
  };
  for (int code = 0; code <= 16; ++code) {
    const auto status_code = static_cast<absl::StatusCode>(code);
    CAPTURE(absl::StatusCodeToString(status_code));
    CHECK(WasNotApplied(absl::Status(status_code, "x")) == not_applied.contains(status_code));
  }
}

TEST_CASE("each kind of response to an eviction has a different text") {
  std::set<std::string> texts;
  for (int refusal = 0; refusal <= static_cast<int>(Refusal::kOther); ++refusal) {
    texts.emplace(ToString(EvictionAnswer{.refusal = static_cast<Refusal>(refusal)}));
  }
  texts.emplace(ToString(EvictionAnswer{.gone = true}));
  CHECK(texts.size() == 7);
}

}  // namespace
}  // namespace driverupgrade
