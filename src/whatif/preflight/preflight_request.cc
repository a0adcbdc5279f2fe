#include "whatif/preflight/preflight_request.h"

#include "base/status_macros.h"
#include "whatif/preflight/preflight.h"
#include "whatif/question_document.h"

namespace driverupgrade::internal {

absl::StatusOr<std::string> PreflightOf(std::string_view request_text, std::string_view cluster) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Document request, ParseRequest(request_text));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(whatif::Question question, ReadQuestion(request));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(question.policy, ReadPolicy(request, request, question.identity));
  whatif::FollowDevices(question);
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadCluster(request, cluster, question));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const whatif::ClusterFacts facts, ReadFacts(cluster, question));
  return whatif::FormatObstaclesJson(whatif::FindObstacles({.question = question, .facts = facts}));
}

}  // namespace driverupgrade::internal
