// Serves the rollout page on this machine, for users with a kubeconfig. As in `status`, the data comes from the
// operator.
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "fmt/format.h"
#include "service/rollout_pages.h"
#include "service/web_server.h"
#include "upgradectl/operator_door.h"
#include "upgradectl/reported.h"
#include "upgradectl/text.h"
#include "upgradectl/verbs.h"

namespace upgradectl {
namespace {

using driverupgrade::internal::Page;
using driverupgrade::internal::PageRequest;
using driverupgrade::internal::WebServer;

// Time after which the leader is looked up again.
constexpr absl::Duration kLeaderKnown = absl::Seconds(10);
// Interval at which a stream checks for changes.
constexpr std::chrono::seconds kLookAgainAfter{2};

std::string Secret() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

// Admits only the browser that opened the printed address first, and no other user of this machine. Thread-safe.
class Admission {
 public:
  const std::string& key() const { return key_; }

  // Returns the response to a refused or redirected request; nullopt if the request is admitted.
  std::optional<Page> Check(const PageRequest& request) {
    if (!driverupgrade::internal::IsLoopbackHost(request.host)) return Refused();
    const std::string cookie = fmt::format("driverupgrade={}", session_);
    if (request.cookie.find(cookie) != std::string::npos) return std::nullopt;
    const std::lock_guard lock(mutex_);
    if (key_spent_ || request.key != key_) return Refused();
    key_spent_ = true;
    return Page{.status = 303,
                .headers = {{"Location", "/"},
                            {"Cache-Control", "no-store"},
                            {"Set-Cookie", cookie + "; HttpOnly; SameSite=Strict; Path=/"}}};
  }

 private:
  static Page Refused() {
    return {.status = 403,
            .body =
                "Open the address that `upgradectl dashboard` has printed. It works only once; start the command again "
                "for another browser.\n"};
  }

  const std::string key_ = Secret();
  const std::string session_ = Secret();
  std::mutex mutex_;
  bool key_spent_ = false;
};

// Client of the operator replica that currently leads. Thread-safe.
class Leader {
 public:
  Leader(std::shared_ptr<driverupgrade::HttpTransport> transport, driverupgrade::DriverIdentity identity,
         DriverPlace place)
      : transport_(std::move(transport)), identity_(std::move(identity)), place_(std::move(place)), door_(transport_) {}

  absl::StatusOr<std::string> Document() {
    const std::lock_guard lock(mutex_);
    if (!lease_ || absl::Now() > found_at_ + kLeaderKnown) {
      if (const absl::Status found = Find(); !found.ok()) return found;
    }
    absl::StatusOr<driverupgrade::HttpResponse> answer = door_.Get(identity_, *lease_, "/rollout");
    if (answer.ok()) return std::move(answer->body);
    lease_.reset();  // another operator may lead now
    return answer.status();
  }

 private:
  absl::Status Find() {
    const absl::StatusOr<std::string> list = ListLeases(*transport_, place_.lease_ns);
    if (!list.ok()) return list.status();
    const absl::StatusOr<Facts> facts = ReadFacts(*list, "", std::nullopt);
    if (!facts.ok()) return facts.status();
    lease_ = LeaseOf(identity_, place_, *facts);
    found_at_ = absl::Now();
    if (lease_) return absl::OkStatus();
    return absl::NotFoundError(
        fmt::format("no Lease of the operator of {} in namespace {}", identity_.Name(), place_.lease_ns));
  }

  const std::shared_ptr<driverupgrade::HttpTransport> transport_;
  const driverupgrade::DriverIdentity identity_;
  const DriverPlace place_;
  std::mutex mutex_;
  OperatorDoor door_;
  std::optional<LeaseFact> lease_ = std::nullopt;
  absl::Time found_at_ = absl::InfinitePast();
};

// Returns the document without the time at its start, which is always different.
std::string_view Content(const std::string& document) {
  const std::size_t end = document.find(',');
  return std::string_view(document).substr(end == std::string::npos ? 0 : end);
}

// The progress of one stream.
struct Stream {
  bool began = false;
  std::string last = {};
};

std::string NextEvent(Leader& leader, Stream& stream) {
  if (std::exchange(stream.began, true)) std::this_thread::sleep_for(kLookAgainAfter);
  absl::StatusOr<std::string> document = leader.Document();
  if (!document.ok()) return fmt::format(": {}\n\n", Printable(Message(document.status())));
  if (Content(*document) == Content(stream.last)) return ": nothing new\n\n";
  stream.last = *std::move(document);
  return fmt::format("event: rollout\ndata: {}\n\n", stream.last);
}

Page DocumentPage(Leader& leader, const PageRequest& request) {
  if (request.watch) {
    return {.content_type = "text/event-stream",
            .headers = {{"Cache-Control", "no-cache"}},
            .next = [&leader, stream = std::make_shared<Stream>()] { return NextEvent(leader, *stream); }};
  }
  absl::StatusOr<std::string> document = leader.Document();
  if (!document.ok()) return {.status = 503, .body = Printable(Message(document.status())) + "\n"};
  return {.body = *std::move(document), .content_type = "application/json", .headers = {{"Cache-Control", "no-cache"}}};
}

}  // namespace

absl::StatusOr<int> RunDashboard(const Options& typed, const Streams& streams) {
  if (typed.source.IsDump())
    return absl::InvalidArgumentError("--cluster: dashboard needs a live cluster, because a dump has no operator");
  auto transport = ConnectTo(typed, streams);
  if (!transport.ok()) return transport.status();
  const absl::StatusOr<Options> options = CompleteLive(**transport, typed, streams);
  if (!options.ok()) return options.status();
  const absl::StatusOr<Request> driver = LoadDriver(*options);
  if (!driver.ok()) return driver.status();
  Leader leader(*std::move(transport), driver->question.identity, driver->place);
  // Reports errors here instead of serving an empty page.
  if (const absl::StatusOr<std::string> first = leader.Document(); !first.ok()) return first.status();
  Admission admission;
  const auto guard = [&admission](const PageRequest& request) { return admission.Check(request); };
  auto server = WebServer::Start(fmt::format("127.0.0.1:{}", options->port),
                                 {.by_path = {{"/", driverupgrade::internal::RolloutPage(guard)},
                                              {"/rollout", [&](const PageRequest& request) {
                                                 std::optional<Page> refusal = guard(request);
                                                 return refusal ? *std::move(refusal) : DocumentPage(leader, request);
                                               }}}});
  if (!server.ok()) return server.status();
  streams.out << fmt::format("http://127.0.0.1:{}/?key={}\n", (*server)->port(), admission.key()) << std::flush;
  streams.err << "This address works once, in one browser on this machine. Press Ctrl-C to end.\n" << std::flush;
  while (!streams.stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  return kExitDone;
}

}  // namespace upgradectl
