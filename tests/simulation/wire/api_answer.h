// What the API server answers instead of an object.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_WIRE_API_ANSWER_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_WIRE_API_ANSWER_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/kubernetes/http_transport.h"

namespace driverupgrade::tests {

// A number below the bound.
using Draw = std::function<int(int)>;

// 200, or 201 where something was made.
HttpResponse Success(std::string body, int code = 200);
// The objects with two more owners, around those that they have, of which none is their controller.
std::string WithOtherOwners(std::string objects);
// A Status of success.
HttpResponse Done(int code = 200);
// What the cluster said, as the server says it: `503 ...` is that status, a code of the cluster's own is the status
// that means it. An error of the connection stays one. `draw` chooses the form of bodies that have several.
absl::StatusOr<HttpResponse> AnswerOf(const absl::Status& status, const Draw& draw);
// E3-E19.
HttpResponse AnswerOf(const EvictionAnswer& answer, const Draw& draw);
// The object, or the incarnation of it that was named, is gone (E16).
HttpResponse GoneAnswer(bool other_uid, const std::string& message);
// To a patch of an object that is another of that name by now.
HttpResponse OtherUidAnswer(const std::string& message);
// The last line of a watch that the server breaks off (api-A16).
std::string ErrorLine(int code, const std::string& reason, const std::string& message);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WIRE_API_ANSWER_H_
