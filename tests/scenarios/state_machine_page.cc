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

// All rules of the edge, each once, in the order of the table.
std::vector<std::string> RulesOf(const Edge& edge) {
  std::vector<std::string> rules;
  for (const Transition& transition : kTransitions) {
    if (Edge(transition.from, transition.to) != edge) continue;
    std::string_view rest = transition.rules;
    while (!rest.empty()) {
      const std::size_t comma = rest.find(", ");
      std::string rule(rest.substr(0, comma));
      if (std::find(rules.begin(), rules.end(), rule) == rules.end()) rules.push_back(std::move(rule));
      rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 2);
    }
  }
  return rules;
}

std::vector<Edge> Edges() {
  std::vector<Edge> edges;
  for (const Transition& transition : kTransitions) {
    const Edge edge(transition.from, transition.to);
    if (std::find(edges.begin(), edges.end(), edge) == edges.end()) edges.push_back(edge);
  }
  return edges;
}

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string Identifier(State state) {
  std::string text(ToString(state));
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

// The picture: one column from unknown to upgrade-done, upgrade-failed and requestor mode beside it, and lanes to the
// left of it for edges that pass over states.
constexpr int kColumnX = 330;
constexpr int kBoxWidth = 220;
constexpr int kBoxHeight = 40;
constexpr int kRowPitch = 84;
constexpr int kTop = 20;
constexpr int kFailedX = 760;
constexpr int kFailedWidth = 150;
constexpr int kMaintenanceX = 565;
constexpr int kMaintenanceWidth = 205;
constexpr int kLanePitch = 62;
constexpr int kLineHeight = 13;
constexpr int kWidth = 930;
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

// An edge in a lane: 1 is the nearest to the column. `dy`: where it meets the boxes, from their middle;
// for the label, from the middle of the lane.
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
    {State::kUnknown, State::kDone, 5, 0, 15, 0},
};

// An edge between the column and upgrade-failed, at its height.
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
  void Label(int x, int y, std::string_view anchor, const std::string& label) {
    text_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" font-size=\"12\" fill=\"#7a828e\">{}</text>\n", x,
                         y, anchor, label);
  }
  void DrawDown(State from, State to) {
    drawn_.insert({from, to});
    const int y = MiddleOf(from) + kBoxHeight / 2;
    Line(fmt::format("{0},{1} {0},{2}", kColumnX + kBoxWidth / 2, y, MiddleOf(to) - kBoxHeight / 2));
    Label(kColumnX + kBoxWidth / 2 + 8, y + kRowPitch / 2 - kBoxHeight / 2 + 4, "start", Joined(RulesOf({from, to})));
  }
  void DrawLane(const LaneEdge& edge) {
    drawn_.insert({edge.from, edge.to});
    const int x = kColumnX - edge.lane * kLanePitch + 10;
    const int from = MiddleOf(edge.from) + edge.from_dy;
    const int to = MiddleOf(edge.to) + edge.to_dy;
    Line(fmt::format("{0},{1} {2},{1} {2},{3} {0},{3}", kColumnX, from, x, to));
    const std::vector<std::string> rules = RulesOf({edge.from, edge.to});
    int y = (from + to) / 2 + edge.label_dy + 4 - kLineHeight * (static_cast<int>(rules.size()) - 1) / 2;
    for (const std::string& rule : rules) {
      Label(x - 4, y, "end", rule);
      y += kLineHeight;
    }
  }
  void DrawToOrFromFailed(const FailedEdge& edge) {
    drawn_.insert({edge.from, edge.to});
    const bool fails = edge.to == State::kFailed;
    const int y = MiddleOf(fails ? edge.from : edge.to) + edge.dy;
    const int column = kColumnX + kBoxWidth;
    Line(fmt::format("{0},{1} {2},{1}", fails ? column : kFailedX, y, fails ? kFailedX : column));
    Label((column + kFailedX) / 2, edge.dy > 0 ? y + 14 : y - 5, "middle", Joined(RulesOf({edge.from, edge.to})));
  }
  void DrawNewRevision() {
    const Edge edge(State::kFailed, State::kUpgradeRequired);
    drawn_.insert(edge);
    const int x = kFailedX + kFailedWidth / 2;
    const int y = MiddleOf(State::kUpgradeRequired);
    Line(fmt::format("{0},{1} {0},{2} {3},{2}", x, MiddleOf(State::kPodDeletionRequired) - kBoxHeight / 2, y,
                     kColumnX + kBoxWidth));
    Label((kColumnX + kBoxWidth + x) / 2, y - 5, "middle", Joined(RulesOf(edge)));
  }
  void DrawMaintenance() {
    const Edge asked(State::kUpgradeRequired, State::kNodeMaintenanceRequired);
    const Edge ready(State::kNodeMaintenanceRequired, State::kPodRestartRequired);
    drawn_.insert({asked, ready, {State::kNodeMaintenanceRequired, State::kUpgradeRequired}});
    const int column = kColumnX + kBoxWidth;
    const int top = MiddleOf(State::kCordonRequired) - kBoxHeight / 2;
    const int middle = kMaintenanceX + kMaintenanceWidth / 2;
    const int from = MiddleOf(State::kUpgradeRequired) + 10;
    Line(fmt::format("{},{} {},{} {},{}", column, from, middle, from, middle, top));
    Label(middle + 6, top - 12, "start", Joined(RulesOf(asked)));
    const int x = kMaintenanceX + 25;
    const int to = MiddleOf(State::kPodRestartRequired) - 12;
    Line(fmt::format("{0},{1} {0},{2} {3},{2}", x, top + kBoxHeight, to, column));
    Label(x + 6, top + kBoxHeight + 20, "start", Joined(RulesOf(ready)));
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
  }

  std::string text_;
  std::set<Edge> drawn_;
};

}  // namespace

std::string TransitionTableMarkdown() {
  std::string text = "| from | to | when | what else changes | rules |\n|---|---|---|---|---|\n";
  for (const Transition& transition : kTransitions) {
    text += fmt::format("| {} | {} | {} | {} | {} |\n", ToString(transition.from), ToString(transition.to),
                        transition.condition, transition.effect, transition.rules);
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
    text += fmt::format("  {} --> {}: {}\n", Identifier(edge.first), Identifier(edge.second), Joined(RulesOf(edge)));
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
