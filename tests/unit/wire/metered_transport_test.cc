#include <map>
#include <thread>
#include <vector>

#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/observer.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"
#include "unit/wire/scripted_transport.h"

namespace driverupgrade::tests {
namespace {

using testing::FakeClock;
using Counts = std::map<RequestKind, std::uint64_t>;

/// A transport that takes 300 ms for a request, and whose streams break after five minutes.
class SlowTransport final : public HttpTransport {
 public:
  explicit SlowTransport(std::shared_ptr<FakeClock> clock) : clock_(std::move(clock)) {}
  absl::StatusOr<HttpResponse> Send(const CallContext&, const HttpRequest&) override {
    clock_->Advance(absl::Milliseconds(300));
    return HttpResponse{.status = 200};
  }
  absl::StatusOr<HttpResponse> Stream(const CallContext&, const HttpRequest&, LineSink& sink) override {
    sink.OnOpen({.status = 200});
    counted_when_open = !meter->Snapshot().requests.empty();
    clock_->Advance(absl::Minutes(5));
    return absl::UnavailableError("reset");
  }
  std::shared_ptr<RequestMeter> meter = std::make_shared<RequestMeter>();
  bool counted_when_open = false;

 private:
  const std::shared_ptr<FakeClock> clock_;
};

class Nobody final : public LineSink {
 public:
  bool OnLine(std::string_view) override { return true; }
};

struct Metered {
  std::shared_ptr<ScriptedTransport> script = std::make_shared<ScriptedTransport>();
  std::shared_ptr<RequestMeter> meter = std::make_shared<RequestMeter>();
  std::shared_ptr<HttpTransport> transport = MakeMeteredTransport(script, meter);
};

TEST_CASE("A request is counted by verb, resource, and status, and sent unchanged") {
  Metered metered;
  metered.script->Answer(429, "slow down");
  const HttpRequest request{.verb = HttpVerb::kPost, .path = "/api/v1/namespaces/shop/pods/web/eviction", .body = "{}"};
  const auto answer = metered.transport->Send({}, request);
  CHECK(answer->body == "slow down");
  CHECK(metered.script->requests.at(0).body == "{}");
  CHECK(metered.meter->Snapshot().requests == Counts{{{"create", "pods/eviction", "429"}, 1}});
  CHECK(metered.meter->Snapshot().seconds.at("create").Count() == 1);
}

TEST_CASE("Label values come from fixed sets, whatever the server and the client send") {
  struct Row {
    absl::StatusOr<HttpResponse> answer;
    const char* path;
    RequestKind kind;
  };
  const auto row = GENERATE(values<Row>({
      {HttpResponse{.status = 418}, "/api/v1/nodes", {"list", "nodes", "4xx"}},
      {HttpResponse{.status = 302}, "/api/v1/nodes", {"list", "nodes", "3xx"}},
      {HttpResponse{.status = 600}, "/api/v1/nodes", {"list", "nodes", "invalid"}},
      {HttpResponse{.status = -1}, "/api/v1/nodes", {"list", "nodes", "invalid"}},
      {HttpResponse{.status = 200}, "/api/v1/secrets", {"list", "other", "200"}},
      {HttpResponse{.status = 200}, "/version", {"list", "other", "200"}},
      {absl::DeadlineExceededError("late"), "/api/v1/pods/p", {"get", "pods", "DEADLINE_EXCEEDED"}},
  }));
  Metered metered;
  metered.script->Answer(row.answer);
  CHECK(metered.transport->Send({}, {.path = row.path}).ok() == row.answer.ok());
  CHECK(metered.meter->Snapshot().requests == Counts{{row.kind, 1}});
}

TEST_CASE("Responses are timed, and watches are counted when they open, but not timed") {
  const auto clock = std::make_shared<FakeClock>();
  const auto slow = std::make_shared<SlowTransport>(clock);
  const auto transport = MakeMeteredTransport(slow, slow->meter, clock);
  Nobody sink;
  CHECK_FALSE(transport->Stream({}, {.path = "/api/v1/nodes", .query = {{"watch", "1"}}}, sink).ok());
  CHECK(slow->counted_when_open);
  CHECK(slow->meter->Snapshot().requests == Counts{{{"watch", "nodes", "200"}, 1}});
  CHECK(slow->meter->Snapshot().seconds.empty());
  CHECK(transport->Send({}, {.path = "/api/v1/nodes"}).ok());
  CHECK(slow->meter->Snapshot().seconds.at("list").sum == 0.3);
}

TEST_CASE("A watch that does not open is counted with the status of its response") {
  Metered metered;
  metered.script->Answer(410, "");
  Nobody sink;
  CHECK(metered.transport->Stream({}, {.path = "/api/v1/pods", .query = {{"watch", "1"}}}, sink)->status == 410);
  CHECK(metered.meter->Snapshot().requests == Counts{{{"watch", "pods", "410"}, 1}});
}

TEST_CASE("Several threads may use a meter") {
  RequestMeter meter;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 100; ++n) {
        meter.Count({"get", "nodes", "200"});
        meter.Time("get", -absl::Seconds(1));  // the clock was set back
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const RequestFigures figures = meter.Snapshot();
  CHECK(figures.requests == Counts{{{"get", "nodes", "200"}, 400}});
  CHECK(figures.seconds.at("get").Count() == 400);
  CHECK(figures.seconds.at("get").sum == 0);
}

}  // namespace
}  // namespace driverupgrade::tests
