#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_controller.h"
#include "support/catch.h"
#include "support/object_server.h"

namespace driverupgrade::tests {
namespace {

using driverupgrade::testing::FakeClock;

enum class Fault { kNone, kRefused, kLostBefore, kLostAfter, kConflictAfter };

// Serves one Lease, and fails calls when the test requests it.
class LeaseFacade final : public ClusterFacade {
 public:
  explicit LeaseFacade(ObjectServer<Lease>& server) : server_(server) {}
  bool Supports(Operation operation) const override { return operation != lacks; }
  absl::StatusOr<Lease> GetLease(const CallContext&, const GetLeaseParams&) override {
    ++calls;
    if (down) return absl::UnavailableError("down");
    return server_.Get();
  }
  absl::StatusOr<Lease> CreateLease(const CallContext& context, const Lease& lease) override {
    return Write(context, [&]() -> absl::StatusOr<Lease> {
      if (dislikes_annotations && !lease.annotations.empty()) return absl::PermissionDeniedError("a webhook says no");
      return server_.Create(lease);
    });
  }
  absl::StatusOr<Lease> UpdateLease(const CallContext& context, const Lease& lease) override {
    return Write(context, [&]() -> absl::StatusOr<Lease> {
      if (dislikes_annotations && !lease.annotations.empty()) return absl::PermissionDeniedError("a webhook says no");
      return server_.Update(lease);
    });
  }

  std::optional<Operation> lacks;
  bool down = false;
  bool dislikes_annotations = false;
  std::deque<Fault> faults;
  int calls = 0;
  absl::Time deadline;
  std::function<void()> before_answer;

 private:
  template <typename Apply>
  absl::StatusOr<Lease> Write(const CallContext& context, Apply&& apply) {
    ++calls;
    deadline = context.deadline;
    Fault fault = down ? Fault::kLostBefore : Fault::kNone;
    if (!faults.empty()) {
      fault = faults.front();
      faults.pop_front();
    }
    if (fault == Fault::kRefused) return absl::PermissionDeniedError("forbidden");
    if (fault == Fault::kLostBefore) return absl::UnavailableError("down");
    absl::StatusOr<Lease> answer = apply();
    if (before_answer) before_answer();
    if (fault == Fault::kLostAfter) return absl::DeadlineExceededError("no answer");
    if (fault == Fault::kConflictAfter) return absl::AbortedError("a silent replay met its own write");
    return answer;
  }

  ObjectServer<Lease>& server_;
};

struct Replica {
  Replica(ObjectServer<Lease>& server, std::string identity) : facade(std::make_shared<LeaseFacade>(server)) {
    election = *LeaderElection::Create(
        facade, {.ns = "ops", .name = "driver", .identity = std::move(identity), .clock = clock});
  }
  // Steps at every due time for `duration`.
  void Run(absl::Duration duration) {
    const absl::Time end = clock->Now() + duration;
    for (absl::Time due = election->Step({}); due <= end; due = election->Step({})) clock->AdvanceTo(due);
    clock->AdvanceTo(end);
  }
  // Steps at every due time until the replica leads, for at most a minute. Returns the elapsed time.
  absl::Duration RunUntilLeader() {
    const absl::Time begin = clock->Now();
    while (clock->Now() - begin < absl::Minutes(1)) {
      const absl::Time due = election->Step({});
      if (election->IsLeader()) break;
      clock->AdvanceTo(due);
    }
    return clock->Now() - begin;
  }

  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<LeaseFacade> facade;
  std::unique_ptr<LeaderElection> election;
};

TEST_CASE("api-A56: options that are incomplete, or that could allow two leaders at the same time, are refused") {
  ObjectServer<Lease> server;
  const auto facade = std::make_shared<LeaseFacade>(server);
  const LeaderElectionOptions good{.ns = "ops", .name = "driver", .identity = "a"};
  const auto code = [&](auto&& change) {
    LeaderElectionOptions options = good;
    change(options);
    return LeaderElection::Create(facade, options).status().code();
  };
  const auto invalid = absl::StatusCode::kInvalidArgument;
  CHECK(code([](auto&) {}) == absl::StatusCode::kOk);
  CHECK(code([](auto& o) { o.ns = ""; }) == invalid);
  CHECK(code([](auto& o) { o.name = ""; }) == invalid);
  CHECK(code([](auto& o) { o.identity = ""; }) == invalid);
  CHECK(code([](auto& o) { o.lease_duration = o.renew_deadline; }) == invalid);
  CHECK(code([](auto& o) { o.renew_deadline = o.retry_period * 1.2; }) == invalid);
  CHECK(code([](auto& o) { o.retry_period = absl::ZeroDuration(); }) == invalid);
  CHECK(code([](auto& o) { o.lease_duration = absl::Milliseconds(15500); }) == invalid);
  CHECK(LeaderElection::Create(nullptr, good).status().code() == invalid);
  facade->lacks = Operation::kUpdateLease;
  CHECK(LeaderElection::Create(facade, good).status().code() == absl::StatusCode::kUnimplemented);
}

TEST_CASE("api-A59: a lease is created, renewed without losing its history, and taken over with one more transition") {
  ObjectServer<Lease> server;
  Replica a(server, "a");
  const absl::Time start = a.clock->Now();
  const absl::Time due = a.election->Step({});
  CHECK(a.election->IsLeader());
  CHECK(a.election->leader() == "a");
  CHECK(due == start + absl::Seconds(2));
  CHECK(a.election->LeadsUntil() == start + absl::Seconds(10));
  CHECK(a.facade->deadline == start + absl::Seconds(5));
  CHECK(a.election->Step({}) == due);  // not due: no call
  CHECK(a.facade->calls == 2);

  a.clock->AdvanceTo(due);
  a.election->Step({});
  CHECK(a.facade->calls == 3);  // a renewal needs no read
  CHECK(server.object()->acquire_time == start);
  CHECK(server.object()->renew_time == start + absl::Seconds(2));
  CHECK(server.object()->duration == absl::Seconds(15));
  CHECK(server.object()->transitions == 0);

  Replica b(server, "b");
  b.clock->SetTime(start + absl::Hours(3));  // the clocks of replicas may differ
  CHECK(b.RunUntilLeader() >= absl::Seconds(15));
  CHECK(server.object()->holder == "b");
  CHECK(server.object()->transitions == 1);
  CHECK(server.object()->acquire_time == server.object()->renew_time);
  a.clock->Advance(absl::Seconds(2));
  a.election->Step({});
  CHECK_FALSE(a.election->IsLeader());
  CHECK(a.election->leader() == "b");
  CHECK(a.election->terms() == 1);
}

TEST_CASE(
    "api-A58: a lease that keeps changing is valid, whatever its times are, and a lease that does not change expires") {
  ObjectServer<Lease> server;
  Lease foreign{.ns = "ops", .name = "driver", .holder = "x", .duration = absl::Seconds(30)};
  foreign.renew_time = FakeClock::DefaultStart() - absl::Hours(24);
  (void)server.Create(foreign);
  Replica b(server, "b");
  for (int i = 0; i < 100; ++i) {
    b.Run(absl::Seconds(2));
    (void)server.Update(*server.object());
    REQUIRE_FALSE(b.election->IsLeader());
  }
  b.election->Step({});
  // The lease expires after the duration in the record, counted from when b last saw the record change.
  const absl::Duration taken = b.RunUntilLeader();
  CHECK(taken >= absl::Seconds(28));
  CHECK(taken <= absl::Seconds(30) + absl::Seconds(4.4));
}

TEST_CASE("A released lease is free immediately (api-A59, api-A61)") {
  ObjectServer<Lease> server;
  Replica a(server, "a");
  Replica b(server, "b");
  a.election->Step({});
  b.election->Step({});
  REQUIRE_FALSE(b.election->IsLeader());
  SECTION("released") {
    CHECK(a.election->Release({}).ok());
    CHECK(server.object()->duration == absl::Seconds(1));
    CHECK(server.object()->transitions == 0);
  }
  SECTION("released with a lost response") {
    a.facade->faults = {Fault::kLostAfter};
    CHECK_FALSE(a.election->Release({}).ok());
    CHECK(a.election->Release({}).ok());
  }
  SECTION("released despite a conflict") {
    a.facade->faults = {Fault::kConflictAfter};
    CHECK(a.election->Release({}).ok());
  }
  CHECK_FALSE(a.election->IsLeader());
  CHECK(server.object()->holder.empty());
  // Replica b acquires the lease at its next attempt.
  const absl::Duration taken = b.RunUntilLeader();
  CHECK(taken <= absl::Seconds(4.4));
  CHECK(server.object()->holder == "b");
  a.clock->Advance(taken);
  a.election->Step({});
  CHECK_FALSE(a.election->IsLeader());
}

TEST_CASE("Release changes neither another replica's lease nor a missing lease") {
  ObjectServer<Lease> server;
  Replica a(server, "a");
  CHECK(a.election->Release({}).ok());
  CHECK_FALSE(server.object());
  Replica b(server, "b");
  b.election->Step({});
  const std::string version = server.object()->resource_version;
  CHECK(a.election->Release({}).ok());
  CHECK(server.object()->resource_version == version);
}

TEST_CASE("A crashed leader is replaced within lease_duration + 2.2 retry periods") {
  for (int i = 0; i < 200; ++i) {
    ObjectServer<Lease> server;
    Replica a(server, "a");
    Replica b(server, "b" + std::to_string(i));
    a.Run(absl::Seconds(1));
    b.Run(absl::Milliseconds(50 * i));      // replica b is at an arbitrary point of its wait
    (void)server.Update(*server.object());  // the last renewal
    const absl::Duration taken = b.RunUntilLeader();
    CAPTURE(i, absl::FormatDuration(taken));
    REQUIRE(taken >= absl::Seconds(15));
    REQUIRE(taken <= absl::Seconds(15) + 2.2 * absl::Seconds(2));
  }
}

TEST_CASE("If the API server is down, leadership survives 9 s, ends at 10 s, and is acquired again after the outage") {
  ObjectServer<Lease> server;
  Replica a(server, "a");
  a.Run(absl::Seconds(30));
  a.election->Step({});
  a.facade->down = true;
  SECTION("9 s") {
    a.Run(absl::Seconds(9));
    CHECK(a.election->IsLeader());
    CHECK(absl::IsUnavailable(a.election->status()));
    a.facade->down = false;
    a.Run(absl::Seconds(2));
    CHECK(a.election->status().ok());
    CHECK(a.election->IsLeader());
    CHECK(a.election->terms() == 1);
  }
  SECTION("11 s and 60 s") {
    const absl::Duration outage = GENERATE(absl::Seconds(11), absl::Seconds(60));
    const std::optional<absl::Time> end = a.election->LeadsUntil();
    REQUIRE(end);
    a.Run(*end - a.clock->Now() - absl::Nanoseconds(1));
    CHECK(a.election->IsLeader());
    a.clock->Advance(absl::Nanoseconds(1));
    CHECK_FALSE(a.election->IsLeader());
    CHECK_FALSE(a.election->LeadsUntil());
    a.Run(outage - absl::Seconds(10));
    CHECK_FALSE(a.election->IsLeader());
    a.facade->down = false;
    CHECK(a.RunUntilLeader() <= absl::Seconds(4.4));
    CHECK(a.election->terms() == 2);
    CHECK(server.object()->transitions == 0);  // no other replica held the lease (api-A59)
  }
}

TEST_CASE("A write with an unknown outcome neither starts nor ends leadership") {
  const Fault fault = GENERATE(Fault::kLostBefore, Fault::kLostAfter, Fault::kConflictAfter);
  ObjectServer<Lease> server;
  Replica a(server, "a");
  SECTION("a write to acquire") {
    a.facade->faults = {fault};
    a.election->Step({});
    CHECK_FALSE(a.election->IsLeader());
    CHECK(a.RunUntilLeader() <= absl::Seconds(4.4));
    CHECK(server.object()->transitions == 0);
  }
  SECTION("a write to renew") {
    a.election->Step({});
    const std::optional<absl::Time> until = a.election->LeadsUntil();
    a.clock->Advance(absl::Seconds(2));
    a.facade->faults = {fault};
    a.election->Step({});
    CHECK(a.election->IsLeader());
    // After a conflict, the replica reads the lease and settles the outcome immediately.
    if (fault != Fault::kConflictAfter) CHECK(a.election->LeadsUntil() == until);
    a.Run(absl::Seconds(20));
    CHECK(a.election->IsLeader());
    CHECK(a.election->terms() == 1);
  }
}

TEST_CASE("The status contains the error of a failed attempt") {
  ObjectServer<Lease> server;
  Replica a(server, "a");
  a.facade->faults = {Fault::kRefused};
  a.election->Step({});
  CHECK(absl::IsPermissionDenied(a.election->status()));
  CHECK_FALSE(a.election->IsLeader());
}

TEST_CASE("The leader's next write of the Lease includes its announcement, without an additional request") {
  ObjectServer<Lease> server;
  Replica a(server, "a");
  a.election->Announce("policy", "1");
  a.election->Step({});
  CHECK(a.facade->calls == 2);
  CHECK(server.object()->annotations == StringMap{{"policy", "1"}});
  Lease noted = *server.object();
  noted.annotations["note"] = "of somebody";
  REQUIRE(server.Update(noted).ok());
  a.election->Announce("policy", "2");
  a.Run(absl::Seconds(4));
  CHECK(server.object()->annotations == StringMap{{"note", "of somebody"}, {"policy", "2"}});
  a.election->Announce("policy", std::nullopt);
  a.Run(absl::Seconds(2));
  CHECK(server.object()->annotations == StringMap{{"note", "of somebody"}});
  CHECK(a.election->terms() == 1);
}

TEST_CASE("The write by which a new leader takes over also replaces its predecessor's announcement") {
  ObjectServer<Lease> server;
  Replica a(server, "a");
  Replica b(server, "b");
  a.election->Announce("policy", "of a");
  b.election->Announce("policy", GENERATE(std::optional<std::string>("of b"), std::nullopt));
  a.Run(absl::Seconds(1));
  b.election->Step({});
  CHECK(server.object()->annotations == StringMap{{"policy", "of a"}});  // a candidate writes nothing
  const int writes = b.facade->calls;
  b.RunUntilLeader();
  CHECK(server.object()->holder == "b");
  CHECK(b.facade->calls > writes);
  CHECK((server.object()->annotations == StringMap{{"policy", "of b"}} || server.object()->annotations.empty()));
}

TEST_CASE("An announcement that is too long, or that the server refuses, is omitted and never ends leadership") {
  ObjectServer<Lease> server;
  Replica a(server, "a");
  SECTION("too long") {
    a.election->Announce("policy", std::string(std::size_t{256} << 10, 'x'));
    a.Run(absl::Minutes(1));
    CHECK(server.object()->annotations.empty());
  }
  SECTION("too long together with existing annotations") {
    a.election->Step({});
    Lease noted = *server.object();
    noted.annotations["note"] = std::string(std::size_t{255} << 10, 'x');
    REQUIRE(server.Update(noted).ok());
    a.election->Announce("policy", std::string(std::size_t{1} << 10, 'x'));
    a.Run(absl::Minutes(1));
    CHECK(server.object()->annotations.size() == 1);
  }
  SECTION("refused from the start") {
    a.facade->dislikes_annotations = true;
    a.election->Announce("policy", "1");
    a.Run(absl::Minutes(1));
    CHECK(server.object()->annotations.empty());
  }
  SECTION("refused later, and accepted again after it has changed") {
    a.Run(absl::Seconds(5));
    a.facade->dislikes_annotations = true;
    a.election->Announce("policy", "1");
    a.Run(absl::Minutes(1));
    CHECK(server.object()->annotations.empty());
    a.facade->dislikes_annotations = false;
    a.election->Announce("policy", "2");
    a.Run(absl::Seconds(2));
    CHECK(server.object()->annotations == StringMap{{"policy", "2"}});
  }
  CHECK(a.election->IsLeader());
  CHECK(a.election->terms() == 1);
  CHECK(a.election->status().ok());
}

TEST_CASE("A renewal extends leadership from the time at which it was sent, not from the time of its response") {
  ObjectServer<Lease> server;
  Replica a(server, "a");
  a.facade->before_answer = [&] { a.clock->Advance(absl::Seconds(4)); };
  const absl::Time sent = a.clock->Now();
  a.election->Step({});
  CHECK(a.election->LeadsUntil() == sent + absl::Seconds(10));
  SECTION("a response that arrives too late does not make the replica the leader") {
    a.facade->before_answer = [&] { a.clock->Advance(absl::Seconds(10)); };
    a.clock->Advance(absl::Seconds(2));
    a.election->Step({});
    CHECK_FALSE(a.election->IsLeader());
    CHECK(server.object()->holder == "a");
  }
}

TEST_CASE("A clock that jumps forward may end leadership early, but never starts it early") {
  ObjectServer<Lease> server;
  Replica a(server, "a");
  Replica b(server, "b");
  a.election->Step({});
  b.election->Step({});
  SECTION("the leader's clock") {
    a.clock->Advance(absl::Hours(1));
    CHECK_FALSE(a.election->IsLeader());
    a.election->Step({});
    CHECK(a.election->IsLeader());
    CHECK(a.election->terms() == 2);
  }
  SECTION("a candidate's clock") {
    b.clock->Advance(absl::Hours(1));
    b.election->Step({});
    CHECK_FALSE(b.election->IsLeader());
    // The jump counts as at most one wait, so the leader's 10 s have passed before replica b takes the lease.
    CHECK(b.RunUntilLeader() >= absl::Seconds(10.6));
  }
}

TEST_CASE("A clock that is set back ends leadership until a renewal, and delays a candidate") {
  ObjectServer<Lease> server;
  Replica a(server, "a");
  Replica b(server, "b");
  a.election->Step({});
  b.election->Step({});
  SECTION("the leader's clock") {
    a.clock->Advance(-absl::Hours(1));
    CHECK_FALSE(a.election->IsLeader());
    CHECK_FALSE(a.election->LeadsUntil());
    CHECK(a.election->Step({}) == a.clock->Now() + absl::Seconds(2));  // due immediately, not in an hour
    CHECK(a.election->IsLeader());
  }
  SECTION("the leader's clock, while the leader waits for a response") {
    a.clock->Advance(absl::Seconds(2));
    a.facade->before_answer = [&] {
      a.clock->Advance(absl::Seconds(3));
      a.election->IsLeader();  // another thread may call IsLeader
      a.clock->Advance(-absl::Seconds(2));
    };
    a.election->Step({});
    CHECK_FALSE(a.election->IsLeader());
    a.facade->before_answer = nullptr;
    CHECK(a.RunUntilLeader() <= absl::Seconds(4.4));
  }
  SECTION("a candidate's clock") {
    b.clock->Advance(-absl::Hours(1));
    const absl::Duration taken = b.RunUntilLeader();
    CHECK(taken >= absl::Seconds(15));
    CHECK(taken <= absl::Seconds(15) + absl::Seconds(4.4));
  }
}

TEST_CASE("A replica that was suspended reads the lease before it acts") {
  ObjectServer<Lease> server;
  Replica a(server, "a");
  Replica b(server, "b");
  a.election->Step({});
  b.election->Step({});
  b.clock->Advance(absl::Minutes(2));
  a.Run(absl::Minutes(2));
  b.election->Step({});
  CHECK_FALSE(b.election->IsLeader());
  CHECK(server.object()->holder == "a");
}

TEST_CASE("If the lease is deleted, its holder creates it again, and other replicas wait until it would have expired") {
  ObjectServer<Lease> server;
  Replica a(server, "a");
  Replica b(server, "b");
  a.election->Step({});
  b.election->Step({});
  server.Delete();
  SECTION("the holder") {
    a.clock->Advance(absl::Seconds(2));
    a.election->Step({});
    CHECK(a.election->IsLeader());
    CHECK(a.election->terms() == 1);
    CHECK(server.object()->holder == "a");
  }
  SECTION("a candidate") {
    const absl::Duration taken = b.RunUntilLeader();
    CHECK(taken >= absl::Seconds(15));
    CHECK(server.object()->holder == "b");
  }
}

TEST_CASE(
    "The attempts of candidates are spread over time, and the times of each candidate are the same in every run") {
  ObjectServer<Lease> server;
  (void)server.Create({.ns = "ops", .name = "driver", .holder = "x", .duration = absl::Hours(1)});
  std::set<absl::Duration> waits;
  for (int i = 0; i < 50; ++i) {
    Replica one(server, "b" + std::to_string(i));
    Replica same(server, "b" + std::to_string(i));
    const absl::Time due = one.election->Step({});
    CHECK(due == same.election->Step({}));
    const absl::Duration wait = due - one.clock->Now();
    CHECK(wait >= absl::Seconds(2));
    CHECK(wait < absl::Seconds(4.4));
    waits.insert(wait);
  }
  CHECK(waits.size() > 40);
}

TEST_CASE("If a lease has no valid duration, a candidate uses its own lease_duration") {
  ObjectServer<Lease> server;
  (void)server.Create({.ns = "ops", .name = "driver", .holder = "x"});
  Replica b(server, "b");
  CHECK(b.RunUntilLeader() >= absl::Seconds(15));
}

}  // namespace
}  // namespace driverupgrade::tests
