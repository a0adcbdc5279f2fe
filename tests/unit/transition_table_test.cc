// Tests the transition table and the pages that are generated from it. `DRIVERUPGRADE_REWRITE=1` rewrites the pages.
#include "testing/transition_table.h"

#include <filesystem>
#include <set>
#include <string>

#include "scenarios/golden_file.h"
#include "scenarios/state_machine_page.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

const std::filesystem::path kDocs = std::filesystem::path(DRIVERUPGRADE_SOURCE_DIR) / "docs";

void CheckOrRewrite(const std::filesystem::path& path, const std::string& is, const std::string& wanted) {
  CAPTURE(path.string());
  const Rewriting rewriting = RewritingWanted();
  if (rewriting == Rewriting::kRefused) FAIL("DRIVERUPGRADE_REWRITE is not for CI");
  if (rewriting == Rewriting::kOn && is != wanted) return WriteFile(path, wanted);
  if (is != wanted) FAIL_CHECK("not what the transition table says; DRIVERUPGRADE_REWRITE=1 rewrites it");
}

TEST_CASE("docs/state-machine.md shows the transition table") {
  const std::filesystem::path path = kDocs / "state-machine.md";
  const std::string page = ReadFile(path);
  std::string wanted = WithGenerated(page, "diagram", MermaidDiagram());
  wanted = WithGenerated(wanted, "transitions", TransitionTableMarkdown());
  CheckOrRewrite(path, page, wanted);
}

TEST_CASE("docs/state-machine.svg shows every edge of the transition table") {
  const std::filesystem::path path = kDocs / "state-machine.svg";
  CheckOrRewrite(path, std::filesystem::exists(path) ? ReadFile(path) : "", SvgDiagram());
}

TEST_CASE("The transition table has a transition into and out of every state except the reserved state") {
  std::set<UpgradeState> entered = {UpgradeState::kUnknown};
  std::set<UpgradeState> left;
  for (const Transition& transition : kTransitions) {
    CHECK(transition.from != transition.to);
    CHECK_FALSE(transition.rules.empty());
    CHECK_FALSE(transition.condition.empty());
    CHECK_FALSE(transition.effect.empty());
    CHECK_FALSE(transition.condition.ends_with("."));
    entered.insert(transition.to);
    left.insert(transition.from);
  }
  std::set<UpgradeState> all(kAllUpgradeStates.begin(), kAllUpgradeStates.end());
  all.erase(UpgradeState::kPostMaintenanceRequired);
  CHECK(entered == all);
  CHECK(left == all);
}

TEST_CASE("IsLegalEdge accepts only the edges in the table") {
  CHECK(IsLegalEdge(UpgradeState::kUnknown, UpgradeState::kUpgradeRequired));
  CHECK(IsLegalEdge(UpgradeState::kFailed, UpgradeState::kUpgradeRequired));
  CHECK_FALSE(IsLegalEdge(UpgradeState::kCordonRequired, UpgradeState::kDone));
  CHECK_FALSE(IsLegalEdge(UpgradeState::kFailed, UpgradeState::kPodRestartRequired));
  CHECK_FALSE(IsLegalEdge(UpgradeState::kDone, UpgradeState::kDone));
}

// With EveryState pacing, one evaluation makes at most one transition, and the table must contain it.
TEST_CASE("T1-T49: the table contains every transition, whatever the condition of the node") {
  std::set<std::pair<UpgradeState, UpgradeState>> seen;
  for (const UpgradeState from : kAllUpgradeStates) {
    for (int variant = 0; variant < 1 << 13; ++variant) {
      const auto flag = [variant](int bit) { return (variant >> bit & 1) != 0; };
      NodeUnderTest node(ToLabelValue(from), flag(0) ? "new" : "old");
      node.policy.pacing = Pacing::kEveryState;
      if (flag(1)) node.Draining();
      if (flag(2)) node.WithPods({});
      if (flag(2) && flag(3)) node.WithPods({WebPod().WithLabel("app", "validator").WithEmptyDir().Build()});
      if (flag(3)) node.view.pods_using_driver = {"web-uid"};
      if (flag(4)) node.options.validation_selector = Selector("app=validator");
      if (flag(5)) node.pod_deletion = true;
      if (flag(6)) node.Annotated(node.identity.InitiallyUnschedulableAnnotation(), "true");
      if (flag(9)) node.Annotated(node.identity.FailedRevisionAnnotation(), "older");
      if (flag(10)) node.StageBegan(ToLabelValue(from), absl::Seconds(700));
      if (flag(7)) node.CordonedByUs();
      if (flag(8)) node.WithDriverPods({DriverPod(flag(0) ? "new" : "old").Crashing(11).Build()});
      if (flag(11)) node.Requesting();
      if (flag(11) && flag(0)) node.WithMaintenance("Ready");
      if (flag(11) && flag(10)) node.options.requestor->enabled = false;
      if (flag(12)) node.view.restart_only = true;
      const Verdict verdict = node.Judge(/*admitted=*/true);
      // Without a state label, the other marks determine the node's state, and one evaluation can take the node through
      // several states.
      const bool has_label = from != UpgradeState::kUnknown;
      UpgradeState left = verdict.plan.from;
      CAPTURE(std::string(ToString(left)), std::string(ToString(verdict.plan.to())), variant);
      REQUIRE((verdict.plan.path.size() <= 1 || !has_label));
      CHECK((left == from || !has_label));
      for (const UpgradeState to : verdict.plan.path) {
        CHECK(IsLegalEdge(left, to));
        seen.insert({left, to});
        left = to;
      }
    }
  }
  // Every transition in the table can happen.
  for (const Transition& transition : kTransitions) {
    CAPTURE(std::string(ToString(transition.from)), std::string(ToString(transition.to)));
    CHECK(seen.contains({transition.from, transition.to}));
  }
}

}  // namespace
}  // namespace driverupgrade::tests
