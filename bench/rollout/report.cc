#include "rollout/report.h"

#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>
#include <set>

#include "fmt/format.h"

namespace driverupgrade::bench {
namespace {

using JsonWriter = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

// Targets for an operator, relative to the limit.
constexpr double kRatioMax = 1.3;
constexpr double kRequestsMoreMax = 2.0;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// Excludes requests for watches, Leases and Events: their number does not depend on the number of nodes, and
// rollout_limit starts only a single watch.
bool Counts(const std::string& kind) {
  return !kind.starts_with("watch ") && kind.find(" leases") == std::string::npos &&
         kind.find(" events") == std::string::npos;
}

struct Summary {
  double seconds = 0;
  double first_patch_seconds = 0;
  double fastest = 0;
  double slowest = 0;
  double requests = 0;     // per node, excluding kinds that do not count
  double cpu_seconds = 0;  // used by the program
  double peak_mib = 0;
  std::map<std::string, double> kinds;  // per node, with all kinds
};

// `series` has at least one run.
Summary Summarize(const Series& series, int nodes) {
  std::vector<double> seconds;
  std::vector<double> first_patches;
  std::vector<double> requests;
  std::vector<double> cpu_seconds;
  std::vector<double> peaks;
  std::set<std::string> kinds;
  for (const Run& run : series.runs) {
    seconds.push_back(run.seconds);
    first_patches.push_back(run.first_patch_seconds);
    cpu_seconds.push_back(run.usage.cpu_seconds);
    peaks.push_back(run.usage.peak_mib);
    double counted = 0;
    for (const auto& [kind, count] : run.requests) {
      kinds.insert(kind);
      if (Counts(kind)) counted += count;
    }
    requests.push_back(counted / nodes);
  }
  Summary summary;
  summary.seconds = Median(seconds);
  summary.first_patch_seconds = Median(first_patches);
  summary.requests = Median(requests);
  summary.cpu_seconds = Median(cpu_seconds);
  summary.peak_mib = Median(peaks);
  summary.fastest = *std::min_element(seconds.begin(), seconds.end());
  summary.slowest = *std::max_element(seconds.begin(), seconds.end());
  for (const std::string& kind : kinds) {
    std::vector<double> counts;
    for (const Run& run : series.runs) {
      const auto found = run.requests.find(kind);
      counts.push_back(found == run.requests.end() ? 0 : static_cast<double>(found->second) / nodes);
    }
    summary.kinds[kind] = Median(counts);
  }
  return summary;
}

std::vector<Summary> SummarizeAll(const Rollout& rollout) {
  std::vector<Summary> summaries;
  for (const Series& series : rollout.series) {
    if (!series.runs.empty()) summaries.push_back(Summarize(series, rollout.nodes));
  }
  return summaries;
}

std::string FormatTimes(const Rollout& rollout, const std::vector<Summary>& summaries) {
  const Summary& limit = summaries.front();
  std::string text = fmt::format("  {:<22}{:>9}{:>17}{:>9}{:>11}{:>15}{:>8}{:>9}{:>7}\n", "", "seconds", "from – to",
                                 "x limit", "1st PATCH", "requests/node", "more", "CPU s", "MiB");
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    const Summary& summary = summaries[i];
    const double ratio = summary.seconds / limit.seconds;
    const double more = summary.requests - limit.requests;
    const bool is_missed = ratio > kRatioMax || more > kRequestsMoreMax;
    text += fmt::format("  {:<22}{:>9.2f}{:>17}{:>9.2f}{:>11.2f}{:>15.2f}{:>+8.2f}{:>9.2f}{:>7.0f}{}\n",
                        rollout.series[i].program, summary.seconds,
                        fmt::format("{:.2f} – {:.2f}", summary.fastest, summary.slowest), ratio,
                        summary.first_patch_seconds, summary.requests, more, summary.cpu_seconds, summary.peak_mib,
                        is_missed ? "  over the target" : "");
  }
  return text;
}

std::string FormatKinds(const Rollout& rollout, const std::vector<Summary>& summaries) {
  std::set<std::string> kinds;
  for (const Summary& summary : summaries) {
    for (const auto& [kind, _] : summary.kinds) kinds.insert(kind);
  }
  std::string text = fmt::format("  {:<40}", "per node");
  for (std::size_t i = 0; i < summaries.size(); ++i) text += fmt::format("{:>22}", rollout.series[i].program);
  text += "\n";
  for (const std::string& kind : kinds) {
    text += fmt::format("  {:<40}", Counts(kind) ? kind : kind + " (not counted)");
    for (const Summary& summary : summaries) {
      const auto found = summary.kinds.find(kind);
      text += found == summary.kinds.end() ? fmt::format("{:>22}", "–") : fmt::format("{:>22.2f}", found->second);
    }
    text += "\n";
  }
  return text;
}

void WriteSeries(JsonWriter& json, const Series& series, const Summary& summary, const Summary& limit) {
  json.StartObject();
  json.Key("program");
  json.String(series.program.c_str());
  json.Key("seconds");
  json.Double(summary.seconds);
  json.Key("secondsOfRuns");
  json.StartArray();
  for (const Run& run : series.runs) json.Double(run.seconds);
  json.EndArray();
  json.Key("firstPatchSeconds");
  json.Double(summary.first_patch_seconds);
  json.Key("ratioToLimit");
  json.Double(summary.seconds / limit.seconds);
  json.Key("requestsPerNode");
  json.Double(summary.requests);
  json.Key("requestsPerNodeAboveLimit");
  json.Double(summary.requests - limit.requests);
  json.Key("cpuSeconds");
  json.Double(summary.cpu_seconds);
  json.Key("peakMib");
  json.Double(summary.peak_mib);
  json.Key("requestsPerNodeByKind");
  json.StartObject();
  for (const auto& [kind, count] : summary.kinds) {
    json.Key(kind.c_str());
    json.Double(count);
  }
  json.EndObject();
  json.EndObject();
}

}  // namespace

std::string FormatTargets() {
  return fmt::format("Targets: at most {} x the time of the limit, and at most {} more requests per node.\n", kRatioMax,
                     kRequestsMoreMax);
}

std::string FormatText(const Rollout& rollout) {
  const std::vector<Summary> summaries = SummarizeAll(rollout);
  const std::string not_done = rollout.not_done.empty() ? "" : "  " + rollout.not_done + "\n";
  if (summaries.empty()) return not_done;
  const std::string at_a_time = rollout.parallel == 0 ? "all at once" : fmt::format("{} at a time", rollout.parallel);
  const std::size_t runs = rollout.series.front().runs.size();
  return fmt::format("\n{} nodes, {}, {}\n{}\n{}{}", rollout.nodes, at_a_time,
                     runs == 1 ? "one run" : fmt::format("medians of {} runs", runs), FormatTimes(rollout, summaries),
                     FormatKinds(rollout, summaries), not_done);
}

std::string FormatJson(const std::vector<Rollout>& rollouts) {
  rapidjson::StringBuffer buffer;
  JsonWriter json(buffer);
  json.SetMaxDecimalPlaces(3);
  json.StartArray();
  for (const Rollout& rollout : rollouts) {
    const std::vector<Summary> summaries = SummarizeAll(rollout);
    json.StartObject();
    json.Key("nodes");
    json.Int(rollout.nodes);
    json.Key("parallel");
    json.Int(rollout.parallel);
    json.Key("series");
    json.StartArray();
    for (std::size_t i = 0; i < summaries.size(); ++i) {
      WriteSeries(json, rollout.series[i], summaries[i], summaries.front());
    }
    json.EndArray();
    if (!rollout.not_done.empty()) {
      json.Key("notDone");
      json.String(rollout.not_done.c_str());
    }
    json.EndObject();
  }
  json.EndArray();
  return std::string(buffer.GetString()) + "\n";
}

}  // namespace driverupgrade::bench
