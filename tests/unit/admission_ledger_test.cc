#include "ledger/admission_ledger.h"

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "decide/admission/upgrade_budget.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/upgrade_state.h"
#include "support/admission.h"
#include "support/catch.h"
#include "support/ledger_calls.h"
#include "support/object_server.h"

namespace driverupgrade::tests {
namespace {

const DriverIdentity kGpu = *DriverIdentity::Create("nvidia.com", "gpu");
constexpr const char* kKey = "nvidia.com_gpu";

using Uids = std::vector<std::string>;

enum class Fault { kNone, kRefused, kLostBefore, kLostAfter };

class ConfigMapFacade final : public ClusterFacade {
 public:
  explicit ConfigMapFacade(ObjectServer<ConfigMap>& server) : server_(server) {}
  bool Supports(Operation operation) const override { return operation != lacks; }
  absl::StatusOr<ConfigMap> GetConfigMap(const CallContext&, const GetConfigMapParams& params) override {
    ++reads;
    CHECK(params.ns == "ops");
    CHECK(params.name == "ledger");
    if (down) return absl::UnavailableError("down");
    return server_.Get();
  }
  absl::StatusOr<ConfigMap> CreateConfigMap(const CallContext&, const ConfigMap& object) override {
    return Write([&] { return server_.Create(object); });
  }
  absl::StatusOr<ConfigMap> PatchConfigMap(const CallContext&, const PatchConfigMapParams& params) override {
    return Write([&] { return server_.Update(Patched(server_, params)); });
  }

  std::optional<Operation> lacks;
  bool down = false;
  std::deque<Fault> faults;
  int reads = 0;
  int writes = 0;

 private:
  template <typename Apply>
  absl::StatusOr<ConfigMap> Write(Apply&& apply) {
    ++writes;
    Fault fault = Fault::kNone;
    if (!faults.empty()) {
      fault = faults.front();
      faults.pop_front();
    }
    if (fault == Fault::kRefused) return absl::ResourceExhaustedError("slow down");
    if (fault == Fault::kLostBefore) return absl::UnavailableError("down");
    absl::StatusOr<ConfigMap> answer = apply();
    if (fault == Fault::kLostAfter) return absl::DeadlineExceededError("no answer");
    return answer;
  }

  ObjectServer<ConfigMap>& server_;
};

struct Replica {
  explicit Replica(ObjectServer<ConfigMap>& server, AdmissionLedgerOptions options = {.ns = "ops", .name = "ledger"})
      : facade(std::make_shared<ConfigMapFacade>(server)), ledger(facade, *AdmissionLedger::Create(kGpu, options)) {}
  absl::StatusOr<GrantDecision> Pass(const std::vector<NodeReading>& nodes, const Uids& wanted) {
    const absl::Status read = ledger.Read();
    if (!read.ok()) return read;
    return ledger.Settle(nodes, wanted);
  }

  std::shared_ptr<ConfigMapFacade> facade;
  LedgerCalls ledger;
};

NodeReading Waiting(std::string uid, std::string version) { return {std::move(uid), std::move(version), false}; }
NodeReading Busy(std::string uid, std::string version) { return {std::move(uid), std::move(version), true}; }

TEST_CASE("arch 7: grants are kept, dropped, renewed and added") {
  struct Row {
    const char* name;
    Grants before;
    std::vector<NodeReading> nodes;
    Uids wanted;
    Grants after;
    Uids admitted;
    Uids held_back;
  };
  const Row row = GENERATE(values<Row>({
      {"nothing", {}, {Waiting("a", "1")}, {}, {}, {}, {}},
      {"added", {}, {Waiting("a", "1"), Waiting("b", "2")}, {"b"}, {{"b", "2"}}, {"b"}, {}},
      {"kept while its patch may be under way", {{"a", "1"}}, {Waiting("a", "1")}, {}, {{"a", "1"}}, {}, {}},
      {"used without a change", {{"a", "1"}}, {Waiting("a", "1")}, {"a"}, {{"a", "1"}}, {"a"}, {}},
      {"kept while the node is in progress", {{"a", "1"}}, {Busy("a", "7")}, {}, {{"a", "1"}}, {}, {}},
      {"kept while a patch of that version may have started it",
       {{"a", "1"}},
       {Busy("a", "1")},
       {},
       {{"a", "1"}},
       {},
       {}},
      {"released when the node has ended, or was never started", {{"a", "1"}}, {Waiting("a", "10")}, {}, {}, {}, {}},
      {"renewed after a conflict", {{"a", "9"}}, {Waiting("a", "10")}, {"a"}, {{"a", "10"}}, {"a"}, {}},
      {"released when the node is gone", {{"a", "1"}, {"b", "1"}}, {Busy("b", "2")}, {}, {{"b", "1"}}, {}, {}},
      {"not renewed to an older version", {{"a", "10"}}, {Waiting("a", "9")}, {"a"}, {{"a", "10"}}, {}, {"a"}},
      {"no grant for a node that is not there", {}, {Waiting("a", "1")}, {"x"}, {}, {}, {"x"}},
      // A failed node holds its slot. If an administrator has uncordoned the failed node, a second attempt also needs
      // headroom.
      {"a node in progress that starts again", {}, {Busy("a", "1")}, {"a"}, {{"a", "1"}}, {"a"}, {}},
      {"renewed for a node in progress that starts again",
       {{"a", "1"}},
       {Busy("a", "7")},
       {"a"},
       {{"a", "7"}},
       {"a"},
       {}},
      {"not renewed for it to an older version", {{"a", "10"}}, {Busy("a", "9")}, {"a"}, {{"a", "10"}}, {}, {"a"}},
      {"used again while a patch of that version may have started it",
       {{"a", "1"}},
       {Busy("a", "1")},
       {"a"},
       {{"a", "1"}},
       {"a"},
       {}},
      {"no more grants than the bound; one that ends makes room",
       {{"a", "1"}, {"b", "1"}},
       {Waiting("a", "2"), Busy("b", "2"), Waiting("c", "1"), Waiting("d", "1")},
       {"d", "c"},
       {{"b", "1"}, {"d", "1"}},
       {"d"},
       {"c"}},
      {"a lost version is that of the next reading", {{"a", ""}}, {Waiting("a", "5")}, {}, {{"a", "5"}}, {}, {}},
      {"versions that are no numbers are newer when they differ", {{"a", "x"}}, {Waiting("a", "y")}, {}, {}, {}, {}},
  }));
  CAPTURE(row.name);
  const GrantDecision decision = DecideGrants(row.before, row.nodes, row.wanted, 2);
  CHECK(decision.grants == row.after);
  CHECK(decision.admitted == row.admitted);
  CHECK(decision.held_back == row.held_back);
  // Counts must return true exactly for the nodes whose grants a pass without requests would keep.
  const Grants unasked = DecideGrants(row.before, row.nodes, {}, 2).grants;
  for (const NodeReading& node : row.nodes) CHECK(Counts(row.before, node) == unasked.contains(node.uid));
}

TEST_CASE("Grants are written one per line, and read back") {
  const Grants grants = {{"0a-1", "42"}, {"0b-2", "7"}};
  CHECK(FormatGrants(grants) == "0a-1 42\n0b-2 7\n");
  CHECK(ParseGrants(FormatGrants(grants)).grants == grants);
  CHECK(ParseGrants(FormatGrants(grants)).error.empty());
  CHECK(FormatGrants({}).empty());
  CHECK(ParseGrants("").grants.empty());
}

TEST_CASE("Garbage in the ledger is reported, frees no slot in use, and blocks no slot permanently") {
  const ParsedGrants parsed =
      ParseGrants("a 1\n\n  b\t2 \r\nnonsense\nc 3 4\n{\"json\": true}\nd 5\nd 4\ne 5\ne 6\nf 1\nf\n\xff\x01 1");
  CHECK(parsed.grants == Grants{{"a", "1"},
                                {"b", "2"},
                                {"nonsense", ""},
                                {"c", ""},
                                {"{\"json\":", "true}"},
                                {"d", "5"},
                                {"e", "6"},
                                {"f", ""},
                                {"\xff\x01", "1"}});
  CHECK(parsed.error == "5 invalid lines, first: line 4");

  ObjectServer<ConfigMap> server;
  (void)server.Create({.ns = "ops", .name = "ledger", .data = {{kKey, "what is this\na"}, {"other", "kept"}}});
  Replica replica(server);
  CHECK(replica.ledger.Read().ok());
  CHECK(replica.ledger->error() == "config map ops/ledger, nvidia.com_gpu: 2 invalid lines, first: line 1");
  CHECK(Counts(replica.ledger->grants(), Waiting("a", "5")));
  CHECK(replica.Pass({Waiting("a", "5")}, {}).ok());
  CHECK(server.object()->data == std::map<std::string, std::string>{{kKey, "a 5\n"}, {"other", "kept"}});
  CHECK(replica.ledger->error().empty());
}

TEST_CASE("A pass writes the ledger only if grants change, and then with a single compare-and-set") {
  ObjectServer<ConfigMap> server;
  Replica replica(server);
  CHECK(replica.Pass({Waiting("a", "1")}, {}).ok());
  CHECK(replica.facade->reads == 1);
  CHECK(replica.facade->writes == 0);
  CHECK_FALSE(server.object());

  CHECK(replica.Pass({Waiting("a", "1"), Waiting("b", "1")}, {"a", "b"})->admitted == Uids{"a", "b"});
  CHECK(server.object()->data.at(kKey) == "a 1\nb 1\n");
  CHECK(replica.ledger->Granted("a") == "1");
  CHECK_FALSE(replica.ledger->Granted("c"));
  // Node a has finished, the patch for node b had a conflict, and node c is new.
  CHECK(replica.Pass({Waiting("a", "5"), Waiting("b", "3"), Waiting("c", "1")}, {"b", "c"})->admitted ==
        Uids{"b", "c"});
  CHECK(server.object()->data.at(kKey) == "b 3\nc 1\n");
  CHECK(replica.Pass({Busy("b", "4"), Waiting("c", "1")}, {"c"})->admitted == Uids{"c"});
  CHECK(replica.facade->reads == 1);
  CHECK(replica.facade->writes == 2);
}

TEST_CASE("After a failed compare-and-set, no node is admitted until the ledger is read again") {
  ObjectServer<ConfigMap> server;
  Replica one(server);
  Replica two(server);
  const std::vector<NodeReading> nodes = {Waiting("a", "1"), Waiting("b", "1")};
  REQUIRE(one.ledger.Read().ok());
  REQUIRE(two.ledger.Read().ok());
  SECTION("both replicas create the ConfigMap") {
    CHECK(one.ledger.Settle(nodes, {"a"}).ok());
    CHECK(absl::IsAlreadyExists(two.ledger.Settle(nodes, {"b"}).status()));
  }
  SECTION("both replicas update the ConfigMap") {
    REQUIRE(one.ledger.Settle(nodes, {"a"}).ok());
    Replica late(server);
    REQUIRE(late.ledger.Read().ok());
    REQUIRE(one.ledger.Settle({Waiting("a", "2"), Waiting("b", "1")}, {"a"}).ok());
    CHECK(absl::IsAborted(late.ledger.Settle(nodes, {"b"}).status()));
    two = std::move(late);
  }
  CHECK_FALSE(two.ledger->Granted("b"));
  CHECK(absl::IsFailedPrecondition(two.ledger.Settle(nodes, {"b"}).status()));
  REQUIRE(two.ledger.Read().ok());
  CHECK(two.ledger->grants() == one.ledger->grants());
}

TEST_CASE(
    "If the response to a write is lost, no node is admitted, but the next pass uses a grant that was stored anyway") {
  ObjectServer<ConfigMap> server;
  Replica replica(server);
  const Fault fault = GENERATE(Fault::kLostBefore, Fault::kLostAfter);
  replica.facade->faults = {fault};
  CHECK_FALSE(replica.Pass({Waiting("a", "1")}, {"a"}).ok());
  CHECK_FALSE(replica.ledger->Granted("a"));
  REQUIRE(replica.ledger.Read().ok());
  CHECK(IsCurrent(replica.ledger->grants(), Waiting("a", "1")) == (fault == Fault::kLostAfter));
  CHECK(replica.Pass({Waiting("a", "1")}, {"a"})->admitted == Uids{"a"});
  CHECK(replica.facade->writes == (fault == Fault::kLostAfter ? 1 : 2));
}

TEST_CASE("A refused write is retried without reading the ledger again, and an unreadable ledger admits no node") {
  ObjectServer<ConfigMap> server;
  Replica replica(server);
  replica.facade->down = true;
  CHECK(absl::IsUnavailable(replica.Pass({Waiting("a", "1")}, {"a"}).status()));
  replica.facade->down = false;
  replica.facade->faults = {Fault::kRefused};
  CHECK(absl::IsResourceExhausted(replica.Pass({Waiting("a", "1")}, {"a"}).status()));
  CHECK(replica.Pass({Waiting("a", "1")}, {"a"}).ok());
  CHECK(replica.facade->reads == 2);
}

TEST_CASE("A ConfigMap that was deleted is created again with the remembered grants") {
  ObjectServer<ConfigMap> server;
  Replica replica(server);
  REQUIRE(replica.Pass({Waiting("a", "1"), Waiting("b", "1")}, {"a"}).ok());
  server.Delete();
  CHECK(absl::IsNotFound(replica.Pass({Waiting("a", "1"), Waiting("b", "1")}, {"b"}).status()));
  CHECK(replica.Pass({Waiting("a", "1"), Waiting("b", "1")}, {"b"})->admitted == Uids{"b"});
  CHECK(server.object()->data.at(kKey) == "a 1\nb 1\n");
}

TEST_CASE("Two drivers share one ConfigMap") {
  ObjectServer<ConfigMap> server;
  Replica gpu(server);
  const auto facade = std::make_shared<ConfigMapFacade>(server);
  LedgerCalls ofed(
      facade, *AdmissionLedger::Create(*DriverIdentity::Create("nvidia.com", "ofed"), {.ns = "ops", .name = "ledger"}));
  REQUIRE(gpu.Pass({Waiting("a", "1")}, {"a"}).ok());
  REQUIRE(ofed.Read().ok());
  CHECK(ofed->grants().empty());
  REQUIRE(ofed.Settle({Waiting("a", "1")}, {"a"}).ok());
  CHECK(server.object()->data ==
        std::map<std::string, std::string>{{"nvidia.com_gpu", "a 1\n"}, {"nvidia.com_ofed", "a 1\n"}});
}

TEST_CASE("The owners of a driver's nodes share one ConfigMap, and their grants do not affect each other") {
  ObjectServer<ConfigMap> server;
  Replica whole(server);
  Replica a(server, {.ns = "ops", .name = "ledger", .owner = "a"});
  Replica b(server, {.ns = "ops", .name = "ledger", .owner = "b"});
  REQUIRE(whole.Pass({Waiting("x", "1")}, {"x"}).ok());
  REQUIRE(a.Pass({Waiting("y", "1")}, {"y"}).ok());
  REQUIRE(b.ledger.Read().ok());
  CHECK(b.ledger->grants().empty());
  REQUIRE(b.ledger.Settle({Waiting("z", "1")}, {"z"}).ok());
  CHECK(server.object()->data == std::map<std::string, std::string>{{"nvidia.com_gpu", "x 1\n"},
                                                                    {"nvidia.com_gpu_a", "y 1\n"},
                                                                    {"nvidia.com_gpu_b", "z 1\n"}});
}

TEST_CASE("Invalid options of the ledger are refused") {
  ObjectServer<ConfigMap> server;
  const auto facade = std::make_shared<ConfigMapFacade>(server);
  const auto code = [&](AdmissionLedgerOptions options) {
    EngineOptions engine{.snapshot = {.ns = "driver", .driver_labels = *LabelSelector::Parse("app=driver")}};
    engine.ledger = std::move(options);
    return UpgradeEngine::Create(kGpu, facade, std::move(engine)).status().code();
  };
  CHECK(code({.ns = "ops", .name = "ledger"}) == absl::StatusCode::kOk);
  CHECK(code({.ns = "", .name = "ledger"}) == absl::StatusCode::kInvalidArgument);
  CHECK(code({.ns = "ops", .name = ""}) == absl::StatusCode::kInvalidArgument);
  CHECK(code({.ns = "ops", .name = "ledger", .grants_max = 0}) == absl::StatusCode::kInvalidArgument);
  CHECK(code({.ns = "ops", .name = "ledger", .owner = "pool-a"}) == absl::StatusCode::kOk);
  CHECK(code({.ns = "ops", .name = "ledger", .owner = "pool a"}) == absl::StatusCode::kInvalidArgument);
  CHECK(code({.ns = "ops", .name = "ledger", .owner = std::string(250, 'a')}) == absl::StatusCode::kInvalidArgument);
  facade->lacks = Operation::kCreateConfigMap;
  CHECK(code({.ns = "ops", .name = "ledger"}) == absl::StatusCode::kUnimplemented);
}

TEST_CASE("A node with a grant takes one slot and counts as unavailable once") {
  UpgradePolicy policy;
  NodeView view{.node = {.name = "n", .uid = "a", .resource_version = "1", .ready = true}};
  view.node.labels[kGpu.StateLabel()] = std::string(ToLabelValue(UpgradeState::kUpgradeRequired));
  CHECK(ReadingOf(view, {.tally = internal::TallyOf(view, kGpu, policy)}) == Waiting("a", "1"));
  const Tally waiting = WithGrant(internal::TallyOf(view, kGpu, policy));
  Tally expected{.total = 1, .pending = 1, .slots = 1, .unavailable = 1};
  expected.by_state[static_cast<std::size_t>(UpgradeState::kUpgradeRequired)] = 1;
  CHECK(waiting == expected);
  view.node.labels[kGpu.StateLabel()] = std::string(ToLabelValue(UpgradeState::kDrainRequired));
  CHECK(ReadingOf(view, {.tally = internal::TallyOf(view, kGpu, policy)}) == Busy("a", "1"));
  CHECK(WithGrant(internal::TallyOf(view, kGpu, policy)) == internal::TallyOf(view, kGpu, policy));
}

TEST_CASE("Nodes with unused grants come first, take no second slot, and still count if they are not admitted") {
  const std::vector<WaitingNode> waiting = {{.node = "a"},
                                            {.node = "b"},
                                            {.node = "y", .candidate = {.has_grant = true}},
                                            {.node = "z", .candidate = {.has_grant = true}}};
  const auto admitted = [&](const UpgradeBudget& without, const UpgradeBudget& with) {
    std::string names;
    const Budgets budgets{.all = with, .granted = without};
    for (const AdmissionDecision& decision : Admit(Limits::Of(budgets, /*paused=*/false), waiting)) {
      if (!decision.gate) names += waiting[decision.index].node;
    }
    return names;
  };
  CHECK(admitted({.parallel_max = 3, .parallel_used = 0}, {.parallel_max = 3, .parallel_used = 2}) == "yza");
  CHECK(admitted({.parallel_max = 2, .parallel_used = 0}, {.parallel_max = 2, .parallel_used = 2}) == "yz");
  CHECK(admitted({.parallel_max = 1, .parallel_used = 0}, {.parallel_max = 1, .parallel_used = 2}) == "y");
  CHECK(admitted({.parallel_max = 1, .parallel_used = 1}, {.parallel_max = 1, .parallel_used = 3}).empty());
}

TEST_CASE("a plan uses the slots of nodes in progress and of the nodes that it starts") {
  Plan plan;
  plan.totals.slots = 2;
  plan.nodes.resize(3);
  plan.nodes[0] = {
      .from = UpgradeState::kUpgradeRequired, .path = {UpgradeState::kCordonRequired}, .needs_grant = true};
  plan.nodes[1] = {.from = UpgradeState::kDrainRequired, .path = {UpgradeState::kPodRestartRequired}};
  plan.nodes[2] = {.from = UpgradeState::kUnknown, .path = {UpgradeState::kUpgradeRequired}};
  CHECK(SlotsAfter(plan) == 3);
}

}  // namespace
}  // namespace driverupgrade::tests
