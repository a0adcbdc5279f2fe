#include <istream>
#include <ostream>
#include <string>

#include "absl/time/clock.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "upgradectl/change.h"
#include "upgradectl/reported.h"
#include "upgradectl/text.h"
#include "upgradectl/verbs.h"

namespace upgradectl {
namespace {

using driverupgrade::HttpRequest;
using driverupgrade::HttpResponse;
using driverupgrade::HttpTransport;
using driverupgrade::HttpVerb;

void Show(const Change& change, std::ostream& out) {
  for (const std::string& note : change.notes) out << note << "\n";
  for (const Patch& patch : change.patches) out << patch.line << "\n";
}

// Returns an error if an object could not be read, because the verb's decision depends on all objects. Ignores a
// missing custom resource, which the verb itself reports.
absl::Status RefuseUnread(const Options& options, const Request& request) {
  for (const std::string& note : request.notes) {
    const bool is_missing = note.find(": 404: ") != std::string::npos;
    if (!is_missing) {
      return absl::PermissionDeniedError(
          fmt::format("{}: {} needs that information; nothing was written", note, options.verb));
    }
  }
  return absl::OkStatus();
}

// Drops the option --policy unless the verb is `approve`, the only verb that needs the policy. `pause` and `resume`
// write to the custom resource.
absl::StatusOr<Options> WithoutPolicy(Options options) {
  if (options.verb == "approve") return options;
  const bool writes_policy = options.verb == "pause" || options.verb == "resume";
  if (writes_policy && !options.policy.empty() && !EngineOfLive(options.policy)) {
    return absl::InvalidArgumentError(fmt::format(
        "--policy: {} writes to a custom resource; set `paused` in {} yourself", options.verb, options.policy));
  }
  options.policy.clear();
  return options;
}

// Returns true if the command line or the user permits changes.
absl::StatusOr<bool> MayWrite(const Options& options, const Streams& streams) {
  if (options.yes || options.dry_run == "server") return true;
  if (!streams.interactive) {
    return absl::FailedPreconditionError("--yes: required if standard input is not a terminal; nothing was written");
  }
  streams.out << "Write this? [y/N] " << std::flush;
  std::string answer;
  std::getline(streams.in, answer);
  return answer == "y" || answer == "yes";
}

absl::Status Send(HttpTransport& transport, const Patch& patch, const Options& options, const Request& request) {
  HttpRequest message{.verb = HttpVerb::kPatch,
                      .path = patch.path,
                      .query = {{"fieldManager", "upgradectl"}},
                      .content_type = "application/merge-patch+json",
                      .body = patch.body};
  if (options.dry_run == "server") message.query.emplace_back("dryRun", "All");
  const absl::StatusOr<HttpResponse> answer = transport.Send({.deadline = absl::Now() + absl::Minutes(1)}, message);
  if (!answer.ok()) return answer.status();
  if (answer->status == 409) {
    return absl::AbortedError(fmt::format("{}: has changed since it was read; run the command again", patch.path));
  }
  if (answer->status < 200 || answer->status >= 300) {
    const auto status = driverupgrade::ParseApiStatus(answer->body);
    return absl::PermissionDeniedError(
        fmt::format("patch {}: {}: {}", patch.path, answer->status,
                    status ? status->message : "the response is not from an API server"));
  }
  if (!request.place.policy) return absl::OkStatus();
  return CheckAnswer(patch, *request.place.policy, answer->body);
}

absl::StatusOr<int> Write(const Change& change, const Options& options, const Streams& streams,
                          const Request& request) {
  auto transport = ConnectTo(options, streams);
  if (!transport.ok()) return transport.status();
  for (const Patch& patch : change.patches) {
    if (const absl::Status status = Send(**transport, patch, options, request); !status.ok()) return status;
    streams.out << (options.dry_run == "server" ? "would be written: " : "written: ") << patch.line << "\n";
  }
  return kExitDone;
}

}  // namespace

absl::StatusOr<int> RunChange(const Options& options, const Streams& streams) {
  if (options.source.IsDump() && options.dry_run != "client") {
    return absl::InvalidArgumentError("--cluster: a dump cannot be changed; use --dry-run=client to show the change");
  }
  const bool approves = options.verb == "approve";
  const Wanted wanted{
      .nodes = options.nodes, .policy = options.nodes.empty(), .reported = approves, .ledger = approves};
  const absl::StatusOr<Options> needed = WithoutPolicy(options);
  if (!needed.ok()) return needed.status();
  const absl::StatusOr<Request> request = Read(*needed, wanted, streams);
  if (!request.ok()) return request.status();
  if (const absl::Status status = RefuseUnread(options, *request); !status.ok()) return status;
  const absl::StatusOr<Change> change =
      approves ? Approve(*request, options.stage) : ChangeOf(options.verb, *request, options.nodes);
  if (!change.ok()) return change.status();
  if (approves) TellReporter(*request, streams);
  // Shows the user which Lease the report comes from, because any client that can write Leases can write a report.
  if (!request->options_source.empty()) {
    streams.err << Printable(fmt::format("driver {}, as reported by {}", request->question.identity.Name(),
                                         request->options_source))
                << "\n";
  }
  Show(*change, streams.out);
  if (change->patches.empty() || options.dry_run == "client") return kExitDone;
  const absl::StatusOr<bool> may_write = MayWrite(options, streams);
  if (!may_write.ok()) return may_write.status();
  if (!*may_write) {
    streams.out << "nothing was written\n";
    return kExitDone;
  }
  return Write(*change, options, streams, *request);
}

}  // namespace upgradectl
