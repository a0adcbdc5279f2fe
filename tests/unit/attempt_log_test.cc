#include "decide/attempt_log.h"

#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

const absl::Time kT0 = absl::FromUnixSeconds(1000);
const Node kNode{.name = "n1", .uid = "u1", .resource_version = "10"};

TEST_CASE("api-A5: resource versions are compared as numbers of any length, and other texts only for equality") {
  CHECK(internal::IsNewerVersion("10", "9"));
  CHECK_FALSE(internal::IsNewerVersion("9", "10"));
  CHECK_FALSE(internal::IsNewerVersion("10", "10"));
  CHECK(internal::IsNewerVersion("100000000000000000000000", "99999999999999999999999"));
  CHECK(internal::IsNewerVersion("abc", "abd"));
  CHECK_FALSE(internal::IsNewerVersion("abc", "abc"));
}

TEST_CASE("arch-A9: a patch without a clear response may have been applied until a newer version of the node is read") {
  internal::AttemptLog log;
  const PatchNodeParams cordon{.unschedulable = true};
  const PatchNodeParams uncordon{.unschedulable = false};
  log.PatchSent(kNode, cordon, kT0);
  CHECK(internal::NextPatchDue(*log.ForNode("u1").patch, kNode) == absl::InfiniteFuture());
  log.PatchAnswered("u1", Outcome::kUnclear, "timeout", kT0);
  log.PatchSent(kNode, uncordon, kT0 + absl::Seconds(1));
  log.PatchAnswered("u1", Outcome::kNotApplied, "403", kT0 + absl::Seconds(1));

  const PatchAttempt attempt = *log.ForNode("u1").patch;
  CHECK(attempt.possible == std::vector<PatchNodeParams>{cordon});
  CHECK_FALSE(internal::IsSettled(attempt, kNode));
  Node newer = kNode;
  newer.resource_version = "11";
  CHECK(internal::IsSettled(attempt, newer));
}

TEST_CASE("Patches that never get a clear response use constant space, and a later refusal does not settle them") {
  internal::AttemptLog log;
  const Node node{.name = "n", .uid = "u", .resource_version = "1"};
  absl::Time now = absl::UnixEpoch();
  for (int attempt = 0; attempt < 1000; ++attempt) {
    PatchNodeParams patch{
        .name = "n", .uid = node.uid, .resource_version = "1", .labels = {{"state", "drain-required"}}};
    patch.annotations["since"] = absl::FormatTime(now);
    log.PatchSent(node, patch, now);
    log.PatchAnswered(node.uid, Outcome::kUnclear, "503", now);
    now += absl::Seconds(30);
  }
  CHECK(log.ForNode(node.uid).patch->possible.size() == 2);
  for (int attempt = 0; attempt < 3; ++attempt) {
    log.PatchSent(
        node, {.name = "n", .uid = node.uid, .resource_version = "1", .labels = {{"state", "upgrade-failed"}}}, now);
    log.PatchAnswered(node.uid, Outcome::kNotApplied, "403", now);
  }
  CHECK(log.ForNode(node.uid).patch->possible.size() == 2);
  CHECK_FALSE(internal::IsSettled(*log.ForNode(node.uid).patch, node));
}

TEST_CASE("A patch that is refused repeatedly is retried less and less often, down to every 30 s") {
  internal::AttemptLog log;
  absl::Duration last = absl::ZeroDuration();
  for (int i = 0; i < 12; ++i) {
    log.PatchSent(kNode, {.unschedulable = true}, kT0);
    log.PatchAnswered("u1", Outcome::kNotApplied, "403", kT0);
    const absl::Duration pause = internal::NextPatchDue(*log.ForNode("u1").patch, kNode) - kT0;
    CHECK(pause >= last * 0.8);
    CHECK(pause <= absl::Seconds(33));
    last = pause;
  }
  CHECK(last >= absl::Seconds(27));
}

TEST_CASE("arch-A9: a patch with a conflict is retried once a newer version is read, or after 15 s, and later 30 s") {
  internal::AttemptLog log;
  for (const absl::Duration delay : {absl::Seconds(15), absl::Seconds(30), absl::Seconds(30)}) {
    log.PatchSent(kNode, {.unschedulable = true}, kT0);
    log.PatchAnswered("u1", Outcome::kConflict, "409", kT0);
    const absl::Duration pause = internal::NextPatchDue(*log.ForNode("u1").patch, kNode) - kT0;
    CHECK(pause >= delay * 0.9);
    CHECK(pause <= delay * 1.1);
  }
  Node newer = kNode;
  newer.resource_version = "11";
  CHECK(internal::NextPatchDue(*log.ForNode("u1").patch, newer) == absl::InfinitePast());
}

TEST_CASE(
    "arch-A9: a refused eviction is retried after 5 s, and the delay doubles up to 40 s, with a deterministic jitter "
    "of 10 %") {
  const absl::Duration expected[] = {absl::Seconds(5), absl::Seconds(10), absl::Seconds(20), absl::Seconds(40),
                                     absl::Seconds(40)};
  int count = 0;
  for (const absl::Duration delay : expected) {
    const PodAttempt attempt{.count = ++count, .outcome = Outcome::kNotApplied, .answered_at = kT0};
    const absl::Duration pause = internal::NextPodRequestDue(attempt, "pod-uid") - kT0;
    CHECK(pause >= delay * 0.9);
    CHECK(pause <= delay * 1.1);
    CHECK(internal::NextPodRequestDue(attempt, "pod-uid") == internal::NextPodRequestDue(attempt, "pod-uid"));
  }
}

TEST_CASE("The pause that a server requests before the next eviction is respected, up to five minutes") {
  PodAttempt attempt{.count = 1, .outcome = Outcome::kNotApplied, .answered_at = kT0};
  const auto pause_for = [&](absl::Duration asked) {
    attempt.retry_after = asked;
    return internal::NextPodRequestDue(attempt, "pod-uid") - kT0;
  };
  CHECK(pause_for(absl::Minutes(2)) > absl::Seconds(100));
  CHECK(pause_for(absl::Seconds(999'999'999)) == pause_for(absl::Minutes(5)));
}

TEST_CASE("A patch that changes nothing is settled by its response, because the node gets no newer version") {
  internal::AttemptLog log;
  log.PatchSent(kNode, {}, kT0);
  SECTION("applied") {
    log.PatchAnswered("u1", Outcome::kApplied, "", kT0);
    CHECK(internal::IsSettled(*log.ForNode("u1").patch, kNode));
    CHECK(internal::NextPatchDue(*log.ForNode("u1").patch, kNode) == absl::InfinitePast());
  }
  SECTION("a conflict with a newer version: the patch is repeated once the node is read again, or after a pause") {
    log.PatchAnswered("u1", Outcome::kConflict, "409", kT0);
    CHECK(internal::NextPatchDue(*log.ForNode("u1").patch, kNode) > kT0);
    Node newer = kNode;
    newer.resource_version = "11";
    CHECK(internal::NextPatchDue(*log.ForNode("u1").patch, newer) == absl::InfinitePast());
  }
  SECTION("applied after another patch that may have been applied") {
    log.PatchAnswered("u1", Outcome::kUnclear, "timeout", kT0);
    log.PatchSent(kNode, {.unschedulable = true}, kT0);
    log.PatchAnswered("u1", Outcome::kUnclear, "timeout", kT0);
    log.PatchSent(kNode, {}, kT0);
    log.PatchAnswered("u1", Outcome::kApplied, "", kT0);
    CHECK(log.ForNode("u1").patch->possible == std::vector<PatchNodeParams>{{.unschedulable = true}});
  }
}

TEST_CASE(
    "A call for a device taint rule is retried after a pause, or immediately once a newer version of the rule is "
    "read") {
  internal::AttemptLog log;
  DeviceCall call{.kind = DeviceCall::Kind::kPatch, .object = {.name = "r", .resource_version = "7"}};
  log.DeviceCallSent("u1", call);
  CHECK(internal::NextDeviceCallDue(log.ForNode("u1").devices.at("r"), call) == absl::InfiniteFuture());
  log.DeviceCallAnswered("u1", "r", Outcome::kUnclear, "503", kT0);
  const DeviceAttempt attempt = log.ForNode("u1").devices.at("r");
  CHECK(attempt.message == "503");
  const absl::Time due = internal::NextDeviceCallDue(attempt, call);
  CHECK(due > kT0);
  CHECK(due <= kT0 + absl::Seconds(6));
  DeviceCall removal = call;
  removal.kind = DeviceCall::Kind::kDelete;
  CHECK(internal::NextDeviceCallDue(attempt, removal) == absl::InfinitePast());
  call.object.resource_version = "8";
  CHECK(internal::NextDeviceCallDue(attempt, call) == absl::InfinitePast());

  log.SetBack(kT0 - absl::Hours(1));
  CHECK(log.ForNode("u1").devices.at("r").answered_at == kT0 - absl::Hours(1));
  log.DevicesOver("u1");
  CHECK(log.size() == 0);
  log.DeviceCallSent("u1", call);
  log.DevicesOver("u1");
  CHECK(log.ForNode("u1").devices.size() == 1);  // the response to the call is outstanding
}

TEST_CASE("After a clock is set back an hour, every retry is due within its usual pause from the new time") {
  internal::AttemptLog log;
  const MaintenanceCall call{.kind = MaintenanceCall::Kind::kDelete,
                             .object = {.name = "nvidia-operator-n1", .resource_version = "7"}};
  log.PatchSent(kNode, {.unschedulable = true}, kT0);
  log.PatchAnswered("u1", Outcome::kNotApplied, "403", kT0);
  log.PodRequestSent("u1", "10", "p1", kT0);
  log.PodRequestAnswered("u1", "p1", {.outcome = Outcome::kNotApplied, .answered_at = kT0});
  log.MaintenanceCallSent("u1", call);
  log.MaintenanceCallAnswered("u1", call.object.name, Outcome::kNotApplied, "403", kT0);

  const absl::Time now = kT0 - absl::Hours(1);
  log.SetBack(now);
  const NodeAttempts attempts = log.ForNode("u1");
  CHECK(internal::NextPatchDue(*attempts.patch, kNode) <= now + absl::Seconds(2));
  CHECK(internal::NextPodRequestDue(attempts.pods.at("p1"), "p1") <= now + absl::Seconds(6));
  CHECK(internal::NextMaintenanceCallDue(attempts.maintenances.at(call.object.name), call) <= now + absl::Seconds(6));
}

TEST_CASE("The log forgets requests that a read settles, and keeps the rest") {
  internal::AttemptLog log;
  log.PatchSent(kNode, {.unschedulable = true}, kT0);
  log.PodRequestSent("u1", "7", "pod-a", kT0);
  log.PodRequestSent("u1", "7", "pod-b", kT0);
  log.PodRequestAnswered("u1", "pod-a", {.outcome = Outcome::kApplied, .answered_at = kT0});
  log.PodRequestAnswered("u1", "pod-b", {.outcome = Outcome::kApplied, .answered_at = kT0});

  SECTION("a response is outstanding") {
    const std::set<std::string> live = {"pod-a"};
    log.NodeRead(kNode, &live);
    CHECK(log.ForNode("u1").patch);
    CHECK(log.ForNode("u1").pods.size() == 1);
    CHECK(log.ForNode("u1").pods.at("pod-a").count == 1);
  }
  SECTION("the patch was applied, and the node was read again") {
    log.PatchAnswered("u1", Outcome::kApplied, "", kT0);
    log.NodeRead(kNode, nullptr);
    CHECK(log.ForNode("u1").patch);
    Node newer = kNode;
    newer.resource_version = "11";
    log.NodeRead(newer, nullptr);
    CHECK_FALSE(log.ForNode("u1").patch);
  }
  SECTION("a request that has removed a pod is remembered until a patch has recorded the removal") {
    internal::AttemptLog evicting;
    evicting.PodRequestSent("u1", "7", "pod-a", kT0);
    evicting.PodRequestAnswered("u1", "pod-a", {.outcome = Outcome::kApplied, .answered_at = kT0});
    const std::set<std::string> none;
    evicting.NodeRead(kNode, &none);
    CHECK(evicting.ForNode("u1").pods.contains("pod-a"));
    evicting.PatchSent(kNode, {.unschedulable = true}, kT0);
    evicting.PatchAnswered("u1", Outcome::kNotApplied, "403", kT0);
    evicting.NodeRead(kNode, &none);
    CHECK(evicting.ForNode("u1").pods.contains("pod-a"));
    evicting.PatchSent(kNode, {.unschedulable = true}, kT0);
    evicting.NodeRead(kNode, &none);
    CHECK(evicting.ForNode("u1").pods.empty());
  }
  SECTION("the node was deleted") {
    log.KeepOnly({});
    CHECK(log.ForNode("u1").empty());
  }
}

TEST_CASE("W1: a label that is lost repeatedly is written again after a pause that grows from ten seconds to an hour") {
  const std::string key = "nvidia.com/gpu-driver-upgrade-state";
  internal::AttemptLog log;
  Node node = kNode;
  absl::Time now = kT0;
  const auto read = [&](bool labelled, bool in_progress = false) {
    node.labels.clear();
    if (labelled) node.labels[key] = "upgrade-done";
    log.PassBegan(now);
    log.StateLabelRead(node, key, in_progress);
    log.NodeRead(node, nullptr);
    return log.ForNode("u1").label_loss;
  };
  CHECK_FALSE(read(false));  // the node never had a label
  CHECK_FALSE(read(true));
  CHECK(read(false) == LabelLoss{.count = 1, .last = kT0});
  now += absl::Seconds(5);
  CHECK(read(false) == LabelLoss{.count = 1, .last = kT0});
  CHECK(internal::NextLabelDue(*log.ForNode("u1").label_loss) == kT0 + absl::Seconds(10));
  read(true);
  const LabelLoss twice = *read(false);
  CHECK(twice.count == 2);
  CHECK(internal::NextLabelDue(twice) == now + absl::Seconds(20));
  CHECK(internal::NextLabelDue({.count = 50, .last = now}) == now + absl::Hours(1));
  now += absl::Hours(2);
  CHECK_FALSE(read(false));
  // A node in progress lost its label before the label was ever read.
  CHECK(read(false, /*in_progress=*/true) == LabelLoss{.count = 1, .last = now});
  log.Forget("u1");
  read(true);
  log.LabelsRemoved();
  CHECK_FALSE(read(false));
}

TEST_CASE("W39: the response to an eviction is recorded as the facade returns it") {
  internal::AttemptLog log;
  log.PodRequestSent("u1", "11", "p1", kT0);
  const absl::StatusOr<EvictionAnswer> refused =
      EvictionAnswer{.refusal = Refusal::kDisruptionBudget, .budget = "web", .retry_after = absl::Seconds(10)};
  log.PodRequestAnswered("u1", "p1", AttemptOf(refused, kT0 + absl::Seconds(1)));
  const PodAttempt attempt = log.ForNode("u1").pods.at("p1");
  CHECK(attempt.count == 1);
  CHECK(attempt.outcome == Outcome::kNotApplied);
  CHECK(attempt.refusal == Refusal::kDisruptionBudget);
  CHECK(attempt.budget == "web");
  CHECK(internal::NextPodRequestDue(attempt, "p1") >= kT0 + absl::Seconds(11));
  const absl::StatusOr<EvictionAnswer> accepted = EvictionAnswer{};
  CHECK(AttemptOf(accepted, kT0).outcome == Outcome::kApplied);
  const absl::StatusOr<EvictionAnswer> lost = absl::UnavailableError("no answer");
  CHECK(AttemptOf(lost, kT0).outcome == Outcome::kUnclear);
}

TEST_CASE("The responses for one pod are counted even without a log, so each refusal leads to a longer pause") {
  NodeAttempts attempts;
  const absl::StatusOr<EvictionAnswer> refused = EvictionAnswer{.refusal = Refusal::kDisruptionBudget, .budget = "web"};
  for (const int count : {1, 2, 3}) {
    attempts.PodAnswered("p1", AttemptOf(refused, kT0));
    CHECK(attempts.pods.at("p1").count == count);
    CHECK(attempts.pods.at("p1").sent_at == kT0);
    CHECK(attempts.pods.at("p1").budget == "web");
  }
  CHECK(internal::NextPodRequestDue(attempts.pods.at("p1"), "p1") >= kT0 + absl::Seconds(18));
  CHECK(attempts.pods.size() == 1);
}

TEST_CASE(
    "W1: a label that another client removed before we read it counts as lost, and a label that we removed does not") {
  const std::string key = "nvidia.com/gpu-driver-upgrade-state";
  for (const bool removed_by_us : {false, true}) {
    CAPTURE(removed_by_us);
    internal::AttemptLog log;
    log.PassBegan(kT0);
    PatchNodeParams patch;
    patch.labels[key] = removed_by_us ? std::nullopt : std::optional<std::string>("upgrade-done");
    log.PatchSent(kNode, patch, kT0);
    log.PatchAnswered("u1", Outcome::kApplied, "", kT0);
    log.StateLabelRead(kNode, key, false);  // the read is older than the patch
    CHECK_FALSE(log.ForNode("u1").label_loss);
    Node newer = kNode;
    newer.resource_version = "12";
    log.StateLabelRead(newer, key, false);
    CHECK(log.ForNode("u1").label_loss.has_value() == !removed_by_us);
  }
}

}  // namespace
}  // namespace driverupgrade::tests
