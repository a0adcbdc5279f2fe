// Two engines share one ledger, and both engines believe that they lead. Passes overlap, calls and responses are lost
// or late, watches lag, engines crash, and nodes are added and removed. The budgets must hold, and all work must
// finish.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/watch_cache.h"
#include "fmt/format.h"
#include "property/seeded_random.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using testing::Change;
using testing::FakeClock;
using testing::FakeCluster;

constexpr int kWatches = 5;  // watches of one cache
constexpr int kChaosTicks = 100;
constexpr int kCalmTicks = 400;

struct Setup {
  bool ledger = true;
  bool cache = false;  // true if the second engine reads from a cache
};

class Duel {
 public:
  Duel(std::uint64_t seed, Setup setup);
  ~Duel();
  // Returns the rule that was broken, or an empty string.
  std::string Run();
  int started() const { return started_; }

 private:
  class Line;
  struct Late {
    absl::Time at;
    std::function<void()> call;
  };

  void Tick();
  void Pass(std::size_t engine);
  void Crash(std::size_t engine);
  void Disturb();
  void Touch(const std::string& name);
  void ReplaceDriverPod(const std::string& node);
  void AnswerLate();
  void AwaitCache();
  void Watch(const Change& change);
  std::string Unfinished() const;
  std::string AnyNode();

  SeededRandom random_;
  const Setup setup_;
  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster_;
  std::shared_ptr<Line> line_;
  testing::Fleet fleet_;
  LabelSelector labels_;
  UpgradePolicy policy_ = {.auto_upgrade = true};
  std::shared_ptr<WatchCache> cache_;
  std::vector<std::unique_ptr<UpgradeEngine>> engines_{2};
  std::vector<Late> late_;
  int fault_percent_ = 0;
  bool calm_ = false;
  bool lagging_ = false;
  std::optional<std::size_t> passing_;  // index of the engine whose pass is in progress
  bool nested_ = false;
  int revision_ = 2;
  int touches_ = 0;
  std::map<std::string, bool> busy_;  // whether the node is in progress, by node name
  int started_ = 0;
  std::string broken_;
};

// Sits between the engines and the cluster. It loses or delays calls, loses responses, and sometimes lets the other
// engine run a pass before a call.
class Duel::Line final : public ForwardingFacade {
 public:
  Line(Duel& duel, std::shared_ptr<ClusterFacade> cluster) : ForwardingFacade(std::move(cluster)), duel_(duel) {}

  absl::StatusOr<std::vector<Node>> ListNodes(const CallContext& context, const ListNodesParams& params) override {
    Interleave();
    return ForwardingFacade::ListNodes(context, params);
  }
  absl::StatusOr<ConfigMap> GetConfigMap(const CallContext& context, const GetConfigMapParams& params) override {
    Interleave();
    if (Fails()) return absl::UnavailableError("down");
    return ForwardingFacade::GetConfigMap(context, params);
  }
  absl::StatusOr<ConfigMap> CreateConfigMap(const CallContext& context, const ConfigMap& map) override {
    return Write<ConfigMap>([this, context, map] { return ForwardingFacade::CreateConfigMap(context, map); });
  }
  absl::StatusOr<ConfigMap> PatchConfigMap(const CallContext& context, const PatchConfigMapParams& params) override {
    return Write<ConfigMap>([this, context, params] { return ForwardingFacade::PatchConfigMap(context, params); });
  }
  absl::StatusOr<Node> PatchNode(const CallContext& context, const PatchNodeParams& params) override {
    return Write<Node>([this, context, params] { return ForwardingFacade::PatchNode(context, params); });
  }

 private:
  bool Fails() { return !duel_.calm_ && duel_.random_.Chance(duel_.fault_percent_); }
  void Interleave() {
    if (duel_.calm_ || duel_.nested_ || !duel_.passing_ || !duel_.random_.Chance(15)) return;
    duel_.nested_ = true;
    if (duel_.random_.Chance(50)) duel_.ReplaceDriverPod(duel_.AnyNode());
    duel_.Pass(1 - *duel_.passing_);
    duel_.nested_ = false;
  }
  template <typename T>
  absl::StatusOr<T> Write(std::function<absl::StatusOr<T>()> call) {
    Interleave();
    if (!Fails()) return call();
    switch (duel_.random_.Below(4)) {
      case 0: return absl::UnavailableError("lost before");
      case 1: (void)call(); return absl::DeadlineExceededError("lost after");
      case 2: (void)call(); return absl::AbortedError("a silent replay met its own write");
      default:
        duel_.late_.push_back({.at = duel_.clock_->Now() + absl::Seconds(duel_.random_.Between(1, 30)),
                               .call = [call] { (void)call(); }});
        return absl::DeadlineExceededError("comes late");
    }
  }

  Duel& duel_;
};

Duel::Duel(std::uint64_t seed, Setup setup) : random_(seed), setup_(setup) {
  cluster_ = std::make_shared<FakeCluster>(clock_, testing::FakeClusterOptions{.keep_journal = false});
  line_ = std::make_shared<Line>(*this, cluster_);
  cluster_->SetChangeObserver([this](const Change& change) { Watch(change); });
  fault_percent_ = random_.Pick({0, 10, 40});
  fleet_ = AddFleet(*cluster_, {.node_count = random_.Between(2, 4),
                                .driver_behavior = {.start_delay = absl::Seconds(random_.Between(1, 5))},
                                .workload = ""});
  labels_ = LabelSelector::FromMatchLabels({{"app", fleet_.daemon_set}});
  cluster_->SetTemplate(fleet_.ns, fleet_.daemon_set, "rev-2");
  if (random_.Chance(70)) policy_.max_parallel = random_.Between(1, 2);
  if (!policy_.max_parallel || random_.Chance(30)) policy_.max_unavailable = Count{random_.Between(1, 2)};
  for (std::size_t i = 0; i < engines_.size(); ++i) Crash(i);
}

Duel::~Duel() {
  engines_.clear();
  if (cache_) cache_->Stop();
  cluster_->SetChangeObserver(nullptr);
}

void Duel::Crash(std::size_t engine) {
  if (setup_.cache && engine == 1) {
    engines_[1].reset();
    if (cache_) cache_->Stop();
    cache_ = *WatchCache::Create(cluster_, {.drivers = {{.ns = fleet_.ns, .driver_labels = labels_}}, .clock = clock_});
    cache_->Start();
  }
  EngineOptions options{.snapshot = {.ns = fleet_.ns, .driver_labels = labels_}, .clock = clock_};
  options.executor = {.calls_in_flight = 1, .events = false};
  if (engine == 1) options.cache = cache_;
  if (setup_.ledger) options.ledger = AdmissionLedgerOptions{.ns = "ops", .name = "ledger"};
  auto created = UpgradeEngine::Create(Gpu(), line_, std::move(options));
  if (!created.ok()) broken_ = created.status().ToString();
  if (created.ok()) engines_[engine] = *std::move(created);
}

// Counts the busy nodes after each change and compares their number with both limits. In this test, only upgrades make
// nodes unavailable, so no other node counts.
void Duel::Watch(const Change& change) {
  if (change.node.before != nullptr && change.node.after == nullptr) busy_.erase(change.node.before->name);
  if (change.node.after == nullptr) return;
  const Node& node = *change.node.after;
  const auto label = node.labels.find(Gpu().StateLabel());
  const auto state = ParseUpgradeState(label == node.labels.end() ? "" : label->second);
  const bool busy = node.unschedulable || (state && IsInProgress(*state));
  started_ += busy && !busy_[node.name];
  busy_[node.name] = busy;
  const auto count = std::count_if(busy_.begin(), busy_.end(), [](const auto& one) { return one.second; });
  int limit = policy_.max_parallel.value_or(100);
  if (policy_.max_unavailable) limit = std::min(limit, ScaledLimit(*policy_.max_unavailable, 1));
  if (count > limit)
    broken_ = fmt::format("{} of {} nodes are busy at {}", count, limit, absl::FormatTime(change.time));
}

void Duel::Pass(std::size_t engine) {
  if (!engines_[engine]) return;
  const auto outer = std::exchange(passing_, engine);
  if (engine == 1) AwaitCache();
  (void)engines_[engine]->Reconcile({}, policy_);
  passing_ = outer;
}

void Duel::AwaitCache() {
  if (cache_ && !lagging_) cluster_->AwaitWatchesIdle(kWatches);
}

std::string Duel::AnyNode() {
  const std::vector<Node> nodes = cluster_->nodes();
  return nodes[static_cast<std::size_t>(random_.Below(static_cast<int>(nodes.size())))].name;
}

void Duel::Disturb() {
  const int dice = random_.Below(100);
  if (dice < 20) {
    Touch(AnyNode());
  } else if (dice < 36) {
    cluster_->SetTemplate(fleet_.ns, fleet_.daemon_set, fmt::format("rev-{}", ++revision_));
  } else if (dice < 42 && cluster_->nodes().size() > 2) {
    cluster_->RemoveNode(AnyNode());
  } else if (dice < 48) {
    cluster_->AddNode(testing::NodeBuilder(random_.Chance(50) ? AnyNode() : fmt::format("new-{}", touches_)).Build());
  } else if (dice < 54) {
    Crash(static_cast<std::size_t>(random_.Below(2)));
  } else if (dice < 70 && cache_) {
    lagging_ = !lagging_;
    lagging_ ? cluster_->PauseWatches() : cluster_->ResumeWatches();
  } else if (dice >= 70) {
    ReplaceDriverPod(AnyNode());
  }
}

void Duel::Touch(const std::string& name) {
  cluster_->EditNode(name, [&](Node& node) { node.annotations["kubelet"] = std::to_string(++touches_); });
}

// Removes the node's driver pod, so that the node is no longer a candidate. A patch for the node's last version may
// still be in progress.
void Duel::ReplaceDriverPod(const std::string& node) {
  for (const Pod& pod : cluster_->daemon_set_pods(fleet_.ns, fleet_.daemon_set)) {
    if (pod.node_name == node) cluster_->RemovePod(pod.ref.ns, pod.ref.name);
  }
}

void Duel::AnswerLate() {
  const auto is_due = [&](const Late& late) { return late.at <= clock_->Now(); };
  for (const Late& late : late_) {
    if (is_due(late)) late.call();
  }
  std::erase_if(late_, is_due);
}

void Duel::Tick() {
  cluster_->Advance(absl::Milliseconds(random_.Between(100, calm_ ? 3000 : 1000)));
  AnswerLate();
  if (calm_ && random_.Chance(5))
    Touch(AnyNode());  // as a kubelet does, because an unused grant stays until its node changes
  if (!calm_ && random_.Chance(40)) Disturb();
  Pass(static_cast<std::size_t>(random_.Below(2)));
}

std::string Duel::Unfinished() const {
  for (const Node& node : cluster_->nodes()) {
    const auto label = node.labels.find(Gpu().StateLabel());
    const bool done = label != node.labels.end() && label->second == "upgrade-done" && !node.unschedulable;
    if (!done) return fmt::format("{} is {}", node.name, label == node.labels.end() ? "new" : label->second);
  }
  const auto map = cluster_->config_map("ops", "ledger");
  const std::string left = map ? map->data.at("nvidia.com_gpu") : "";
  return left.empty() ? "" : fmt::format("grants are left: {}", left);
}

std::string Duel::Run() {
  for (int i = 0; i < kChaosTicks && broken_.empty(); ++i) Tick();
  calm_ = true;
  if (std::exchange(lagging_, false)) cluster_->ResumeWatches();
  for (int i = 0; i < kCalmTicks && broken_.empty() && !Unfinished().empty(); ++i) Tick();
  return broken_.empty() ? Unfinished() : broken_;
}

struct Result {
  int failures = 0;
  int started = 0;
  std::string report = {};
};

Result Play(Setup setup, std::uint64_t seeds) {
  Result result;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Duel duel(seed, setup);
    const std::string broken = duel.Run();
    result.started += duel.started();
    if (!broken.empty() && ++result.failures <= 5) result.report += fmt::format("seed {}: {}\n", seed, broken);
  }
  return result;
}

TEST_CASE(
    "I1: if two engines that use lists both lead, the ledger keeps them within the budgets, and they finish the "
    "rollout") {
  const Result result = Play({}, 500);
  INFO(result.report);
  CHECK(result.failures == 0);
  CHECK(result.started > 1'500);
}

TEST_CASE("I1: if engines with lists and with a cache both lead, they stay within the budgets and finish the rollout") {
  const Result result = Play({.cache = true}, 100);
  INFO(result.report);
  CHECK(result.failures == 0);
  CHECK(result.started > 300);
}

TEST_CASE("I1: without the ledger the engines exceed the budgets") { CHECK(Play({.ledger = false}, 100).failures > 0); }

}  // namespace
}  // namespace driverupgrade::tests
