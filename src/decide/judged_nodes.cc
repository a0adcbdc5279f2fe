#include "decide/judged_nodes.h"

#include <algorithm>
#include <utility>

namespace driverupgrade::internal {
namespace {

// With 100,000 nodes, each piece has about 200 nodes, and a copy or a change takes one or two microseconds.
constexpr std::size_t kPieces = 512;

}  // namespace

std::shared_ptr<JudgedNode> CopyOf(const JudgedNode& node) {
  return std::make_shared<JudgedNode>(
      JudgedNode{.name = node.name, .view = node.view, .verdict = CopyOf(node.verdict), .tally = node.tally});
}

JudgedNodes::JudgedNodes() : pieces_(kPieces) {}

std::size_t JudgedNodes::PieceOf(std::string_view name) { return std::hash<std::string_view>()(name) % kPieces; }

auto JudgedNodes::PlaceIn(Nodes& nodes, std::string_view name) -> Nodes::iterator {
  return std::lower_bound(nodes.begin(), nodes.end(), name,
                          [](const auto& node, std::string_view wanted) { return node->name < wanted; });
}

auto JudgedNodes::Own(Piece& piece) -> Nodes& {
  if (piece.nodes == nullptr) {
    piece.nodes = std::make_shared<Nodes>();
  } else if (piece.is_shared) {
    piece.nodes = std::make_shared<Nodes>(*piece.nodes);
  }
  piece.is_shared = false;
  return *piece.nodes;
}

void JudgedNodes::Put(std::shared_ptr<const JudgedNode> node) {
  Nodes& nodes = Own(pieces_[PieceOf(node->name)]);
  const auto place = PlaceIn(nodes, node->name);
  if (place != nodes.end() && (*place)->name == node->name) {
    *place = std::move(node);
  } else {
    nodes.insert(place, std::move(node));
  }
}

void JudgedNodes::Remove(std::string_view name) {
  if (Find(name) == nullptr) return;
  Nodes& nodes = Own(pieces_[PieceOf(name)]);
  nodes.erase(PlaceIn(nodes, name));
}

const JudgedNode* JudgedNodes::Find(std::string_view name) const {
  const Piece& piece = pieces_[PieceOf(name)];
  if (piece.nodes == nullptr) return nullptr;
  const auto place = PlaceIn(*piece.nodes, name);
  return place != piece.nodes->end() && (*place)->name == name ? place->get() : nullptr;
}

void JudgedNodes::ForEach(const std::function<void(const JudgedNode&)>& look) const {
  for (const Piece& piece : pieces_) {
    if (piece.nodes == nullptr) continue;
    for (const std::shared_ptr<const JudgedNode>& node : *piece.nodes) look(*node);
  }
}

JudgedNodes JudgedNodes::Share() {
  for (Piece& piece : pieces_) piece.is_shared = true;
  return *this;
}

}  // namespace driverupgrade::internal
