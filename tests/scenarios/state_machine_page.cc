#include "scenarios/state_machine_page.h"

#include <algorithm>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "testing/transition_table.h"

namespace driverupgrade::tests {
namespace {

using State = UpgradeState;
using Edge = std::pair<State, State>;

// The condition of an edge in the pictures, shortened and broken into short lines. The table contains the full
// conditions.
struct EdgeWords {
  State from;
  State to;
  std::string_view words;
};
constexpr EdgeWords kEdgeWords[] = {
    {State::kUnknown, State::kUpgradeRequired, "driver out of date,\nor upgrade requested"},
    {State::kUnknown, State::kDone, "the driver\nis up to date"},
    {State::kDone, State::kUpgradeRequired, "out of date,\nor upgrade\nrequested"},
    {State::kUpgradeRequired, State::kCordonRequired, "the budgets admit it"},
    {State::kUpgradeRequired, State::kPodRestartRequired, "admitted, and a\nrestart is\nenough"},
    {State::kUpgradeRequired, State::kNodeMaintenanceRequired, "requestor mode"},
    {State::kUpgradeRequired, State::kDone, "the driver is\nup to date\nagain"},
    {State::kCordonRequired, State::kWaitForJobsRequired, "the node is cordoned"},
    {State::kWaitForJobsRequired, State::kPodDeletionRequired, "jobs have ended, or\ntimed out"},
    {State::kWaitForJobsRequired, State::kDrainRequired, "no jobs to wait\nfor, no pods\nto delete"},
    {State::kPodDeletionRequired, State::kDrainRequired, "pod deletion is off,\nor gave up"},
    {State::kPodDeletionRequired, State::kPodRestartRequired, "no pod uses\nthe driver"},
    {State::kPodDeletionRequired, State::kFailed, "gave up, and no drain"},
    {State::kDrainRequired, State::kPodRestartRequired, "the pods are gone,\nor no drain is on"},
    {State::kDrainRequired, State::kFailed, "blocked, or out of time"},
    {State::kNodeMaintenanceRequired, State::kUpgradeRequired, "switched off"},
    {State::kNodeMaintenanceRequired, State::kPodRestartRequired, "evacuated"},
    {State::kPodRestartRequired, State::kValidationRequired, "the new driver is ready"},
    {State::kPodRestartRequired, State::kUncordonRequired, "ready, without\nvalidation"},
    {State::kPodRestartRequired, State::kDone, "ready, and an\nadministrator's\ncordon stays"},
    {State::kPodRestartRequired, State::kFailed, "crashes, or out of time"},
    {State::kValidationRequired, State::kUncordonRequired, "validated"},
    {State::kValidationRequired, State::kDone, "valid, and an\nadministrator's\ncordon stays"},
    {State::kValidationRequired, State::kPodRestartRequired, "driver not ready"},
    {State::kValidationRequired, State::kFailed, "out of time"},
    {State::kUncordonRequired, State::kDone, "the node returns\nto service"},
    {State::kUncordonRequired, State::kPodRestartRequired, "driver not ready"},
    {State::kUncordonRequired, State::kUpgradeRequired, "another\nrevision"},
    {State::kFailed, State::kUpgradeRequired, "new revision, or retry"},
    {State::kFailed, State::kValidationRequired, "the driver is ready"},
    {State::kFailed, State::kUncordonRequired, "ready, without validation"},
    {State::kFailed, State::kDone, "ready, cordon stays"},
};

std::vector<std::string> LinesOf(const Edge& edge) {
  for (const EdgeWords& entry : kEdgeWords) {
    if (Edge(entry.from, entry.to) != edge) continue;
    std::vector<std::string> lines(1);
    for (const char character : entry.words) {
      if (character == '\n') {
        lines.emplace_back();
      } else {
        lines.back() += character;
      }
    }
    return lines;
  }
  throw std::logic_error(fmt::format("there are no words for {} -> {}", ToString(edge.first), ToString(edge.second)));
}

std::vector<Edge> Edges() {
  std::vector<Edge> edges;
  for (const Transition& transition : kTransitions) {
    const Edge edge(transition.from, transition.to);
    if (std::find(edges.begin(), edges.end(), edge) == edges.end()) edges.push_back(edge);
  }
  return edges;
}

std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : " ") + line;
  return text;
}

std::string Identifier(State state) {
  std::string text(ToString(state));
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

// The layout of the picture: one column from unknown to upgrade-done, with upgrade-failed and requestor mode next to
// it. Lanes to the left of the column contain edges that skip states.
constexpr int kColumnX = 716;
constexpr int kBoxWidth = 220;
constexpr int kBoxHeight = 40;
constexpr int kRowPitch = 84;
constexpr int kTop = 20;
constexpr int kFailedX = 1146;
constexpr int kFailedWidth = 150;
constexpr int kMaintenanceX = 951;
constexpr int kMaintenanceWidth = 205;
constexpr int kLanePitch = 106;
constexpr int kLineHeight = 13;
constexpr int kWidth = 1316;
constexpr int kHeight = 836;

constexpr State kColumn[] = {State::kUnknown,
                             State::kUpgradeRequired,
                             State::kCordonRequired,
                             State::kWaitForJobsRequired,
                             State::kPodDeletionRequired,
                             State::kDrainRequired,
                             State::kPodRestartRequired,
                             State::kValidationRequired,
                             State::kUncordonRequired,
                             State::kDone};

// An edge in a lane. Lane 1 is nearest to the column. The two ends of the edge are `dy` below the middle of their
// boxes, and the label is `dy` below the middle of the lane.
struct LaneEdge {
  State from;
  State to;
  int lane;
  int from_dy;
  int to_dy;
  int label_dy;
};
constexpr LaneEdge kLaneEdges[] = {
    {State::kWaitForJobsRequired, State::kDrainRequired, 1, 10, -6, 40},
    {State::kPodDeletionRequired, State::kPodRestartRequired, 2, 6, -12, 20},
    {State::kUpgradeRequired, State::kPodRestartRequired, 3, -2, -6, 0},
    {State::kPodRestartRequired, State::kUncordonRequired, 1, 12, 0, 42},
    {State::kPodRestartRequired, State::kDone, 3, 0, -2, 0},
    {State::kValidationRequired, State::kDone, 2, 6, -12, 20},
    {State::kDone, State::kUpgradeRequired, 4, 7, 8, 0},
    {State::kUncordonRequired, State::kUpgradeRequired, 4, -14, 8, 250},
    {State::kUpgradeRequired, State::kDone, 5, -10, 13, 0},
    {State::kUnknown, State::kDone, 6, 0, 18, 0},
};

// An edge back to an earlier state, on the right of the column. `dy` is the distance of its ends from the middle of the
// boxes.
struct BackEdge {
  State from;
  State to;
  int x;
  int from_dy;
  int to_dy;
};
constexpr BackEdge kBackEdges[] = {
    {State::kValidationRequired, State::kPodRestartRequired, 986, -4, 14},
    {State::kUncordonRequired, State::kPodRestartRequired, 1002, -12, 8},
};

// An edge between the column and upgrade-failed, at the height of the state in the column.
struct FailedEdge {
  State from;
  State to;
  int dy;
};
constexpr FailedEdge kFailedEdges[] = {
    {State::kPodDeletionRequired, State::kFailed, 0},
    {State::kDrainRequired, State::kFailed, 0},
    {State::kPodRestartRequired, State::kFailed, 0},
    {State::kValidationRequired, State::kFailed, -10},
    {State::kFailed, State::kValidationRequired, 12},
    {State::kFailed, State::kUncordonRequired, 0},
    {State::kFailed, State::kDone, 0},
};

int RowOf(State state) {
  return static_cast<int>(std::find(std::begin(kColumn), std::end(kColumn), state) - std::begin(kColumn));
}
int MiddleOf(State state) { return kTop + RowOf(state) * kRowPitch + kBoxHeight / 2; }

std::string_view FillOf(State state) {
  switch (state) {
    case State::kUnknown: return "#eaeef2";
    case State::kUpgradeRequired: return "#fff8c5";
    case State::kDone: return "#dafbe1";
    case State::kFailed: return "#ffebe9";
    default: return "#ddf4ff";
  }
}

class Picture {
 public:
  std::string Draw() {
    text_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
        "font-family=\"sans-serif\" role=\"img\">\n"
        "<title>The states of a node's upgrade</title>\n"
        "<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" "
        "orient=\"auto\"><path d=\"M0 0 8 4 0 8z\" fill=\"#7a828e\"/></marker></defs>\n",
        kWidth, kHeight);
    for (const LaneEdge& edge : kLaneEdges) DrawLane(edge);
    for (const BackEdge& edge : kBackEdges) DrawBack(edge);
    for (const FailedEdge& edge : kFailedEdges) DrawToOrFromFailed(edge);
    for (std::size_t i = 0; i + 1 < std::size(kColumn); ++i) DrawDown(kColumn[i], kColumn[i + 1]);
    DrawNewRevision();
    DrawMaintenance();
    for (const State state : kColumn) Box(state, kColumnX, MiddleOf(state) - kBoxHeight / 2, kBoxWidth, kBoxHeight);
    const int top = MiddleOf(State::kPodDeletionRequired) - kBoxHeight / 2;
    Box(State::kFailed, kFailedX, top, kFailedWidth, MiddleOf(State::kDone) + kBoxHeight / 2 - top);
    CheckComplete();
    return text_ + "</svg>\n";
  }

 private:
  void Box(State state, int x, int y, int width, int height) {
    text_ +=
        fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"6\" fill=\"{}\" stroke=\"#7a828e\"/>\n", x,
                    y, width, height, FillOf(state));
    text_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" font-size=\"14\" fill=\"#1f2328\">{}</text>\n",
                         x + width / 2, y + height / 2 + 5, ToString(state));
  }
  void Line(const std::string& points) {
    text_ += fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"#7a828e\" stroke-width=\"1.4\" marker-end=\"url(#head)\"/>\n",
        points);
  }
  // Writes the lines of the edge's label, centered around the height `y`.
  void Label(int x, int y, std::string_view anchor, const Edge& edge) {
    const std::vector<std::string> lines = LinesOf(edge);
    y -= kLineHeight * (static_cast<int>(lines.size()) - 1) / 2;
    for (const std::string& line : lines) {
      text_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" font-size=\"12\" fill=\"#7a828e\">{}</text>\n",
                           x, y, anchor, line);
      y += kLineHeight;
    }
  }
  void DrawDown(State from, State to) {
    drawn_.insert({from, to});
    const int y = MiddleOf(from) + kBoxHeight / 2;
    Line(fmt::format("{0},{1} {0},{2}", kColumnX + kBoxWidth / 2, y, MiddleOf(to) - kBoxHeight / 2));
    Label(kColumnX + kBoxWidth / 2 + 8, y + kRowPitch / 2 - kBoxHeight / 2 + 4, "start", {from, to});
  }
  void DrawLane(const LaneEdge& edge) {
    drawn_.insert({edge.from, edge.to});
    const int x = kColumnX - edge.lane * kLanePitch + 10;
    const int from = MiddleOf(edge.from) + edge.from_dy;
    const int to = MiddleOf(edge.to) + edge.to_dy;
    Line(fmt::format("{0},{1} {2},{1} {2},{3} {0},{3}", kColumnX, from, x, to));
    Label(x - 4, (from + to) / 2 + edge.label_dy + 4, "end", {edge.from, edge.to});
  }
  void DrawBack(const BackEdge& edge) {
    drawn_.insert({edge.from, edge.to});
    const int column = kColumnX + kBoxWidth;
    const int from = MiddleOf(edge.from) + edge.from_dy;
    Line(fmt::format("{0},{1} {2},{1} {2},{3} {0},{3}", column, from, edge.x, MiddleOf(edge.to) + edge.to_dy));
    Label(edge.x + 4, MiddleOf(edge.from) - kRowPitch / 2 + 4, "start", {edge.from, edge.to});
  }
  void DrawToOrFromFailed(const FailedEdge& edge) {
    drawn_.insert({edge.from, edge.to});
    const bool fails = edge.to == State::kFailed;
    const int y = MiddleOf(fails ? edge.from : edge.to) + edge.dy;
    const int column = kColumnX + kBoxWidth;
    Line(fmt::format("{0},{1} {2},{1}", fails ? column : kFailedX, y, fails ? kFailedX : column));
    Label((column + kFailedX) / 2, edge.dy > 0 ? y + 14 : y - 5, "middle", {edge.from, edge.to});
  }
  void DrawNewRevision() {
    const Edge edge(State::kFailed, State::kUpgradeRequired);
    drawn_.insert(edge);
    const int x = kFailedX + kFailedWidth / 2;
    const int y = MiddleOf(State::kUpgradeRequired);
    Line(fmt::format("{0},{1} {0},{2} {3},{2}", x, MiddleOf(State::kPodDeletionRequired) - kBoxHeight / 2, y,
                     kColumnX + kBoxWidth));
    Label((kColumnX + kBoxWidth + x) / 2, y - 5, "middle", edge);
  }
  void DrawMaintenance() {
    const Edge asked(State::kUpgradeRequired, State::kNodeMaintenanceRequired);
    const Edge ready(State::kNodeMaintenanceRequired, State::kPodRestartRequired);
    const Edge back(State::kNodeMaintenanceRequired, State::kUpgradeRequired);
    drawn_.insert({asked, ready, back});
    const int column = kColumnX + kBoxWidth;
    const int top = MiddleOf(State::kCordonRequired) - kBoxHeight / 2;
    const int asked_x = kMaintenanceX + 155;
    const int asked_y = MiddleOf(State::kUpgradeRequired) + 8;
    Line(fmt::format("{0},{1} {2},{1} {2},{3}", column, asked_y, asked_x, top));
    Label(asked_x + 6, top - 12, "start", asked);
    const int back_x = kMaintenanceX + 60;
    const int back_y = MiddleOf(State::kUpgradeRequired) + 16;
    Line(fmt::format("{0},{1} {0},{2} {3},{2}", back_x, top, back_y, column));
    Label(back_x + 6, top - 12, "start", back);
    const int x = kMaintenanceX + 10;
    const int to = MiddleOf(State::kPodRestartRequired) - 12;
    Line(fmt::format("{0},{1} {0},{2} {3},{2}", x, top + kBoxHeight, to, column));
    Label(x + 6, top + kBoxHeight + 20, "start", ready);
    Box(State::kNodeMaintenanceRequired, kMaintenanceX, top, kMaintenanceWidth, kBoxHeight);
  }
  void CheckComplete() const {
    const std::vector<Edge> edges = Edges();
    for (const auto& [from, to] : edges) {
      if (!drawn_.contains({from, to})) {
        throw std::logic_error(fmt::format("the picture has no place for {} -> {}", ToString(from), ToString(to)));
      }
    }
    if (drawn_.size() != edges.size()) throw std::logic_error("the picture shows an edge that the table does not have");
    if (std::size(kEdgeWords) != edges.size())
      throw std::logic_error("there are words for an edge that the table lacks");
  }

  std::string text_;
  std::set<Edge> drawn_;
};

}  // namespace

std::string TransitionTableMarkdown() {
  std::string text = "| from | to | when | what else changes |\n|---|---|---|---|\n";
  for (const Transition& transition : kTransitions) {
    text += fmt::format("| {} | {} | {} | {} |\n", ToString(transition.from), ToString(transition.to),
                        transition.condition, transition.effect);
  }
  return text;
}

std::string MermaidDiagram() {
  std::string text = "```mermaid\nstateDiagram-v2\n";
  std::set<State> states;
  for (const auto& [from, to] : Edges()) states.insert({from, to});
  for (const State state : states) text += fmt::format("  state \"{}\" as {}\n", ToString(state), Identifier(state));
  text += fmt::format("  [*] --> {}\n", Identifier(State::kUnknown));
  for (const Edge& edge : Edges()) {
    text += fmt::format("  {} --> {}: {}\n", Identifier(edge.first), Identifier(edge.second), Joined(LinesOf(edge)));
  }
  return text + "```\n";
}

std::string SvgDiagram() { return Picture().Draw(); }

std::string WithGenerated(const std::string& page, std::string_view name, const std::string& text) {
  const std::string begin = fmt::format("<!-- generated: {} -->\n", name);
  const std::string end = fmt::format("<!-- end of generated: {} -->\n", name);
  const std::size_t from = page.find(begin);
  const std::size_t to = page.find(end);
  if (from == std::string::npos || to == std::string::npos || to < from) {
    throw std::logic_error(fmt::format("the page has no place for the generated text `{}`", name));
  }
  return page.substr(0, from + begin.size()) + text + page.substr(to);
}

}  // namespace driverupgrade::tests
