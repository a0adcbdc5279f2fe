// A host of the C interface as small as one can be: it lists anew in every pass, and sends through a transport.
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

// What a function of the interface said.
struct Said {
  du_code code = 0;
  std::string text = {};
};

// As http_status of du_engine_answer, with what comes with it.
struct HttpAnswer {
  int status = DU_NO_ANSWER;
  int retry_after_s = 0;
  std::string body = {};
};

struct HostedDriver {
  std::string options = {};
  std::string ns = {};
  std::string driver_labels = {};  // a selector
  // Empty: not in requestor mode.
  std::string maintenance_ns = {};
  // Whoever asks for a GPU, if absent.
  std::function<absl::StatusOr<bool>(const Pod& pod)> uses_driver = {};
  // For where time goes on within a pass; absent: it does not.
  std::shared_ptr<Clock> clock = nullptr;
  // How often a list is tried, until Pass and Release throw std::runtime_error.
  int attempts = 100;
};

class EngineHost {
 public:
  // Stands between the host and the server for one write: whether it is sent, and what comes back.
  using Network = std::function<HttpAnswer(const std::function<HttpAnswer()>& send)>;

  EngineHost(
      HostedDriver driver, std::shared_ptr<HttpTransport> server,
      Network network = [](const auto& send) { return send(); });

  // One pass over these nodes, nullopt: all, with all that follows from it at once. Whether anything was sent. `owner`: of a part.
  bool Pass(const std::optional<std::set<std::string>>& nodes, std::string_view policy, absl::Time now,
            std::string_view owner = "");
  // Gives all nodes back; whether anything was sent.
  bool Release(absl::Time now);
  // Put one time zone, or all time zones of the policy, for this engine and for the engines after a Restart.
  void PutTimeZone(const TimeZoneTable& zone);
  void PutTimeZones(const UpgradePolicy& policy);
  // As after a crash: all that the engine knew is lost.
  void Restart();
  // Asks for each node whether replacing its driver needs an evacuated node.
  void AnswerQuestions(absl::Time now, bool answer);
  using RestartOnly = std::function<absl::StatusOr<bool>(const Pod& pod, const ControllerRevision& running,
                                                         const ControllerRevision& wanted)>;
  void AnswerQuestions(absl::Time now, const RestartOnly& restart_only);

  du_engine* engine() const { return engine_.get(); }
  // Hears what begins, as an engine's observer does.
  void SetObserver(std::shared_ptr<Observer> observer) { observer_ = std::move(observer); }
  // Where several hosts elect one: until when it leads, nullopt: not now. No write is sent then; null: it is alone.
  using LeadsUntil = std::function<std::optional<absl::Time>()>;
  void SetLeadsUntil(LeadsUntil leads_until) { leads_until_ = std::move(leads_until); }
  // Of the last pass.
  const std::string& last() const { return last_; }
  std::optional<absl::Time> wake_at() const { return wake_at_; }
  // Of all passes.
  const std::vector<std::string>& events() const { return events_; }
  int requests() const { return requests_; }
  // Lists and puts what there is.
  void Read();
  // Lists and puts the objects of one kind, DU_NODES to DU_CONTROLLER_REVISIONS.
  void Put(std::int32_t kind);

 private:
  std::string List(const std::string& path, std::vector<std::pair<std::string, std::string>> query);
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
  // As they were put last.
  std::string pods_;
  std::string revisions_;
  std::string last_;
  std::optional<absl::Time> wake_at_;
  // Nodes whose pods the engine was interested in.
  std::vector<std::string> interest_;
  std::map<std::string, std::string> time_zones_;  // documents by name
  std::vector<std::string> events_;
  int requests_ = 0;
  bool ledger_answered_ = false;  // by the last Carry
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
