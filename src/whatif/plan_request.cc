#include "whatif/plan_request.h"

#include <utility>

#include "base/status_macros.h"
#include "whatif/plan_json.h"
#include "whatif/question_document.h"
#include "whatif/what_if.h"

namespace driverupgrade::internal {

absl::StatusOr<std::string> PlanOf(std::string_view request_text, std::string_view cluster) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Document request, ParseRequest(request_text));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(whatif::Question question, ReadQuestion(request));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(question.policy, ReadPolicy(request, request, question.identity));
  whatif::FollowDevices(question);
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadCluster(request, cluster, question));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const whatif::Report report, whatif::Answer(std::move(question)));
  return whatif::FormatJson(report);
}

}  // namespace driverupgrade::internal
