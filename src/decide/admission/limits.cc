#include "decide/admission/limits.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"

namespace driverupgrade {
namespace {

// Tracks how much of a limit is used while nodes are admitted.
struct Fill {
  int max = 0;
  int used = 0;
  bool IsFull() const { return used >= max; }
};

GateCount CountOf(const Fill& fill) { return {.used = fill.used, .limit = fill.max}; }

// Base of all limits, which are plain value types.
template <typename L>
class LimitBase : public Limit {
 public:
  std::unique_ptr<Limit> Copy() const override { return std::make_unique<L>(static_cast<const L&>(*this)); }
};

class Paused final : public LimitBase<Paused> {
 public:
  bool Refuses(const Candidate& /*candidate*/) const override { return true; }
  Gate Describe() const override { return {.reason = GateReason::kPaused, .detail = "the policy is paused"}; }
};

class MaxFailures final : public LimitBase<MaxFailures> {
 public:
  explicit MaxFailures(const Fill& failures) : failures_(failures) {}
  bool Refuses(const Candidate& candidate) const override { return !candidate.reloads && failures_.IsFull(); }
  Gate Describe() const override {
    return {.reason = GateReason::kMaxFailures,
            .detail = fmt::format("failurePolicy.maxFailures: {} nodes failed (limit {}); no further node starts",
                                  failures_.used, failures_.max),
            .count = CountOf(failures_)};
  }

 private:
  const Fill failures_;
};

class MaxFailuresOfClass final : public LimitBase<MaxFailuresOfClass> {
 public:
  explicit MaxFailuresOfClass(std::string why) : why_(std::move(why)) {}
  bool Refuses(const Candidate& candidate) const override { return !candidate.reloads; }
  Gate Describe() const override { return {.reason = GateReason::kMaxFailures, .detail = why_}; }

 private:
  const std::string why_;
};

class MaxParallel final : public LimitBase<MaxParallel> {
 public:
  explicit MaxParallel(const Fill& slots) : slots_(slots) {}
  bool Refuses(const Candidate& candidate) const override { return candidate.needs_slot && slots_.IsFull(); }
  void Take(const Candidate& candidate) override { slots_.used += candidate.needs_slot; }
  Gate Describe() const override {
    return {.reason = GateReason::kMaxParallel,
            .detail = fmt::format("maxParallelUpgrades: {} of {} slots are taken", slots_.used, slots_.max),
            .count = CountOf(slots_)};
  }

 private:
  Fill slots_;
};

class SharedParallel final : public LimitBase<SharedParallel> {
 public:
  SharedParallel(const SharedSlots& shared, int used)
      : is_known_(shared.used_elsewhere.has_value()),
        slots_{.max = shared.max, .used = shared.used_elsewhere.value_or(0) + used} {}
  bool Refuses(const Candidate& candidate) const override {
    return candidate.needs_slot && (!is_known_ || slots_.IsFull());
  }
  void Take(const Candidate& candidate) override { slots_.used += candidate.needs_slot; }
  Gate Describe() const override {
    return {.reason = GateReason::kMaxParallel,
            .detail = is_known_ ? fmt::format("the limit shared by all owners: {} of {} slots are taken", slots_.used,
                                              slots_.max)
                                : "the limit shared by all owners: the number of taken slots is not known yet",
            .count = is_known_ ? std::optional(CountOf(slots_)) : std::nullopt};
  }

 private:
  const bool is_known_;
  Fill slots_;
};

class MaxUnavailable final : public LimitBase<MaxUnavailable> {
 public:
  // `named`: some of the unavailable nodes, with the reasons why they are unavailable.
  MaxUnavailable(const Fill& nodes, const std::vector<std::string>& named)
      : nodes_(nodes), named_(static_cast<int>(named.size())), names_(fmt::format("{}", fmt::join(named, ", "))) {}
  bool Refuses(const Candidate& candidate) const override { return candidate.needs_headroom && nodes_.IsFull(); }
  void Take(const Candidate& candidate) override { nodes_.used += candidate.takes_headroom; }
  Gate Describe() const override {
    return {.reason = GateReason::kMaxUnavailable,
            .detail = fmt::format("maxUnavailable: {} of {} nodes are unavailable{}", nodes_.used, nodes_.max, Names()),
            .count = CountOf(nodes_)};
  }

 private:
  std::string Names() const {
    if (named_ == 0) return "";
    const int others = nodes_.used - named_;
    return fmt::format(": {}{}", names_, others > 0 ? fmt::format(" and {} more", others) : "");
  }

  Fill nodes_;
  int named_;
  std::string names_;
};

// Refuses nodes for which the ledger has no room. Without this limit, every pass would try to start these nodes, only
// for the ledger to withhold them.
class LedgerFull final : public LimitBase<LedgerFull> {
 public:
  explicit LedgerFull(const Budgets::LedgerRoom& room) : room_(room) {}
  bool Refuses(const Candidate& candidate) const override { return NeedsGrant(candidate) && room_.kept >= room_.max; }
  void Take(const Candidate& candidate) override { room_.kept += NeedsGrant(candidate) ? 1 : 0; }
  Gate Describe() const override {
    return {.reason = GateReason::kLedger,
            .detail = fmt::format("the ledger is full: {} nodes have a grant", room_.kept)};
  }

 private:
  static bool NeedsGrant(const Candidate& candidate) { return candidate.needs_slot || candidate.needs_headroom; }

  Budgets::LedgerRoom room_;
};

// Applies a limit either only to candidates with a grant, or only to candidates without a grant.
template <typename L>
class Among final : public LimitBase<Among<L>> {
 public:
  Among(bool has_grant, L limit) : has_grant_(has_grant), limit_(std::move(limit)) {}
  bool Refuses(const Candidate& candidate) const override {
    return candidate.has_grant == has_grant_ && limit_.Refuses(candidate);
  }
  void Take(const Candidate& candidate) override {
    if (candidate.has_grant == has_grant_) limit_.Take(candidate);
  }
  Gate Describe() const override { return limit_.Describe(); }

 private:
  const bool has_grant_;
  L limit_;
};

template <typename L>
void Add(bool has_grant, L limit, std::vector<std::unique_ptr<Limit>>& limits) {
  limits.push_back(std::make_unique<Among<L>>(has_grant, std::move(limit)));
}

void AddCounts(const UpgradeBudget& budget, bool has_grant, std::vector<std::unique_ptr<Limit>>& limits) {
  if (budget.parallel_max) {
    Add(has_grant, MaxParallel({.max = *budget.parallel_max, .used = budget.parallel_used}), limits);
  }
  if (budget.shared) Add(has_grant, SharedParallel(*budget.shared, budget.parallel_used), limits);
  if (budget.unavailable_max) {
    Add(has_grant,
        MaxUnavailable({.max = *budget.unavailable_max, .used = budget.unavailable}, budget.unavailable_nodes), limits);
  }
}

}  // namespace

Limits::Limits(const Limits& other) {
  limits_.reserve(other.limits_.size());
  for (const std::unique_ptr<Limit>& limit : other.limits_) limits_.push_back(limit->Copy());
}

Limits Limits::Of(const Budgets& budgets, bool paused) {
  Limits limits;
  if (paused) limits.limits_.push_back(std::make_unique<Paused>());
  if (budgets.all.failures_max) {
    limits.limits_.push_back(
        std::make_unique<MaxFailures>(Fill{.max = *budgets.all.failures_max, .used = budgets.all.failed}));
  }
  if (!budgets.all.failed_class.empty()) {
    limits.limits_.push_back(std::make_unique<MaxFailuresOfClass>(budgets.all.failed_class));
  }
  AddCounts(budgets.granted, /*has_grant=*/true, limits.limits_);
  AddCounts(budgets.all, /*has_grant=*/false, limits.limits_);
  if (budgets.ledger) Add(/*has_grant=*/false, LedgerFull(*budgets.ledger), limits.limits_);
  return limits;
}

const Limit* Limits::Refusing(const Candidate& candidate) const {
  const auto limit = std::find_if(limits_.begin(), limits_.end(),
                                  [&](const std::unique_ptr<Limit>& one) { return one->Refuses(candidate); });
  return limit == limits_.end() ? nullptr : limit->get();
}

void Limits::Take(const Candidate& candidate) {
  for (const std::unique_ptr<Limit>& limit : limits_) limit->Take(candidate);
}

}  // namespace driverupgrade
