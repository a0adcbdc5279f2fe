// Tests, over sockets, an operator whose API server is overloaded or unavailable.
#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "simulation/wire/api_server.h"
#include "support/await_server.h"
#include "support/catch.h"
#include "support/chosen_transport.h"
#include "support/node_under_test.h"
#include "support/upgrade_service.h"
#include "unit/kubernetes/transport_server.h"

namespace driverupgrade::tests {
namespace {

using examples::AwaitServer;
using testing::FakeClock;
using testing::FakeCluster;

/// A transport that first returns the scripted responses and then forwards requests to a server.
class MoodyServer final : public HttpTransport {
 public:
  using Answers = std::deque<absl::StatusOr<HttpResponse>>;

  MoodyServer(std::shared_ptr<HttpTransport> next, Answers first) : next_(std::move(next)), first_(std::move(first)) {}
  absl::StatusOr<HttpResponse> Send(const CallContext& context, const HttpRequest& request) override {
    ++requests;
    if (first_.empty()) return next_->Send(context, request);
    absl::StatusOr<HttpResponse> answer = std::move(first_.front());
    first_.pop_front();
    return answer;
  }
  absl::StatusOr<HttpResponse> Stream(const CallContext& context, const HttpRequest& request, LineSink& sink) override {
    return next_->Stream(context, request, sink);
  }
  int requests = 0;

 private:
  const std::shared_ptr<HttpTransport> next_;
  Answers first_;
};

class FixedDirector final : public Director {
 public:
  explicit FixedDirector(EngineSpec spec) : specs_({std::move(spec)}) {}
  std::optional<std::vector<EngineSpec>> Wanted() override { return specs_; }

 private:
  const std::vector<EngineSpec> specs_;
};

/// A cluster behind a socket, and an operator program that upgrades the cluster.
struct World {
  // This time is ahead of the system clock, which the transports use, so that the deadlines of requests do not expire.
  absl::Time began = absl::Now() + absl::Hours(24);
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>(began);
  std::shared_ptr<FakeCluster> cluster = std::make_shared<FakeCluster>(clock);
  testing::Fleet fleet = AddFleet(*cluster, {.node_count = 2, .workload = ""});
  std::vector<std::string> log = {};
  int requests = 0;

  int RunOnce(const std::string& transport, MoodyServer::Answers first) {
    return Run(transport, std::move(first), {.once = true});
  }
  int Run(const std::string& transport, MoodyServer::Answers first, examples::ServiceArguments arguments) {
    testing::WireSeam seam{.cluster = cluster};
    seam.list_version = [cluster = cluster] { return std::to_string(cluster->revision()); };
    const auto moody = std::make_shared<MoodyServer>(std::make_shared<ApiServer>(std::move(seam)), std::move(first));
    const testing_support::TransportServer server(moody);
    const auto connection = examples::Connect(transport, {.server = server.url()}, "test");
    REQUIRE(connection.ok());
    const LabelSelector driver = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}});
    examples::OperatorOptions options{.service = {.identity = Gpu()}, .probe_labels = driver};
    options.arguments = std::move(arguments);
    options.arguments.ns = fleet.ns;
    options.arguments.transition_events = options.arguments.finding_events = false;
    options.service.engine.clock = clock;
    const auto bell = std::make_shared<Doorbell>();
    FixedDirector director({.driver_labels = driver, .policy = {.auto_upgrade = true}});
    std::mutex mutex;
    const int exit_code = examples::RunService(
        options, *connection, director, bell,
        [&](const LogRecord& record) {
          const std::lock_guard lock(mutex);
          log.push_back(FormatLogfmt(record));
        },
        std::stop_token());
    requests = moody->requests;
    return exit_code;
  }
};

TEST_CASE("If its server is overloaded or unavailable, a program reports this immediately, waits, and continues") {
  struct Row {
    const char* name;
    MoodyServer::Answers first;
    const char* told;
    absl::Duration waits;
  };
  const HttpResponse refused{.status = 429, .body = "too many requests"};
  const HttpResponse refused_for_long{.status = 429, .headers = {{"Retry-After", "40"}}};
  for (const Row& row : {
           Row{"429 with Retry-After", {refused_for_long}, "429 TooManyRequests", absl::Seconds(40)},
           Row{"429 without", {refused, refused, refused}, "429 TooManyRequests", absl::Seconds(7)},
           Row{"500", {HttpResponse{.status = 500}}, "500 InternalError", absl::Seconds(1)},
           Row{"503", {HttpResponse{.status = 503}}, "503 ServiceUnavailable", absl::Seconds(1)},
           Row{"a connection that breaks", {absl::UnavailableError("breaks")}, "connection", absl::Seconds(1)},
       }) {
    for (const std::string& transport : examples::TransportNames()) {
      INFO(row.name << ", " << transport);
      World world;
      CHECK(world.RunOnce(transport, row.first) == examples::kExitDone);
      CHECK(world.clock->Now() - world.began == row.waits);
      REQUIRE(world.log.size() >= 3);
      CHECK_THAT(world.log[0], Catch::Contains("waiting for the API server") && Catch::Contains(row.told));
      CHECK_THAT(world.log[1], Catch::Contains("the API server responds"));
      CHECK_THAT(world.log.back(), Catch::Contains("one pass finished"));
    }
  }
}

TEST_CASE("An invalid listening address ends the program before it queries or awaits the server") {
  examples::ServiceArguments arguments;
  SECTION("address of the probes") { arguments.health_address = "nowhere"; }
  SECTION("address of the metrics") { arguments.metrics_address = "127.0.0.1:no"; }
  World world;
  CHECK(world.Run(examples::TransportNames().front(), {HttpResponse{.status = 503}}, arguments) ==
        examples::kExitUsage);
  CHECK(world.requests == 0);
  CHECK(world.clock->Now() == world.began);
  REQUIRE(world.log.size() == 1);
  CHECK_THAT(world.log[0], Catch::Contains("msg=configuration"));
}

TEST_CASE("A single pass reports that no node has a driver, and does not count as done") {
  World world;
  world.fleet.daemon_set = "another";
  CHECK(world.RunOnce(examples::TransportNames().front(), {}) == examples::kExitNotDone);
  CHECK(std::any_of(world.log.begin(), world.log.end(), [](const std::string& line) {
    return line.find("code=NoDaemonSet") != std::string::npos && line.find("app=another") != std::string::npos;
  }));
}

TEST_CASE("Log lines can be JSON objects, whatever their values contain") {
  const driverupgrade::LogRecord record{
      .severity = Severity::kWarning, .message = "node waits", .fields = {{"node", "n1"}, {"detail", "a \"b\"\n\xff"}}};
  CHECK(examples::FormatJson(record, "controllers.Upgrade", absl::UnixEpoch()) ==
        R"({"time":"1970-01-01T00:00:00.000Z","logger":"controllers.Upgrade","level":"warning","msg":"node waits",)"
        R"("node":"n1","detail":"a \"b\"\n?"})");
}

TEST_CASE("A permanent error ends the program at the first response") {
  const int status = GENERATE(400, 401, 403, 404);
  const std::string transport = examples::TransportNames().front();
  World world;
  CHECK(world.RunOnce(transport, {HttpResponse{.status = status}}) == examples::kExitRefused);
  CHECK(world.requests == 1);
  CHECK(world.clock->Now() == world.began);
  REQUIRE(world.log.size() == 1);
  CHECK_THAT(world.log[0], Catch::Contains("the cluster cannot be read") && Catch::Contains(std::to_string(status)));
}

/// Calls AwaitServer with scripted responses, and records the time of each attempt.
struct Wait {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  absl::Time began = clock->Now();
  std::vector<absl::Duration> attempts = {};
  std::vector<std::string> log = {};

  absl::Status Run(std::deque<absl::Status> answers, absl::Duration timeout = absl::InfiniteDuration(),
                   std::stop_token stop = {}) {
    return AwaitServer(
        {.deadline = began + timeout, .stop = std::move(stop)}, *clock,
        [this](const LogRecord& record) { log.push_back(FormatLogfmt(record)); },
        [&] {
          attempts.push_back(clock->Now() - began);
          absl::Status answer = answers.empty() ? absl::OkStatus() : answers.front();
          if (!answers.empty()) answers.pop_front();
          return answer;
        });
  }
};

TEST_CASE("The pauses between attempts double up to half a minute, and each reason is reported once") {
  Wait wait;
  std::deque<absl::Status> answers(7, absl::UnavailableError("connection refused"));
  answers[1] = answers[2] = absl::DeadlineExceededError("no complete answer");
  CHECK(wait.Run(answers).ok());
  std::vector<absl::Duration> expected;
  for (const int seconds : {0, 1, 3, 7, 15, 31, 61, 91}) expected.push_back(absl::Seconds(seconds));
  CHECK(wait.attempts == expected);
  REQUIRE(wait.log.size() == 4);
  CHECK_THAT(wait.log[0], Catch::Contains("connection refused") && Catch::Contains("again_in=1s"));
  CHECK_THAT(wait.log[1], Catch::Contains("no complete answer"));
  CHECK_THAT(wait.log[2], Catch::Contains("connection refused"));
  CHECK_THAT(wait.log[3], Catch::Contains("waited=1m31s"));
}

TEST_CASE("A wait ends before a pause that would exceed the deadline, on a stop request, and on a permanent error") {
  const absl::Status away = absl::UnavailableError("connection refused");
  Wait timed;
  CHECK(timed.Run({away, away, away}, absl::Seconds(3)) == away);
  CHECK(timed.attempts == std::vector<absl::Duration>{absl::ZeroDuration(), absl::Seconds(1)});
  Wait stopped;
  std::stop_source stop;
  stop.request_stop();
  CHECK(stopped.Run({away}, absl::InfiniteDuration(), stop.get_token()) == away);
  CHECK(stopped.attempts.size() == 1);
  Wait refused;
  CHECK(absl::IsPermissionDenied(refused.Run({away, absl::PermissionDeniedError("nodes is forbidden")})));
  CHECK(refused.attempts.size() == 2);
}

}  // namespace
}  // namespace driverupgrade::tests
