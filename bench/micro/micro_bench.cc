// Measures decisions, JSON and the cache for clusters of different sizes. Each benchmark prints the time and the number
// of allocations of an operation. Only the time depends on the machine.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decide/incremental_planner.h"
#include "driverupgrade/snapshot_builder.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/watch_cache.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "micro/fleet.h"

namespace driverupgrade::bench {
namespace {

using internal::IncrementalPlanner;

// Counts allocations from its construction until Report.
class AllocationCounter {
 public:
  void Report(benchmark::State& state) const {
    state.counters["allocations"] =
        benchmark::Counter(static_cast<double>(Allocations() - before_), benchmark::Counter::kAvgIterations);
  }

 private:
  const std::uint64_t before_ = Allocations();
};

// Returns a policy with three stages. The fleet is in the first stage.
RolloutPolicy InStages() {
  return {.stages = {{.name = "canary", .nodes = Percent{1}, .soak = absl::Hours(1)},
                     {.name = "early", .nodes = Percent{10}, .soak = absl::Hours(1)}},
          .order = {{.by = OrderBy::kLabel, .label = "example.com/priority"}},
          .health = RolloutHealth{.node_conditions = {{.type = "GpuHealthy", .status = "False"}}}};
}

void RunStep(benchmark::State& state, const std::optional<RolloutPolicy>& by) {
  MidRollout rollout(static_cast<int>(state.range(0)));
  rollout.policy.rollout = by;
  const AllocationCounter counter;
  for (auto _ : state) {
    const Plan plan = rollout.machine.Step(rollout.snapshot, rollout.policy, rollout.now);
    benchmark::DoNotOptimize(plan.totals.total);
    if (plan.gates.size() < rollout.snapshot.nodes.size() / 2) state.SkipWithError("too few nodes wait");
  }
  counter.Report(state);
}

void Step(benchmark::State& state) { RunStep(state, std::nullopt); }
void StepInStages(benchmark::State& state) { RunStep(state, InStages()); }

// A planner that has evaluated the whole fleet.
struct Judged {
  explicit Judged(int nodes, const std::optional<RolloutPolicy>& by = std::nullopt)
      : rollout(nodes), planner(rollout.machine) {
    rollout.policy.rollout = by;
    planner.SetPolicy(rollout.policy);
    planner.SetDriver(rollout.snapshot.driver, {});
    planner.SetActiveSince(rollout.snapshot.active_since);
    for (const auto& view : rollout.snapshot.nodes) planner.Update(view);
    benchmark::DoNotOptimize(planner.Advance(rollout.now).plan.totals.total);
  }
  MidRollout rollout;
  IncrementalPlanner planner;
};

// Alternates between two policies.
void ChangePolicy(benchmark::State& state, Judged& judged, const UpgradePolicy& other) {
  const std::uint64_t judgements = judged.planner.judgements();
  const AllocationCounter counter;
  bool is_other = false;
  for (auto _ : state) {
    is_other = !is_other;
    judged.planner.SetPolicy(is_other ? other : judged.rollout.policy);
    benchmark::DoNotOptimize(judged.planner.Advance(judged.rollout.now).plan.totals.total);
  }
  counter.Report(state);
  state.counters["judgements"] = benchmark::Counter(static_cast<double>(judged.planner.judgements() - judgements),
                                                    benchmark::Counter::kAvgIterations);
}

// Pauses and resumes the rollout. Each time, half of the nodes get another reason to wait.
void ChangePaused(benchmark::State& state) {
  Judged judged(static_cast<int>(state.range(0)));
  UpgradePolicy other = judged.rollout.policy;
  other.paused = true;
  ChangePolicy(state, judged, other);
}

// Alternates between two values of a limit, neither of which allows a node to start.
void ChangeMaxParallel(benchmark::State& state) {
  Judged judged(static_cast<int>(state.range(0)));
  UpgradePolicy other = judged.rollout.policy;
  other.max_parallel = *other.max_parallel / 2;
  ChangePolicy(state, judged, other);
}

// Measures the evaluation of a fleet in which one node has changed.
void RunJudgeOneOf(benchmark::State& state, const std::optional<RolloutPolicy>& by) {
  Judged judged_all(static_cast<int>(state.range(0)), by);
  MidRollout& rollout = judged_all.rollout;
  IncrementalPlanner& planner = judged_all.planner;
  // A node that is done, in two versions.
  const std::shared_ptr<const NodeView> before = rollout.snapshot.nodes[9];
  NodeView changed = *before;
  changed.node.resource_version += "1";
  const auto after = ShareView(std::move(changed), rollout.identity);
  const std::uint64_t judged = planner.judgements();
  const AllocationCounter counter;
  bool is_after = false;
  for (auto _ : state) {
    is_after = !is_after;
    planner.Update(is_after ? after : before);
    benchmark::DoNotOptimize(planner.Advance(rollout.now).plan.totals.total);
  }
  counter.Report(state);
  state.counters["judgements"] =
      benchmark::Counter(static_cast<double>(planner.judgements() - judged), benchmark::Counter::kAvgIterations);
}

void JudgeOneOf(benchmark::State& state) { RunJudgeOneOf(state, std::nullopt); }
void JudgeOneOfInStages(benchmark::State& state) { RunJudgeOneOf(state, InStages()); }

// Measures the list calls of a pass that uses no cache, against an in-memory cluster.
void Snapshot(benchmark::State& state) {
  const auto clock = std::make_shared<testing::FakeClock>();
  const auto cluster = std::make_shared<testing::FakeCluster>(clock);
  const testing::Fleet fleet =
      testing::AddFleet(*cluster, {.node_count = static_cast<int>(state.range(0)), .workload = ""});
  cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  const MidRollout rollout(1);
  SnapshotBuilder builder(
      rollout.identity, cluster,
      {.ns = fleet.ns, .driver_labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}})});
  const AllocationCounter counter;
  for (auto _ : state) {
    const auto snapshot = builder.Build({});
    if (!snapshot.ok() || snapshot->nodes.size() != fleet.node_names.size()) state.SkipWithError("no snapshot");
  }
  counter.Report(state);
}

void ParseNodes(benchmark::State& state) {
  ListPage<Node> page{.resource_version = "1"};
  for (int i = 0; i < state.range(0); ++i) page.items.push_back(FleetNode(i, "upgrade-done"));
  const std::string json = FormatList(page);
  const AllocationCounter counter;
  for (auto _ : state) {
    const auto parsed = ParseList<Node>(json);
    if (!parsed.ok() || parsed->items.size() != page.items.size()) state.SkipWithError("not parsed");
  }
  counter.Report(state);
  state.SetBytesProcessed(static_cast<std::int64_t>(json.size()) * static_cast<std::int64_t>(state.iterations()));
}

void ParsePods(benchmark::State& state) {
  ListPage<Pod> page{.resource_version = "1"};
  for (int i = 0; i < state.range(0); ++i) page.items.push_back(FleetPod(i, i % 8));
  const std::string json = FormatList(page);
  const AllocationCounter counter;
  for (auto _ : state) {
    const auto parsed = ParseList<Pod>(json);
    if (!parsed.ok() || parsed->items.size() != page.items.size()) state.SkipWithError("not parsed");
  }
  counter.Report(state);
  state.SetBytesProcessed(static_cast<std::int64_t>(json.size()) * static_cast<std::int64_t>(state.iterations()));
}

// Returns a pod as a server sends it: about 8 kB, most of which the library does not use.
std::string PodOfAServer() {
  std::string env, mounts, volumes, fields;
  for (int i = 0; i < 24; ++i) {
    env += fmt::format(R"({}{{"name":"SETTING_{}","value":"the value of setting number {}"}})", i ? "," : "", i, i);
    fields +=
        fmt::format(R"({}"k:{{\"name\":\"SETTING_{}\"}}":{{".":{{}},"f:name":{{}},"f:value":{{}}}})", i ? "," : "", i);
  }
  for (int i = 0; i < 12; ++i) {
    mounts +=
        fmt::format(R"({}{{"mountPath":"/var/run/volume-{}","name":"volume-{}","readOnly":true}})", i ? "," : "", i, i);
    volumes += fmt::format(R"({}{{"name":"volume-{}","hostPath":{{"path":"/opt/{}","type":"Directory"}}}})",
                           i ? "," : "", i, i);
  }
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"trainer-7","namespace":"team-a","uid":"u-7",)"
      R"("resourceVersion":"4711","creationTimestamp":"2026-01-02T03:04:05Z","labels":{{"app":"trainer","team":"a",)"
      R"("pod-template-hash":"7c5f"}},"annotations":{{"example.com/a":"b"}},"ownerReferences":[{{"apiVersion":"apps/v1",)"
      R"("kind":"ReplicaSet","name":"trainer","uid":"o-1","controller":true,"blockOwnerDeletion":true}}],)"
      R"("managedFields":[{{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1",)"
      R"("fieldsType":"FieldsV1","fieldsV1":{{"f:spec":{{"f:containers":{{"k:{{\"name\":\"main\"}}":{{"f:env":{{{}}}}}}}}}}}}}]}},)"
      R"("spec":{{"nodeName":"gpu-7","volumes":[{}],"containers":[{{"name":"main","image":"registry.example/trainer:1",)"
      R"("env":[{}],"volumeMounts":[{}],"resources":{{"limits":{{"nvidia.com/gpu":"1","memory":"8Gi"}},"requests":)"
      R"({{"cpu":"4","memory":"8Gi"}}}},"terminationMessagePath":"/dev/termination-log"}}],"tolerations":[{{"key":)"
      R"("node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}],)"
      R"("priority":0,"preemptionPolicy":"PreemptLowerPriority"}},"status":{{"phase":"Running","conditions":[{{"type":)"
      R"("Ready","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-02T03:05:05Z"}}],"hostIP":)"
      R"("10.0.0.1","podIP":"10.1.2.3","startTime":"2026-01-02T03:04:05Z","containerStatuses":[{{"name":"main","state":)"
      R"({{"running":{{"startedAt":"2026-01-02T03:04:35Z"}}}},"lastState":{{}},"ready":true,"restartCount":0,"image":)"
      R"("registry.example/trainer:1","imageID":"sha256:0123","started":true}}],"qosClass":"Burstable"}}}})",
      fields, volumes, env, mounts);
}

void ParsePodOfAServer(benchmark::State& state) {
  const std::string json = PodOfAServer();
  const AllocationCounter counter;
  for (auto _ : state) {
    const auto parsed = ParseObject<Pod>(json);
    if (!parsed.ok() || parsed->resource_names.size() != 3) state.SkipWithError("not parsed");
  }
  counter.Report(state);
  state.SetBytesProcessed(static_cast<std::int64_t>(json.size()) * static_cast<std::int64_t>(state.iterations()));
}

void FormatPatch(benchmark::State& state) {
  const PatchNodeParams patch{.name = "gpu-7",
                              .uid = "u-7",
                              .resource_version = "42",
                              .labels = {{"nvidia.com/gpu-driver-upgrade-state", "drain-required"}},
                              .annotations = {{"driverupgrade/cordoned-by", "nvidia.com/gpu"}},
                              .unschedulable = true};
  const AllocationCounter counter;
  for (auto _ : state) benchmark::DoNotOptimize(FormatNodePatch(patch).size());
  counter.Report(state);
}

// Measures how long the cache takes to apply one change to a node and to return the change to one engine.
void CacheApply(benchmark::State& state) {
  const auto clock = std::make_shared<testing::FakeClock>();
  const auto cluster =
      std::make_shared<testing::FakeCluster>(clock, testing::FakeClusterOptions{.watches_follow = false});
  const testing::Fleet fleet =
      testing::AddFleet(*cluster, {.node_count = static_cast<int>(state.range(0)), .workload = ""});
  const auto cache = *WatchCache::Create(
      cluster,
      {.drivers = {{.ns = fleet.ns, .driver_labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}})}},
       .clock = clock});
  cache->Turn({});
  cache->Take(0);
  Node node = *cluster->node(fleet.node_names.front());
  std::int64_t version = 1'000'000'000;
  const AllocationCounter counter;
  for (auto _ : state) {
    node.resource_version = std::to_string(++version);
    cache->NodeWritten(node);
    benchmark::DoNotOptimize(cache->Take(0).nodes.size());
  }
  counter.Report(state);
}

struct Operation {
  const char* name;
  void (*run)(benchmark::State&);
  benchmark::TimeUnit unit;
  std::vector<std::int64_t> sizes;
};

const std::vector<Operation>& Operations() {
  static const std::vector<Operation> operations = {
      {"Step", Step, benchmark::kMicrosecond, {100, 1'000, 5'000, 100'000}},
      {"StepInStages", StepInStages, benchmark::kMicrosecond, {100, 1'000, 5'000, 100'000}},
      {"ChangePaused", ChangePaused, benchmark::kMicrosecond, {5'000, 100'000}},
      {"ChangeMaxParallel", ChangeMaxParallel, benchmark::kMicrosecond, {5'000, 100'000}},
      {"JudgeOneOf", JudgeOneOf, benchmark::kMicrosecond, {100, 1'000, 5'000, 100'000}},
      {"JudgeOneOfInStages", JudgeOneOfInStages, benchmark::kMicrosecond, {100, 1'000, 5'000, 100'000}},
      {"Snapshot", Snapshot, benchmark::kMillisecond, {100, 1'000, 5'000}},
      {"ParseNodes", ParseNodes, benchmark::kMicrosecond, {500}},
      {"ParsePods", ParsePods, benchmark::kMicrosecond, {500}},
      {"ParsePodOfAServer", ParsePodOfAServer, benchmark::kMicrosecond, {}},
      {"FormatPatch", FormatPatch, benchmark::kNanosecond, {}},
      {"CacheApply", CacheApply, benchmark::kNanosecond, {100, 5'000}},
  };
  return operations;
}

// Registers the operation as a benchmark that runs `times` times, or as often as a stable result requires if `times` is
// 0.
void Register(const Operation& operation, int times) {
  auto* const registered = benchmark::RegisterBenchmark(operation.name, operation.run)->Unit(operation.unit);
  for (const std::int64_t size : operation.sizes) registered->Arg(size);
  if (times > 0) registered->Iterations(times);
}

// Removes `--times N` from the arguments and returns N, for the counts of bench/history. Returns 0 if the option is
// missing.
int TakeTimes(int& argc, char** argv) {
  if (argc < 3 || std::string_view(argv[1]) != "--times") return 0;
  const int times = std::atoi(argv[2]);
  for (int i = 3; i < argc; ++i) argv[i - 2] = argv[i];
  argc -= 2;
  return times;
}

}  // namespace
}  // namespace driverupgrade::bench

int main(int argc, char** argv) {
  const int times = driverupgrade::bench::TakeTimes(argc, argv);
  for (const auto& operation : driverupgrade::bench::Operations()) driverupgrade::bench::Register(operation, times);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
