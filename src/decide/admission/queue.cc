#include "decide/admission/queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace driverupgrade {
namespace {

std::tuple<bool, bool, std::string_view> OrderOf(const WaitingNode& waiting) {
  return {!waiting.candidate.has_grant, waiting.candidate.own_node, waiting.node};
}

}  // namespace

bool GoesBefore(const WaitingNode& a, const WaitingNode& b) { return OrderOf(a) < OrderOf(b); }

Gate AtPlace(const Gate& gate, int place) {
  return {.reason = gate.reason,
          .detail = absl::StrCat(gate.detail, "; place ", place, " in the queue"),
          .not_before = gate.not_before,
          .subject = gate.subject,
          .count = gate.count,
          .place = place};
}

auto Refusals::KeyOf(const WaitingNode& waiting) -> Key {
  return {!waiting.candidate.has_grant, waiting.candidate.own_node, std::string(waiting.node)};
}

const Gate& Refusals::Of(const WaitingNode& waiting) const {
  const std::vector<From>& refused = kinds_.at(waiting.candidate);
  using Order = decltype(OrderOf(waiting));
  const Order order = OrderOf(waiting);
  // Both operands have the same type, because clang 14 cannot compare tuples of different types.
  return std::find_if(refused.rbegin(), refused.rend(), [&](const From& from) { return Order(from.key) <= order; })
      ->gate;
}

void AdmissionQueue::Add(const WaitingNode& waiting) {
  kinds_[waiting.candidate].waiting.insert(Refusals::KeyOf(waiting));
}

void AdmissionQueue::Remove(const WaitingNode& waiting) {
  if (const auto kind = kinds_.find(waiting.candidate); kind != kinds_.end()) {
    kind->second.waiting.erase(Refusals::KeyOf(waiting));
  }
}

auto AdmissionQueue::Next(const Key& last) -> std::map<Candidate, Kind>::iterator {
  auto next = kinds_.end();
  for (auto kind = kinds_.begin(); kind != kinds_.end(); ++kind) {
    auto& [candidate, nodes] = *kind;
    if (nodes.waiting.empty()) continue;
    if (const Limit* limit = limits_.Refusing(candidate)) {
      if (nodes.now.empty() || nodes.now.back().limit != limit) {
        nodes.now.push_back({.from = last, .limit = limit});
      }
    } else if (next == kinds_.end() || *nodes.waiting.begin() < *next->second.waiting.begin()) {
      next = kind;
    }
  }
  return next;
}

std::vector<std::string> AdmissionQueue::Admit(Limits limits) {
  limits_ = std::move(limits);
  std::erase_if(kinds_, [](const auto& kind) { return kind.second.waiting.empty(); });
  for (auto& [candidate, kind] : kinds_) kind.before = std::exchange(kind.now, {});
  std::vector<std::string> admitted;
  Key last;
  for (auto kind = Next(last); kind != kinds_.end(); kind = Next(last)) {
    std::set<Key>& waiting = kind->second.waiting;
    last = std::move(waiting.extract(waiting.begin()).value());
    limits_.Take(kind->first);
    admitted.push_back(std::get<std::string>(last));
  }
  refusals_.kinds_.clear();
  for (auto& [candidate, kind] : kinds_) {
    std::vector<Refusals::From>& refusals = refusals_.kinds_[candidate];
    for (Refused& refused : kind.now) {
      refused.gate = refused.limit->Describe();
      refusals.push_back({.key = refused.from, .gate = refused.gate});
    }
  }
  return admitted;
}

bool AdmissionQueue::Reaches(const std::vector<Refused>& refused, std::size_t i, const Key& key) {
  return i + 1 == refused.size() || key < refused[i + 1].from;
}

std::vector<std::string> AdmissionQueue::ChangedRefusals() const {
  std::vector<std::string> changed;
  for (const auto& [candidate, kind] : kinds_) {
    for (std::size_t i = 0; i < kind.now.size(); ++i) {
      for (std::size_t j = 0; j < kind.before.size(); ++j) {
        if (kind.now[i].gate.reason == kind.before[j].gate.reason) continue;
        auto node = kind.waiting.lower_bound(std::max(kind.now[i].from, kind.before[j].from));
        for (; node != kind.waiting.end() && Reaches(kind.now, i, *node) && Reaches(kind.before, j, *node); ++node) {
          changed.push_back(std::get<std::string>(*node));
        }
      }
    }
  }
  return changed;
}

}  // namespace driverupgrade
