// Tests the questions that an engine asks its host through the C interface: whether a restart of the driver is
// sufficient.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "c/engine_host.h"
#include "c/engine_world.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

TEST_CASE("The engine asks the host whether a restart is enough, and the node waits until the host answers") {
  World world(1);
  EngineHost host({.options = std::string(kOptions) + R"(,"restartOnly":true})",
                   .ns = "driver-system",
                   .driver_labels = "app=driver"},
                  world.Server());
  for (int pass = 0; pass < 5; ++pass) {
    host.Pass(std::nullopt, kPolicy, world.clock->Now());
    world.cluster->Advance(absl::Seconds(2));
  }
  const std::string why = Call(du_engine_explain, host.engine(), Str(world.fleet.node_names[0])).text;
  CHECK(why.find("\"reason\":\"Hook\"") != std::string::npos);
  CHECK(world.cluster->pod("team-b", "training").has_value());
  for (int pass = 0; pass < 60; ++pass) {
    host.AnswerQuestions(world.clock->Now(), true);
    host.Pass(std::nullopt, kPolicy, world.clock->Now());
    world.cluster->Advance(absl::Seconds(2));
  }
  // The pod was not evicted.
  CHECK(world.cluster->pod("team-b", "training").has_value());
  for (const Pod& pod : world.cluster->daemon_set_pods("driver-system", "driver")) CHECK(RevisionHash(pod) == "rev-2");
}

TEST_CASE("A question that was answered with an error is repeated at the wakeAt of the pass") {
  World world(1);
  EngineHost host({.options = std::string(kOptions) + R"(,"restartOnly":true})",
                   .ns = "driver-system",
                   .driver_labels = "app=driver"},
                  world.Server());
  int asked = 0;
  bool fails = true;
  const auto ask = [&] {
    host.AnswerQuestions(world.clock->Now(), [&](const auto&...) -> absl::StatusOr<bool> {
      ++asked;
      if (fails) return absl::UnavailableError("no opinion");
      return true;
    });
  };
  const auto pass_five_times = [&] {
    for (int pass = 0; pass < 5; ++pass) {
      ask();
      host.Pass(std::nullopt, kPolicy, world.clock->Now());
    }
  };
  pass_five_times();  // the node changes at first, and after each change, the engine asks again
  REQUIRE(asked > 0);
  const int before = asked;
  pass_five_times();
  CHECK(asked == before);
  const std::string why = Call(du_engine_explain, host.engine(), Str(world.fleet.node_names[0])).text;
  CHECK(why.find("no opinion") != std::string::npos);
  REQUIRE(host.wake_at().has_value());
  CHECK(*host.wake_at() <= world.clock->Now() + absl::Seconds(11));

  world.cluster->Advance(absl::Seconds(11));
  pass_five_times();
  CHECK(asked == before + 1);

  fails = false;
  for (int pass = 0; pass < 60; ++pass) {
    world.cluster->Advance(absl::Seconds(2));
    ask();
    host.Pass(std::nullopt, kPolicy, world.clock->Now());
  }
  CHECK(asked == before + 2);
  for (const Pod& pod : world.cluster->daemon_set_pods("driver-system", "driver")) CHECK(RevisionHash(pod) == "rev-2");
}

// A host with a restart-only callback, and a node that has been upgraded to rev-2.
struct Asking {
  Asking() {
    for (int pass = 0; pass < 60; ++pass) {
      host.AnswerQuestions(world.clock->Now(), false);
      host.Pass(std::nullopt, kPolicy, world.clock->Now());
      world.cluster->Advance(absl::Seconds(2));
    }
    REQUIRE(RunsEverywhere("rev-2"));
    REQUIRE(Questions() == "[]");
    world.cluster->AddPod(testing::PodBuilder("team-b", "more-training")
                              .OnNode(world.fleet.node_names[0])
                              .OwnedByReplicaSet("training")
                              .WithResource("nvidia.com/gpu")
                              .Build());
  }
  bool RunsEverywhere(std::string_view revision) const {
    const std::vector<Pod> pods = world.cluster->daemon_set_pods("driver-system", "driver");
    return std::all_of(pods.begin(), pods.end(), [&](const Pod& pod) { return RevisionHash(pod) == revision; });
  }
  JsonDocument Read() {
    const std::string text = Call(du_engine_read, host.engine(), absl::ToUnixMillis(world.clock->Now())).text;
    JsonDocument document;
    document.Parse(text.data(), text.size());
    return document;
  }
  // Returns the running and the target revision of each question.
  std::string Questions() {
    std::vector<std::string> texts;
    const JsonDocument read = Read();
    for (const auto& question : read["questions"].GetArray()) {
      texts.push_back(fmt::format("{}->{}", question["running"].GetString(), question["wanted"].GetString()));
    }
    return fmt::format("[{}]", fmt::join(texts, ","));
  }
  std::string OnlyId() {
    const JsonDocument read = Read();
    REQUIRE(read["questions"].Size() == 1);
    return read["questions"][0]["id"].GetString();
  }
  void Want(const std::string& revision) { world.cluster->SetTemplate("driver-system", "driver", revision); }
  void Tell(const std::string& id, std::string_view answer) {
    const std::string answers = fmt::format(R"({{"answers":[{{"id":"{}",{}}}]}})", id, answer);
    REQUIRE(Call(du_engine_tell, host.engine(), Str(answers)).code == 0);
  }
  void Pass(int passes) {
    for (int pass = 0; pass < passes; ++pass) {
      host.Pass(std::nullopt, kPolicy, world.clock->Now());
      world.cluster->Advance(absl::Seconds(2));
    }
  }

  World world{1};
  EngineHost host{{.options = std::string(kOptions) + R"(,"restartOnly":true})",
                   .ns = "driver-system",
                   .driver_labels = "app=driver"},
                  world.Server()};
};

TEST_CASE("W40: a question names the two revisions to compare, no matter which watch lags") {
  SECTION("the revision comes first") {
    Asking asking;
    asking.Want("rev-3");
    asking.host.Put(DU_CONTROLLER_REVISIONS);
    CHECK(asking.Questions() == "[driver-rev-2->driver-rev-3]");
    asking.host.Put(DU_DAEMON_SETS);
    CHECK(asking.Questions() == "[driver-rev-2->driver-rev-3]");
  }
  SECTION("the DaemonSet comes first") {
    Asking asking;
    asking.Want("rev-3");
    asking.host.Put(DU_DAEMON_SETS);
    CHECK(asking.Questions() == "[]");
    asking.host.Put(DU_CONTROLLER_REVISIONS);
    CHECK(asking.Questions() == "[driver-rev-2->driver-rev-3]");
  }
}

TEST_CASE("W40: an answer is not used after its question has changed") {
  Asking asking;
  asking.Want("rev-3");
  asking.host.Read();
  const std::string question = asking.OnlyId();
  SECTION("another revision becomes the target") {
    asking.Want("rev-4");
    asking.host.Read();
    CHECK(asking.Questions() == "[driver-rev-2->driver-rev-4]");
  }
  SECTION("the pod has changed") {
    const Pod pod = asking.world.cluster->daemon_set_pods("driver-system", "driver").front();
    asking.world.cluster->EditPod(pod.ref.ns, pod.ref.name, [](Pod& edited) { edited.labels["a"] = "b"; });
    asking.host.Read();
    CHECK(asking.OnlyId() != question);
  }
  asking.Tell(question, R"("answer":true)");
  CHECK(asking.Questions() != "[]");
  asking.Pass(10);
  CHECK(asking.RunsEverywhere("rev-2"));
  CHECK(Call(du_engine_explain, asking.host.engine(), Str(asking.world.fleet.node_names[0]))
            .text.find("has not answered") != std::string::npos);
}

TEST_CASE("W40: a late answer is not used when the same revision becomes the target again") {
  Asking asking;
  asking.Want("rev-3");
  asking.host.Read();
  asking.Tell(asking.OnlyId(), R"("answer":true)");
  asking.Want("rev-4");
  asking.host.Read();
  REQUIRE(asking.Questions() == "[driver-rev-2->driver-rev-4]");
  asking.Want("rev-3");
  asking.host.Read();
  CHECK(asking.Questions() == "[driver-rev-2->driver-rev-3]");
}

TEST_CASE("W40: a question about a pod that was deleted is no longer listed") {
  Asking asking;
  asking.Want("rev-3");
  asking.host.Read();
  REQUIRE(asking.Questions() == "[driver-rev-2->driver-rev-3]");
  const Pod pod = asking.world.cluster->daemon_set_pods("driver-system", "driver").front();
  asking.world.cluster->RemovePod(pod.ref.ns, pod.ref.name);
  asking.host.Read();
  CHECK(asking.Questions() == "[]");
}

TEST_CASE("W40: a node is evacuated if the host does not know one of the revisions in the question") {
  Asking asking;
  asking.Want("rev-3");
  asking.host.Read();
  asking.Tell(asking.OnlyId(), R"("error":"driver-rev-3 is not known","revisionUnknown":true)");
  asking.host.Read();
  CHECK(asking.Questions() == "[]");
  for (int pass = 0; pass < 60 && !asking.RunsEverywhere("rev-3"); ++pass) {
    const JsonDocument read = asking.Read();
    for (const auto& question : read["questions"].GetArray()) {
      asking.Tell(question["id"].GetString(), R"("error":"driver-rev-3 is not known","revisionUnknown":true)");
    }
    asking.Pass(1);
  }
  CHECK(asking.RunsEverywhere("rev-3"));
  CHECK_FALSE(asking.world.cluster->pod("team-b", "more-training").has_value());
  const std::vector<std::string>& events = asking.host.events();
  CHECK(std::any_of(events.begin(), events.end(), [](const std::string& event) {
    return event.find("driver-rev-3 is not known; the node is upgraded in full") != std::string::npos;
  }));
}

}  // namespace
}  // namespace driverupgrade::tests
