// A transport that returns scripted responses and records the requests.
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
  void Answer(int status, std::string body) { Answer(HttpResponse{.status = status, .body = std::move(body)}); }
  void Answer(absl::StatusOr<HttpResponse> answer) { answers_.push_back({.answer = std::move(answer)}); }
  // Scripts a stream that delivers these lines. Afterwards the stream ends normally, or fails with `end`.
  void AnswerLines(std::vector<std::string> lines, absl::Status end = absl::OkStatus()) {
    Scripted scripted{.answer = HttpResponse{.status = 200}, .lines = std::move(lines)};
    if (!end.ok()) scripted.answer = std::move(end);
    answers_.push_back(std::move(scripted));
  }

  absl::StatusOr<HttpResponse> Send(const CallContext& context, const HttpRequest& request) override {
    absl::StatusOr<Scripted> scripted = Take("", context, request);
    if (!scripted.ok()) return scripted.status();
    return std::move(scripted->answer);
  }
  absl::StatusOr<HttpResponse> Stream(const CallContext& context, const HttpRequest& request, LineSink& sink) override {
    absl::StatusOr<Scripted> scripted = Take("stream ", context, request);
    if (!scripted.ok()) return scripted.status();
    for (const std::string& line : scripted->lines) {
      if (!sink.OnLine(line)) return HttpResponse{.status = 200};
    }
    return std::move(scripted->answer);
  }

  // Requests as text, e.g. "GET /api/v1/nodes?limit=500" or "stream GET /api/v1/nodes?watch=1".
  std::vector<std::string> lines;
  std::vector<HttpRequest> requests;
  std::vector<absl::Time> deadlines;

 private:
  struct Scripted {
    absl::StatusOr<HttpResponse> answer = HttpResponse{};
    std::vector<std::string> lines = {};
  };

  absl::StatusOr<Scripted> Take(const char* how, const CallContext& context, const HttpRequest& request) {
    const absl::StatusOr<std::string> target = EncodeRequestTarget(request);
    if (!target.ok()) return target.status();
    lines.push_back(how + std::string(ToString(request.verb)) + " " + *target);
    requests.push_back(request);
    deadlines.push_back(context.deadline);
    if (answers_.empty()) return absl::InternalError("the script has no more answers");
    Scripted scripted = std::move(answers_.front());
    answers_.pop_front();
    return scripted;
  }

  std::deque<Scripted> answers_;
};

// Returns an error body in the format of the API server. `details` has no braces, e.g. R"("name":"x")".
inline std::string StatusBody(int code, const std::string& reason, const std::string& message,
                              const std::string& details = "") {
  return R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":")" + message +
         R"(","reason":")" + reason + R"(","details":{)" + details + R"(},"code":)" + std::to_string(code) + "}";
}

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_TESTS_UNIT_WIRE_SCRIPTED_TRANSPORT_H_
