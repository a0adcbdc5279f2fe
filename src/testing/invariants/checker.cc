// InvariantChecker and its guarded clusters. A guarded cluster records how far its client has read.
#include <algorithm>
#include <charconv>
#include <utility>

#include "driverupgrade/testing/invariants.h"
#include "fmt/format.h"
#include "testing/invariants/checker_impl.h"

namespace driverupgrade::testing {
namespace {

std::int64_t RevisionOf(std::string_view resource_version) {
  std::int64_t revision = 0;
  std::from_chars(resource_version.data(), resource_version.data() + resource_version.size(), revision);
  return revision;
}

// Forwards every event, and records the version up to which the watch has reported.
template <class T>
class NotingSink final : public WatchSink<T> {
 public:
  NotingSink(WatchSink<T>& next, std::int64_t& followed) : next_(next), followed_(followed) {}
  bool OnList(std::vector<T> objects, std::string_view version) override {
    return Note(version, next_.OnList(std::move(objects), version));
  }
  bool OnChange(T object, std::string_view version) override {
    return Note(version, next_.OnChange(std::move(object), version));
  }
  bool OnDelete(T object, std::string_view version) override {
    return Note(version, next_.OnDelete(std::move(object), version));
  }
  bool OnBookmark(std::string_view version) override { return Note(version, next_.OnBookmark(version)); }

 private:
  // A reader that stops the watch at an event might not have processed the event.
  bool Note(std::string_view version, bool taken) {
    if (taken) followed_ = std::max(followed_, RevisionOf(version));
    return taken;
  }
  WatchSink<T>& next_;
  std::int64_t& followed_;
};

class PathObserver final : public Observer {
 public:
  PathObserver(InvariantChecker::Impl& checker) : checker_(checker) {}
  void OnPlan(const Plan& plan) override {
    for (const NodePlan& node : plan.nodes) checker_.NotePath(node);
  }

 private:
  InvariantChecker::Impl& checker_;
};

}  // namespace

InvariantChecker::Impl::Impl(std::shared_ptr<FakeCluster> the_cluster, InvariantOptions the_options)
    : cluster(std::move(the_cluster)),
      options(std::move(the_options)),
      keys(options.identity),
      policy(std::make_shared<const UpgradePolicy>(options.policy)) {}

void InvariantChecker::Impl::Fail(std::string invariant, std::string text) {
  if (violation) return;
  violation = Violation{.invariant = std::move(invariant), .text = std::move(text)};
}

const UpgradePolicy& InvariantChecker::Impl::PolicyOf(const Writer* who) const {
  return who != nullptr && who->policy ? *who->policy : *policy;
}

void InvariantChecker::Impl::NotePath(const NodePlan& plan) {
  if (plan.path.empty()) return;
  std::deque<Path>& paths = paths_[plan.uid];
  paths.push_back({.resource_version = plan.resource_version, .from = plan.from, .path = plan.path});
  // Keeps eight paths, because late patches are also compared with their paths, and no client has more than eight
  // patches in flight.
  if (paths.size() > 8) paths.pop_front();
}

InvariantOptions InvariantsOf(const DriverIdentity& identity, const EngineOptions& options, UpgradePolicy policy) {
  InvariantOptions invariants{.identity = identity,
                              .driver_ns = options.snapshot.ns,
                              .driver_labels = options.snapshot.driver_labels,
                              .node_selector = options.snapshot.node_selector,
                              .policy = std::move(policy),
                              .uses_driver = options.snapshot.uses_driver,
                              .own_pod = options.state_machine.own_pod,
                              .restart_only = options.snapshot.restart_only,
                              .validation = options.state_machine.validation_selector.value_or(LabelSelector())};
  if (options.ledger) invariants.grants_max = static_cast<int>(options.ledger->grants_max);
  if (options.state_machine.requestor) invariants.requestor_id = options.state_machine.requestor->id;
  return invariants;
}

InvariantChecker::InvariantChecker(std::shared_ptr<FakeCluster> cluster, InvariantOptions options)
    : impl_(std::make_unique<Impl>(cluster, std::move(options))) {
  for (const Node& node : cluster->nodes()) {
    impl_->OnChange({.actor = Actor::kAdministrator, .node = {.before = nullptr, .after = &node}});
  }
  for (const Pod& pod : cluster->pods()) {
    impl_->OnChange({.actor = Actor::kAdministrator, .pod = {.before = nullptr, .after = &pod}});
  }
  for (const ControllerRevision& revision : cluster->controller_revisions()) impl_->NoteRevision(revision);
  cluster->SetChangeObserver([impl = impl_.get()](const Change& change) { impl->OnChange(change); });
}

InvariantChecker::~InvariantChecker() { impl_->cluster->SetChangeObserver(nullptr); }

std::shared_ptr<InvariantChecker::GuardedCluster> InvariantChecker::Guard(std::string name) {
  return std::make_shared<GuardedCluster>(impl_->cluster, *impl_, std::move(name));
}

std::shared_ptr<Observer> InvariantChecker::MakeObserver() { return std::make_shared<PathObserver>(*impl_); }

void InvariantChecker::SetPolicy(const UpgradePolicy& policy) { impl_->SetPolicy(policy); }
void InvariantChecker::set_rival_acts(bool acts) { impl_->rival_acts = acts; }
void InvariantChecker::NoteFault() { impl_->NoteFault(); }

void InvariantChecker::NoteClocksApart() { impl_->clocks_apart = impl_->cluster->Now(); }
void InvariantChecker::set_disturbed(bool disturbed) { impl_->disturbed = disturbed; }
void InvariantChecker::See(const Change& change) { impl_->OnChange(change); }
void InvariantChecker::OnChange(ChangeObserver observer) { impl_->listener = std::move(observer); }

void InvariantChecker::Fail(std::string invariant, std::string text) {
  impl_->Fail(std::move(invariant), std::move(text));
}

void InvariantChecker::CheckLease(const std::string& replica, absl::Duration since_renewal,
                                  absl::Duration renew_deadline) {
  if (since_renewal <= renew_deadline) return;
  Fail("I9", fmt::format("{} writes {} after the last renewal of its lease that was acknowledged", replica,
                         absl::FormatDuration(since_renewal)));
}

void InvariantChecker::CheckLogLine(std::string_view line) {
  const auto is_control = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  };
  if (std::any_of(line.begin(), line.end(), is_control)) Fail("I11", "a control character in a log line");
}

void InvariantChecker::CheckRest(std::int64_t writes_before, std::int64_t writes_after) {
  if (writes_after == writes_before) return;
  Fail("I12", fmt::format("{} writes to a cluster in which no work is left", writes_after - writes_before));
}

void InvariantChecker::CheckGates(const GuardedCluster& replica, const Plan& everything) {
  impl_->CheckGates(replica.writer(), everything);
}

void InvariantChecker::CheckTotals(const Tally& totals) { impl_->CheckTotals(totals); }

void InvariantChecker::CheckDelay(absl::Duration alone, absl::Duration beside_bad_node) {
  const absl::Duration limit = MayTakeBesideBadNode(alone);
  if (beside_bad_node <= limit) return;
  Fail("L4", fmt::format("with one bad node, the others were not done after {}; with one slot fewer, they took {}",
                         absl::FormatDuration(beside_bad_node), absl::FormatDuration(alone)));
}

absl::Duration InvariantChecker::MayTakeBesideBadNode(absl::Duration alone) { return 1.5 * alone + absl::Minutes(5); }

bool InvariantChecker::KnowsAll(const GuardedCluster& replica) const {
  const Writer& writer = replica.writer();
  const bool maintenances =
      impl_->options.requestor_id.empty() || writer.maintenances_read >= impl_->maintenance_revision();
  return writer.nodes_read >= impl_->revision() && maintenances;
}

bool InvariantChecker::AnyOpen() const { return impl_->AnyOpen(); }
std::int64_t InvariantChecker::revision() const { return impl_->revision(); }

const std::optional<Violation>& InvariantChecker::violation() const { return impl_->violation; }

std::string InvariantChecker::Report() const {
  return impl_->violation ? fmt::format("{}: {}", impl_->violation->invariant, impl_->violation->text) : "";
}

bool InvariantChecker::CordonIsOurs(const std::string& node) const {
  const auto found = impl_->nodes.find(node);
  return found != impl_->nodes.end() && found->second.cordon == internal::Maker::kEngine;
}

bool InvariantChecker::CordonIsUncertain(const std::string& node) const {
  const auto found = impl_->nodes.find(node);
  return found != impl_->nodes.end() && found->second.uncertain;
}

bool InvariantChecker::CordonIsMaintenanceOperators(const std::string& node) const {
  const auto found = impl_->nodes.find(node);
  return found != impl_->nodes.end() && found->second.cordon == internal::Maker::kOperator;
}

std::int64_t InvariantChecker::upgrades() const { return impl_->upgrades; }

const std::map<std::pair<UpgradeState, UpgradeState>, std::int64_t>& InvariantChecker::edges() const {
  return impl_->edges;
}

InvariantChecker::GuardedCluster::GuardedCluster(std::shared_ptr<ClusterFacade> next, Impl& checker, std::string name)
    : ForwardingFacade(std::move(next)), checker_(checker), writer_{.name = std::move(name)} {}

void InvariantChecker::GuardedCluster::BeginPass() {
  writer_.policy = checker_.policy;
  writer_.clock_ahead.reset();
}

void InvariantChecker::GuardedCluster::NoteClock(absl::Duration ahead) {
  writer_.clock_ahead = std::max(writer_.clock_ahead.value_or(ahead), ahead);
}

void InvariantChecker::GuardedCluster::BeginRelease() { writer_.releases = true; }

void InvariantChecker::GuardedCluster::BeginEngine() { checker_.ForgetRequests(writer_.name); }

void InvariantChecker::GuardedCluster::NoteOldNodes(std::int64_t revision) {
  writer_.nodes_read = revision;
  writer_.nodes_answered.clear();
}

void InvariantChecker::GuardedCluster::NoteNodesRead(std::int64_t revision) {
  writer_.nodes_read = std::max(writer_.nodes_read, revision);
}

void InvariantChecker::GuardedCluster::NoteAnswerLost(const std::string& node, const Writer& before) {
  const auto known = before.nodes_answered.find(node);
  if (known == before.nodes_answered.end()) {
    writer_.nodes_answered.erase(node);
  } else {
    writer_.nodes_answered[node] = known->second;
  }
}

void InvariantChecker::GuardedCluster::NoteSent(const PatchNodeParams& params) { checker_.NoteSent(writer_, params); }

void InvariantChecker::GuardedCluster::NoteSent(const PatchNodeMaintenanceParams& params) {
  checker_.NoteSent(writer_, params);
}

void InvariantChecker::GuardedCluster::As(Writer writer, const std::function<void()>& send) {
  std::swap(writer, writer_);
  send();
  std::swap(writer, writer_);
  if (writer.late) return;
  for (const auto& [node, version] : writer.nodes_answered) {
    std::int64_t& answered = writer_.nodes_answered[node];
    answered = std::max(answered, version);
  }
}

template <class F>
auto InvariantChecker::GuardedCluster::Write(F send) {
  const Writer* before = std::exchange(checker_.writer, &writer_);
  auto answer = send();
  checker_.writer = before;
  return answer;
}

absl::StatusOr<std::vector<Node>> InvariantChecker::GuardedCluster::ListNodes(const CallContext& context,
                                                                              const ListNodesParams& params) {
  auto nodes = ForwardingFacade::ListNodes(context, params);
  const bool goes_by_it = !follows_nodes_ || writer_.releases;
  if (nodes.ok() && goes_by_it) writer_.nodes_read = std::max(writer_.nodes_read, checker_.cluster->revision());
  return nodes;
}

absl::StatusOr<std::vector<Pod>> InvariantChecker::GuardedCluster::ListPods(const CallContext& context,
                                                                            const ListPodsParams& params) {
  auto pods = ForwardingFacade::ListPods(context, params);
  if (pods.ok() && !params.node_name.empty()) writer_.pods_read[params.node_name] = checker_.cluster->revision();
  return pods;
}

absl::Status InvariantChecker::GuardedCluster::WatchNodes(const CallContext& context, const WatchParams& params,
                                                          WatchSink<Node>& sink) {
  follows_nodes_ = true;
  NoteNodesRead(RevisionOf(params.resource_version));
  NotingSink<Node> noting(sink, writer_.nodes_read);
  return ForwardingFacade::WatchNodes(context, params, noting);
}

absl::Status InvariantChecker::GuardedCluster::WatchPods(const CallContext& context, const WatchParams& params,
                                                         WatchSink<Pod>& sink) {
  // A watch with a label selector reports only the driver's own pods, so it does not show how far all pods have been
  // read.
  if (!params.label_selector.empty()) return ForwardingFacade::WatchPods(context, params, sink);
  NotingSink<Pod> noting(sink, writer_.pods_followed);
  return ForwardingFacade::WatchPods(context, params, noting);
}

absl::StatusOr<std::vector<NodeMaintenance>> InvariantChecker::GuardedCluster::ListNodeMaintenances(
    const CallContext& context, const ListNodeMaintenancesParams& params) {
  auto objects = ForwardingFacade::ListNodeMaintenances(context, params);
  if (objects.ok()) writer_.maintenances_read = std::max(writer_.maintenances_read, checker_.cluster->revision());
  return objects;
}

absl::Status InvariantChecker::GuardedCluster::WatchNodeMaintenances(const CallContext& context,
                                                                     const WatchParams& params,
                                                                     WatchSink<NodeMaintenance>& sink) {
  NotingSink<NodeMaintenance> noting(sink, writer_.maintenances_read);
  return ForwardingFacade::WatchNodeMaintenances(context, params, noting);
}

absl::StatusOr<NodeMaintenance> InvariantChecker::GuardedCluster::CreateNodeMaintenance(
    const CallContext& context, const CreateNodeMaintenanceParams& params) {
  return Write([&] {
    checker_.CheckMaintenance(params.object.name, "none yet");
    return ForwardingFacade::CreateNodeMaintenance(context, params);
  });
}

absl::StatusOr<NodeMaintenance> InvariantChecker::GuardedCluster::PatchNodeMaintenance(
    const CallContext& context, const PatchNodeMaintenanceParams& params) {
  return Write([&] {
    checker_.CheckMaintenance(params.name, params.uid);
    checker_.CheckVersion("node maintenance", params.name, params.resource_version);
    return ForwardingFacade::PatchNodeMaintenance(context, params);
  });
}

absl::Status InvariantChecker::GuardedCluster::DeleteNodeMaintenance(const CallContext& context,
                                                                     const DeleteNodeMaintenanceParams& params) {
  return Write([&] {
    checker_.CheckMaintenance(params.name, params.uid);
    return ForwardingFacade::DeleteNodeMaintenance(context, params);
  });
}

absl::StatusOr<Node> InvariantChecker::GuardedCluster::PatchNode(const CallContext& context,
                                                                 const PatchNodeParams& params) {
  return Write([&] {
    checker_.CheckPatch(params);
    auto node = ForwardingFacade::PatchNode(context, params);
    if (node.ok()) writer_.nodes_answered[params.name] = RevisionOf(node->resource_version);
    return node;
  });
}

void InvariantChecker::GuardedCluster::NoteEvictionAnswer(const EvictPodParams& params,
                                                          std::optional<Refusal> refusal) {
  checker_.NoteEvictionAnswer(writer_.name, params.pod.uid, refusal);
}

absl::StatusOr<EvictionAnswer> InvariantChecker::GuardedCluster::EvictPod(const CallContext& context,
                                                                          const EvictPodParams& params) {
  return Write([&] {
    checker_.CheckEviction(params);
    const std::optional<Pod> pod = checker_.cluster->pod(params.pod.ns, params.pod.name);
    auto answer = ForwardingFacade::EvictPod(context, params);
    // The sender of a late eviction no longer receives the response.
    if (!writer_.late) NoteEvictionAnswer(params, answer.ok() ? std::optional(answer->refusal) : std::nullopt);
    const bool refused = answer.ok() && !answer->accepted();
    if (pod && refused) checker_.NoteRefusal(*pod);
    if (pod && !refused) checker_.NoteRemoval(*pod, answer.ok());
    return answer;
  });
}

absl::Status InvariantChecker::GuardedCluster::DeletePod(const CallContext& context, const DeletePodParams& params) {
  return Write([&] {
    checker_.CheckDeletion(params);
    const std::optional<Pod> pod = checker_.cluster->pod(params.pod.ns, params.pod.name);
    absl::Status answer = ForwardingFacade::DeletePod(context, params);
    if (pod && pod->ref.uid == params.pod.uid) checker_.NoteRemoval(*pod, answer.ok());
    return answer;
  });
}

absl::StatusOr<Lease> InvariantChecker::GuardedCluster::UpdateLease(const CallContext& context, const Lease& lease) {
  return Write([&] {
    checker_.CheckVersion("lease", lease.name, lease.resource_version);
    return ForwardingFacade::UpdateLease(context, lease);
  });
}

absl::StatusOr<ConfigMap> InvariantChecker::GuardedCluster::CreateConfigMap(const CallContext& context,
                                                                            const ConfigMap& config_map) {
  return Write([&] { return ForwardingFacade::CreateConfigMap(context, config_map); });
}

absl::StatusOr<ConfigMap> InvariantChecker::GuardedCluster::PatchConfigMap(const CallContext& context,
                                                                           const PatchConfigMapParams& params) {
  return Write([&] {
    checker_.CheckVersion("config map", params.name, params.resource_version);
    return ForwardingFacade::PatchConfigMap(context, params);
  });
}

}  // namespace driverupgrade::testing
