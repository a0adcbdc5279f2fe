// Tests how the marks of a driver upgrade on a node are read, kept, and written.
#include "model/node_marks.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using internal::ChangesBetween;
using internal::DecodeMarks;
using internal::MarkChanges;
using internal::NodeMarks;
using internal::RestartOnly;

constexpr absl::Time At(std::int64_t seconds) { return absl::FromUnixSeconds(seconds); }

// Returns a node with no marks other than `marks`.
Node NodeWith(const NodeMarks& marks) {
  const MarkChanges changes = ChangesBetween({}, marks, Gpu());
  Node node{.name = "n1", .unschedulable = changes.unschedulable.value_or(false)};
  node.taints = internal::WithSteering(node, Gpu(), changes.steers.value_or(false));
  for (const auto& [key, value] : changes.labels) node.labels[key] = *value;
  for (const auto& [key, value] : changes.annotations) node.annotations[key] = *value;
  return node;
}

Node Annotated(const std::string& key, const std::string& text) { return {.annotations = {{key, text}}}; }

NodeMarks AllWritten() {
  NodeMarks marks{.unschedulable = true, .steers = true};
  marks.state.Write(UpgradeState::kDrainRequired);
  marks.skip_upgrade.Write({});
  marks.safe_load.Write({});
  marks.upgrade_requested.Write({});
  marks.requestor_mode.Write({});
  marks.initially_unschedulable.Write({});
  marks.stage.Write({.state = UpgradeState::kDrainRequired, .began = At(970), .revision = "new"});
  marks.pod_completion_start.Write(At(971));
  marks.validation_start.Write(At(972));
  marks.failed_revision.Write("old");
  marks.failures.Write({.count = 3, .last = At(973)});
  marks.restart_pod.Write("pod-uid");
  marks.restart_only.Write({.compared = "a,b", .target = "new"});
  marks.cordoned_by.Write({"nvidia.com/gpu", "nvidia.com/ofed"});
  return marks;
}

TEST_CASE("Every mark is read back as it was written, with the key and the format that other programs rely on") {
  const Node node = NodeWith(AllWritten());
  CHECK(DecodeMarks(node, Gpu()) == AllWritten());
  CHECK(node.unschedulable);
  const std::string ours = "nvidia.com/gpu-driver-upgrade";
  CHECK(node.labels == StringMap{{ours + "-state", "drain-required"}, {ours + ".skip", "true"}});
  CHECK(node.annotations == StringMap{{"driverupgrade/cordoned-by", "nvidia.com/gpu,nvidia.com/ofed"},
                                      {ours + ".driver-wait-for-safe-load", "true"},
                                      {ours + "-requested", "true"},
                                      {ours + "-requestor-mode", "true"},
                                      {ours + ".node-initial-state.unschedulable", "true"},
                                      {ours + ".stage", "drain-required@970@new"},
                                      {ours + "-wait-for-pod-completion-start-time", "971"},
                                      {ours + "-validation-start-time", "972"},
                                      {ours + ".failed-revision", "old"},
                                      {ours + ".failures", "3@973"},
                                      {ours + ".restart-pod", "pod-uid"},
                                      {ours + ".restart-only", "a,b@new"}});
}

TEST_CASE("A node without marks or with only the marks of another driver decodes to no marks") {
  const Node node{.labels = {{"nvidia.com/ofed-driver-upgrade-state", "drain-required"},
                             {"nvidia.com/gpu-driver-upgrade", "x"},
                             {"nvidia.com/gpu-driver-upgrade-state-of-ours", "x"}},
                  .annotations = {{Ofed().StageAnnotation(), "drain-required@1@x"}}};
  CHECK(DecodeMarks(node, Gpu()) == NodeMarks());
  CHECK(DecodeMarks(node, Gpu()).State() == UpgradeState::kUnknown);
}

TEST_CASE("An invalid mark decodes to no value, and stays on the node unchanged until it is written again") {
  const DriverIdentity gpu = Gpu();
  const std::string senseless_times[] = {"", "x", "-5", "1.5", "99999999999999999999", "0x10", "1099511627777"};
  std::vector<std::pair<std::string, std::string>> texts = {{gpu.UpgradeRequestedAnnotation(), "TRUE"},
                                                            {gpu.UpgradeRequestedAnnotation(), ""},
                                                            {gpu.SafeLoadAnnotation(), ""},
                                                            {gpu.FailuresAnnotation(), "3"},
                                                            {gpu.FailuresAnnotation(), "0@5"},
                                                            {gpu.FailuresAnnotation(), "99999999999@5"},
                                                            {gpu.FailuresAnnotation(), "x@5"},
                                                            {gpu.RestartOnlyAnnotation(), "new"}};
  for (const std::string stage : {"", "@", "@@", "a@b", "drain-required", "a@1@b@c"}) {
    texts.emplace_back(gpu.StageAnnotation(), stage);
  }
  for (const std::string& time : senseless_times) {
    texts.emplace_back(gpu.PodCompletionStartAnnotation(), time);
    texts.emplace_back(gpu.ValidationStartAnnotation(), time);
    texts.emplace_back(gpu.StageAnnotation(), "drain-required@" + time + "@new");
    texts.emplace_back(gpu.FailuresAnnotation(), "1@" + time);
  }
  for (const auto& [key, text] : texts) {
    CAPTURE(key, text);
    const Node node = Annotated(key, text);
    const NodeMarks marks = DecodeMarks(node, gpu);
    CHECK(marks != NodeMarks());  // the marks contain the invalid value
    CHECK_FALSE((marks.upgrade_requested.value() || marks.safe_load.value() || marks.stage.value() ||
                 marks.pod_completion_start.value() || marks.validation_start.value() || marks.failures.value() ||
                 marks.restart_only.value()));
    const Node written = NodeWith(marks);
    CHECK(written.annotations == StringMap{{key, text}});
    CHECK(DecodeMarks(written, gpu) == marks);
    NodeMarks after = marks;
    after.state.Write(UpgradeState::kDone);
    CHECK(ChangesBetween(marks, after, gpu).annotations.empty());
  }
}

TEST_CASE("A mark in a different but valid format is understood, and stays unchanged until it is written again") {
  const DriverIdentity gpu = Gpu();
  const Node node = Annotated(gpu.StageAnnotation(), "drain-required@ 5@new");
  const NodeMarks marks = DecodeMarks(node, gpu);
  const internal::Stage stage{.state = UpgradeState::kDrainRequired, .began = At(5), .revision = "new"};
  CHECK(marks.stage.value() == stage);
  CHECK_FALSE(IsWritten(marks.stage, stage));
  NodeMarks after = marks;
  CHECK(ChangesBetween(marks, after, gpu).annotations.empty());
  after.stage.Write(stage);
  CHECK(after == marks);
  CHECK(IsWritten(after.stage, stage));
  CHECK(ChangesBetween(marks, after, gpu).annotations.at(gpu.StageAnnotation()) == "drain-required@5@new");
}

TEST_CASE("Some marks count if they are present, whatever their value is") {
  const DriverIdentity gpu = Gpu();
  for (const std::string text : {"", "true", "false"}) {
    CAPTURE(text);
    const Node requested = Annotated(gpu.RequestorModeAnnotation(), text);
    CHECK(DecodeMarks(requested, gpu).requestor_mode.value().has_value());
    const Node cordoned = Annotated(gpu.InitiallyUnschedulableAnnotation(), text);
    CHECK(DecodeMarks(cordoned, gpu).initially_unschedulable.value().has_value());
  }
  const Node waiting = Annotated(gpu.SafeLoadAnnotation(), "waiting");
  CHECK(DecodeMarks(waiting, gpu).safe_load.value().has_value());
}

TEST_CASE("Removing a mark deletes its annotation on the node, and removing a missing mark needs no write") {
  const DriverIdentity gpu = Gpu();
  const Node node = Annotated(gpu.FailuresAnnotation(), "garbage");
  const NodeMarks marks = DecodeMarks(node, gpu);
  NodeMarks after = marks;
  after.failures.Remove();
  after.stage.Remove();
  CHECK(ChangesBetween(marks, after, gpu).annotations ==
        std::map<std::string, std::optional<std::string>>{{gpu.FailuresAnnotation(), std::nullopt}});
}

TEST_CASE("The state of a node is unknown if its label is invalid, or if the node cannot be read") {
  const DriverIdentity gpu = Gpu();
  const Node garbage{.labels = {{gpu.StateLabel(), "Upgrade-Done"}}};
  CHECK(DecodeMarks(garbage, gpu).State() == std::nullopt);
  CHECK(DecodeMarks(garbage, gpu).state.text() == "Upgrade-Done");
  CHECK(DecodeMarks({.unreadable = "spec: expected an object"}, gpu).State() == std::nullopt);
  const Node empty{.labels = {{gpu.StateLabel(), ""}}};
  CHECK(DecodeMarks(empty, gpu).State() == UpgradeState::kUnknown);
  CHECK_FALSE(internal::HasState(empty, gpu));
  CHECK(internal::HasState(garbage, gpu));
}

TEST_CASE("T8: a restart-only mark covers the revisions that were compared, and does not match parts of their names") {
  const RestartOnly mark{.compared = "abc,def", .target = "new"};
  CHECK((mark.Covers("abc") && mark.Covers("def")));
  CHECK_FALSE((mark.Covers("ab") || mark.Covers("bc,d") || mark.Covers("")));
}

TEST_CASE(
    "A shared view is evaluated like a new view with the same content, and a changed copy is evaluated by its new "
    "content") {
  NodeUnderTest node("drain-required");
  node.CordonedByUs().StageBegan("drain-required", absl::Seconds(30)).Draining().WithPods({WebPod().Build()});
  const StateMachine machine = node.Machine();
  const auto judge = [&](const NodeView& view) {
    return machine.Judge(view, node.facts, node.policy, node.now, node.active_since, /*admitted=*/false);
  };
  const std::shared_ptr<const NodeView> shared = ShareView(node.view, node.identity);
  CHECK(*shared == node.view);
  CHECK(judge(*shared).plan == node.Judge().plan);
  CHECK(judge(*shared).tally == node.Judge().tally);
  NodeView changed = *shared;
  changed.node.labels[node.identity.StateLabel()] = "upgrade-done";
  CHECK(judge(changed).plan.from == UpgradeState::kDone);
  CHECK(judge(changed).tally.done == 1);
  changed.driver_pods = {DriverPod("new").Build()};
  NodeView replaced = *ShareView(changed, node.identity);
  CHECK(judge(replaced).plan.path.empty());
  replaced.driver_pods = {DriverPod("old").Build()};
  CHECK(judge(replaced).plan.to() == UpgradeState::kUpgradeRequired);
  NodeView assigned = *ShareView(changed, node.identity);
  assigned = *shared;
  CHECK(judge(assigned).plan.from == UpgradeState::kDrainRequired);
  CHECK(judge(*ShareView(node.view, Ofed())).plan.from == UpgradeState::kDrainRequired);
}

TEST_CASE("W1: without a state label, the other marks of an upgrade in progress determine its state") {
  const DriverIdentity gpu = Gpu();
  const std::string cordoned_by(kCordonedByAnnotation);
  const auto state_of = [&](const StringMap& annotations, bool cordoned, bool driver_runs = true) {
    const Node node{.annotations = annotations, .unschedulable = cordoned};
    return DecodeMarks(node, gpu, driver_runs).State();
  };
  const StringMap named = {{cordoned_by, "nvidia.com/gpu"}};
  const StringMap timed = {{cordoned_by, "nvidia.com/gpu"}, {gpu.StageAnnotation(), "drain-required@1000@new"}};
  CHECK(state_of(named, true) == UpgradeState::kCordonRequired);
  CHECK(state_of(timed, true) == UpgradeState::kDrainRequired);
  // The Go library leaves both annotations on the node when it has finished the upgrade.
  CHECK(state_of(timed, false) == UpgradeState::kUnknown);
  CHECK(state_of(timed, false, /*driver_runs=*/false) == UpgradeState::kDrainRequired);
  CHECK(state_of({{gpu.FailedRevisionAnnotation(), "new"}}, false) == UpgradeState::kFailed);
  // On its own, this annotation only shows that the node was already cordoned when it started to wait for its upgrade.
  StringMap noted = {{gpu.InitiallyUnschedulableAnnotation(), "true"}};
  CHECK(state_of(noted, true) == UpgradeState::kUnknown);
  noted[gpu.StageAnnotation()] = "pod-restart-required@1000@new";
  CHECK(state_of(noted, true) == UpgradeState::kPodRestartRequired);
  CHECK(state_of({{cordoned_by, "nvidia.com/ofed"}}, true) == UpgradeState::kUnknown);
  // Another driver cordoned the node again after an administrator had uncordoned it while our driver was loading.
  const auto taken_over = [&](const std::string& stage, bool driver_runs) {
    const Node node{.labels = {{Ofed().StateLabel(), "drain-required"}},
                    .annotations = {{cordoned_by, "nvidia.com/ofed"}, {gpu.StageAnnotation(), stage}},
                    .unschedulable = true};
    return DecodeMarks(node, gpu, driver_runs).State();
  };
  CHECK(taken_over("pod-restart-required@1000@new", /*driver_runs=*/false) == UpgradeState::kPodRestartRequired);
  CHECK(taken_over("pod-restart-required@1000@new", /*driver_runs=*/true) == UpgradeState::kUnknown);
  CHECK(taken_over("drain-required@1000@new", /*driver_runs=*/false) == UpgradeState::kUnknown);
  StringMap senseless = named;
  senseless[gpu.StageAnnotation()] = "uncordon-required@1000@new";
  CHECK(state_of(senseless, true) == UpgradeState::kCordonRequired);
  // A state label takes precedence over all other marks.
  const Node done{.labels = {{gpu.StateLabel(), "upgrade-done"}}, .annotations = timed, .unschedulable = true};
  CHECK(DecodeMarks(done, gpu).State() == UpgradeState::kDone);
}

TEST_CASE("Removing the marks of a node keeps everything else, including the label that skips the upgrade") {
  Node node = NodeWith(AllWritten());
  node.labels["pool"] = "canary";
  node.annotations["team"] = "a";
  internal::RemoveMarks(node, Gpu());
  CHECK(node.labels == StringMap{{"pool", "canary"}, {Gpu().SkipUpgradeLabel(), "true"}});
  CHECK(node.annotations == StringMap{{"team", "a"}});
  CHECK_FALSE(node.unschedulable);
  Node cordoned{.unschedulable = true};
  internal::RemoveMarks(cordoned, Gpu());
  CHECK(cordoned.unschedulable);
}

TEST_CASE("The approvals on a DaemonSet are separated by commas or blanks") {
  const auto approvals = [](std::string text) {
    return internal::ApprovalsOn({.annotations = {{Gpu().ApprovedAnnotation(), std::move(text)}}}, Gpu());
  };
  CHECK(internal::ApprovalsOn(DaemonSet(), Gpu()).empty());
  CHECK(approvals(" ,, ").empty());
  CHECK(approvals("canary@r1") == std::set<std::string>{"canary@r1"});
  CHECK(approvals("other@r1, canary@r1,\tcanary@r1 ") == std::set<std::string>{"canary@r1", "other@r1"});
}

}  // namespace
}  // namespace driverupgrade::tests
