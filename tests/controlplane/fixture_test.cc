// Tests the fixture itself. If one of these tests fails, the results of the other tests cannot be trusted.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "audit_log.h"
#include "control_plane.h"
#include "process.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"
#include "watch_witness.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

using std::chrono::seconds;

// Returns whether the process has ended, even if its parent has not waited for it yet.
bool IsGone(pid_t pid) {
  const std::string status = ReadFile("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t after_name = status.rfind(") ");
  return after_name == std::string::npos || status[after_name + 2] == 'Z';
}

// Runs in a separate process: starts a child, reports its pid, and waits until the test kills this process.
[[noreturn]] void StartSleeperAndWait(const TemporaryFolder& folder) {
  ProcessOptions options;
  options.out = folder.path() / "sleeper.log";
  Process sleeper({"sleep", "600"}, options);
  WriteFile(folder.path() / "pid.new", std::to_string(sleeper.pid()));
  std::filesystem::rename(folder.path() / "pid.new", folder.path() / "pid");
  while (true) pause();
}

KubectlResult CanI(const ControlPlane& control_plane, std::vector<std::string> question) {
  question.insert(question.begin(), {"auth", "can-i", "--quiet"});
  return control_plane.as_operator().Run(question);
}

TEST_CASE("A process is killed when the test that started it exits or crashes", "[fixture]") {
  const TemporaryFolder folder;
  const pid_t test = fork();
  REQUIRE(test >= 0);
  if (test == 0) StartSleeperAndWait(folder);

  REQUIRE(Eventually(seconds(10), [&] { return std::filesystem::exists(folder.path() / "pid"); }));
  const pid_t sleeper = std::stoi(ReadFile(folder.path() / "pid"));
  CHECK_FALSE(IsGone(sleeper));
  REQUIRE(kill(test, SIGKILL) == 0);
  REQUIRE(waitpid(test, nullptr, 0) == test);
  CHECK(Eventually(seconds(10), [&] { return IsGone(sleeper); }));
}

TEST_CASE("A directory survives the start of other tests, and is deleted once the test that created it has ended",
          "[fixture]") {
  const TemporaryFolder reports;
  const std::filesystem::path report = reports.path() / "folder";
  const pid_t test = fork();
  REQUIRE(test >= 0);
  if (test == 0) {
    const TemporaryFolder folder;
    WriteFile(reports.path() / "folder.new", folder.path().string());
    std::filesystem::rename(reports.path() / "folder.new", report);
    while (true) pause();
  }

  REQUIRE(Eventually(seconds(10), [&] { return std::filesystem::exists(report); }));
  const std::filesystem::path folder = ReadFile(report);
  { const TemporaryFolder begins; }
  CHECK(std::filesystem::exists(folder));
  REQUIRE(kill(test, SIGKILL) == 0);
  REQUIRE(waitpid(test, nullptr, 0) == test);
  { const TemporaryFolder begins; }
  CHECK_FALSE(std::filesystem::exists(folder));
  CHECK(std::filesystem::exists(reports.path()));
}

TEST_CASE("A process reports its exit code", "[fixture]") {
  const TemporaryFolder folder;
  ProcessOptions options;
  options.out = folder.path() / "out";
  options.err = folder.path() / "err";
  options.environment = {{"GREETING", "hello"}};
  Process talker({"sh", "-c", "echo $GREETING; echo oops >&2; exit 3"}, options);
  CHECK(talker.Wait(seconds(10)) == 3);
  CHECK(ReadFile(options.out) == "hello\n");
  CHECK(ReadFile(options.err) == "oops\n");

  Process sleeper({"sleep", "600"}, options);
  CHECK_FALSE(sleeper.Wait(std::chrono::milliseconds(10)).has_value());
  sleeper.Kill();
  CHECK(sleeper.Wait(seconds(10)) == 128 + SIGKILL);

  Process nothing({folder.path() / "no-such-program"}, options);
  CHECK(nothing.Wait(seconds(10)) == 127);
}

TEST_CASE("The operator has the permissions of its role and no others", "[fixture][short]") {
  ControlPlane& control_plane = ControlPlane::Shared();
  std::cout << "control plane 1." << control_plane.MinorVersion() << " ready after " << control_plane.seconds_to_start()
            << " s\n";
  World world(control_plane, "rights", 1);
  const std::string driver_ns = "--namespace=" + world.driver_ns();
  const std::vector<std::vector<std::string>> allowed = {
      {"patch", "nodes"},
      {"watch", "pods", "--all-namespaces"},
      {"create", "pods", "--subresource=eviction", "--all-namespaces"},
      {"delete", "pods", driver_ns},
      {"list", "controllerrevisions.apps", driver_ns},
      {"update", "leases.coordination.k8s.io/nvidia-gpu-driver-upgrade", driver_ns},
      {"patch", "configmaps/nvidia-gpu-driver-upgrade", driver_ns},
      {"create", "events", "--namespace=default"},
  };
  const std::vector<std::vector<std::string>> forbidden = {
      {"update", "nodes"},
      {"delete", "nodes"},
      {"delete", "pods", "--namespace=" + world.workload_ns()},
      {"get", "secrets", "--all-namespaces"},
      {"patch", "daemonsets.apps", "--all-namespaces"},
      {"list", "daemonsets.apps", "--all-namespaces"},
      {"update", "leases.coordination.k8s.io/another", driver_ns},
      {"patch", "configmaps/another", driver_ns},
  };
  for (const auto& question : allowed) {
    INFO(question[0] << " " << question[1]);
    CHECK(CanI(control_plane, question).exit_code == 0);
  }
  for (const auto& question : forbidden) {
    INFO(question[0] << " " << question[1]);
    CHECK(CanI(control_plane, question).exit_code == 1);
  }
}

TEST_CASE("Both witnesses record the same history of a node", "[fixture]") {
  ControlPlane& control_plane = ControlPlane::Shared();
  World world(control_plane, "witness", 2);
  const auto before = world.Nodes();
  WatchWitness watch(control_plane, world.selector(), 2);
  AuditLog audit(control_plane.audit_log());
  const std::string& first = world.nodes()[0];
  const std::string& second = world.nodes()[1];

  LetKubectlWork(control_plane);
  const Kubectl& kubectl = control_plane.as_operator();
  const auto set_state = [&](const std::string& node, const std::string& state) {
    kubectl.Must({"label", "node", node, "--overwrite", kStateLabel + ("=" + state)});
  };
  set_state(first, "upgrade-required");
  set_state(first, "drain-required");
  kubectl.Must({"cordon", first});
  set_state(second, "drain-required");
  kubectl.Must({"cordon", second});
  kubectl.Must({"uncordon", first});
  set_state(first, "upgrade-done");

  const std::vector<std::string> expected = {"", "upgrade-required", "drain-required", "upgrade-done"};
  CHECK(Eventually(seconds(10), [&] { return watch.Read().StatesOf(first) == expected; }));
  CHECK(Eventually(seconds(10), [&] { return audit.Timeline(before).StatesOf(first) == expected; }));
  for (const NodeTimeline& timeline : {watch.Read(), audit.Timeline(before)}) {
    CHECK(timeline.StatesOf(second) == std::vector<std::string>{"", "drain-required"});
    CHECK(timeline.ComputePeaks({}).in_progress == 2);
    CHECK(timeline.ComputePeaks({second}).in_progress == 1);
    CHECK(timeline.ComputePeaks({}).unschedulable == 2);
    CHECK(timeline.Latest().at(second).unschedulable);
    CHECK_FALSE(timeline.Latest().at(first).unschedulable);
  }
  CHECK(audit.CountWrites() == 7);
}

TEST_CASE("A peak is counted when a node starts, except during another operator's turn", "[fixture]") {
  NodeTimeline timeline;
  const auto add = [&](std::uint64_t version, const std::string& name, const std::string& state) {
    NodeVersion node;
    node.name = name;
    node.version = version;
    node.state = state;
    timeline.Add(node);
  };
  add(10, "a", "pod-deletion-required");
  add(11, "b", "cordon-required");
  add(12, "c", "cordon-required");
  add(13, "a", "pod-restart-required");
  CHECK(timeline.ComputePeaks({}).in_progress == 3);

  const std::vector<Turn> of_b_and_c = {{.after = 10, .until = 12}};
  CHECK(timeline.ComputePeaks({}, IsInProgress, of_b_and_c).in_progress == 1);
  // Nodes that start after this turn are counted in addition to these nodes.
  add(14, "d", "cordon-required");
  CHECK(timeline.ComputePeaks({}, IsInProgress, of_b_and_c).in_progress == 4);
}

TEST_CASE("A world has a driver, and workloads whose disruption budget protects their pods", "[fixture]") {
  ControlPlane& control_plane = ControlPlane::Shared();
  World world(control_plane, "pods", 2);
  world.DeployDriver();
  Workload workload;
  workload.replicas = 2;
  workload.node = world.nodes()[1];
  workload.unavailable_max = 0;
  world.Deploy(workload);

  CHECK(world.DriverPods().size() == 2);
  CHECK(world.WorkloadPods().size() == 2);
  const std::string old_revision = world.NewestDriverRevision();
  world.ChangeDriver("driver:2");
  CHECK(Eventually(seconds(10), [&] { return world.NewestDriverRevision() != old_revision; }));
  for (const DriverPod& pod : world.DriverPods()) CHECK(pod.revision == old_revision);

  const KubectlResult drain = control_plane.admin().Run(
      {"drain", world.nodes()[1], "--ignore-daemonsets", "--disable-eviction=false", "--timeout=1s"});
  CHECK(drain.exit_code == 1);
  CHECK(drain.err.find("Cannot evict pod as it would violate the pod's disruption budget") != std::string::npos);
}

}  // namespace
}  // namespace driverupgrade::e2e
