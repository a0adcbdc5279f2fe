#include "write/plan_executor.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "write/event_writer.h"
#include "write/node_requests.h"
#include "write/refusal_event.h"
#include "write/send_requests.h"
#include "write/transition_events.h"
#include "write/worker_pool.h"

namespace driverupgrade::internal {
namespace {

// Maximum number of Events in flight. The limit is small because Events are numerous, and less important than the
// requests of the API server's other clients.
constexpr int kEventsInFlight = 4;

}  // namespace

class PlanExecutor::Impl {
 public:
  Impl(const DriverIdentity& identity, std::shared_ptr<ClusterWriter> cluster, std::shared_ptr<Clock> clock,
       std::shared_ptr<Observer> observer, const ExecutorOptions& options, std::function<void()> on_answered)
      : event_reason_(identity.EventReason()),
        cluster_(std::move(cluster)),
        clock_(clock ? std::move(clock) : SystemClock()),
        observer_(std::move(observer)),
        options_(options),
        on_answered_(std::move(on_answered)),
        events_(cluster_, clock_, options.call_timeout, std::min(options.calls_in_flight, kEventsInFlight)),
        calls_(options.calls_in_flight, options.runner) {}

  void Begin(const CallContext& context, std::vector<NodeRequests> requests) {
    for (NodeRequests& of_node : requests) {
      auto shared = std::make_shared<NodeRequests>(std::move(of_node));
      calls_.Submit([this, context, shared = std::move(shared)] { Carry(context, shared); });
    }
  }

  std::vector<std::shared_ptr<const NodeRequests>> TakeAnswered() {
    const std::lock_guard lock(mutex_);
    return std::exchange(answered_, {});
  }

  void Submit(const CallContext& context, std::function<void(const CallContext&)> call) {
    calls_.Submit([this, context, call = std::move(call)] { call(Bounded(context)); });
  }

  void Tell(const CallContext& context, std::vector<RecordEventParams> events) {
    if (WritesFindings() && !events.empty()) events_.WriteLimited(context, std::move(events));
  }

  void AwaitAnswers() { calls_.WaitIdle(); }
  void Quiesce() {
    calls_.WaitIdle();
    events_.WaitIdle();
  }

 private:
  bool WritesTransitions() const { return options_.events && options_.transition_events; }
  bool WritesFindings() const { return options_.events && options_.finding_events; }

  CallContext Bounded(const CallContext& context) const {
    return {.deadline = std::min(context.deadline, clock_->Now() + options_.call_timeout), .stop = context.stop};
  }

  void Carry(const CallContext& context, const std::shared_ptr<NodeRequests>& requests) {
    SendRequests(*requests, context, options_.call_timeout, *cluster_, *clock_);
    if (WritesTransitions()) {
      auto events = EventsOfTransitions(*requests, event_reason_, clock_->Now());
      if (!events.empty()) events_.Write(context, std::move(events));
    }
    if (WritesFindings()) {
      if (auto refusal = EventOfRefusal(*requests, event_reason_, clock_->Now())) {
        events_.WriteLimited(context, {*std::move(refusal)});
      }
    }
    // Notifies the observer before the result can be taken, so that the node's next plan is reported after this plan.
    if (observer_) observer_->OnNodeApplied(requests->plan(), requests->outcome());
    {
      const std::lock_guard lock(mutex_);
      answered_.push_back(requests);
    }
    if (on_answered_) on_answered_();
  }

  const std::string event_reason_;
  const std::shared_ptr<ClusterWriter> cluster_;
  const std::shared_ptr<Clock> clock_;
  const std::shared_ptr<Observer> observer_;
  const ExecutorOptions options_;
  const std::function<void()> on_answered_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const NodeRequests>> answered_;
  EventWriter events_;
  WorkerPool calls_;  // declared last, and thus destroyed first: its threads use the other members
};

PlanExecutor::PlanExecutor(const DriverIdentity& identity, std::shared_ptr<ClusterWriter> cluster,
                           std::shared_ptr<Clock> clock, std::shared_ptr<Observer> observer,
                           const ExecutorOptions& options, std::function<void()> on_answered)
    : impl_(std::make_unique<Impl>(identity, std::move(cluster), std::move(clock), std::move(observer), options,
                                   std::move(on_answered))) {}

PlanExecutor::~PlanExecutor() = default;

void PlanExecutor::Begin(const CallContext& context, std::vector<NodeRequests> requests) {
  impl_->Begin(context, std::move(requests));
}

std::vector<std::shared_ptr<const NodeRequests>> PlanExecutor::TakeAnswered() { return impl_->TakeAnswered(); }

void PlanExecutor::AwaitAnswers() { impl_->AwaitAnswers(); }

void PlanExecutor::Submit(const CallContext& context, std::function<void(const CallContext&)> call) {
  impl_->Submit(context, std::move(call));
}

void PlanExecutor::Tell(const CallContext& context, std::vector<RecordEventParams> events) {
  impl_->Tell(context, std::move(events));
}

void PlanExecutor::Quiesce() { impl_->Quiesce(); }

}  // namespace driverupgrade::internal
