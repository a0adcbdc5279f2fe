#include "upgradectl/timeline.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "decide/admission/upgrade_budget.h"
#include "driverupgrade/plan.h"
#include "fmt/format.h"
#include "upgradectl/json_view.h"
#include "upgradectl/status.h"
#include "upgradectl/text.h"

namespace upgradectl {
namespace {

using driverupgrade::UpgradeState;

// Colors by UpgradeState: waiting is gray, and failed is red. Even users who cannot distinguish red from green can tell
// the states apart.
constexpr std::array<std::string_view, driverupgrade::kAllUpgradeStates.size()> kColours = {
    "#8a8f98", "#b8bec8", "#7fb2e5", "#b58bd9", "#e8a33d", "#d9772b", "#8d6e63",
    "#a1887f", "#2f6fbd", "#17a2a2", "#8ecf9b", "#4caf6a", "#d62839"};

// Background colors of the stages, used in turn. The names of the stages are drawn on these colors.
constexpr std::array<std::string_view, 3> kStageColours = {"#f0d9a8", "#cfe3c4", "#d9cdea"};

std::string NameOf(UpgradeState state) {
  return state == UpgradeState::kUnknown ? "unknown" : std::string(driverupgrade::ToLabelValue(state));
}

Timeline Empty(const Request& request) {
  const driverupgrade::UpgradePolicy& policy = request.question.policy;
  return {.driver = request.question.identity.Name(), .failed_hold_slots = !policy.failure_policy};
}

// Adds the policy's bands and its limit on slots. A limit given as a percentage is relative to the
// number of nodes in the timeline. Adds nothing if the policy is unknown.
void AddPolicy(const Request& request, bool policy_known, absl::Time began, Timeline& timeline) {
  if (!policy_known) return;
  timeline.stages = StageBands(request, timeline.nodes);
  timeline.closed = ClosedBands(request, began, timeline.length);
  const driverupgrade::Tally tally{.total = static_cast<int>(timeline.nodes.size())};
  timeline.slots_max = driverupgrade::internal::ComputeBudget(tally, request.question.policy).parallel_max;
}

void SortByBeginning(Timeline& timeline) {
  const auto key = [](const NodeHistory& node) {
    const auto begun = std::find_if(node.spans.begin(), node.spans.end(),
                                    [](const Span& span) { return driverupgrade::IsInProgress(span.state); });
    const absl::Duration at = begun == node.spans.end() ? absl::InfiniteDuration() : begun->begin;
    return std::tuple(at, std::string_view(node.name));
  };
  std::sort(timeline.nodes.begin(), timeline.nodes.end(),
            [&](const NodeHistory& a, const NodeHistory& b) { return key(a) < key(b); });
}

json::Value SpansOf(const NodeHistory& node, json::Document::AllocatorType& allocator) {
  json::Value spans(json::kArrayType);
  for (const Span& span : node.spans) {
    json::Value row(json::kArrayType);
    row.PushBack(static_cast<int>(span.state), allocator);
    row.PushBack(absl::ToInt64Milliseconds(span.begin), allocator);
    row.PushBack(absl::ToInt64Milliseconds(span.end), allocator);
    spans.PushBack(row, allocator);
  }
  return spans;
}

json::Value BandsOf(const std::vector<Band>& bands, json::Document::AllocatorType& allocator) {
  json::Value rows(json::kArrayType);
  for (const Band& band : bands) {
    json::Value row(json::kArrayType);
    row.PushBack(json::Value(Printable(band.name), allocator), allocator);
    row.PushBack(absl::ToInt64Milliseconds(band.begin), allocator);
    row.PushBack(absl::ToInt64Milliseconds(band.end), allocator);
    rows.PushBack(row, allocator);
  }
  return rows;
}

json::Document ToJson(const Timeline& timeline) {
  json::Document document(json::kObjectType);
  auto& allocator = document.GetAllocator();
  const auto text = [&](std::string_view value) { return json::Value(std::string(value), allocator); };
  document.AddMember("driver", text(timeline.driver), allocator);
  document.AddMember("origin", text(timeline.origin), allocator);
  document.AddMember("began",
                     timeline.began ? text(absl::FormatTime(*timeline.began, absl::UTCTimeZone())) : json::Value(),
                     allocator);
  document.AddMember("length", absl::ToInt64Milliseconds(timeline.length), allocator);
  document.AddMember("slotsMax", timeline.slots_max ? json::Value(*timeline.slots_max) : json::Value(), allocator);
  json::Value states(json::kArrayType);
  for (const UpgradeState state : driverupgrade::kAllUpgradeStates) {
    json::Value row(json::kArrayType);
    row.PushBack(text(NameOf(state)), allocator);
    row.PushBack(text(kColours[static_cast<std::size_t>(state)]), allocator);
    states.PushBack(row, allocator);
  }
  document.AddMember("states", states, allocator);
  json::Value slots(json::kArrayType);
  for (const SlotsTaken& taken : SlotsOver(timeline)) {
    json::Value row(json::kArrayType);
    row.PushBack(absl::ToInt64Milliseconds(taken.at), allocator);
    row.PushBack(taken.slots, allocator);
    slots.PushBack(row, allocator);
  }
  document.AddMember("slots", slots, allocator);
  document.AddMember("stages", BandsOf(timeline.stages, allocator), allocator);
  document.AddMember("closed", BandsOf(timeline.closed, allocator), allocator);
  json::Value nodes(json::kArrayType);
  for (const NodeHistory& node : timeline.nodes) {
    json::Value notes(json::kArrayType);
    for (const Note& note : node.notes) {
      json::Value row(json::kArrayType);
      row.PushBack(absl::ToInt64Milliseconds(note.at), allocator);
      row.PushBack(text(Printable(note.text)), allocator);
      notes.PushBack(row, allocator);
    }
    json::Value row(json::kObjectType);
    row.AddMember("name", text(Printable(node.name)), allocator);
    row.AddMember("spans", SpansOf(node, allocator), allocator);
    row.AddMember("notes", notes, allocator);
    nodes.PushBack(row, allocator);
  }
  document.AddMember("nodes", nodes, allocator);
  return document;
}

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::string Escaped(std::string text) {
  ReplaceAll(text, "&", "&amp;");
  ReplaceAll(text, "<", "&lt;");
  ReplaceAll(text, ">", "&gt;");
  ReplaceAll(text, "\"", "&quot;");
  return text;
}

// Coordinates in the picture.
struct Canvas {
  static constexpr double kLeft = 160;
  static constexpr double kWidth = 800;
  static constexpr double kBudgetTop = 40;
  static constexpr double kBudgetHeight = 60;
  static constexpr double kStagesTop = 104;
  static constexpr double kStagesHeight = 14;
  static constexpr double kRowsTop = 130;
  absl::Duration length;
  double row_height;

  double X(absl::Duration at) const {
    return kLeft + kWidth * absl::FDivDuration(at, std::max(length, absl::Milliseconds(1)));
  }
  double Row(std::size_t index) const { return kRowsTop + row_height * static_cast<double>(index); }
};

std::string BudgetOf(const Timeline& timeline, const Canvas& canvas) {
  const std::vector<SlotsTaken> taken = SlotsOver(timeline);
  int most = std::max(1, timeline.slots_max.value_or(1));
  for (const SlotsTaken& step : taken) most = std::max(most, step.slots);
  const double bottom = Canvas::kBudgetTop + Canvas::kBudgetHeight;
  const auto y = [&](int slots) { return bottom - Canvas::kBudgetHeight * slots / most; };
  std::string path = fmt::format("M{:.1f} {:.1f}", Canvas::kLeft, bottom);
  for (const SlotsTaken& step : taken) path += fmt::format("H{:.1f}V{:.1f}", canvas.X(step.at), y(step.slots));
  path += fmt::format("H{:.1f}V{:.1f}Z", Canvas::kLeft + Canvas::kWidth, bottom);
  std::string svg = fmt::format("<path d=\"{}\" fill=\"#7fb2e5\"/>\n", path);
  std::string label = "slots in use";
  if (timeline.slots_max) {
    svg += fmt::format("<path d=\"M{:.1f} {:.1f}h{:.1f}\" stroke=\"#d62839\" stroke-dasharray=\"6 3\"/>\n",
                       Canvas::kLeft, y(*timeline.slots_max), Canvas::kWidth);
    label += fmt::format(" of {}", *timeline.slots_max);
  }
  return svg + fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>\n", Canvas::kLeft - 8, bottom,
                           label);
}

std::string StagesOf(const Timeline& timeline, const Canvas& canvas) {
  if (timeline.stages.empty()) return "";
  const double baseline = Canvas::kStagesTop + Canvas::kStagesHeight - 3;
  std::string svg =
      fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">stage</text>\n", Canvas::kLeft - 8, baseline);
  for (std::size_t i = 0; i < timeline.stages.size(); ++i) {
    const Band& stage = timeline.stages[i];
    const double x = canvas.X(stage.begin);
    const double width = std::max(1.0, canvas.X(stage.end) - x);
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\" fill=\"{}\"/>\n", x,
                       Canvas::kStagesTop, width, Canvas::kStagesHeight, kStageColours[i % kStageColours.size()]);
    // A letter is seven units wide.
    const auto letters = static_cast<std::size_t>(width / 7);
    if (letters < 3) continue;
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\">{}</text>\n", x + 3, baseline,
                       Escaped(Printable(CutTo(stage.name, letters))));
  }
  return svg;
}

std::string ClosedOf(const Timeline& timeline, const Canvas& canvas) {
  std::string svg;
  for (const Band& band : timeline.closed) {
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\" fill=\"#8a8f98\" "
        "fill-opacity=\"0.3\"><title>no start</title></rect>\n",
        canvas.X(band.begin), Canvas::kBudgetTop, canvas.X(band.end) - canvas.X(band.begin), Canvas::kBudgetHeight);
  }
  if (svg.empty()) return "";
  return svg + fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">grey: no start</text>\n",
                           Canvas::kLeft - 8, Canvas::kBudgetTop + 8);
}

std::string LegendOf(const Timeline& timeline, double y) {
  std::array<bool, kColours.size()> used = {};
  for (const NodeHistory& node : timeline.nodes) {
    for (const Span& span : node.spans) used[static_cast<std::size_t>(span.state)] |= span.end > span.begin;
  }
  std::string svg;
  double x = 8;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    const std::string name = NameOf(static_cast<UpgradeState>(i));
    svg += fmt::format(
        "<rect x=\"{0:.0f}\" y=\"{1:.0f}\" width=\"10\" height=\"10\" fill=\"{2}\"/>"
        "<text x=\"{3:.0f}\" y=\"{4:.0f}\">{5}</text>\n",
        x, y - 9, kColours[i], x + 14, y, name);
    x += 26 + 6.2 * static_cast<double>(name.size());
  }
  return svg;
}

}  // namespace

Timeline TimelineOf(const Request& request) {
  driverupgrade::whatif::ClusterHistory history =
      driverupgrade::whatif::HistoryOf({.question = request.question, .facts = request.facts});
  Timeline timeline = Empty(request);
  timeline.origin = "from Events";
  timeline.began = history.began;
  timeline.length = history.length;
  timeline.nodes = std::move(history.nodes);
  SortByBeginning(timeline);
  AddPolicy(request, !request.policy_source.empty(), history.began, timeline);
  return timeline;
}

Timeline TimelineOf(const Request& request, driverupgrade::whatif::Rollout rollout) {
  Timeline timeline = Empty(request);
  timeline.origin = "simulated";
  timeline.length = rollout.makespan;
  timeline.nodes = std::move(rollout.timeline);
  SortByBeginning(timeline);
  AddPolicy(request, true, request.question.at, timeline);
  return timeline;
}

std::vector<SlotsTaken> SlotsOver(const Timeline& timeline) {
  std::map<absl::Duration, int> changes = {{absl::ZeroDuration(), 0}};
  for (const NodeHistory& node : timeline.nodes) {
    for (const Span& span : node.spans) {
      const bool holds = driverupgrade::IsInProgress(span.state) &&
                         (span.state != UpgradeState::kFailed || timeline.failed_hold_slots);
      if (!holds || span.end <= span.begin) continue;
      ++changes[span.begin];
      if (span.end < timeline.length) --changes[span.end];
    }
  }
  std::vector<SlotsTaken> taken;
  int slots = 0;
  for (const auto& [at, change] : changes) {
    slots += change;
    if (taken.empty() || taken.back().slots != slots) taken.push_back({.at = at, .slots = slots});
  }
  return taken;
}

std::string FormatTimelineJson(const Timeline& timeline) { return ToPrettyJson(ToJson(timeline)); }

std::string FormatTimelineHtml(const Timeline& timeline) {
  std::string data = Compact(ToJson(timeline));
  // Escapes `<`, because strings from the cluster must not close the element that contains them.
  ReplaceAll(data, "<", "\\u003c");
  std::string page = kTimelinePage;
  constexpr std::string_view kPlace = "{{TIMELINE}}";
  page.replace(page.find(kPlace), kPlace.size(), data);
  return page;
}

std::string FormatTimelineSvg(const Timeline& timeline) {
  // The rows have names only for up to 200 nodes, because more names would not be readable.
  const bool named = timeline.nodes.size() <= 200;
  const Canvas canvas{.length = timeline.length,
                      .row_height = named ? 14 : std::max(0.2, 2000.0 / static_cast<double>(timeline.nodes.size()))};
  const double bottom = canvas.Row(timeline.nodes.size());
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1000 {0:.0f}\" font-family=\"sans-serif\" "
      "font-size=\"11\">\n"
      "<rect width=\"1000\" height=\"{0:.0f}\" fill=\"#fff\"/>\n"
      "<text x=\"8\" y=\"20\" font-size=\"15\">{1}: {2} nodes, {3}, {4}</text>\n",
      bottom + 48, Escaped(Printable(timeline.driver)), timeline.nodes.size(), Age(timeline.length), timeline.origin);
  svg += BudgetOf(timeline, canvas) + ClosedOf(timeline, canvas) + StagesOf(timeline, canvas);
  for (std::size_t i = 0; i < timeline.nodes.size(); ++i) {
    const NodeHistory& node = timeline.nodes[i];
    if (named) {
      svg += fmt::format("<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", Canvas::kLeft - 8,
                         canvas.Row(i) + 11, Escaped(Printable(CutMiddle(node.name, 24))));
    }
    for (const Span& span : node.spans) {
      if (span.end <= span.begin) continue;
      svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.2f}\" width=\"{:.1f}\" height=\"{:.2f}\" fill=\"{}\"/>\n",
                         canvas.X(span.begin), canvas.Row(i), canvas.X(span.end) - canvas.X(span.begin),
                         canvas.row_height * 0.85, kColours[static_cast<std::size_t>(span.state)]);
    }
  }
  svg += fmt::format(
      "<text x=\"{0:.0f}\" y=\"{2:.0f}\">0</text>"
      "<text x=\"{1:.0f}\" y=\"{2:.0f}\" text-anchor=\"end\">{3}</text>\n",
      Canvas::kLeft, Canvas::kLeft + Canvas::kWidth, bottom + 16, Age(timeline.length));
  return svg + LegendOf(timeline, bottom + 36) + "</svg>\n";
}

}  // namespace upgradectl
