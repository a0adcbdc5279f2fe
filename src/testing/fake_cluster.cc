// FakeCluster's functions for setup, administrator actions, time, and inspection. The facade's operations are in
// fake_cluster_calls.cc.

#include "driverupgrade/testing/fake_cluster.h"

#include <map>
#include <utility>

#include "fmt/format.h"
#include "testing/fake_cluster_impl.h"

namespace driverupgrade::testing {
namespace {

// Returns a string that identifies the Event on the server. All Events of a series have the same string.
std::string NameOfEvent(const RecordEventParams& event) {
  const std::string object = event.pod ? fmt::format("{}/{}", event.pod->ToString(), event.pod->uid)
                                       : fmt::format("{}/{}", event.node_name, event.node_uid);
  return fmt::format("{} {} {} {} {}", object, absl::ToUnixNanos(event.series ? event.series->first_time : event.time),
                     static_cast<int>(event.type), event.reason,
                     event.series ? event.series->first_message : event.message);
}

}  // namespace

using internal::Key;
using internal::Model;

void FakeCluster::Impl::Settle() {
  const absl::Time now = clock->Now();
  while (model.NextEffectTime() <= now) model.RunNextEffect();
  model.set_now(now);
}

FakeCluster::FakeCluster(std::shared_ptr<FakeClock> clock, FakeClusterOptions options)
    : impl_(std::make_unique<Impl>(std::move(clock), options)) {}

FakeCluster::~FakeCluster() = default;

Node FakeCluster::AddNode(Node node) {
  return impl_->With([&](Model& model) { return model.AddNode(std::move(node)); });
}

Pod FakeCluster::AddPod(Pod pod, PodBehavior behavior) {
  return impl_->With([&](Model& model) { return model.AddPod(std::move(pod), behavior); });
}

DaemonSet FakeCluster::AddDaemonSet(DaemonSetSpec spec) {
  return impl_->With([&](Model& model) { return model.AddDaemonSet(std::move(spec)); });
}

void FakeCluster::AddWorkload(WorkloadSpec spec) {
  impl_->With([&](Model& model) { model.AddWorkload(std::move(spec)); });
}

NodeMaintenance FakeCluster::AddNodeMaintenance(NodeMaintenance maintenance) {
  return impl_->With([&](Model& model) { return model.AddNodeMaintenance(std::move(maintenance)); });
}

void FakeCluster::AddDisruptionBudget(DisruptionBudgetSpec spec) {
  impl_->With([&](Model& model) { model.AddDisruptionBudget(std::move(spec)); });
}

bool FakeCluster::Cordon(const std::string& node_name) {
  return EditNode(node_name, [](Node& node) { node.unschedulable = true; });
}

bool FakeCluster::Uncordon(const std::string& node_name) {
  return EditNode(node_name, [](Node& node) { node.unschedulable = false; });
}

bool FakeCluster::EditNode(const std::string& node_name, const std::function<void(Node&)>& edit) {
  return impl_->With([&](Model& model) { return model.EditNode(Actor::kAdministrator, node_name, edit); });
}

bool FakeCluster::RemoveNode(const std::string& node_name) {
  return impl_->With([&](Model& model) { return model.RemoveNode(node_name); });
}

bool FakeCluster::SetNodeFull(const std::string& node_name, const std::string& message) {
  return impl_->With([&](Model& model) { return model.SetNodeFull(node_name, message); });
}

bool FakeCluster::EditPod(const std::string& ns, const std::string& name, const std::function<void(Pod&)>& edit) {
  return impl_->With([&](Model& model) { return model.EditPod({ns, name}, edit); });
}

bool FakeCluster::RemovePod(const std::string& ns, const std::string& name) {
  return impl_->With([&](Model& model) { return model.RemovePod({ns, name}); });
}

bool FakeCluster::SetTemplate(const std::string& ns, const std::string& name, const std::string& hash,
                              const std::string& template_json) {
  return impl_->With([&](Model& model) { return model.SetTemplate({ns, name}, hash, template_json); });
}

bool FakeCluster::EditDaemonSet(const std::string& ns, const std::string& name,
                                const std::function<void(DaemonSet&)>& edit) {
  return impl_->With([&](Model& model) { return model.EditDaemonSet({ns, name}, edit); });
}

bool FakeCluster::RemoveDaemonSet(const std::string& ns, const std::string& name, bool orphan) {
  return impl_->With([&](Model& model) { return model.RemoveDaemonSet({ns, name}, orphan); });
}

bool FakeCluster::RemoveDisruptionBudget(const std::string& ns, const std::string& name) {
  return impl_->With([&](Model& model) { return model.RemoveDisruptionBudget({ns, name}); });
}

void FakeCluster::TerminateNamespace(const std::string& ns) {
  impl_->With([&](Model& model) { model.TerminateNamespace(ns); });
}

bool FakeCluster::EditNodeMaintenance(const std::string& ns, const std::string& name,
                                      const std::function<void(NodeMaintenance&)>& edit) {
  return impl_->With([&](Model& model) { return model.EditNodeMaintenance({ns, name}, edit); });
}

bool FakeCluster::RemoveNodeMaintenance(const std::string& ns, const std::string& name) {
  return impl_->With([&](Model& model) { return model.RemoveNodeMaintenance({ns, name}); });
}

void FakeCluster::RunMaintenanceOperator(MaintenanceOperatorOptions options) {
  impl_->With([&](Model& model) { model.RunMaintenanceOperator(options); });
}

void FakeCluster::StopMaintenanceOperator() {
  impl_->With([](Model& model) { model.StopMaintenanceOperator(); });
}

bool FakeCluster::RemoveLease(const std::string& ns, const std::string& name) {
  return impl_->With([&](Model& model) { return model.RemoveLease({ns, name}); });
}

bool FakeCluster::RemoveConfigMap(const std::string& ns, const std::string& name) {
  return impl_->With([&](Model& model) { return model.RemoveConfigMap({ns, name}); });
}

bool FakeCluster::SetNodeReady(const std::string& node_name, bool ready) {
  return impl_->With([&](Model& model) {
    return model.EditNode(Actor::kCluster, node_name, [&](Node& node) { node.ready = ready; });
  });
}

bool FakeCluster::SetPodReady(const std::string& ns, const std::string& name, bool ready) {
  return impl_->With([&](Model& model) {
    const absl::Time second = absl::FromUnixSeconds(absl::ToUnixSeconds(model.now()));
    return model.EditPod({ns, name}, [&](Pod& pod) {
      const bool was_ready = IsReady(pod);
      for (ContainerStatus& container : pod.container_statuses) container.ready = ready;
      if (was_ready != ready) pod.ready_since = ready ? std::optional(second) : std::nullopt;
    });
  });
}

bool FakeCluster::SetPodBehavior(const std::string& ns, const std::string& name, const PodBehavior& behavior) {
  return impl_->With([&](Model& model) { return model.SetPodBehavior({ns, name}, behavior); });
}

bool FakeCluster::SetDaemonSetBehavior(const std::string& ns, const std::string& name, const PodBehavior& behavior) {
  return impl_->With([&](Model& model) { return model.SetDaemonSetBehavior({ns, name}, behavior); });
}

bool FakeCluster::AddCrashRule(const std::string& ns, const std::string& daemon_set, const std::string& hash,
                               const std::string& node_name) {
  return impl_->With([&](Model& model) {
    return model.AddCrashRule({ns, daemon_set}, {.hash = hash, .node_name = node_name});
  });
}

bool FakeCluster::ClearCrashRules(const std::string& ns, const std::string& daemon_set) {
  return impl_->With([&](Model& model) { return model.ClearCrashRules({ns, daemon_set}); });
}

absl::Time FakeCluster::Now() const { return impl_->clock->Now(); }

absl::Time FakeCluster::NextEventTime() const {
  return impl_->With([](Model& model) { return model.NextEffectTime(); });
}

void FakeCluster::RunUntil(absl::Time time) {
  // Runs one effect at a time, so that other threads and the observer see the clock at the time of each effect.
  for (bool more = true; more;) {
    Impl::Section section(*impl_);
    const absl::Time next = impl_->model.NextEffectTime();
    more = next <= time;
    if (!more) continue;
    impl_->clock->AdvanceTo(next);
    impl_->model.RunNextEffect();
  }
  impl_->clock->AdvanceTo(time);
}

void FakeCluster::Advance(absl::Duration duration) { RunUntil(impl_->clock->Now() + duration); }

void FakeCluster::Settle() {
  impl_->With([](Model&) {});
}

void FakeCluster::FailNext(Operation operation, absl::Status status, int times) {
  std::lock_guard lock(impl_->mutex);
  impl_->faults.Add(operation, {.status = std::move(status), .times = times});
}

void FakeCluster::FailNextAfterApplying(Operation operation, absl::Status status, int times) {
  std::lock_guard lock(impl_->mutex);
  impl_->faults.Add(operation, {.status = std::move(status), .after_applying = true, .times = times});
}

void FakeCluster::AnswerNextEviction(EvictionAnswer answer, int times) {
  std::lock_guard lock(impl_->mutex);
  impl_->faults.Add(Operation::kEvictPod, {.eviction = std::move(answer), .times = times});
}

void FakeCluster::SetFaultHooks(FaultHook before, FaultHook after) {
  std::lock_guard lock(impl_->mutex);
  impl_->hooks.before = before ? std::make_shared<const FaultHook>(std::move(before)) : nullptr;
  impl_->hooks.after = after ? std::make_shared<const FaultHook>(std::move(after)) : nullptr;
}

void FakeCluster::SetSupported(Operation operation, bool supported) {
  std::lock_guard lock(impl_->mutex);
  impl_->faults.SetSupported(operation, supported);
}

std::optional<Node> FakeCluster::node(const std::string& name) const {
  return impl_->With([&](Model& model) -> std::optional<Node> {
    const Node* node = model.FindNode(name);
    return node != nullptr ? std::optional(*node) : std::nullopt;
  });
}

std::vector<Node> FakeCluster::nodes() const {
  return impl_->With([](Model& model) { return model.ListNodes({}); });
}

std::optional<Pod> FakeCluster::pod(const std::string& ns, const std::string& name) const {
  return impl_->With([&](Model& model) -> std::optional<Pod> {
    const Pod* pod = model.FindPod({ns, name});
    return pod != nullptr ? std::optional(*pod) : std::nullopt;
  });
}

std::vector<Pod> FakeCluster::pods() const {
  return impl_->With([](Model& model) { return model.ListPods({}); });
}

std::vector<Pod> FakeCluster::pods_on(const std::string& node_name) const {
  return impl_->With([&](Model& model) { return model.ListPods({.node_name = node_name}); });
}

std::vector<Pod> FakeCluster::daemon_set_pods(const std::string& ns, const std::string& name) const {
  return impl_->With([&](Model& model) {
    const DaemonSet* daemon_set = model.FindDaemonSet({ns, name});
    return daemon_set != nullptr ? model.ListPodsOf(daemon_set->uid) : std::vector<Pod>();
  });
}

std::vector<DaemonSet> FakeCluster::daemon_sets() const {
  return impl_->With([](Model& model) { return model.ListDaemonSets("", {}); });
}

std::vector<ControllerRevision> FakeCluster::controller_revisions() const {
  return impl_->With([](Model& model) { return model.ListControllerRevisions("", {}); });
}

std::vector<PodDisruptionBudget> FakeCluster::disruption_budgets() const {
  return impl_->With([](Model& model) { return model.ListDisruptionBudgets(""); });
}

std::optional<NodeMaintenance> FakeCluster::node_maintenance(const std::string& ns, const std::string& name) const {
  return impl_->With([&](Model& model) -> std::optional<NodeMaintenance> {
    const NodeMaintenance* maintenance = model.FindNodeMaintenance({ns, name});
    return maintenance != nullptr ? std::optional(*maintenance) : std::nullopt;
  });
}

std::vector<NodeMaintenance> FakeCluster::node_maintenances() const {
  return impl_->With([](Model& model) { return model.ListNodeMaintenances(""); });
}

std::optional<Lease> FakeCluster::lease(const std::string& ns, const std::string& name) const {
  return impl_->With([&](Model& model) -> std::optional<Lease> {
    const Lease* lease = model.FindLease({ns, name});
    return lease != nullptr ? std::optional(*lease) : std::nullopt;
  });
}

std::optional<ConfigMap> FakeCluster::config_map(const std::string& ns, const std::string& name) const {
  return impl_->With([&](Model& model) -> std::optional<ConfigMap> {
    const ConfigMap* config_map = model.FindConfigMap({ns, name});
    return config_map != nullptr ? std::optional(*config_map) : std::nullopt;
  });
}

std::vector<RecordEventParams> FakeCluster::stored_events() const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<RecordEventParams> stored;
  std::map<std::string, std::size_t> places;  // by name
  for (std::size_t i = impl_->expired_events; i < impl_->events.size(); ++i) {
    const RecordEventParams& event = impl_->events[i];
    const auto [place, created] = places.try_emplace(NameOfEvent(event), stored.size());
    if (created) {
      stored.push_back(event);
    } else if (event.series) {
      stored[place->second] = event;
    }
  }
  return stored;
}

void FakeCluster::ExpireEvents() {
  const std::lock_guard lock(impl_->mutex);
  impl_->expired_events = impl_->events.size();
}

std::vector<RecordEventParams> FakeCluster::events() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->events;
}

std::vector<Call> FakeCluster::journal() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->journal;
}

std::int64_t FakeCluster::CallCount(Operation operation) const {
  std::lock_guard lock(impl_->mutex);
  auto found = impl_->call_counts.find(operation);
  return found == impl_->call_counts.end() ? 0 : found->second;
}

std::int64_t FakeCluster::revision() const {
  return impl_->With([](Model& model) { return model.revision(); });
}

void FakeCluster::SetChangeObserver(ChangeObserver observer) {
  impl_->With([&](Model& model) { model.set_observer(std::move(observer)); });
}

bool FakeCluster::Supports(Operation operation) const {
  std::lock_guard lock(impl_->mutex);
  return impl_->faults.Supports(operation);
}

}  // namespace driverupgrade::testing
