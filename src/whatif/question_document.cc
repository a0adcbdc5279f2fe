#include "whatif/question_document.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "whatif/driver_members.h"

namespace driverupgrade::internal {
namespace {

using whatif::Question;

absl::Status OfCluster(const absl::Status& status) {
  return absl::Status(status.code(), fmt::format("cluster: {}", Message(status)));
}

absl::StatusOr<absl::Time> TimeOf(const Document& request, std::string_view member) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string text, request.Text(member));
  absl::Time time;
  std::string error;
  // Checks the first character, because ParseTime also accepts infinite times and leading blanks.
  const bool digit = !text.empty() && text[0] >= '0' && text[0] <= '9';
  if (digit && absl::ParseTime(absl::RFC3339_full, text, &time, &error)) return time;
  return request.Wrong(member, "must be an RFC 3339 time such as 2026-01-02T03:04:05Z");
}

absl::Status ReadDriver(const Document& request, Question& question) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(question.snapshot.ns, request.Text("namespace"));
  if (question.snapshot.ns.empty()) return request.Wrong("namespace", "must not be empty");
  DRIVERUPGRADE_ASSIGN_OR_RETURN(question.snapshot.driver_labels, SelectorMember(request, "driverLabels"));
  if (request.Has("validationSelector")) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(question.machine.validation_selector, SelectorMember(request, "validationSelector"));
  }
  DRIVERUPGRADE_ASSIGN_OR_RETURN(question.machine.early_validation, EarlyValidationMember(request));
  if (!request.Has("usesDriverUids")) return absl::OkStatus();
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<std::string> uids, request.Texts("usesDriverUids"));
  question.snapshot.uses_driver = [uids = std::set<std::string>(uids.begin(), uids.end())](
                                      const CallContext&, const Pod& pod) -> absl::StatusOr<bool> {
    return uids.contains(pod.ref.uid);
  };
  return absl::OkStatus();
}

absl::StatusOr<ControllerRevision> RevisionMember(const Document& pair, std::string_view member,
                                                  const Question& question) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string name, pair.Text(member));
  for (const ControllerRevision& revision : question.cluster.controller_revisions) {
    if (revision.ns != question.snapshot.ns || revision.name != name) continue;
    const absl::StatusOr<bool> comparable = SameTemplate(revision, revision);
    return comparable.ok() ? absl::StatusOr<ControllerRevision>(revision)
                           : pair.Wrong(member, Message(comparable.status()));
  }
  return pair.Wrong(member, fmt::format("the cluster has no ControllerRevision {}/{}", question.snapshot.ns, name));
}

struct RevisionPair {
  ControllerRevision running = {};
  ControllerRevision wanted = {};
};

// Returns true if a pair has the templates of both revisions. Returns false if the data of a revision is missing.
bool Contains(const std::vector<RevisionPair>& pairs, const ControllerRevision& running,
              const ControllerRevision& wanted) {
  return std::any_of(pairs.begin(), pairs.end(), [&](const RevisionPair& pair) {
    return SameTemplate(pair.running, running).value_or(false) && SameTemplate(pair.wanted, wanted).value_or(false);
  });
}

// Revisions are recognized by their pod templates, because a simulation renames its revisions.
absl::Status ReadRestartOnly(const Document& request, Question& question) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<Document> members,
                                 request.Objects("restartOnly", {"running", "wanted"}));
  std::vector<RevisionPair> pairs;
  for (const Document& member : members) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(ControllerRevision running, RevisionMember(member, "running", question));
    DRIVERUPGRADE_ASSIGN_OR_RETURN(ControllerRevision wanted, RevisionMember(member, "wanted", question));
    pairs.push_back({.running = std::move(running), .wanted = std::move(wanted)});
  }
  if (pairs.empty()) return absl::OkStatus();
  // The results are cached, because each comparison parses templates, and the pods have only a few revisions.
  std::map<std::pair<std::string, std::string>, bool> known;
  question.snapshot.restart_only = [pairs = std::move(pairs), known = std::move(known)](
                                       const CallContext&, const Pod&, const ControllerRevision& running,
                                       const ControllerRevision& wanted) mutable -> absl::StatusOr<bool> {
    const auto [found, is_new] = known.try_emplace({running.data, wanted.data});
    if (is_new) found->second = Contains(pairs, running, wanted);
    return found->second;
  };
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Document> ParseRequest(std::string_view text, std::initializer_list<std::string_view> more) {
  return Document::Parse(
      "request", text,
      {"identity", "namespace", "driverLabels", "policy", "policyDefaults", "at", "activeSince", "validationSelector",
       "earlyValidation", "usesDriverUids", "restartOnly", "requestor", "spareSkippedPods", "timeZones"},
      more);
}

absl::StatusOr<Question> ReadQuestion(const Document& request) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(DriverIdentity identity, IdentityMember(request));
  Question question{.identity = std::move(identity)};
  DRIVERUPGRADE_ASSIGN_OR_RETURN(question.at, TimeOf(request, "at"));
  if (request.Has("activeSince")) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(question.active_since, TimeOf(request, "activeSince"));
  }
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadDriver(request, question));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(question.machine.requestor, RequestorMember(request));
  return question;
}

absl::StatusOr<UpgradePolicy> ReadPolicy(const Document& request, const Document& holder,
                                         const DriverIdentity& identity) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const PolicyDefaults defaults, DefaultsMember(request));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string text, holder.Embedded("policy"));
  absl::StatusOr<UpgradePolicy> policy = ParsePolicy(request, text, defaults);
  if (!policy.ok()) return holder.Wrong("policy", Message(policy.status()));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const bool spare, request.FlagOr("spareSkippedPods", true));
  if (spare) SpareSkippedPods(identity, *policy);
  return policy;
}

absl::Status ReadCluster(const Document& request, std::string_view cluster, Question& question) {
  absl::StatusOr<ClusterObjects> objects = ParseMixedList(cluster, OnUnreadable::kMark);
  if (!objects.ok()) return OfCluster(objects.status());
  question.cluster = *std::move(objects);
  return ReadRestartOnly(request, question);
}

absl::StatusOr<whatif::ClusterFacts> ReadFacts(std::string_view cluster, Question& question) {
  const absl::StatusOr<whatif::json::Document> dump = whatif::ParseDump(cluster);
  if (!dump.ok()) return OfCluster(dump.status());
  whatif::ClusterFacts facts = whatif::FactsOf(*dump, question.identity.EventReason());
  question.rollout_record = whatif::RecordOf(facts, question.identity);
  return facts;
}

}  // namespace driverupgrade::internal
