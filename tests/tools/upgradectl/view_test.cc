// Tests that `status` and `explain` use the operator's own view if they can read it.
#include <algorithm>
#include <memory>
#include <mutex>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>

#include "fmt/format.h"
#include "support/catch.h"
#include "support/http_get.h"
#include "support/rollout_schema.h"
#include "upgradectl/operator_view.h"
#include "upgradectl_support.h"

namespace upgradectl {
namespace {

using driverupgrade::HttpResponse;

const std::string kAt = "2026-01-02T12:05:00Z";
constexpr char kToken[] = "/api/v1/namespaces/gpu-operator/serviceaccounts/nvidia-gpu-driver-upgrade-viewer/token";
constexpr char kRollout[] = "/api/v1/namespaces/gpu-operator/pods/https:op-1:8443/proxy/rollout";
constexpr char kOwnView[] = "this is upgradectl's own view, not the operator's: ";

std::string LeaseText(const std::string& renewed, const std::string& options = R"({\"rolloutPort\":8443})") {
  return fmt::format(
      R"(,{{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{{"namespace":"gpu-operator","name":"nvidia-gpu-driver-upgrade",)"
      R"("annotations":{{"nvidia.com/gpu-driver-upgrade.options":"{}"}}}},"spec":{{"holderIdentity":"op-1_42","leaseDurationSeconds":15,"renewTime":"{}"}}}})",
      options, renewed);
}

// A webhook refuses the patch of node n0000, and n0001 waits for a disruption budget.
constexpr char kDocument[] =
    R"({"at":"2026-01-02T12:05:00Z","apiVersion":"driverupgrade/v1","kind":"Rollout","version":"0.1.0",
"driver":{"domain":"nvidia.com","name":"gpu"},"leader":true,"replica":"op-1_42","lastPass":"2026-01-02T12:04:57Z",
"pools":[{"name":"cluster-policy","autoUpgrade":true,"paused":false,
"totals":{"total":2,"pending":1,"inProgress":1,"failed":0,"done":0,"notReady":0,"slots":1,"unavailable":1},
"budgets":[{"name":"parallel","used":1,"limit":1},{"name":"unavailable","used":1,"limit":2,"items":["n0001"]}],
"rollout":{"revision":"new","began":"2026-01-02T12:00:00Z","stage":"canary","stages":[
{"name":"canary","nodes":1,"underWay":1,"done":0,"failed":0,"leftOut":0},{"name":"rest","nodes":1,"underWay":0,"done":0,"failed":0,"leftOut":0}],
"waitsFor":{"reason":"Stage","opener":"Rollout","detail":"stage canary is not done"}},
"findings":[{"code":"ReadFailed","node":"n0001","message":"pods cannot be read"}]}],
"nodes":[
{"name":"n0000","pool":"cluster-policy","state":"upgrade-required","upToDate":false,"driverReady":true,"revision":"old","stage":"rest",
"transitions":[{"at":"2026-01-02T12:00:00Z","state":"upgrade-required","reason":"the driver pod is out of date"}],
"requests":[{"at":"2026-01-02T12:04:00Z","code":"PERMISSION_DENIED","message":"patch node n0000: 403 Forbidden: admission webhook \"freeze.example.com\" denied the request"}]},
{"name":"n0001","pool":"cluster-policy","state":"drain-required","since":"2026-01-02T12:01:00Z","upToDate":false,"driverReady":true,
"gate":{"reason":"DisruptionBudget","opener":"Workloads","detail":"shop/web-1: budget shop/web allows none","since":"2026-01-02T12:02:00Z",
"subject":{"kind":"Pod","namespace":"shop","name":"web-1"},"commands":["kubectl describe pod -n shop web-1"]}}]})";

std::shared_ptr<DumpServer> ServerWith(const std::string& lease) {
  auto server = std::make_shared<DumpServer>(Fleet(2, lease));
  server->AnswerAt(kToken, {.status = 201, .body = R"({"status":{"token":"viewer-t0ken"}})"});
  server->AnswerAt(kRollout, {.status = 200, .body = kDocument});
  return server;
}

Answer Show(const std::shared_ptr<DumpServer>& server, std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--kubeconfig", "any", "--at", kAt});
  return RunIn(arguments, {.server = server});
}

TEST_CASE("The document in these tests is a valid rollout document of an operator") {
  CHECK(driverupgrade::tests::BreaksRolloutSchema(driverupgrade::tests::ParsedJson(kDocument)) == "");
}

TEST_CASE("status shows the findings of the operator, with a token that permits no other requests") {
  const auto server = ServerWith(LeaseText("2026-01-02T12:04:58.000000Z"));
  const Answer answer = Show(server, {"status"});
  CHECK(server->headers() ==
        std::vector<std::pair<std::string, std::string>>{{"X-Driver-Upgrade-Token", "viewer-t0ken"}});
  CHECK(
      answer.out.starts_with("nvidia.com/gpu under way: 0 of 2 done, 0 failed, 1 in progress, 1 waiting\n"
                             "slots 1 of 1, unavailable 1 of 2\n"));
  CHECK_THAT(answer.out, Catch::Contains("stage canary, 1 of 2: 0 of 1 done"));
  CHECK_THAT(answer.out, Catch::Contains("operator op-1_42, seen 2s ago, last pass 3s ago"));
  CHECK_THAT(answer.out,
             Catch::Contains("the operator's request failed: patch node n0000: 403 Forbidden: admission webhook"));
  CHECK_THAT(answer.out, Catch::Contains("DisruptionBudget: shop/web-1: budget shop/web allows none"));
  CHECK_THAT(answer.out, Catch::Contains("finding ReadFailed on n0001: pods cannot be read"));
}

TEST_CASE("explain names the webhook that refuses the operator's patches") {
  const auto server = ServerWith(LeaseText("2026-01-02T12:04:58.000000Z"));
  const Answer answer = Show(server, {"explain", "n0000"});
  CHECK_THAT(answer.out,
             Catch::Contains("Failed requests of the operator\n  2026-01-02T12:04:00Z (60s ago): patch node "
                             "n0000: 403 Forbidden: admission webhook"));
  CHECK_THAT(answer.out, Catch::Contains("Waits for\n  the operator's request to succeed\n"));
  CHECK_THAT(answer.out,
             Catch::Contains("The operator's last request failed: patch node n0000: 403") &&
                 Catch::Contains("kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations"));
  CHECK_THAT(answer.out, Catch::Contains("History\n  2026-01-02T12:00:00Z  upgrade-required: the driver pod is out of "
                                         "date"));
  const Answer other = Show(server, {"explain", "n0001"});
  CHECK_THAT(other.out, Catch::Contains("since 2026-01-02T12:02:00Z (3m ago)"));
}

TEST_CASE("status -w also shows the operator's view, with one token for all updates") {
  const auto server = ServerWith(LeaseText("2026-01-02T12:04:58.000000Z"));
  std::string done = kDocument;
  const std::size_t nodes = done.find("\"nodes\":[");
  done = done.substr(0, nodes) + R"("nodes":[]})";
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{R"("pending":1,"inProgress":1)", R"("pending":0,"inProgress":0)"},
        {R"("done":0,"notReady")", R"("done":2,"notReady")"}}) {
    done.replace(done.find(from), from.size(), to);
  }
  server->AnswerAt(kRollout, {.status = 200, .body = done});
  const Answer answer = Show(server, {"status", "-w"});
  CHECK(answer.exit_code == kExitDone);
  CHECK_THAT(answer.out,
             Catch::StartsWith("nvidia.com/gpu done: 2 of 2 done") && Catch::Contains(", last pass 3s ago"));
  const std::vector<std::string> paths = server->paths();
  CHECK(std::count(paths.begin(), paths.end(), kToken) == 1);
}

TEST_CASE("A refusal is no longer shown once the node has changed its state") {
  std::string document = kDocument;
  document.replace(document.find("2026-01-02T12:04:00Z"), 20, "2026-01-02T11:59:00Z");
  const auto server = ServerWith(LeaseText("2026-01-02T12:04:58.000000Z"));
  server->AnswerAt(kRollout, {.status = 200, .body = document});
  CHECK(Show(server, {"status"}).out.find("the operator's request failed") == std::string::npos);
}

TEST_CASE("A failed request does not hide the gate, and is shown for a limited time") {
  // Node n0001 waits for a budget, and an eviction has failed once.
  std::string document = kDocument;
  const std::string failed =
      R"("requests":[{"at":"2026-01-02T12:04:30Z","code":"UNAVAILABLE","message":"evict pod shop/web-1: 503"}],)";
  document.insert(document.find(R"("gate":{"reason":"DisruptionBudget")"), failed);
  const auto server = ServerWith(LeaseText("2026-01-02T12:04:58.000000Z"));
  server->AnswerAt(kRollout, {.status = 200, .body = document});
  const std::string out = Show(server, {"status"}).out;
  CHECK_THAT(out, Catch::Contains("DisruptionBudget: shop/web-1") && !Catch::Contains("request failed: evict"));
  // Node n0000 has no gate.
  std::string old = kDocument;
  old.replace(old.find("2026-01-02T12:00:00Z\",\"state"), 20, "2026-01-02T08:00:00Z");
  old.replace(old.find("2026-01-02T12:04:00Z"), 20, "2026-01-02T11:30:00Z");
  server->AnswerAt(kRollout, {.status = 200, .body = old});
  CHECK_THAT(Show(server, {"status"}).out, !Catch::Contains("request failed"));
}

TEST_CASE("If the operator's view is unavailable, the first line reports this and the reason") {
  const auto first_line = [](const std::shared_ptr<DumpServer>& server, std::vector<std::string> arguments) {
    const std::string out = Show(server, std::move(arguments)).out;
    return out.substr(0, out.find('\n'));
  };
  const std::string lease = LeaseText("2026-01-02T12:04:58.000000Z");
  for (const std::vector<std::string>& verb : {std::vector<std::string>{"status"}, {"explain", "n0000"}}) {
    CHECK(first_line(ServerWith(LeaseText("2026-01-02T12:04:58.000000Z", "{}")), verb) ==
          std::string(kOwnView) + "op-1_42 does not serve its view (--rollout-secure-address)");
    const auto no_token = ServerWith(lease);
    no_token->AnswerAt(kToken, {.status = 403, .body = R"({"kind":"Status","code":403,"message":"not for you"})"});
    CHECK(first_line(no_token, verb) ==
          std::string(kOwnView) +
              "create serviceaccounts/token gpu-operator/nvidia-gpu-driver-upgrade-viewer: 403: not for you");
    const auto no_proxy = ServerWith(lease);
    no_proxy->AnswerAt(kRollout, {.status = 502, .body = "dial tcp 10.0.0.7:8443: connection refused\n"});
    CHECK(first_line(no_proxy, verb) == std::string(kOwnView) +
                                            "get pods/proxy gpu-operator/op-1:8443: 502: dial tcp 10.0.0.7:8443: "
                                            "connection refused");
    const auto other_version = ServerWith(lease);
    std::string newer = kDocument;
    newer.replace(newer.find("DisruptionBudget"), 16, "GravityStorm");
    other_version->AnswerAt(kRollout, {.status = 200, .body = newer});
    CHECK(first_line(other_version, verb) ==
          std::string(kOwnView) +
              "the operator's rollout document: nodes[1].gate.reason: `GravityStorm` is not "
              "known: use the operator's version of upgradectl");
    const auto follower = ServerWith(lease);
    std::string follows = kDocument;
    follows.replace(follows.find(R"("leader":true)"), 13, R"("leader":false)");
    follower->AnswerAt(kRollout, {.status = 200, .body = follows});
    CHECK(first_line(follower, verb) == std::string(kOwnView) + "op-1_42 does not lead");
  }
}

TEST_CASE("If the operator has stopped, the first line reports this") {
  const auto server = ServerWith(LeaseText("2026-01-02T09:05:00.000000Z"));
  server->AnswerAt(kRollout, {.status = 503, .body = "no endpoints\n"});
  for (const std::vector<std::string>& verb : {std::vector<std::string>{"status"}, {"explain", "n0000"}}) {
    CHECK(Show(server, verb)
              .out.starts_with(
                  "no operator has renewed its Lease since 2026-01-02T09:05:00Z (3h00m): no upgrade will proceed\n"));
  }
}

TEST_CASE("The first line shows the operator's last error") {
  std::string document = kDocument;
  document.insert(document.find(R"("pools")"), R"("lastError":"list nodes: 403 Forbidden",)");
  const auto server = ServerWith(LeaseText("2026-01-02T12:04:58.000000Z"));
  server->AnswerAt(kRollout, {.status = 200, .body = document});
  CHECK(Show(server, {"status"}).out.starts_with("the operator's last pass failed: list nodes: 403 Forbidden\n"));
}

TEST_CASE("Either the selected policy is shown, or all policies with the sum of their counts") {
  std::string document = kDocument;
  const std::size_t end = document.find("],\n\"nodes\"");
  document.insert(
      end, R"(,{"name":"other","autoUpgrade":false,"paused":true,"totals":{"total":1,"pending":0,"inProgress":0,)"
           R"("failed":1,"done":0,"notReady":0,"slots":0,"unavailable":0},"budgets":[],"findings":[]})");
  const absl::StatusOr<OperatorView> all = ParseOperatorView(document, "");
  REQUIRE(all.ok());
  CHECK(all->fleet.totals.total == 3);
  CHECK(all->fleet.totals.failed == 1);
  CHECK_FALSE(all->fleet.rollout);
  CHECK_FALSE(all->fleet.budget.parallel_max);
  const absl::StatusOr<OperatorView> other = ParseOperatorView(document, "other");
  REQUIRE(other.ok());
  CHECK(other->fleet.paused);
  CHECK(other->nodes.empty());
  CHECK(absl::IsNotFound(ParseOperatorView(document, "third").status()));
}

// Runs `dashboard` in a thread until it is stopped.
class Dashboard {
 public:
  explicit Dashboard(const std::shared_ptr<DumpServer>& server)
      : thread_([this, server](const std::stop_token& stop) {
          const char* argv[] = {"upgradectl", "dashboard", "--kubeconfig", "any"};
          std::istringstream in;
          Streams streams{.in = in, .out = out_, .err = err_, .stop = stop};
          streams.connect = [&](const SourceOptions&) { return server; };
          exit_code_ = Run(4, argv, streams);
        }) {}
  ~Dashboard() { Stop(); }

  int Stop() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
    return exit_code_;
  }
  // Returns the address http://127.0.0.1:PORT/?key=KEY once it has been printed.
  std::string Address() {
    while (out_.str().find('\n') == std::string::npos) std::this_thread::yield();
    return out_.str().substr(0, out_.str().find('\n'));
  }

 private:
  // A buffer that one thread writes and another thread reads.
  class Shared final : public std::stringbuf {
   public:
    std::string Text() {
      const std::lock_guard lock(mutex_);
      return text_;
    }

   private:
    std::streamsize xsputn(const char* text, std::streamsize size) override {
      const std::lock_guard lock(mutex_);
      text_.append(text, static_cast<std::size_t>(size));
      return size;
    }
    std::mutex mutex_;
    std::string text_;
  };
  struct Out final : std::ostream {
    Out() : std::ostream(&shared) {}
    std::string str() { return shared.Text(); }
    Shared shared;
  };

  Out out_;
  Out err_;
  int exit_code_ = -1;
  std::jthread thread_;
};

TEST_CASE("dashboard serves the operator's page to the first browser that opens its address") {
  const auto server = ServerWith(LeaseText("2026-01-02T12:04:58.000000Z"));
  Dashboard dashboard(server);
  const std::string address = dashboard.Address();
  REQUIRE(address.starts_with("http://127.0.0.1:"));
  const int port = std::stoi(address.substr(17));
  const std::string key = address.substr(address.find("/?key="));
  using driverupgrade::tests::HttpGet;
  for (const char* path : {"/", "/rollout", "/?key=", "/?key=0123"}) {
    CHECK(HttpGet(port, path).starts_with("HTTP/1.1 403"));
  }
  const std::string opened = HttpGet(port, key);
  CHECK(opened.starts_with("HTTP/1.1 303"));
  CHECK_THAT(opened, Catch::Contains("Location: /\r\n") && Catch::Contains("; HttpOnly; SameSite=Strict; Path=/\r\n"));
  const std::size_t at = opened.find("Set-Cookie: ") + 12;
  const std::string cookie = "Cookie: other=1; " + opened.substr(at, opened.find(';', at) - at);
  CHECK(HttpGet(port, key).starts_with("HTTP/1.1 403"));
  CHECK(HttpGet(port, "/", {.header = cookie}).find("<!doctype html>") != std::string::npos);
  CHECK_THAT(HttpGet(port, "/rollout", {.header = cookie}), Catch::EndsWith(std::string("\r\n\r\n") + kDocument));
  CHECK(HttpGet(port, "/rollout", {.host = "evil.example", .header = cookie}).starts_with("HTTP/1.1 403"));
  CHECK_THAT(HttpGet(port, "/rollout?watch=true", {.header = cookie, .until = "\n\n"}),
             Catch::Contains("event: rollout\ndata: {\"at\""));
  server->AnswerAt(kRollout, {.status = 502, .body = "connection refused\n"});
  CHECK_THAT(HttpGet(port, "/rollout", {.header = cookie}),
             Catch::StartsWith("HTTP/1.1 503") && Catch::Contains("connection refused"));
  CHECK(dashboard.Stop() == kExitDone);
}

TEST_CASE("dashboard explains why it cannot show a page") {
  const auto server = ServerWith(LeaseText("2026-01-02T12:04:58.000000Z", "{}"));
  const Answer answer = RunIn({"dashboard", "--kubeconfig", "any"}, {.server = server});
  CHECK(answer.exit_code == kExitUsage);
  CHECK(answer.err == "upgradectl: op-1_42 does not serve its view (--rollout-secure-address)\n");
  const Answer none = RunIn({"dashboard", "--kubeconfig", "any"}, {.server = std::make_shared<DumpServer>(Fleet(1))});
  CHECK(none.err == "upgradectl: no Lease of the operator of nvidia.com/gpu in namespace gpu-operator\n");
  const Answer dump = RunIn({"dashboard", "--cluster", "any"}, {});
  CHECK(dump.err == "upgradectl: --cluster: dashboard needs a live cluster, because a dump has no operator\n");
}

TEST_CASE("Text that is not a rollout document is refused") {
  for (const char* text : {"", "{", "[]", "{}", R"({"apiVersion":"driverupgrade/v2","kind":"Rollout"})",
                           R"({"apiVersion":"driverupgrade/v1","kind":"Rollout","nodes":7})"}) {
    CAPTURE(text);
    CHECK(absl::IsInvalidArgument(ParseOperatorView(text, "").status()));
  }
}

}  // namespace
}  // namespace upgradectl
