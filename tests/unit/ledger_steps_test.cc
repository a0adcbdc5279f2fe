// Tests, without a cluster, which responses must arrive before a node starts.
#include "ledger/ledger_steps.h"

#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "support/catch.h"
#include "wire/uid_list.h"

namespace driverupgrade::internal {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);
const DriverIdentity kGpu = *DriverIdentity::Create("nvidia.com", "gpu");

LedgerSteps Made() { return LedgerSteps(*AdmissionLedger::Create(kGpu, {.ns = "ops", .name = "ledger"})); }

ConfigMap Stored(const std::string& version, const std::string& grants, const std::string& record) {
  ConfigMap map{.ns = "ops", .name = "ledger", .uid = "map", .resource_version = version};
  if (!grants.empty()) map.data["nvidia.com_gpu"] = grants;
  if (!record.empty()) map.data["_rollout_nvidia.com_gpu"] = record;
  return map;
}

// Returns a plan that starts one waiting node, which was read at the resource version `version`.
Plan PlanOf(const std::string& version, std::optional<std::string> record = std::nullopt) {
  NodePlan node{.node = "n", .uid = "u", .resource_version = version};
  node.from = UpgradeState::kUpgradeRequired;
  node.path = {UpgradeState::kCordonRequired};
  node.patch = PatchNodeParams{};
  node.needs_grant = true;
  Plan plan{.nodes = {node}, .readings = {{.uid = "u", .resource_version = version}}};
  plan.rollout = RolloutStatus{.revision = "r2", .record = std::move(record)};
  return plan;
}

bool Starts(LedgerSteps& steps, const Plan& plan, absl::Time now) { return steps.Settle(plan, now).empty(); }

TEST_CASE("A node starts only once its grant and the record are stored, and never while a response is outstanding") {
  LedgerSteps steps = Made();
  steps.Begin(kNow);
  REQUIRE(std::holds_alternative<GetConfigMapParams>(*steps.Next()));
  CHECK_FALSE(Starts(steps, PlanOf("5", "R"), kNow));
  steps.Take(absl::NotFoundError("none"), kNow);
  CHECK_FALSE(Starts(steps, PlanOf("5", "R"), kNow));
  REQUIRE(steps.Next() != nullptr);
  const auto* created = std::get_if<ConfigMap>(steps.Next());
  REQUIRE(created != nullptr);
  CHECK(created->data.at("nvidia.com_gpu") == "u 5\n");
  CHECK_FALSE(Starts(steps, PlanOf("5", "R"), kNow));
  steps.Take(Stored("1", "u 5\n", "R"), kNow);
  CHECK(Starts(steps, PlanOf("5"), kNow));
  CHECK(steps.Next() == nullptr);
  SECTION("a response is valid for only one plan") {
    CHECK_FALSE(Starts(steps, PlanOf("5"), kNow));
    CHECK(std::holds_alternative<GetConfigMapParams>(*steps.Next()));
  }
}

// Returns steps for which a response has confirmed at kNow that their record is current.
LedgerSteps Confirmed() {
  LedgerSteps steps = Made();
  steps.Begin(kNow);
  steps.Take(Stored("1", "u 5\n", "R"), kNow);
  CHECK_FALSE(Starts(steps, PlanOf("5"), kNow));
  steps.Take(Stored("1", "u 5\n", "R"), kNow);
  return steps;
}

TEST_CASE("A response that confirms the record as current is valid for half a minute") {
  LedgerSteps soon = Confirmed();
  CHECK(Starts(soon, PlanOf("5"), kNow + absl::Seconds(29)));
  LedgerSteps late = Confirmed();
  CHECK_FALSE(Starts(late, PlanOf("5"), kNow + absl::Seconds(30)));
  LedgerSteps set_back = Confirmed();
  CHECK_FALSE(Starts(set_back, PlanOf("5"), kNow - absl::Seconds(1)));
}

TEST_CASE("After a conflict, an earlier response does not confirm the record that is read next") {
  LedgerSteps steps = Confirmed();
  CHECK_FALSE(Starts(steps, PlanOf("6"), kNow));  // the grant is renewed for the newer version
  REQUIRE(std::holds_alternative<PatchConfigMapParams>(*steps.Next()));
  steps.Take(absl::AbortedError("somebody else has changed it"), kNow);
  const absl::Time retry = kNow + absl::Seconds(5);
  steps.Begin(retry);
  steps.Take(Stored("2", "u 6\n", "R"), retry);
  CHECK_FALSE(Starts(steps, PlanOf("6"), retry));
  REQUIRE(steps.Next() != nullptr);
  CHECK(std::holds_alternative<GetConfigMapParams>(*steps.Next()));
  steps.Take(Stored("2", "u 6\n", "R"), retry);
  CHECK(Starts(steps, PlanOf("6"), retry));
}

TEST_CASE("The response to a request that was sent before the cluster was restored is ignored") {
  LedgerSteps steps = Made();
  steps.Begin(kNow);
  steps.Forget(kNow);
  steps.Take(Stored("9", "u 5\n", "R"), kNow);
  CHECK_FALSE(steps.record());
  CHECK(steps.grants().empty());
  steps.Begin(kNow + absl::Minutes(1));
  REQUIRE(steps.Next() != nullptr);
  steps.Take(Stored("1", "", "Q"), kNow + absl::Minutes(1));
  CHECK(steps.record() == "Q");
}

TEST_CASE("A list of nodes that was requested before the cluster was restored removes no grant") {
  LedgerSteps steps = Confirmed();
  const auto is_managed = [](const std::string&) { return true; };
  steps.Standing(is_managed, kNow);
  REQUIRE(std::holds_alternative<ListNodesParams>(*steps.Next()));
  steps.Forget(kNow);
  steps.Take(Stored("1", "u 5\n", "R"), kNow);
  steps.Standing(is_managed, kNow);
  steps.TakeUids(std::vector<std::string>{"other"});
  CHECK(steps.Standing(is_managed, kNow).contains("u"));
  steps.TakeUids(std::vector<std::string>{"other"});
  CHECK_FALSE(steps.Standing(is_managed, kNow).contains("u"));
}

TEST_CASE("A node that is missing from a list loses its grant, and regains it when a later list contains the node") {
  LedgerSteps steps = Made();
  steps.Begin(kNow);
  steps.Take(Stored("1", "u 5\n", ""), kNow);
  const auto standing = [&](const std::vector<std::string>& listed) {
    steps.NodesListed(listed);
    return steps.Standing([](const std::string&) { return true; }, kNow);
  };
  CHECK(standing({"u"}).contains("u"));
  CHECK(standing({"other"}).empty());
  CHECK(standing({""}).empty());  // a list that contains an unreadable UID changes nothing
  CHECK(standing({"u"}).contains("u"));
}

TEST_CASE("UIDs of nodes are read from whole objects or metadata alone, and a list with a missing UID is refused") {
  const std::string items =
      R"("metadata":{"continue":""},"items":[{"metadata":{"uid":"a"}},{"metadata":{"uid":"b"}}]})";
  const std::vector<std::string> both = {"a", "b"};
  CHECK(ParseNodeUids(R"({"kind":"NodeList",)" + items).value().uids == both);
  CHECK(ParseNodeUids(R"({"kind":"PartialObjectMetadataList",)" + items).value().uids == both);
  for (const char* wrong :
       {R"({"kind":"PodList","items":[]})", R"({"kind":"NodeList","items":[{"metadata":{}}]})", "[]", "{"}) {
    CHECK(ParseNodeUids(wrong).status().code() == absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace driverupgrade::internal
