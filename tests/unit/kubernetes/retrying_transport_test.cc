#include <deque>
#include <functional>
#include <utility>

#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"

namespace driverupgrade {
namespace {

using testing::FakeClock;
using Result = absl::StatusOr<HttpResponse>;

constexpr HttpVerb kVerbs[] = {HttpVerb::kGet, HttpVerb::kPost, HttpVerb::kPut, HttpVerb::kPatch, HttpVerb::kDelete};

Result Answer(int status, const std::string& retry_after = "") {
  HttpResponse response{.status = status};
  if (!retry_after.empty()) response.headers["Retry-After"] = retry_after;
  return response;
}

Result NotSent() { return MarkRequestNotSent(absl::UnavailableError("cannot connect")); }
Result Lost() { return absl::UnavailableError("connection lost"); }

// Returns the given results in order and repeats the last result indefinitely.
class ScriptedTransport : public HttpTransport {
 public:
  explicit ScriptedTransport(std::deque<Result> results) : results_(std::move(results)) {}

  Result Send(const CallContext&, const HttpRequest&) override { return Next(); }
  Result Stream(const CallContext&, const HttpRequest&, LineSink& sink) override {
    Result result = Next();
    if (line_before_loss && !result.ok()) sink.OnLine("a line");
    return result;
  }

  int calls = 0;
  bool line_before_loss = false;

 private:
  Result Next() {
    ++calls;
    Result result = results_.front();
    if (results_.size() > 1) results_.pop_front();
    return result;
  }
  std::deque<Result> results_;
};

class CountingSink : public LineSink {
 public:
  bool OnLine(std::string_view) override { return ++lines > 0; }
  int lines = 0;
};

struct Attempted {
  Result result;
  int calls;
  absl::Duration waited;
};

Attempted Attempt(std::deque<Result> script, const HttpRequest& request, const CallContext& context = {},
                  RetryOptions options = {}) {
  auto clock = std::make_shared<FakeClock>();
  options.clock = clock;
  auto inner = std::make_shared<ScriptedTransport>(std::move(script));
  const auto transport = MakeRetryingTransport(inner, options);
  Result result = transport->Send(context, request);
  return {std::move(result), inner->calls, clock->Now() - FakeClock::DefaultStart()};
}

// Tests rule api-A35.
TEST_CASE("A request that the server refuses with 429 is retried after the Retry-After delay, whatever the verb",
          "[retrying]") {
  for (HttpVerb verb : kVerbs) {
    const Attempted attempted = Attempt({Answer(429, "7"), Answer(429, "0"), Answer(200)}, {.verb = verb});
    CHECK(attempted.result->status == 200);
    CHECK(attempted.calls == 3);
    CHECK(attempted.waited == absl::Seconds(7));
  }
}

// Tests rule api-A31.
TEST_CASE("After a 5xx response, reads are retried, but writes are not", "[retrying]") {
  for (int status : {500, 502, 503, 504}) {
    for (HttpVerb verb : kVerbs) {
      const Attempted attempted = Attempt({Answer(status, "1"), Answer(200)}, {.verb = verb});
      CHECK(attempted.result->status == (verb == HttpVerb::kGet ? 200 : status));
    }
  }
}

TEST_CASE("A request refused with 429 is retried only if the response gives a delay in whole seconds", "[retrying]") {
  for (const char* text : {"", "soon", "1.5", "7 ", "Wed, 21 Oct 2026 07:28:00 GMT", "+3"}) {
    INFO(text);
    CHECK(Attempt({Answer(429, text), Answer(200)}, {}).calls == 1);
  }
}

TEST_CASE("A request is never retried after a response other than 429 or 5xx", "[retrying]") {
  for (int status : {200, 201, 302, 400, 401, 403, 404, 409, 410, 422}) {
    CHECK(Attempt({Answer(status, "1"), Answer(200)}, {}).calls == 1);
  }
}

TEST_CASE("A refused eviction is not retried, because the caller handles the refusal", "[retrying]") {
  const HttpRequest eviction{.verb = HttpVerb::kPost, .path = "/api/v1/namespaces/a/pods/b/eviction"};
  CHECK(Attempt({Answer(429, "10"), Answer(201)}, eviction).result->status == 429);
}

TEST_CASE("The number of retries is limited", "[retrying]") {
  const Attempted refused = Attempt({Answer(429, "1")}, {});
  CHECK(refused.result->status == 429);
  CHECK(refused.calls == 11);
  CHECK(refused.waited == absl::Seconds(10));
  const Attempted lost = Attempt({Lost()}, {});
  CHECK(absl::IsUnavailable(lost.result.status()));
  CHECK(lost.calls == 4);
  CHECK(Attempt({Answer(429, "1")}, {}, {}, {.refusal_count_max = 0}).calls == 1);
}

TEST_CASE("A wait that the server requests is shortened to the limit", "[retrying]") {
  for (const char* text : {"301", "999999999", "99999999999999999999999"}) {
    const Attempted attempted = Attempt({Answer(503, text), Answer(200)}, {});
    CHECK(attempted.result->status == 200);
    CHECK(attempted.waited == absl::Seconds(300));
  }
  CHECK(Attempt({Answer(503, "-5"), Answer(200)}, {}).waited == absl::ZeroDuration());
}

TEST_CASE("A request is not retried if the wait would exceed the deadline", "[retrying]") {
  const CallContext context{.deadline = FakeClock::DefaultStart() + absl::Seconds(5)};
  const Attempted attempted = Attempt({Answer(429, "3"), Answer(429, "3"), Answer(200)}, {}, context);
  CHECK(attempted.result->status == 429);
  CHECK(attempted.waited == absl::Seconds(3));
}

TEST_CASE("A stop request ends the wait", "[retrying]") {
  std::stop_source stop;
  stop.request_stop();
  const Attempted attempted = Attempt({Answer(429, "3"), Answer(200)}, {}, {.stop = stop.get_token()});
  CHECK(attempted.result->status == 429);
  CHECK(attempted.calls == 1);
}

TEST_CASE("A lost request is sent again only if it cannot have been applied", "[retrying]") {
  for (HttpVerb verb : kVerbs) {
    CHECK(Attempt({NotSent(), Answer(200)}, {.verb = verb}).result.ok());
    const Attempted lost = Attempt({Lost(), Answer(200)}, {.verb = verb});
    CHECK(lost.result.ok() == (verb == HttpVerb::kGet));
  }
  for (const absl::Status& status : {absl::UnauthenticatedError("x"), absl::DeadlineExceededError("x"),
                                     absl::CancelledError("x"), absl::OutOfRangeError("x"), absl::InternalError("x")}) {
    CHECK(Attempt({status, Answer(200)}, {}).calls == 1);
    CHECK(Attempt({MarkRequestNotSent(status), Answer(200)}, {}).calls == 1);
  }
}

TEST_CASE("A failed stream is started again only if its first line has not arrived", "[retrying]") {
  for (bool line_before_loss : {false, true}) {
    auto inner = std::make_shared<ScriptedTransport>(std::deque<Result>{Lost(), Answer(429, "1"), Answer(200)});
    inner->line_before_loss = line_before_loss;
    const auto transport = MakeRetryingTransport(inner, {.clock = std::make_shared<FakeClock>()});
    CountingSink sink;
    CHECK(transport->Stream({}, {}, sink).ok() == !line_before_loss);
    CHECK(sink.lines == (line_before_loss ? 1 : 0));
    CHECK(inner->calls == (line_before_loss ? 1 : 3));
  }
}

// Tests rule api-A38.
TEST_CASE("A rate limit allows a burst, and then delays requests to the configured rate", "[rate_limited]") {
  auto clock = std::make_shared<FakeClock>();
  auto inner = std::make_shared<ScriptedTransport>(std::deque<Result>{Answer(200)});
  const auto transport = MakeRateLimitedTransport(inner, {.requests_per_second = 2, .burst = 3, .clock = clock});
  const auto sent_by = [&](int count) {
    for (int i = 0; i < count; ++i) REQUIRE(transport->Send({}, {}).ok());
    return clock->Now() - FakeClock::DefaultStart();
  };
  CHECK(sent_by(3) == absl::ZeroDuration());
  CHECK(sent_by(4) == absl::Seconds(2));
  clock->Advance(absl::Hours(1));  // An idle period allows no more than one burst.
  CHECK(sent_by(4) == absl::Hours(1) + absl::Seconds(2.5));
  clock->Advance(-absl::Hours(2));
  CHECK(sent_by(1) == absl::Seconds(3.5) - absl::Hours(1));
}

TEST_CASE(
    "A request that the rate limit would delay beyond its deadline fails, and releases its "
    "slot",
    "[rate_limited]") {
  auto clock = std::make_shared<FakeClock>();
  auto inner = std::make_shared<ScriptedTransport>(std::deque<Result>{Answer(200)});
  const auto transport = MakeRateLimitedTransport(inner, {.requests_per_second = 1, .clock = clock});
  REQUIRE(transport->Send({}, {}).ok());
  std::stop_source stop;
  stop.request_stop();
  const absl::Status late = transport->Send({.deadline = clock->Now() + absl::Milliseconds(500)}, {}).status();
  CHECK(absl::IsDeadlineExceeded(late));
  CHECK(RequestWasNotSent(late));
  const absl::Status stopped = transport->Send({.stop = stop.get_token()}, {}).status();
  CHECK(absl::IsCancelled(stopped));
  CHECK(RequestWasNotSent(stopped));
  CHECK(inner->calls == 1);
  REQUIRE(transport->Send({}, {}).ok());
  CHECK(clock->Now() == FakeClock::DefaultStart() + absl::Seconds(1));
  CountingSink sink;
  CHECK(transport->Stream({}, {}, sink).ok());
  CHECK(clock->Now() == FakeClock::DefaultStart() + absl::Seconds(1));
}

// Tests rule api-A40.
TEST_CASE("Without a rate limit the transport is not decorated", "[rate_limited]") {
  auto inner = std::make_shared<ScriptedTransport>(std::deque<Result>{Answer(200)});
  CHECK(MakeRateLimitedTransport(inner, {}) == inner);
}

}  // namespace
}  // namespace driverupgrade
