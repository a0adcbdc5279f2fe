// Serves any HttpTransport on 127.0.0.1. Responses are sent over a socket, and the lines of a stream are sent as they
// arrive.
#ifndef DRIVERUPGRADE_TESTS_UNIT_KUBERNETES_TRANSPORT_SERVER_H_
#define DRIVERUPGRADE_TESTS_UNIT_KUBERNETES_TRANSPORT_SERVER_H_

#include <memory>
#include <mutex>
#include <string>

#include "driverupgrade/kubernetes/http_transport.h"
#include "loopback_server.h"

namespace driverupgrade::testing_support {

class TransportServer {
 public:
  // Calls `Stream` of `behind` for requests with "watch" in the query, and `Send`, one call at a time, for all others.
  // Closes the connection if the call fails.
  explicit TransportServer(std::shared_ptr<HttpTransport> behind);

  std::string url() const { return server_.url(); }
  int connections() const { return server_.connections(); }

 private:
  bool Serve(Connection& connection, const std::string& text);
  bool ServeStream(Connection& connection, const HttpRequest& request);

  const std::shared_ptr<HttpTransport> behind_;
  std::mutex mutex_;
  LoopbackServer server_;  // Must be the last member, because its threads use the others.
};

// Returns the request as the client's transport received it. Aborts the test if the text is not HTTP.
HttpRequest ParseRequest(const std::string& text);

}  // namespace driverupgrade::testing_support

#endif  // DRIVERUPGRADE_TESTS_UNIT_KUBERNETES_TRANSPORT_SERVER_H_
