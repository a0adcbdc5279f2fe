// Two simple engines share one ledger, and each engine believes that it is the leader. The engines read, admit, and
// start nodes independently, and crash at any point. Patches and compare-and-set writes are lost, applied late, or
// applied without a response.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decide/admission/upgrade_budget.h"
#include "driverupgrade/upgrade_state.h"
#include "fmt/format.h"
#include "ledger/admission_ledger.h"
#include "property/seeded_random.h"
#include "support/admission.h"
#include "support/catch.h"
#include "support/ledger_calls.h"
#include "support/object_server.h"

namespace driverupgrade::tests {
namespace {

constexpr int kChaosTicks = 1'000;
constexpr int kCalmTicks = 3'000;
const DriverIdentity kGpu = *DriverIdentity::Create("nvidia.com", "gpu");

// Each mistake breaks one rule for using the ledger. A test shows for each mistake that the rule is necessary.
enum class Mistake {
  kNone,
  kNoLedger,         // starts nodes without a grant, based only on the nodes that it has read
  kIgnoresFailure,   // starts nodes although the compare-and-set failed
  kListsFirst,       // lists the nodes before it reads the ledger
  kGrantsUncounted,  // ignores the grants of nodes that have not started
};

class Fleet {
 public:
  Fleet(std::uint64_t seed, Mistake mistake);
  // Returns the rule that was broken, or an empty string.
  std::string Run();
  int started() const { return started_; }

 private:
  class Line;
  struct Start {
    int at = 0;
    std::string name = {};
    std::string uid = {};
    std::string version = {};
  };
  struct LateMap {
    int at = 0;
    ConfigMap object = {};
    bool create = false;
  };
  struct Engine {
    std::optional<LedgerCalls> ledger;
    int phase = 0;
    bool ledger_read = false;
    std::vector<NodeView> views;
    std::vector<Start> starts;
  };

  void Tick();
  void Crash(Engine& engine);
  void Advance(Engine& engine);
  void Read(Engine& engine) { engine.ledger_read = engine.ledger->Read().ok(); }
  void List(Engine& engine);
  void AdmitNodes(Engine& engine);
  void Send(Engine& engine);
  std::vector<std::string> ChosenBy(const Engine& engine, const std::vector<NodeReading>& readings) const;
  void Deliver();
  void Apply(const Start& start);
  void ChangeNode();
  void SetState(Node& node, UpgradeState state);
  void AddNode();
  bool Is(const Node& node, UpgradeState state) const {
    return node.labels.at(kGpu.StateLabel()) == ToLabelValue(state);
  }
  void Check();
  std::string Unfinished() const;
  absl::StatusOr<ConfigMap> Write(const ConfigMap& object, bool create);

  SeededRandom random_;
  Mistake mistake_;
  UpgradePolicy policy_;
  int fault_percent_;
  bool calm_ = false;
  int now_ = 0;
  int version_ = 0;
  int uids_ = 0;
  std::map<std::string, Node> nodes_;
  ObjectServer<ConfigMap> server_;
  std::shared_ptr<Line> line_;
  std::vector<Start> on_their_way_;
  std::vector<LateMap> late_maps_;
  std::vector<Engine> engines_{2};
  int started_ = 0;
  std::string broken_;
};

class Fleet::Line final : public ClusterFacade {
 public:
  explicit Line(Fleet& fleet) : fleet_(fleet) {}
  bool Supports(Operation) const override { return true; }
  absl::StatusOr<ConfigMap> GetConfigMap(const CallContext&, const GetConfigMapParams&) override {
    if (!fleet_.calm_ && fleet_.random_.Chance(fleet_.fault_percent_)) return absl::UnavailableError("down");
    return fleet_.server_.Get();
  }
  absl::StatusOr<ConfigMap> CreateConfigMap(const CallContext&, const ConfigMap& object) override {
    return fleet_.Write(object, true);
  }
  absl::StatusOr<ConfigMap> PatchConfigMap(const CallContext&, const PatchConfigMapParams& params) override {
    return fleet_.Write(Patched(fleet_.server_, params), false);
  }

 private:
  Fleet& fleet_;
};

Fleet::Fleet(std::uint64_t seed, Mistake mistake) : random_(seed), mistake_(mistake) {
  fault_percent_ = random_.Pick({0, 5, 30});
  policy_.max_parallel = random_.Between(1, 3);
  if (random_.Chance(50)) policy_.max_unavailable = Count{random_.Between(1, 3)};
  line_ = std::make_shared<Line>(*this);
  const int count = random_.Between(2, 6);
  for (int i = 0; i < count; ++i) AddNode();
  for (Engine& engine : engines_) Crash(engine);
}

void Fleet::AddNode() {
  std::string name = fmt::format("n{}", nodes_.size());
  for (int i = 0; nodes_.contains(name); ++i) name = fmt::format("n{}", i);
  Node node{.name = name, .uid = fmt::format("uid-{}", ++uids_)};
  SetState(node, UpgradeState::kUpgradeRequired);
  nodes_[name] = node;
}

void Fleet::SetState(Node& node, UpgradeState state) {
  node.labels[kGpu.StateLabel()] = std::string(ToLabelValue(state));
  node.unschedulable = IsInProgress(state);
  node.resource_version = std::to_string(++version_);
}

// Replaces the engine with a new process, which has no memory of earlier passes.
void Fleet::Crash(Engine& engine) {
  engine = Engine{};
  engine.ledger.emplace(line_, *AdmissionLedger::Create(kGpu, {.ns = "ops", .name = "ledger"}));
}

absl::StatusOr<ConfigMap> Fleet::Write(const ConfigMap& object, bool create) {
  const auto answer = [&] { return create ? server_.Create(object) : server_.Update(object); };
  if (calm_ || !random_.Chance(fault_percent_)) return answer();
  switch (random_.Below(4)) {
    case 0: return absl::UnavailableError("lost before");
    case 1: (void)answer(); return absl::DeadlineExceededError("lost after");
    case 2: (void)answer(); return absl::AbortedError("a silent replay met its own write");
    default:
      late_maps_.push_back({.at = now_ + random_.Between(1, 60), .object = object, .create = create});
      return absl::DeadlineExceededError("applied late");
  }
}

void Fleet::List(Engine& engine) {
  engine.views.clear();
  for (const auto& [name, node] : nodes_) engine.views.push_back({.node = node});
}

// Returns the UIDs of the nodes that the engine wants to start, following the steps in ledger/admission_ledger.h.
std::vector<std::string> Fleet::ChosenBy(const Engine& engine, const std::vector<NodeReading>& readings) const {
  const Grants none;
  const bool blind = mistake_ == Mistake::kNoLedger || mistake_ == Mistake::kGrantsUncounted;
  const Grants& grants = blind ? none : (*engine.ledger)->grants();
  Sums sums;
  std::vector<WaitingNode> waiting;
  std::vector<std::string> uids;  // UIDs of the waiting nodes
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const Node& node = engine.views[i].node;
    const Tally own = internal::TallyOf(engine.views[i], kGpu, policy_);
    const bool candidate = Is(node, UpgradeState::kUpgradeRequired);
    const bool current = candidate && IsCurrent(grants, readings[i]);
    sums.with += Counts(grants, readings[i]) ? WithGrant(own) : own;
    sums.without += Counts(grants, readings[i]) && !current ? WithGrant(own) : own;
    if (!candidate) continue;
    uids.push_back(node.uid);
    waiting.push_back({.node = node.name, .candidate = {.has_grant = current}});
  }
  std::vector<std::string> chosen;
  const Budgets budgets = sums.Against(policy_, /*shared=*/std::nullopt);
  for (const AdmissionDecision& decision : Admit(Limits::Of(budgets, /*paused=*/false), waiting)) {
    if (!decision.gate) chosen.push_back(uids[decision.index]);
  }
  return chosen;
}

void Fleet::AdmitNodes(Engine& engine) {
  std::vector<NodeReading> readings;
  for (const NodeView& view : engine.views) {
    readings.push_back(ReadingOf(view, {.tally = internal::TallyOf(view, kGpu, policy_)}));
  }
  std::vector<std::string> chosen = ChosenBy(engine, readings);
  if (mistake_ != Mistake::kNoLedger) {
    if (!engine.ledger_read) return;
    const absl::StatusOr<GrantDecision> decision = engine.ledger->Settle(readings, chosen);
    if (decision.ok()) {
      chosen = decision->admitted;
    } else if (mistake_ != Mistake::kIgnoresFailure) {
      return;
    }
  }
  for (const NodeView& view : engine.views) {
    if (std::find(chosen.begin(), chosen.end(), view.node.uid) == chosen.end()) continue;
    engine.starts.push_back({.name = view.node.name, .uid = view.node.uid, .version = view.node.resource_version});
  }
}

void Fleet::Send(Engine& engine) {
  Start start = engine.starts.back();
  engine.starts.pop_back();
  if (!calm_ && random_.Chance(fault_percent_)) return;
  start.at = now_ + (random_.Chance(80) ? random_.Between(1, 3) : random_.Between(1, calm_ ? 3 : 100));
  on_their_way_.push_back(start);
}

void Fleet::Advance(Engine& engine) {
  const bool lists_first = mistake_ == Mistake::kListsFirst;
  if (engine.phase == 0) {
    lists_first ? List(engine) : Read(engine);
  } else if (engine.phase == 1) {
    lists_first ? Read(engine) : List(engine);
  } else if (engine.phase == 2) {
    AdmitNodes(engine);
  } else if (!engine.starts.empty()) {
    return Send(engine);
  }
  engine.phase = (engine.phase + 1) % 4;
}

void Fleet::Apply(const Start& start) {
  const auto node = nodes_.find(start.name);
  if (node == nodes_.end() || node->second.uid != start.uid) return;
  if (node->second.resource_version != start.version) return;  // 409 Conflict
  ++started_;
  SetState(node->second, UpgradeState::kCordonRequired);
  Check();
}

void Fleet::Deliver() {
  const auto due = [&](const auto& message) { return message.at <= now_; };
  for (const Start& start : on_their_way_) {
    if (due(start)) Apply(start);
  }
  std::erase_if(on_their_way_, due);
  for (const LateMap& late : late_maps_) {
    if (due(late)) (void)(late.create ? server_.Create(late.object) : server_.Update(late.object));
  }
  std::erase_if(late_maps_, due);
}

// Changes, deletes, or adds a node, as the kubelet, a finished upgrade, a new revision, or an administrator would.
void Fleet::ChangeNode() {
  const auto found = std::next(nodes_.begin(), random_.Below(static_cast<int>(nodes_.size())));
  Node& node = found->second;
  const int dice = random_.Below(calm_ ? 60 : 100);
  if (dice < 30) {
    node.resource_version = std::to_string(++version_);  // the kubelet updates the status
  } else if (dice < 60) {
    if (IsInProgress(*ParseUpgradeState(node.labels.at(kGpu.StateLabel())))) SetState(node, UpgradeState::kDone);
  } else if (dice < 80) {
    if (Is(node, UpgradeState::kDone)) SetState(node, UpgradeState::kUpgradeRequired);  // a new revision
  } else if (dice < 90) {
    if (nodes_.size() > 2) nodes_.erase(found);
  } else if (nodes_.size() < 6) {
    AddNode();
  }
}

void Fleet::Check() {
  int in_progress = 0;
  for (const auto& [name, node] : nodes_) in_progress += node.unschedulable;
  int limit = *policy_.max_parallel;
  if (policy_.max_unavailable) limit = std::min(limit, ScaledLimit(*policy_.max_unavailable, 1));
  if (in_progress > limit) broken_ = fmt::format("{} of {} in progress at {}", in_progress, limit, now_);
}

void Fleet::Tick() {
  ++now_;
  Deliver();
  if (random_.Chance(15)) ChangeNode();
  Engine& engine = engines_[static_cast<std::size_t>(random_.Below(2))];
  if (!calm_ && fault_percent_ > 0 && random_.Below(100) == 0) Crash(engine);
  Advance(engine);
}

// Returns a description of the unfinished work, or an empty string.
std::string Fleet::Unfinished() const {
  for (const auto& [name, node] : nodes_) {
    if (!Is(node, UpgradeState::kDone)) return fmt::format("{} is not done", name);
  }
  const std::string left = server_.object() ? server_.object()->data.at("nvidia.com_gpu") : "";
  return left.empty() ? "" : fmt::format("grants are left: {}", left);
}

std::string Fleet::Run() {
  while (now_ < kChaosTicks && broken_.empty()) Tick();
  calm_ = true;
  while (now_ < kChaosTicks + kCalmTicks && broken_.empty() && !Unfinished().empty()) Tick();
  return broken_.empty() ? Unfinished() : broken_;
}

struct Result {
  int failures = 0;
  int started = 0;
  std::string report = {};
};

Result Play(Mistake mistake, std::uint64_t first, std::uint64_t last) {
  Result result;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    Fleet fleet(seed, mistake);
    const std::string broken = fleet.Run();
    result.started += fleet.started();
    if (!broken.empty() && ++result.failures <= 5) result.report += fmt::format("seed {}: {}\n", seed, broken);
  }
  return result;
}

// Tests rule api-A62.
TEST_CASE("I1: for 1,000 seeds, two engines that both lead stay within the budgets and finish if they use the ledger") {
  const Result result = Play(Mistake::kNone, 1, 1'000);
  INFO(result.report);
  CHECK(result.failures == 0);
  CHECK(result.started > 10'000);
}

TEST_CASE(
    "I1: if the engines break any rule for using the ledger, they exceed a budget or never finish for some seed") {
  CHECK(Play(Mistake::kNoLedger, 1, 50).failures > 0);
  CHECK(Play(Mistake::kIgnoresFailure, 1, 100).failures > 0);
  CHECK(Play(Mistake::kGrantsUncounted, 1, 50).failures > 0);
  // This mistake has an effect only if a node is created, and gets a grant, after an engine has listed the nodes and
  // before that engine reads the ledger. This happens for about one seed in a thousand.
  CHECK(Play(Mistake::kListsFirst, 801, 820).failures > 0);
}

}  // namespace
}  // namespace driverupgrade::tests
