#include "service/engine_group.h"

#include <algorithm>
#include <utility>

namespace driverupgrade::internal {
namespace {

// Returns true if an administrator has excluded the node from the rollout.
bool IsLeftOut(const NodeGate& node) {
  const GateTraits& gate = TraitsOf(node.gate.reason);
  return gate.is_wish && gate.ends_rollout;
}

int LeftOut(const Plan& plan) {
  return static_cast<int>(std::count_if(plan.gates.begin(), plan.gates.end(), IsLeftOut));
}

// Returns a sink that adds the owner to each record and passes the record to `log`.
LogSink For(const std::string& owner, const LogSink& log) {
  if (owner.empty()) return log;
  return [owner, log](LogRecord record) {
    record.fields.emplace_back("owner", owner);
    log(record);
  };
}

DriverScope ScopeOf(const EngineSpec& spec, const EngineOptions& options) {
  DriverScope scope{
      .ns = options.snapshot.ns, .driver_labels = spec.driver_labels, .node_selector = spec.node_selector};
  if (const auto& requestor = options.state_machine.requestor) scope.maintenance_ns = requestor->ns;
  scope.devices = options.snapshot.devices;
  return scope;
}

}  // namespace

bool SameEngines(const std::vector<EngineSpec>& a, const std::vector<EngineSpec>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const EngineSpec& one, const EngineSpec& other) {
    return one.name == other.name && one.driver_labels == other.driver_labels &&
           one.node_selector == other.node_selector && one.requestor_suffix == other.requestor_suffix;
  });
}

EngineGroup::EngineGroup(const GroupOptions& options, std::vector<EngineSpec> specs)
    : options_(options), specs_(std::move(specs)) {}

EngineGroup::~EngineGroup() = default;

absl::StatusOr<std::unique_ptr<EngineGroup>> EngineGroup::Create(const GroupOptions& options,
                                                                 std::vector<EngineSpec> specs,
                                                                 FiguresByName& figures) {
  std::unique_ptr<EngineGroup> group(new EngineGroup(options, std::move(specs)));
  std::vector<DriverScope> scopes;
  for (const EngineSpec& spec : group->specs_) scopes.push_back(ScopeOf(spec, options.engine));
  scopes.insert(scopes.end(), options.more_scopes.begin(), options.more_scopes.end());
  auto cache = WatchCache::Create(options.cluster, {.drivers = std::move(scopes), .clock = options.clock});
  if (!cache.ok()) return cache.status();
  group->cache_ = *std::move(cache);
  for (std::size_t place = 0; place < group->specs_.size(); ++place) {
    const absl::Status added = group->AddMember(place, figures);
    if (!added.ok()) group->refused_[group->specs_[place].name] = added;
  }
  group->SetPolicies(std::vector(group->specs_));
  return group;
}

absl::Status EngineGroup::AddMember(std::size_t place, FiguresByName& figures) {
  const EngineSpec& spec = specs_[place];
  const auto known = figures.find(spec.name);
  const auto metrics =
      known != figures.end() ? known->second : std::make_shared<MetricsObserver>(options_.identity, options_.clock);
  Member member{.place = place, .slots = std::make_shared<SlotObserver>()};
  EngineOptions engine = EngineOptionsOf(options_.engine, spec);
  engine.cache = cache_;
  engine.clock = options_.clock;
  if (options_.parallel_total) {
    engine.shared_slots = [this, i = members_.size()] {
      members_[i].shared = SharedSlotsFor(i);
      return *members_[i].shared;
    };
  }
  engine.observer =
      MakeObserverGroup({metrics, member.slots, options_.board ? options_.board->ObserverOf(spec.name) : nullptr,
                         MakeLoggingObserver(options_.identity, For(spec.name, options_.log)), engine.observer});
  auto made = UpgradeEngine::Create(options_.identity, options_.cluster, std::move(engine));
  if (!made.ok()) return made.status();
  figures[spec.name] = metrics;
  member.engine = *std::move(made);
  ControllerOptions controller{.election = options_.election};
  // A change to any engine must wake the loop that steps all engines.
  if (options_.bell) controller.on_change = [bell = options_.bell] { bell->Ring(); };
  member.controller = std::make_unique<UpgradeController>(*member.engine, cache_, std::move(controller));
  members_.push_back(std::move(member));
  return absl::OkStatus();
}

void EngineGroup::Start() { cache_->Start(); }

void EngineGroup::SetPolicies(const std::vector<EngineSpec>& specs) {
  specs_ = specs;
  for (const Member& member : members_) member.controller->SetPolicy(SpecOf(member).policy);
}

SharedSlots EngineGroup::SharedSlotsFor(std::size_t i) const {
  std::vector<SlotUse> uses;
  for (const Member& member : members_) uses.push_back(member.slots->use());
  return SharedSlotsOf(uses, i, *options_.parallel_total);
}

bool EngineGroup::TellOfOthers(std::size_t i) {
  if (!members_[i].shared) return false;
  const SharedSlots shared = SharedSlotsFor(i);
  if (std::exchange(members_[i].shared, shared) == shared) return false;
  members_[i].controller->Notify();
  return true;
}

absl::Time EngineGroup::Step(const CallContext& context) {
  absl::Time next = absl::InfiniteFuture();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    // The earlier engines have just made their passes, so their use of slots is known only now.
    TellOfOthers(i);
    next = std::min(next, members_[i].controller->Step(context));
  }
  // The slots that later engines have released are available to earlier engines.
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (TellOfOthers(i)) next = absl::InfinitePast();
  }
  return next;
}

void EngineGroup::Quiesce() {
  for (const Member& member : members_) member.engine->Quiesce();
  cache_->Stop();
}

std::map<std::string, FleetStatus> EngineGroup::Statuses() const {
  std::map<std::string, FleetStatus> statuses;
  for (const Member& member : members_) statuses[SpecOf(member).name] = member.engine->Status();
  return statuses;
}

Tally EngineGroup::totals() const {
  Tally sum;
  for (const Member& member : members_) sum += member.controller->status().totals;
  return sum;
}

std::map<std::string, EngineProgress> EngineGroup::Progress() const {
  std::map<std::string, EngineProgress> progress;
  for (const Member& member : members_) {
    const ControllerStatus status = member.controller->status();
    if (!status.last_pass || !status.last_error.ok()) continue;
    const Tally& totals = status.totals;
    // Examines the individual nodes only if the totals suggest that the rollout may have ended.
    const bool may_be_over = totals.Moving() == 0 && totals.pending > 0 && SpecOf(member).policy.auto_upgrade;
    progress[SpecOf(member).name] = {.totals = totals,
                                     .left_out = may_be_over ? LeftOut(member.engine->Everything()) : 0,
                                     .halted = member.slots->halted()};
  }
  return progress;
}

bool EngineGroup::AllWell() const {
  return std::all_of(members_.begin(), members_.end(),
                     [](const Member& member) { return member.controller->status().last_error.ok(); });
}

std::optional<RolloutEnd> EngineGroup::End() const {
  if (!Ready().ok() || !AllWell()) return std::nullopt;
  RolloutEnd end{.engines = static_cast<int>(members_.size()), .refused = static_cast<int>(refused_.size())};
  for (const Member& member : members_) {
    const Tally totals = member.controller->status().totals;
    end.totals += totals;
    const bool works = SpecOf(member).policy.auto_upgrade;
    end.upgrading += works;
    if (!works) end.frozen += totals.total;
    // Examines the individual nodes only if the totals suggest that the rollout may have ended.
    if (works && totals.Moving() > 0) return std::nullopt;
  }
  // The driver might not exist yet.
  if (end.upgrading > 0 && end.totals.total == 0) return std::nullopt;
  for (const Member& member : members_) {
    if (!SpecOf(member).policy.auto_upgrade) continue;
    const Plan plan = member.engine->Everything();
    if (!IsOver(plan)) return std::nullopt;
    end.left_out += LeftOut(plan);
  }
  return end;
}

absl::Status EngineGroup::Healthy() const {
  for (const Member& member : members_) {
    if (const absl::Status healthy = member.controller->Healthy(); !healthy.ok()) return healthy;
  }
  return absl::OkStatus();
}

absl::Status EngineGroup::Ready() const {
  for (const Member& member : members_) {
    if (const absl::Status ready = member.controller->Ready(); !ready.ok()) return ready;
  }
  return absl::OkStatus();
}

}  // namespace driverupgrade::internal
