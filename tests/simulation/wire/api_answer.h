// Responses of the API server that contain no object.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_WIRE_API_ANSWER_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_WIRE_API_ANSWER_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/kubernetes/http_transport.h"

namespace driverupgrade::tests {

// Returns a random number below the bound.
using Draw = std::function<int(int)>;

// Returns 200, or 201 if an object was created.
HttpResponse Success(std::string body, int code = 200);
// Adds two owners to each object, one before and one after its existing owners. Neither added owner is a controller.
std::string WithOtherOwners(std::string objects);
// Returns a Status object that reports success.
HttpResponse Done(int code = 200);
// Converts a cluster error into the response that the server would send. A message such as `503 ...` sets the HTTP
// status; otherwise the error code determines it. A connection error remains an error. `draw` chooses the form of the
// body.
absl::StatusOr<HttpResponse> AnswerOf(const absl::Status& status, const Draw& draw);
// Converts the result of an eviction in the same way (E3-E19).
HttpResponse AnswerOf(const EvictionAnswer& answer, const Draw& draw);
// Returns the response for an object that no longer exists, or that now exists under another UID (E16).
HttpResponse GoneAnswer(bool other_uid, const std::string& message);
// Returns the response to a patch whose object was replaced by another object with the same name.
HttpResponse OtherUidAnswer(const std::string& message);
// Returns the last line of a watch that the server terminates (api-A16).
std::string ErrorLine(int code, const std::string& reason, const std::string& message);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WIRE_API_ANSWER_H_
