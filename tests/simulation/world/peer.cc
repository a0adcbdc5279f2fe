#include "simulation/world/peer.h"

#include <set>
#include <utility>

#include "fmt/format.h"
#include "model/cordon_names.h"

namespace driverupgrade::testing::internal {
namespace {

constexpr char kPeerNs[] = "network-system";
constexpr char kPeerDriver[] = "nic-driver";

// Returns the setup of the second driver: the same setup without the modes that only the first driver uses.
Setup SetupOf(Setup setup) {
  setup.requestor = setup.restart_only = setup.rolling = setup.validation = setup.hooks = setup.own_pod = false;
  return setup;
}

UpgradePolicy PolicyOf(std::uint64_t seed) {
  Random random(seed, "peer");
  return DrawPolicy(random);
}

bool IsUnderWay(const Node& node, const DriverIdentity& identity) {
  const auto label = node.labels.find(identity.StateLabel());
  const auto state = ParseUpgradeState(label == node.labels.end() ? "" : label->second);
  return state && IsInProgress(*state);
}

// Changes the template occasionally.
class PeerTemplates final : public Actor {
 public:
  explicit PeerTemplates(World& world) : Actor(world, "peer templates") {}

  // Orphaned pods would make the peer's drain fail.
  void Mend() override { world_.RemoveOrphans(); }

 private:
  void Act() override {
    if (number_ > 1 && random_.Percent(90)) return;
    world_.peer->SetTemplate(fmt::format("rev-{}", ++number_));
  }

  int number_ = 1;
};

}  // namespace

Peer::Peer(World& world)
    : world_(world),
      setup_(SetupOf(world.setup)),
      identity_(*DriverIdentity::Create("nvidia.com", "nic")),
      labels_(LabelSelector::FromMatchLabels({{"app", kPeerDriver}})),
      policy_(PolicyOf(world.seed)) {
  world.cluster->AddDaemonSet({.ns = kPeerNs,
                               .name = kPeerDriver,
                               .labels = {{"app", kPeerDriver}},
                               .node_selector = {{"zone", "a"}},
                               .hash = hash_,
                               .behavior = {.start_delay = absl::Seconds(15), .stop_delay = absl::Seconds(5)}});
  InvariantOptions checks{.identity = identity_,
                          .driver_ns = kPeerNs,
                          .driver_labels = labels_,
                          .policy = policy_,
                          .grants_max = setup_.ledger ? setup_.grants_max : 0,
                          .check_budget = setup_.BudgetIsClaimed(),
                          .check_pacing = !setup_.ClocksJump(),
                          .clock_skew_max = setup_.ClockSkewMax(),
                          .shares_nodes = true};
  checker_ = std::make_unique<InvariantChecker>(world.cluster, std::move(checks));
  checker_->set_disturbed(setup_.SeveralLeaders());
}

Driver Peer::driver() const {
  return {.identity = identity_,
          .ns = kPeerNs,
          .daemon_set = kPeerDriver,
          .labels = labels_,
          .setup = setup_,
          .policy = policy_,
          .hash = hash_,
          .checker = *checker_};
}

void Peer::See(const Change& change) {
  checker_->See(change);
  JudgeUncordon(change);
  if (const auto& found = checker_->violation())
    world_.checker->Fail(found->invariant, "of the second driver: " + found->text);
}

// I3: a driver must not uncordon a node while the other driver relies on the cordon.
void Peer::JudgeUncordon(const Change& change) {
  if (change.actor != testing::Actor::kClient || change.node.before == nullptr || change.node.after == nullptr) return;
  const Node& after = *change.node.after;
  const std::set<std::string> names = ::driverupgrade::internal::CordonNames(after);
  if (names.contains(identity_.Name()) && names.contains(world_.identity.Name())) world_.CameBy(Mode::kTwoDrivers);
  if (!change.node.before->unschedulable || after.unschedulable) return;
  for (const DriverIdentity* driver : {&identity_, &world_.identity}) {
    if (!names.contains(driver->Name()) || !IsUnderWay(after, *driver)) continue;
    world_.checker->Fail("I3", fmt::format("node {} was uncordoned under {}", after.name, driver->Name()));
  }
}

void Peer::SetTemplate(std::string hash) {
  hash_ = std::move(hash);
  world_.trace.Line("peer templates: {}", hash_);
  world_.cluster->SetTemplate(kPeerNs, kPeerDriver, hash_);
}

void Peer::SetPolicy(const UpgradePolicy& policy) {
  policy_ = policy;
  checker_->SetPolicy(policy_);
}

std::unique_ptr<Actor> MakePeerTemplates(World& world) { return std::make_unique<PeerTemplates>(world); }

}  // namespace driverupgrade::testing::internal
