#include "go_rival.h"

#include <cstdint>
#include <map>

#include "json.h"

namespace driverupgrade::e2e {
namespace {

constexpr char kInitialState[] = "nvidia.com/ofed-driver-upgrade.node-initial-state.unschedulable";

std::string StateOf(const NodeVersion& node) {
  const auto label = node.labels.find(kOfedState);
  return label == node.labels.end() ? "" : label->second;
}

bool WasCordoned(const NodeVersion& node) { return node.annotations.count(kInitialState) == 1; }

}  // namespace

void GoRival::Pass() {
  const std::map<std::string, NodeVersion> nodes = driver_.world().Nodes();
  pods_ = ReadPods();
  int slots = parallel_max_;
  for (const auto& [_, node] : nodes) slots -= IsInProgress(StateOf(node));
  for (const auto& [_, node] : nodes) Step(node, slots);
}

void GoRival::Step(const NodeVersion& node, int& slots) const {
  const std::string state = StateOf(node);
  if (state.empty() || state == "upgrade-done") {
    Need(node);
  } else if (state == "upgrade-required") {
    if (slots <= 0 && !node.unschedulable) return;
    --slots;
    SetState(node.name, "cordon-required");
  } else if (state == "cordon-required") {
    if (!node.unschedulable) kubectl().Must({"cordon", node.name});
    SetState(node.name, "wait-for-jobs-required");
  } else if (state == "wait-for-jobs-required") {
    SetState(node.name, "drain-required");
  } else if (state == "drain-required") {
    Drain(node);
  } else if (state == "pod-restart-required") {
    StepPod(node);
  } else if (state == "uncordon-required") {
    kubectl().Must({"uncordon", node.name});
    SetState(node.name, "upgrade-done");
  }
}

void GoRival::Need(const NodeVersion& node) const {
  if (PodOn(node.name).is_newest) {
    if (StateOf(node).empty()) SetState(node.name, "upgrade-done");
    return;
  }
  if (node.unschedulable) kubectl().Must({"annotate", "node", node.name, kInitialState + std::string("=true")});
  SetState(node.name, "upgrade-required");
}

void GoRival::Drain(const NodeVersion& node) const {
  // The Go library allows five minutes for a drain and then fails the node. Here a drain stops after ten seconds, and
  // the next pass repeats it.
  const KubectlResult drained = kubectl().Run(
      {"drain", node.name, "--ignore-daemonsets", "--timeout=10s", "--pod-selector=driverupgrade.test/stays!=true"});
  if (drained.exit_code == 0) SetState(node.name, "pod-restart-required");
}

void GoRival::StepPod(const NodeVersion& node) const {
  const Pod pod = PodOn(node.name);
  if (pod.name.empty() || pod.is_going) return;
  if (!pod.is_newest) {
    kubectl().Must({"delete", "pod", pod.name, "--namespace=" + driver_.ns(), "--wait=false"});
  } else if (pod.is_ready && WasCordoned(node)) {
    SetState(node.name, "upgrade-done");
    kubectl().Must({"annotate", "node", node.name, kInitialState + std::string("-")});
  } else if (pod.is_ready) {
    SetState(node.name, "uncordon-required");
  }
}

GoRival::Pod GoRival::PodOn(const std::string& node) const {
  const auto pod = pods_.find(node);
  return pod == pods_.end() ? Pod{} : pod->second;
}

std::map<std::string, GoRival::Pod> GoRival::ReadPods() const {
  std::int64_t newest = -1;
  std::string hash;
  const std::string ns = "--namespace=" + driver_.ns();
  const rapidjson::Document both = kubectl().Get({"controllerrevisions,pods", ns, "--selector=app=mofed"});
  for (const rapidjson::Value& object : Items(both, {"items"})) {
    if (Text(object, {"kind"}) != "ControllerRevision" || Integer(object, {"revision"}) <= newest) continue;
    newest = Integer(object, {"revision"});
    hash = Text(object, {"metadata", "labels", "controller-revision-hash"});
  }
  std::map<std::string, Pod> pods;
  for (const rapidjson::Value& object : Items(both, {"items"})) {
    if (Text(object, {"kind"}) != "Pod") continue;
    Pod& pod = pods[Text(object, {"spec", "nodeName"})];
    pod.name = Text(object, {"metadata", "name"});
    pod.is_newest = Text(object, {"metadata", "labels", "controller-revision-hash"}) == hash;
    pod.is_going = !Text(object, {"metadata", "deletionTimestamp"}).empty();
    for (const rapidjson::Value& condition : Items(object, {"status", "conditions"})) {
      if (Text(condition, {"type"}) == "Ready") pod.is_ready = Text(condition, {"status"}) == "True";
    }
  }
  return pods;
}

void GoRival::SetState(const std::string& node, const std::string& state) const {
  kubectl().Must({"label", "node", node, "--overwrite", kOfedState + ("=" + state)});
}

}  // namespace driverupgrade::e2e
