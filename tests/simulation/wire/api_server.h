// An in-memory API server, the peer of RestCluster. It sends the objects of a facade as the bytes that a real server
// would send.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_WIRE_API_SERVER_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_WIRE_API_SERVER_H_

#include <deque>
#include <string>
#include <utility>

#include "driverupgrade/kubernetes/http_transport.h"
#include "simulation/wire/api_request.h"
#include "simulation/wire/wire_seam.h"

namespace driverupgrade::tests {

// A transport without a network. Facade errors become the responses that a server, a proxy or a broken connection would
// produce. With `breaks`, responses are truncated, or replaced by an HTML page or by other JSON. All members of the
// seam except for `cluster` and `list_version` can be null. The class is as thread-safe as these members, except for
// lists of several pages.
class ApiServer final : public HttpTransport {
 public:
  explicit ApiServer(testing::WireSeam seam);

  absl::StatusOr<HttpResponse> Send(const CallContext& context, const HttpRequest& request) override;
  absl::StatusOr<HttpResponse> Stream(const CallContext& context, const HttpRequest& request, LineSink& sink) override;

 private:
  using Answer = absl::StatusOr<HttpResponse>;

  absl::StatusOr<ApiRequest> Receive(const HttpRequest& request) const;
  Answer Serve(const CallContext& context, const ApiRequest& request);
  template <typename T>
  Answer ServeList(const CallContext& context, const ApiRequest& request);
  Answer ServeNext(const std::string& token);
  Answer ServeNode(const CallContext& context, const ApiRequest& request);
  Answer ServePod(const CallContext& context, const ApiRequest& request);
  Answer ServeMaintenance(const CallContext& context, const ApiRequest& request);
  Answer ServeDeviceTaintRule(const CallContext& context, const ApiRequest& request);
  Answer ServeLease(const CallContext& context, const ApiRequest& request);
  Answer ServeConfigMap(const CallContext& context, const ApiRequest& request);
  Answer ServeEvent(const CallContext& context, const ApiRequest& request);
  Answer Delete(const CallContext& context, const ApiRequest& request, const PodRef& pod);
  template <typename T>
  Answer ServeWatch(const CallContext& context, const ApiRequest& request, LineSink& sink);
  template <typename T>
  Answer ToAnswer(const absl::StatusOr<T>& object, int code = 200) const;
  Answer Failed(const absl::Status& status) const;
  // Makes a response unreadable.
  HttpResponse Garble(HttpResponse answer) const;

  const testing::WireSeam seam_;
  // Pages of the last lists, by continue token.
  std::deque<std::pair<std::string, HttpResponse>> pages_;
  int lists_ = 0;
};

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WIRE_API_SERVER_H_
