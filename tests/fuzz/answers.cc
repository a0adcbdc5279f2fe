// Converts responses from a hostile server. Unless the status is a success, the conversion must produce an error of
// limited length on a single line, whatever the headers and the body contain.
#include <algorithm>

#include "driverupgrade/kubernetes/rest_cluster.h"
#include "fuzz/fuzz.h"
#include "kubernetes/rest_cluster_status.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace driverupgrade;
  using namespace driverupgrade::tests;
  constexpr std::size_t kTextMax = 4096;
  Bytes bytes(data, size);
  HttpResponse response{.status = bytes.Below(1000)};
  const auto verb = static_cast<HttpVerb>(bytes.Below(5));
  const int headers = bytes.Below(4);
  for (int i = 0; i < headers; ++i) response.headers[std::string(bytes.Line())] = std::string(bytes.Line());
  response.headers["Retry-After"] = std::string(bytes.Line());
  response.body = std::string(bytes.Rest());

  (void)internal::SaysGone(response);
  (void)internal::SaysOtherUid(response);
  const auto eviction = internal::EvictionAnswerOf("evict pod a/b", response);
  if (eviction.ok()) Require(eviction->retry_after >= absl::ZeroDuration(), "a wait is not negative");
  if (internal::IsSuccess(response)) return 0;
  for (const absl::Status& failure :
       {internal::FailureOf("get node n1", verb, response), internal::WatchFailureOf("watch nodes", response)}) {
    Require(!failure.ok(), "a failure is not OK");
    Require(failure.message().size() <= kTextMax, "an error has bounded length");
    Require(!HasControlCharacter(failure.message()), "an error is one line");
    Require(RetryAfter(failure) >= absl::ZeroDuration(), "a wait is not negative");
  }
  return 0;
}
