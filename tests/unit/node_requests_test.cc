// Tests the requests for one node without a cluster.
#include "write/node_requests.h"

#include "absl/strings/cord.h"
#include "decide/attempt_log.h"
#include "model/request_not_sent.h"
#include "support/catch.h"
#include "write/nodes_under_way.h"
#include "write/transition_events.h"

namespace driverupgrade::tests {
namespace {

using internal::NodeAnswer;
using internal::NodeRequest;
using internal::NodeRequests;

const absl::Time kSent = absl::UnixEpoch() + absl::Seconds(10);
const absl::Time kAnswered = absl::UnixEpoch() + absl::Seconds(11);

NodePlan Everything() {
  const NodeMaintenance object{.ns = "default", .name = "nm", .uid = "u-nm", .resource_version = "3"};
  const DeviceTaintRule rule{
      .name = "r", .uid = "u-r", .resource_version = "4", .effect = DeviceTaintEffect::kNoSchedule};
  return {.node = "n1",
          .uid = "u1",
          .resource_version = "7",
          .confirm = object,
          .patch = PatchNodeParams{.unschedulable = true},
          .devices = {{.kind = DeviceCall::Kind::kPatch, .object = rule}},
          .evict = {{"shop", "web", "u-web"}},
          .remove = {{"drivers", "gpu", "u-gpu"}},
          .maintenance = {{.kind = MaintenanceCall::Kind::kDelete, .object = object}}};
}

NodeAnswer Accepted(const NodeRequest& request) {
  if (std::holds_alternative<PatchNodeParams>(request)) return {.node = Node{.name = "n1", .resource_version = "8"}};
  return {};
}

/// Responds to requests of type T with `answer` and accepts all other requests. Returns the number of requests of all
/// types.
template <typename T>
int Answer(NodeRequests& requests, const NodeAnswer& answer) {
  int count = 0;
  while (const NodeRequest* request = requests.Next()) {
    ++count;
    requests.Take(std::holds_alternative<T>(*request) ? answer : Accepted(*request), kSent, kAnswered);
  }
  return count;
}

TEST_CASE("arch-A12: a node's requests are sent in sequence, in the order of its plan") {
  NodeRequests requests(Everything());
  std::vector<std::size_t> kinds;
  while (const NodeRequest* request = requests.Next()) {
    CHECK(requests.Next() == request);
    kinds.push_back(request->index());
    requests.Take(Accepted(*request), kSent, kAnswered);
  }
  const auto is = [](auto params) { return NodeRequest(params).index(); };
  CHECK(kinds == std::vector<std::size_t>{is(PatchNodeMaintenanceParams()), is(PatchNodeParams()),
                                          is(PatchDeviceTaintRuleParams()), is(EvictPodParams()), is(DeletePodParams()),
                                          is(DeleteNodeMaintenanceParams())});
  CHECK(requests.Acknowledged());
  CHECK(requests.outcome().status.ok());
  CHECK(requests.outcome().evictions_accepted == 1);
  CHECK(requests.outcome().pods_deleted == 1);
  REQUIRE(requests.outcome().node_after);
  CHECK(requests.outcome().node_after->resource_version == "8");
}

TEST_CASE("arch-A12: a request that is not acknowledged drops the rest of the node's requests") {
  const NodeAnswer failed{.status = absl::UnavailableError("503")};
  NodeRequests confirmed(Everything());
  CHECK(Answer<PatchNodeMaintenanceParams>(confirmed, failed) == 1);
  NodeRequests patched(Everything());
  CHECK(Answer<PatchNodeParams>(patched, failed) == 2);
  CHECK_FALSE(patched.Acknowledged());
  NodeRequests tainted(Everything());
  CHECK(Answer<PatchDeviceTaintRuleParams>(tainted, failed) == 3);
  NodeRequests evicted(Everything());
  CHECK(Answer<EvictPodParams>(evicted, failed) == 4);
  NodeRequests removed(Everything());
  CHECK(Answer<DeletePodParams>(removed, failed) == 5);
  CHECK(removed.undeleted() == PodRef{"drivers", "gpu", "u-gpu"});
}

TEST_CASE("A patch that was certainly not sent counts as not applied, so its node takes no slot") {
  for (const bool sent : {false, true}) {
    absl::Status failure = absl::UnavailableError("the leader's lease has ended");
    if (!sent) failure.SetPayload(internal::kNotSentPayload, absl::Cord());
    const NodePlan plan{.node = "n1",
                        .uid = "u1",
                        .resource_version = "7",
                        .patch = PatchNodeParams{.labels = {{"state", "cordon-required"}}}};
    internal::AttemptLog log;
    internal::NodesUnderWay under_way;
    NodeRequests requests = under_way.Begin(plan, log, kSent);
    requests.Take({.status = failure}, kSent, kAnswered);
    under_way.End(requests, log);
    const std::optional<PatchAttempt> attempt = log.ForNode("u1").patch;
    REQUIRE(attempt);
    CHECK(attempt->outcome == (sent ? Outcome::kUnclear : Outcome::kNotApplied));
    CHECK(attempt->possible.empty() == !sent);
  }
}

TEST_CASE("A refused eviction counts as a response, so the node's remaining requests are sent") {
  NodeRequests requests(Everything());
  const EvictionAnswer refused{.refusal = Refusal::kDisruptionBudget, .budget = "web"};
  CHECK(Answer<EvictPodParams>(requests, {.eviction = refused}) == 6);
  CHECK(requests.outcome().status.ok());
  CHECK(requests.outcome().evictions_refused == 1);
}

TEST_CASE(
    "A-18: late device holders are counted when their eviction is accepted, and kept pods are counted when a driver "
    "pod is deleted") {
  const PodRef early{.ns = "a", .name = "early", .uid = "early-uid"};
  const PodRef late{.ns = "a", .name = "late", .uid = "late-uid"};
  NodePlan plan{.node = "n1", .evict = {early, late, late}, .remove = {early}};
  plan.late_holders = {"late-uid"};
  plan.pods_kept = 7;
  NodeRequests requests(plan);
  requests.Take({}, absl::UnixEpoch(), absl::UnixEpoch());
  CHECK(requests.outcome().late_holders_evicted == 0);
  requests.Take({.eviction = {.refusal = Refusal::kDisruptionBudget}}, absl::UnixEpoch(), absl::UnixEpoch());
  CHECK(requests.outcome().late_holders_evicted == 0);
  requests.Take({}, absl::UnixEpoch(), absl::UnixEpoch());
  CHECK(requests.outcome().late_holders_evicted == 1);
  CHECK(requests.outcome().pods_kept == 0);
  requests.Take({}, absl::UnixEpoch(), absl::UnixEpoch());
  CHECK(requests.outcome().pods_kept == 7);
}

TEST_CASE("The log receives the responses and their times") {
  const NodePlan plan = Everything();
  NodeRequests requests(plan);
  Answer<DeletePodParams>(requests, {.status = absl::UnavailableError("503")});
  internal::AttemptLog log;
  log.PatchSent({.name = "n1", .uid = "u1", .resource_version = "7"}, *plan.patch, kSent);
  requests.TellLog(log);
  const NodeAttempts known = log.ForNode("u1");
  REQUIRE(known.patch);
  CHECK(known.patch->outcome == Outcome::kApplied);
  CHECK(known.patch->answered_at == kAnswered);
  CHECK(known.pods.at("u-web").outcome == Outcome::kApplied);
  CHECK(known.pods.at("u-web").sent_at == kSent);
  CHECK(known.pods.at("u-gpu").outcome == Outcome::kUnclear);
  CHECK(known.maintenances.empty());
}

TEST_CASE("Each call for a device taint rule is one request, and the log receives its response") {
  const DeviceTaintRule rule{.name = "r",
                             .uid = "u-r",
                             .resource_version = "4",
                             .driver = "gpu.nvidia.com",
                             .pool = "n1",
                             .effect = DeviceTaintEffect::kNoSchedule};
  const auto sent = [&](DeviceCall::Kind kind, const absl::Status& answer) {
    NodeRequests requests(
        {.node = "n1", .uid = "u1", .resource_version = "7", .devices = {{.kind = kind, .object = rule}}});
    const NodeRequest request = *requests.Next();
    requests.Take({.status = answer}, kSent, kAnswered);
    internal::AttemptLog log;
    requests.TellLog(log);
    return std::pair(request, log.ForNode("u1").devices.at("r"));
  };
  const auto [create, created] = sent(DeviceCall::Kind::kCreate, absl::AlreadyExistsError("409"));
  CHECK(std::get<CreateDeviceTaintRuleParams>(create).object == rule);
  CHECK(created == DeviceAttempt{.kind = DeviceCall::Kind::kCreate,
                                 .based_on = "4",
                                 .count = 1,
                                 .outcome = Outcome::kApplied,
                                 .answered_at = kAnswered,
                                 .message = "409"});
  const auto [patch, patched] = sent(DeviceCall::Kind::kPatch, absl::AbortedError("409"));
  CHECK(std::get<PatchDeviceTaintRuleParams>(patch) ==
        PatchDeviceTaintRuleParams{
            .name = "r", .uid = "u-r", .resource_version = "4", .effect = DeviceTaintEffect::kNoSchedule});
  CHECK(patched.outcome == Outcome::kConflict);
  const auto [remove, removed] = sent(DeviceCall::Kind::kDelete, absl::UnavailableError("503"));
  CHECK(std::get<DeleteDeviceTaintRuleParams>(remove).uid == "u-r");
  CHECK(removed.outcome == Outcome::kUnclear);
}

TEST_CASE("The text of a plan shows its calls for device taint rules") {
  const NodePlan plan = Everything();
  CHECK(Describe(plan).find("; cordon; patch DeviceTaintRule r (NoSchedule); evict shop/web") != std::string::npos);
  DeviceCall call = plan.devices.front();
  call.kind = DeviceCall::Kind::kDelete;
  CHECK(Describe(call) == "delete DeviceTaintRule r");
  CHECK_FALSE(NodePlan{.devices = {call}}.empty());
}

TEST_CASE("A node is busy until its last request has ended, and its patch is logged before the first request") {
  internal::NodesUnderWay under_way;
  internal::AttemptLog log;
  NodeRequests requests = under_way.Begin(Everything(), log, kSent);
  CHECK(under_way.Contains("n1"));
  REQUIRE(log.ForNode("u1").patch);
  CHECK(log.ForNode("u1").patch->outcome != Outcome::kApplied);
  Answer<DeletePodParams>(requests, {});
  CHECK(under_way.Contains("n1"));
  const NodeOutcome outcome = under_way.End(requests, log);
  CHECK_FALSE(under_way.Contains("n1"));
  CHECK(outcome.status.ok());
  CHECK(outcome.pods_deleted == 1);
  CHECK(log.ForNode("u1").patch->outcome == Outcome::kApplied);
  CHECK(log.ForNode("u1").pods.at("u-gpu").outcome == Outcome::kApplied);
}

TEST_CASE("Transitions are reported as Events if their patch was acknowledged, even if a later request failed") {
  NodePlan plan = Everything();
  plan.events = {{.message = "cordoned"}, {.warning = true, .message = "gave up"}};
  const NodeAnswer failed{.status = absl::UnavailableError("503")};
  NodeRequests dropped(plan);
  Answer<PatchNodeParams>(dropped, failed);
  CHECK(internal::EventsOfTransitions(dropped, "GPUDriverUpgrade", kAnswered).empty());

  NodeRequests patched(plan);
  Answer<EvictPodParams>(patched, failed);
  const auto events = internal::EventsOfTransitions(patched, "GPUDriverUpgrade", kAnswered);
  REQUIRE(events.size() == 2);
  CHECK(events[0].node_name == "n1");
  CHECK(events[0].type == EventType::kNormal);
  CHECK(events[0].reason == "GPUDriverUpgrade");
  CHECK(events[0].time == kAnswered);
  CHECK(events[1].type == EventType::kWarning);
  CHECK(events[1].message == "gave up");
}

}  // namespace
}  // namespace driverupgrade::tests
