#include "decide/admission/queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace driverupgrade::inline v1 {
namespace {

std::tuple<bool, bool, const std::string&> OrderOf(const Candidate& candidate) {
  return {!candidate.has_grant, candidate.own_node, candidate.node};
}

Gate AtPlace(Gate gate, int place) {
  absl::StrAppend(&gate.detail, "; place ", place, " in the queue");
  return gate;
}

}  // namespace

std::vector<AdmissionDecision> Admit(Limits limits, std::vector<Candidate> candidates) {
  const auto goes_before = [](const Candidate& a, const Candidate& b) { return OrderOf(a) < OrderOf(b); };
  if (!std::is_sorted(candidates.begin(), candidates.end(), goes_before)) {
    std::sort(candidates.begin(), candidates.end(), goes_before);
  }
  int place = 0;
  const Limit* last = nullptr;
  Gate refusal;  // of `last`, as long as nothing has been taken since
  std::vector<AdmissionDecision> decisions;
  decisions.reserve(candidates.size());
  for (Candidate& candidate : candidates) {
    AdmissionDecision decision;
    const Limit* limit = limits.Refusing(candidate);
    if (limit == nullptr) {
      limits.Take(candidate);
      last = nullptr;
    } else {
      if (std::exchange(last, limit) != limit) refusal = limit->Describe();
      decision.gate = AtPlace(refusal, ++place);
    }
    decision.node = std::move(candidate.node);
    decisions.push_back(std::move(decision));
  }
  return decisions;
}

auto AdmissionQueue::KeyOf(const Candidate& candidate) -> Key { return OrderOf(candidate); }

Candidate AdmissionQueue::KindOf(const Candidate& candidate) {
  Candidate kind = candidate;
  kind.node.clear();
  return kind;
}

void AdmissionQueue::Add(const Candidate& candidate) { kinds_[KindOf(candidate)].waiting.insert(KeyOf(candidate)); }

void AdmissionQueue::Remove(const Candidate& candidate) {
  if (const auto kind = kinds_.find(KindOf(candidate)); kind != kinds_.end()) {
    kind->second.waiting.erase(KeyOf(candidate));
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

std::vector<Candidate> AdmissionQueue::Admit(Limits limits) {
  limits_ = std::move(limits);
  std::erase_if(kinds_, [](const auto& kind) { return kind.second.waiting.empty(); });
  for (auto& [candidate, kind] : kinds_) kind.before = std::exchange(kind.now, {});
  std::vector<Candidate> admitted;
  Key last;
  for (auto kind = Next(last); kind != kinds_.end(); kind = Next(last)) {
    std::set<Key>& waiting = kind->second.waiting;
    last = std::move(waiting.extract(waiting.begin()).value());
    Candidate candidate = kind->first;
    candidate.node = std::get<std::string>(last);
    limits_.Take(candidate);
    admitted.push_back(std::move(candidate));
  }
  for (auto& [candidate, kind] : kinds_) {
    for (Refused& refused : kind.now) refused.gate = refused.limit->Describe();
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

const Gate& AdmissionQueue::GateAt(const Kind& kind, const Key& key) {
  const auto refused =
      std::find_if(kind.now.rbegin(), kind.now.rend(), [&](const Refused& one) { return one.from <= key; });
  return refused->gate;
}

const Gate& AdmissionQueue::Refusal(const Candidate& candidate) const {
  return GateAt(kinds_.at(KindOf(candidate)), KeyOf(candidate));
}

Gate AdmissionQueue::RefusalAtPlace(const Candidate& candidate) const {
  const Key key = KeyOf(candidate);
  std::ptrdiff_t before = 0;
  for (const auto& [other, kind] : kinds_) {
    before += std::distance(kind.waiting.begin(), kind.waiting.lower_bound(key));
  }
  return AtPlace(Refusal(candidate), static_cast<int>(before) + 1);
}

std::map<std::string, Gate> AdmissionQueue::AllRefusals() const {
  std::map<Key, const Gate*> refused;
  for (const auto& [candidate, kind] : kinds_) {
    for (const Key& key : kind.waiting) refused.emplace(key, &GateAt(kind, key));
  }
  std::map<std::string, Gate> refusals;
  int place = 0;
  for (const auto& [key, gate] : refused) refusals[std::get<std::string>(key)] = AtPlace(*gate, ++place);
  return refusals;
}

}  // namespace driverupgrade::inline v1
