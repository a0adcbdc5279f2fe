#include "observe/gang_interruptions.h"

#include <string>
#include <vector>

#include "driverupgrade/testing/builders.h"
#include "fmt/format.h"
#include "support/catch.h"

namespace driverupgrade::internal {
namespace {

Pod PodOf(const std::string& job, const std::string& node) {
  Pod pod = testing::PodBuilder("team", fmt::format("{}-{}", job, node))
                .OnNode(node)
                .WithLabel("jobset.sigs.k8s.io/jobset-name", job)
                .Build();
  pod.ref.uid = fmt::format("uid-{}", pod.ref.name);
  return pod;
}

// Evicts the pods from the node, with all evictions accepted, and returns the result of GangInterruptions::End.
int Evict(GangInterruptions& interruptions, const std::string& cause, const std::string& node,
          const std::vector<Pod>& pods) {
  NodeView view{.node = {.name = node}, .pods = pods};
  NodePlan plan{.node = node};
  std::vector<std::string> stopped;
  for (const Pod& pod : pods) {
    plan.evict.push_back(pod.ref);
    stopped.push_back(pod.ref.uid);
  }
  interruptions.Begin(plan, view, cause);
  return interruptions.End(node, stopped);
}

TEST_CASE("B-20: a unit counts as one interruption of a gang, no matter how many pods of the gang it stops") {
  GangInterruptions interruptions;
  interruptions.SetRevision("rev-2");
  CHECK(Evict(interruptions, "JobSet/team/a", "n1", {PodOf("a", "n1"), PodOf("b", "n1")}) == 2);
  CHECK(Evict(interruptions, "JobSet/team/a", "n2", {PodOf("a", "n2")}) == 0);
  CHECK(interruptions.counts() == GangsInterrupted{.revision = "rev-2", .by_interruptions = {{1, 2}}});
  // A second unit interrupts gang b again.
  CHECK(Evict(interruptions, "JobSet/team/b", "n3", {PodOf("b", "n3")}) == 1);
  CHECK(interruptions.counts() == GangsInterrupted{.revision = "rev-2", .by_interruptions = {{1, 1}, {2, 1}}});
}

TEST_CASE("A later unit with the same name counts as a new interruption of the gang") {
  GangInterruptions interruptions;
  CHECK(Evict(interruptions, "JobSet/team/a", "n1", {PodOf("a", "n1")}) == 1);
  interruptions.KeepCauses({"JobSet/team/a"});
  CHECK(Evict(interruptions, "JobSet/team/a", "n2", {PodOf("a", "n2")}) == 0);
  interruptions.KeepCauses({});
  CHECK_FALSE(interruptions.has_causes());
  CHECK(Evict(interruptions, "JobSet/team/a", "n3", {PodOf("a", "n3")}) == 1);
}

TEST_CASE("A new revision resets the counts, but an unknown revision does not") {
  GangInterruptions interruptions;
  interruptions.SetRevision("rev-2");
  CHECK(Evict(interruptions, "Node/n1", "n1", {PodOf("a", "n1")}) == 1);
  interruptions.SetRevision("");
  CHECK(interruptions.counts() == GangsInterrupted{.revision = "rev-2", .by_interruptions = {{1, 1}}});
  interruptions.SetRevision("rev-3");
  CHECK(interruptions.counts() == GangsInterrupted{.revision = "rev-3"});
}

TEST_CASE("Refused evictions, ended pods and independent pods do not interrupt a gang") {
  GangInterruptions interruptions;
  Pod ended = PodOf("b", "n1");
  ended.phase = PodPhase::kSucceeded;
  Pod alone = testing::PodBuilder("team", "web").OnNode("n1").Build();
  alone.ref.uid = "uid-web";
  CHECK(Evict(interruptions, "Node/n1", "n1", {ended, alone}) == 0);

  const Pod refused = PodOf("a", "n1");
  interruptions.Begin({.node = "n1", .evict = {refused.ref}}, {.node = {.name = "n1"}, .pods = {{refused}}}, "Node/n1");
  CHECK(interruptions.End("n1", {}) == 0);
  // Begin was not called for these requests.
  CHECK(interruptions.End("n1", {refused.ref.uid}) == 0);
}

}  // namespace
}  // namespace driverupgrade::internal
