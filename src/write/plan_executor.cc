#include "driverupgrade/plan_executor.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "base/worker_pool.h"
#include "write/event_writer.h"
#include "write/node_requests.h"
#include "write/refusal_event.h"
#include "write/send_requests.h"

namespace driverupgrade {
namespace {

using internal::NodeRequests;

// Events are many and small, and the API server's other clients matter more.
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

  void Begin(const CallContext& context, const Plan& plan, AttemptLog& log) {
    for (const NodePlan& node : plan.nodes) {
      if (node.patch) {
        log.PatchSent({.name = node.node, .uid = node.uid, .resource_version = node.resource_version}, *node.patch,
                      clock_->Now());
      }
      in_flight_.insert(node.node);
      calls_.Submit([this, context, requests = std::make_shared<NodeRequests>(node)] { Carry(context, requests); });
    }
  }

  bool InFlight(const std::string& node) const { return in_flight_.contains(node); }

  std::vector<NodeOutcome> Collect(AttemptLog& log) {
    std::vector<std::shared_ptr<const NodeRequests>> answered;
    {
      const std::lock_guard lock(mutex_);
      answered.swap(answered_);
    }
    std::vector<NodeOutcome> outcomes;
    for (const auto& requests : answered) {
      requests->TellLog(log);
      in_flight_.erase(requests->plan().node);
      outcomes.push_back(requests->outcome());
    }
    return outcomes;
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
    internal::SendRequests(*requests, context, options_.call_timeout, *cluster_, *clock_);
    // What a failure dropped is told by the next pass.
    if (WritesTransitions() && requests->Acknowledged()) WriteEvents(context, requests->plan());
    if (WritesFindings()) {
      if (auto refusal = internal::EventOfRefusal(*requests, event_reason_, clock_->Now())) {
        events_.WriteLimited(context, {*std::move(refusal)});
      }
    }
    // Before the answer can be collected: what is planned next for the node is told of after this.
    if (observer_) observer_->OnNodeApplied(requests->plan(), requests->outcome());
    {
      const std::lock_guard lock(mutex_);
      answered_.push_back(requests);
    }
    if (on_answered_) on_answered_();
  }

  void WriteEvents(const CallContext& context, const NodePlan& plan) {
    if (plan.events.empty()) return;
    std::vector<RecordEventParams> events;
    for (const PlannedEvent& event : plan.events) {
      events.push_back({.node_name = plan.node,
                        .node_uid = plan.uid,
                        .type = event.warning ? EventType::kWarning : EventType::kNormal,
                        .reason = event_reason_,
                        .message = event.message,
                        .time = clock_->Now()});
    }
    events_.Write(context, std::move(events));
  }

  const std::string event_reason_;
  const std::shared_ptr<ClusterWriter> cluster_;
  const std::shared_ptr<Clock> clock_;
  const std::shared_ptr<Observer> observer_;
  const ExecutorOptions options_;
  const std::function<void()> on_answered_;
  std::set<std::string> in_flight_;  // names of nodes; of the thread of the passes
  std::mutex mutex_;
  std::vector<std::shared_ptr<const NodeRequests>> answered_;
  internal::EventWriter events_;
  internal::WorkerPool calls_;  // last: its threads use the rest
};

PlanExecutor::PlanExecutor(const DriverIdentity& identity, std::shared_ptr<ClusterWriter> cluster,
                           std::shared_ptr<Clock> clock, std::shared_ptr<Observer> observer,
                           const ExecutorOptions& options, std::function<void()> on_answered)
    : impl_(std::make_unique<Impl>(identity, std::move(cluster), std::move(clock), std::move(observer), options,
                                   std::move(on_answered))) {}

PlanExecutor::~PlanExecutor() = default;

void PlanExecutor::Begin(const CallContext& context, const Plan& plan, AttemptLog& log) {
  impl_->Begin(context, plan, log);
}

bool PlanExecutor::InFlight(const std::string& node) const { return impl_->InFlight(node); }

std::vector<NodeOutcome> PlanExecutor::Collect(AttemptLog& log) { return impl_->Collect(log); }

std::vector<NodeOutcome> PlanExecutor::Apply(const CallContext& context, const Plan& plan, AttemptLog& log) {
  impl_->Begin(context, plan, log);
  impl_->AwaitAnswers();
  std::vector<NodeOutcome> outcomes = impl_->Collect(log);
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) places[plan.nodes[i].node] = i;
  std::sort(outcomes.begin(), outcomes.end(),
            [&](const NodeOutcome& a, const NodeOutcome& b) { return places[a.node] < places[b.node]; });
  return outcomes;
}

void PlanExecutor::Submit(const CallContext& context, std::function<void(const CallContext&)> call) {
  impl_->Submit(context, std::move(call));
}

void PlanExecutor::Tell(const CallContext& context, std::vector<RecordEventParams> events) {
  impl_->Tell(context, std::move(events));
}

void PlanExecutor::Quiesce() { impl_->Quiesce(); }

}  // namespace driverupgrade
