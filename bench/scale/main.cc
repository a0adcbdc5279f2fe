#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "scale/scale.h"

namespace driverupgrade::bench {
namespace {

double Megabytes(std::size_t bytes) { return static_cast<double>(bytes) / (1024 * 1024); }

void Rollout(int nodes, int parallel, int groups) {
  const RolloutFigures figures = MeasureRollout(nodes, parallel, groups);
  const double count = nodes;
  const std::string unit = groups > 0 ? fmt::format(" of {} groups in three stages", groups) : "";
  fmt::print("rollout of {} nodes, {}{} at a time: {} done\n", nodes, parallel, unit, figures.done);
  fmt::print("  judgements per node  {:.2f}\n", static_cast<double>(figures.judgements) / count);
  fmt::print("  API calls per node   {:.2f}\n", static_cast<double>(figures.api_calls) / count);
  if (groups > 0) fmt::print("  calls of the ledger  {}\n", figures.ledger_calls);
  fmt::print("  passes               {}, slowest {}, most CPU time in one pass {}\n", figures.passes,
             absl::FormatDuration(figures.slowest_pass), absl::FormatDuration(figures.most_work));
  fmt::print("  engine               {:.1f} s of CPU time, {:.0f} us per node; {:.0f} us more in the fake cluster\n",
             absl::ToDoubleSeconds(figures.engine_work), absl::ToDoubleMicroseconds(figures.engine_work) / count,
             absl::ToDoubleMicroseconds(figures.cluster_work) / count);
  fmt::print("  wall clock           {:.1f} s, for {} of virtual time\n", absl::ToDoubleSeconds(figures.wall_time),
             absl::FormatDuration(figures.virtual_time));
  fmt::print("  peak memory          {:.0f} MiB, including the fake cluster\n", Megabytes(figures.peak_bytes));
}

void Memory(int nodes, int pods_per_node) {
  const MemoryFigures figures = MeasureMemory(nodes, pods_per_node);
  fmt::print("cache of {} nodes and {} pods, all of interest\n", figures.nodes, figures.pods);
  fmt::print("  resident             {:.1f} MiB beyond {:.1f} MiB\n",
             Megabytes(figures.full_bytes - figures.empty_bytes), Megabytes(figures.empty_bytes));
  fmt::print("  allocated            {:.1f} MiB\n", Megabytes(figures.allocated_bytes));
}

void Latency(int nodes, int samples) {
  const LatencyFigures figures = MeasureLatency(nodes, samples);
  const auto at = [&](double share) {
    return absl::ToDoubleMicroseconds(figures.samples[static_cast<std::size_t>(share * (samples - 1))]) / 1000;
  };
  fmt::print("time from a change to the first write, {} nodes, {} samples\n", figures.nodes, samples);
  fmt::print("  median {:.2f} ms, p99 {:.2f} ms, longest {:.2f} ms\n", at(0.5), at(0.99), at(1));
}

void PrintCost(std::string_view what, const WireCost& cost) {
  fmt::print("  {:<44} {:7} objects, {:6.2f} s, {:6.2f} s of CPU time, peak {:6.1f} MiB beyond {:.1f} MiB\n", what,
             cost.objects, absl::ToDoubleSeconds(cost.wall_time), absl::ToDoubleSeconds(cost.processor_time),
             Megabytes(cost.peak_bytes - std::min(cost.peak_bytes, cost.before_bytes)), Megabytes(cost.before_bytes));
}

void Page(int nodes, int parallel, int readers) {
  for (const int count : {0, readers}) {
    const PageFigures figures = MeasurePage(nodes, parallel, count);
    if (count == 0) {
      fmt::print("document of {} nodes: {:.1f} ms of CPU time, {} bytes\n", nodes,
                 absl::ToDoubleMilliseconds(figures.document_work), figures.document_bytes);
    }
    fmt::print("rollout of {} nodes, {} at a time, with {} readers: {} documents read", nodes, parallel, count,
               figures.answers);
    if (count > 0) fmt::print(", {} bytes each", figures.compressed_bytes);
    fmt::print("\n  {} rounds: {:.2f} s of CPU time, {:.2f} s of wall time, slowest {}\n", figures.rounds,
               absl::ToDoubleSeconds(figures.round_work), absl::ToDoubleSeconds(figures.rounds_time),
               absl::FormatDuration(figures.slowest_round));
  }
}

int Wire(int nodes, int pods_per_node, int readers) {
  const absl::StatusOr<WireFigures> figures = MeasureWire(nodes, pods_per_node, readers);
  if (!figures.ok()) {
    fmt::print(stderr, "{}\n", figures.status().ToString());
    return 1;
  }
  fmt::print("a node is {} bytes of JSON, a pod {}\n", figures->node_bytes, figures->pod_bytes);
  PrintCost("list nodes, 500 a page", figures->list);
  PrintCost("start of a cache: nodes and driver pods", figures->sync);
  PrintCost(fmt::format("the pods of each node, {} lists at a time", readers), figures->read);
  PrintCost("one watch event for each pod", figures->follow);
  fmt::print("  resident memory at the end {:.1f} MiB\n", Megabytes(figures->resident_bytes));
  return figures->follow.objects == 0 ? 1 : 0;
}

}  // namespace
}  // namespace driverupgrade::bench

int main(int argc, char** argv) {
  CLI::App app("Measures the cost of a large cluster without a control plane.");
  app.require_subcommand(1);
  int nodes = 5000;
  int parallel = 100;
  int pods = 30;
  int groups = 0;
  int samples = 1000;
  int readers = 8;
  CLI::App* rollout = app.add_subcommand("rollout", "a rollout in virtual time");
  CLI::App* memory = app.add_subcommand("memory", "memory of a cache");
  CLI::App* latency = app.add_subcommand("latency", "time from a change to the first write");
  CLI::App* wire = app.add_subcommand("wire", "objects of realistic size, from a server on the loopback interface");
  int page_readers = 50;
  CLI::App* page = app.add_subcommand("page", "a rollout while clients read its page");
  page->add_option("--readers", page_readers, "number of simultaneous readers")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  page->add_option("--parallel", parallel, "number of nodes upgraded at the same time")->capture_default_str();
  for (CLI::App* command : {rollout, memory, latency, wire, page}) {
    command->add_option("--nodes", nodes)->check(CLI::PositiveNumber)->capture_default_str();
  }
  rollout->add_option("--parallel", parallel, "number of nodes upgraded at the same time; 0: all")
      ->capture_default_str();
  rollout->add_option("--groups", groups,
                      "number of groups whose nodes start together, in three stages; 0: no groups and no stages");
  for (CLI::App* command : {memory, wire}) {
    command->add_option("--pods", pods, "number of pods on each node")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
  }
  wire->add_option("--readers", readers, "number of simultaneous lists of pods")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  latency->add_option("--samples", samples)->check(CLI::PositiveNumber)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (*rollout) driverupgrade::bench::Rollout(nodes, parallel, groups);
  if (*memory) driverupgrade::bench::Memory(nodes, pods);
  if (*latency) driverupgrade::bench::Latency(nodes, samples);
  if (*page) driverupgrade::bench::Page(nodes, parallel, page_readers);
  return *wire ? driverupgrade::bench::Wire(nodes, pods, readers) : 0;
}
