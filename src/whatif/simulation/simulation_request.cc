#include "whatif/simulation/simulation_request.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "whatif/question_document.h"
#include "whatif/simulation/trials.h"

namespace driverupgrade::internal {
namespace {

using whatif::Policies;

// Same defaults and limits as in upgradectl.
constexpr int kSeeds = 5;
constexpr int kSeedsMax = 1000;
constexpr int kJitterPercent = 20;
constexpr int kJitterPercentMax = 90;

absl::StatusOr<Policies> PoliciesOf(const Document& request, const DriverIdentity& identity) {
  if (!request.Has("policies")) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(UpgradePolicy policy, ReadPolicy(request, request, identity));
    return Policies{{"policy", std::move(policy)}};
  }
  if (request.Has("policy")) return request.Wrong("policies", "must not be set if policy is");
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<Document> members, request.Objects("policies", {"name", "policy"}));
  if (members.empty()) return request.Wrong("policies", "must not be empty");
  Policies policies;
  for (const Document& member : members) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(std::string name, member.Text("name"));
    DRIVERUPGRADE_ASSIGN_OR_RETURN(UpgradePolicy policy, ReadPolicy(request, member, identity));
    policies.emplace_back(std::move(name), std::move(policy));
  }
  return policies;
}

absl::StatusOr<int> CountWithin(const Document& document, std::string_view member, int absent, int min, int max) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const int count, document.CountOr(member, absent));
  if (count >= min && count <= max) return count;
  return document.Wrong(member, fmt::format("must be a whole number from {} to {}, got {}", min, max, count));
}

absl::Status ReadDuration(const Document& durations, std::string_view member, std::optional<absl::Duration>& given) {
  if (!durations.Has(member)) return absl::OkStatus();
  const auto max = static_cast<int>(absl::ToInt64Seconds(whatif::kDurationEnd)) - 1;
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const int seconds, CountWithin(durations, member, 0, 0, max));
  given = absl::Seconds(seconds);
  return absl::OkStatus();
}

absl::StatusOr<whatif::GivenDurations> DurationsMember(const Document& request) {
  whatif::GivenDurations given{.jitter = kJitterPercent / 100.0};
  if (!request.Has("durations")) return given;
  DRIVERUPGRADE_ASSIGN_OR_RETURN(
      const Document member, request.Object("durations", {"driverStartSeconds", "driverStopSeconds", "podStartSeconds",
                                                          "podStopSeconds", "validationSeconds", "jitterPercent"}));
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadDuration(member, "driverStartSeconds", given.driver_start));
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadDuration(member, "driverStopSeconds", given.driver_stop));
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadDuration(member, "podStartSeconds", given.pod_start));
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadDuration(member, "podStopSeconds", given.pod_stop));
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadDuration(member, "validationSeconds", given.validation));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const int percent,
                                 CountWithin(member, "jitterPercent", kJitterPercent, 0, kJitterPercentMax));
  given.jitter = percent / 100.0;
  return given;
}

}  // namespace

absl::StatusOr<std::string> SimulationOf(std::string_view request_text, std::string_view cluster) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Document request,
                                 ParseRequest(request_text, {"policies", "seeds", "durations"}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(whatif::Question question, ReadQuestion(request));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Policies policies, PoliciesOf(request, question.identity));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const int seeds, CountWithin(request, "seeds", kSeeds, 1, kSeedsMax));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const whatif::GivenDurations given, DurationsMember(request));
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadCluster(request, cluster, question));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const whatif::ClusterFacts facts, ReadFacts(cluster, question));
  const whatif::Situation situation{.question = question, .facts = facts};
  std::vector<std::string> measured;
  const whatif::Durations durations = DurationsOf(given, situation, measured);
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<whatif::Trial> trials,
                                 SimulatePolicies(situation, policies, durations, seeds));
  return whatif::FormatTrialsJson(trials);
}

}  // namespace driverupgrade::internal
