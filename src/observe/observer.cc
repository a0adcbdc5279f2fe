#include "driverupgrade/observer.h"

#include <utility>

namespace driverupgrade {
namespace {

class ObserverGroup final : public Observer {
 public:
  explicit ObserverGroup(std::vector<std::shared_ptr<Observer>> observers) : observers_(std::move(observers)) {}

  void OnPlan(const Plan& plan) override {
    for (const auto& observer : observers_) observer->OnPlan(plan);
  }
  void OnNodeApplied(const NodePlan& plan, const NodeOutcome& outcome) override {
    for (const auto& observer : observers_) observer->OnNodeApplied(plan, outcome);
  }
  void OnPassEnded(const PassOutcome& pass) override {
    for (const auto& observer : observers_) observer->OnPassEnded(pass);
  }
  void OnTrouble(const absl::Status& trouble) override {
    for (const auto& observer : observers_) observer->OnTrouble(trouble);
  }
  void OnLeading(bool leads) override {
    for (const auto& observer : observers_) observer->OnLeading(leads);
  }
  void OnRolloutOver(const Tally& totals) override {
    for (const auto& observer : observers_) observer->OnRolloutOver(totals);
  }
  void OnFinding(const Finding& finding) override {
    for (const auto& observer : observers_) observer->OnFinding(finding);
  }

 private:
  const std::vector<std::shared_ptr<Observer>> observers_;
};

}  // namespace

Observer::~Observer() = default;
void Observer::OnPlan(const Plan& /*plan*/) {}
void Observer::OnNodeApplied(const NodePlan& /*plan*/, const NodeOutcome& /*outcome*/) {}
void Observer::OnPassEnded(const PassOutcome& /*pass*/) {}
void Observer::OnTrouble(const absl::Status& /*trouble*/) {}
void Observer::OnLeading(bool /*leads*/) {}
void Observer::OnRolloutOver(const Tally& /*totals*/) {}
void Observer::OnFinding(const Finding& /*finding*/) {}

std::shared_ptr<Observer> MakeObserverGroup(std::vector<std::shared_ptr<Observer>> observers) {
  std::erase(observers, nullptr);
  return std::make_shared<ObserverGroup>(std::move(observers));
}

}  // namespace driverupgrade
