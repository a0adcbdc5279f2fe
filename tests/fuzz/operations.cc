// Passes responses from a hostile server to each facade operation. Each response must be converted to an object, a
// result, or an error of limited length on a single line. Every list must terminate.
#include <initializer_list>

#include "fuzz/fuzz.h"
#include "kubernetes/list_reader.h"
#include "kubernetes/rest_answer.h"

namespace driverupgrade::tests {
namespace {

using internal::Decode;
using internal::RestRequest;

void CheckError(const absl::Status& status) {
  constexpr std::size_t kTextMax = 4096;
  Require(status.message().size() <= kTextMax, "an error has bounded length");
  Require(!HasControlCharacter(status.message()), "an error is one line");
  Require(internal::RetryAfterOf(status) >= absl::ZeroDuration(), "a wait is not negative");
}
template <typename T>
void CheckError(const absl::StatusOr<T>& answer) {
  CheckError(answer.status());
}

void CheckObjects(const RestRequest& request, const HttpResponse& response) {
  const Lease lease;
  const ConfigMap config_map;
  CheckError(Decode(GetNodeParams(), request, response));
  CheckError(Decode(PatchNodeParams(), request, response));
  CheckError(Decode(CreateNodeMaintenanceParams(), request, response));
  CheckError(Decode(PatchNodeMaintenanceParams(), request, response));
  CheckError(Decode(CreateDeviceTaintRuleParams(), request, response));
  CheckError(Decode(PatchDeviceTaintRuleParams(), request, response));
  CheckError(Decode(internal::CreateLeaseParams{lease}, request, response));
  CheckError(Decode(internal::UpdateLeaseParams{lease}, request, response));
  CheckError(Decode(internal::CreateConfigMapParams{config_map}, request, response));
  CheckError(Decode(PatchConfigMapParams(), request, response));
}

void CheckAnswers(const RestRequest& request, const HttpResponse& response) {
  const RecordEventParams event;
  CheckError(Decode(EvictPodParams(), request, response));
  CheckError(Decode(DeletePodParams(), request, response));
  CheckError(Decode(internal::PatchEventParams{event}, request, response));
  CheckError(Decode(internal::CreateEventParams{event}, request, response));
}

// Checks a list whose server returns the same response to every page request.
template <typename T>
void CheckList(const RestRequest& first, const HttpResponse& response) {
  internal::ListReader<T> reader(first, 500, OnUnreadable::kMark);
  int requests = 0;
  absl::Status status;
  while (const RestRequest* next = reader.Next()) {
    Require(next->http.path == first.http.path, "every page is from the same collection");
    Require(++requests <= 2, "a list ends if the same page is repeated");
    status = reader.Take(response);
    if (!status.ok()) break;
  }
  CheckError(status);
}

}  // namespace
}  // namespace driverupgrade::tests

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace driverupgrade;
  using namespace driverupgrade::tests;
  Bytes bytes(data, size);
  HttpResponse response{.status = bytes.Below(1000)};
  const RestRequest request{"get node n1", {.verb = static_cast<HttpVerb>(bytes.Below(5))}};
  response.headers["Retry-After"] = std::string(bytes.Line());
  response.body = std::string(bytes.Rest());
  CheckObjects(request, response);
  CheckAnswers(request, response);
  CheckList<Node>(request, response);
  CheckList<Pod>(request, response);
  return 0;
}
