// A transport that plays back answers and remembers what was asked.
#ifndef DRIVERUPGRADE_TESTS_UNIT_WIRE_SCRIPTED_TRANSPORT_H_
#define DRIVERUPGRADE_TESTS_UNIT_WIRE_SCRIPTED_TRANSPORT_H_

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driverupgrade/kubernetes/http_transport.h"

namespace driverupgrade {

class ScriptedTransport final : public HttpTransport {
 public:
  void Answer(int status, std::string body) {
    Answer(HttpResponse{.status = status, .body = std::move(body)});
  }
  void Answer(absl::StatusOr<HttpResponse> answer) { answers_.push_back(std::move(answer)); }

  absl::StatusOr<HttpResponse> Send(const CallContext& context, const HttpRequest& request) override {
    const absl::StatusOr<std::string> target = EncodeRequestTarget(request);
    if (!target.ok()) return target.status();
    lines.push_back(std::string(ToString(request.verb)) + " " + *target);
    requests.push_back(request);
    deadlines.push_back(context.deadline);
    if (answers_.empty()) return absl::InternalError("the script has no more answers");
    absl::StatusOr<HttpResponse> answer = std::move(answers_.front());
    answers_.pop_front();
    return answer;
  }
  absl::StatusOr<HttpResponse> Stream(const CallContext&, const HttpRequest&, LineSink&) override {
    return absl::UnimplementedError("no streams here");
  }

  // "GET /api/v1/nodes?limit=500".
  std::vector<std::string> lines;
  std::vector<HttpRequest> requests;
  std::vector<absl::Time> deadlines;

 private:
  std::deque<absl::StatusOr<HttpResponse>> answers_;
};

// An error body as the API server writes it. `details` without its braces, e.g. R"("name":"x")".
inline std::string StatusBody(int code, const std::string& reason, const std::string& message,
                              const std::string& details = "") {
  return R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":")" + message +
         R"(","reason":")" + reason + R"(","details":{)" + details + R"(},"code":)" + std::to_string(code) +
         "}";
}

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_TESTS_UNIT_WIRE_SCRIPTED_TRANSPORT_H_
