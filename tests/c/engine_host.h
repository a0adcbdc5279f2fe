// A minimal host of the C interface. It lists all objects in every pass and sends requests through a transport.
#ifndef DRIVERUPGRADE_TESTS_C_ENGINE_HOST_H_
#define DRIVERUPGRADE_TESTS_C_ENGINE_HOST_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "base/rapidjson.h"
#include "driverupgrade/c/driverupgrade.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/observer.h"
#include "driverupgrade/policy_values.h"
#include "driverupgrade/upgrade_policy.h"

namespace driverupgrade::tests {

using JsonDocument = driverupgrade_rapidjson::Document;

// Code and text that a function of the C interface returned.
struct Said {
  du_code code = 0;
  std::string text = {};
};

// A response, as passed to du_engine_answer. `status` is the http_status.
struct HttpAnswer {
  int status = DU_NO_ANSWER;
  int retry_after_s = 0;
  std::string body = {};
};

struct HostedDriver {
  std::string options = {};
  std::string ns = {};
  std::string driver_labels = {};  // label selector
  // Namespace of the NodeMaintenances. If empty, requestor mode is off.
  std::string maintenance_ns = {};
  // True if the engine watches the objects of Dynamic Resource Allocation.
  bool has_devices = false;
  // Returns true if a pod uses the driver. The default is true for pods that request a GPU.
  std::function<absl::StatusOr<bool>(const Pod& pod)> uses_driver = {};
  // Clock for the time that passes during a pass. By default, no time passes.
  std::shared_ptr<Clock> clock = nullptr;
  // Number of attempts to list objects. After the last attempt, Pass and Release throw std::runtime_error.
  int attempts = 100;
};

class EngineHost {
 public:
  // Called for each write between the host and the server. Decides whether the write is sent, and which response the
  // host receives.
  using Network = std::function<HttpAnswer(const std::function<HttpAnswer()>& send)>;

  EngineHost(
      HostedDriver driver, std::shared_ptr<HttpTransport> server,
      Network network = [](const auto& send) { return send(); });

  // Runs one pass over these nodes (nullopt for all nodes), and sends the pass's requests. `owner` names the owner of
  // these nodes if the driver has several owners. Returns true if any request was sent.
  bool Pass(const std::optional<std::set<std::string>>& nodes, std::string_view policy, absl::Time now,
            std::string_view owner = "");
  // Sets the reason why the rollout is sick, which later passes report; empty: no reason.
  void SetRolloutSick(std::string reason) { rollout_sick_ = std::move(reason); }
  // Releases all nodes. Returns true if any request was sent.
  bool Release(absl::Time now);
  // These functions pass one time zone, or all time zones of the policy, to the current engine and to every engine that
  // Restart creates.
  void PutTimeZone(const TimeZoneTable& zone);
  void PutTimeZones(const UpgradePolicy& policy);
  // Replaces the engine with a new one that has no data, as after a crash.
  void Restart();
  // Answers all pending questions. `answer` is true if a restart of the driver is sufficient.
  void AnswerQuestions(absl::Time now, bool answer);
  using RestartOnly = std::function<absl::StatusOr<bool>(const Pod& pod, const ControllerRevision& running,
                                                         const ControllerRevision& wanted)>;
  void AnswerQuestions(absl::Time now, const RestartOnly& restart_only);

  du_engine* engine() const { return engine_.get(); }
  // Sets an observer, whose OnPlan is called with the plan of each pass.
  void SetObserver(std::shared_ptr<Observer> observer) { observer_ = std::move(observer); }
  // Sets a function that returns the time until which this host is the leader, or nullopt if it is not the leader. The
  // host sends writes only while it is the leader. A null function means that this is the only host.
  using LeadsUntil = std::function<std::optional<absl::Time>()>;
  void SetLeadsUntil(LeadsUntil leads_until) { leads_until_ = std::move(leads_until); }
  // Result document of the last pass.
  const std::string& last() const { return last_; }
  std::optional<absl::Time> wake_at() const { return wake_at_; }
  // Events and number of requests from all passes so far.
  const std::vector<std::string>& events() const { return events_; }
  int requests() const { return requests_; }
  // Lists all objects of the cluster and passes them to the engine.
  void Read();
  // Lists the objects of one kind, DU_NODES to DU_CONTROLLER_REVISIONS, and passes them to the engine.
  void Put(std::int32_t kind);

 private:
  // Returns the list. If `may_be_absent` is true and the server does not serve the kind, returns the error response.
  std::string List(const std::string& path, std::vector<std::pair<std::string, std::string>> query,
                   bool may_be_absent = false);
  void PutDevices();
  void Announce(const JsonDocument& pass);
  void PutPods(const std::string& node);
  std::string UsesDriver(const std::string& list) const;
  bool Carry(absl::Time now);
  HttpAnswer Send(const JsonDocument& request);

  const HostedDriver driver_;
  const std::shared_ptr<HttpTransport> server_;
  const Network network_;
  std::unique_ptr<du_engine, void (*)(du_engine*)> engine_;
  std::shared_ptr<Observer> observer_ = nullptr;
  LeadsUntil leads_until_ = nullptr;
  // Documents that were last passed to the engine.
  std::string pods_;
  std::string revisions_;
  std::string last_;
  std::optional<absl::Time> wake_at_;
  // Nodes for which the engine requested the pods in the last pass.
  std::vector<std::string> interest_;
  std::map<std::string, std::string> time_zones_;  // documents by time zone name
  std::vector<std::string> events_;
  std::string rollout_sick_;
  int requests_ = 0;
  bool ledger_answered_ = false;  // true if the last Carry sent ledger requests
};

// Calls a function of the interface whose last argument is `out`.
template <typename F, typename... Args>
Said Call(F function, Args... args) {
  du_buf out = {};
  const du_code code = function(args..., &out);
  Said said{.code = code, .text = out.data == nullptr ? std::string() : std::string(out.data, out.size)};
  du_free(out.data);
  return said;
}

inline du_str Str(std::string_view text) { return {.data = text.data(), .size = text.size()}; }

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_C_ENGINE_HOST_H_
