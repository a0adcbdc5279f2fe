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
  // Calls `behind->Stream` for requests with "watch" in the query. Calls `behind->Send` for all other requests, one
  // call at a time. Closes the connection if a call fails.
  explicit TransportServer(std::shared_ptr<HttpTransport> behind);

  std::string url() const { return server_.url(); }
  int connections() const { return server_.connections(); }

 private:
  bool Serve(Connection& connection, const std::string& text);
  bool ServeStream(Connection& connection, const HttpRequest& request);

  const std::shared_ptr<HttpTransport> behind_;
  std::mutex mutex_;
  LoopbackServer server_;  // Must be the last member, because the server's threads use the other members.
};

// Returns the request as the client's transport received it. Aborts the test if it is not HTTP.
HttpRequest ParseRequest(const std::string& text);

}  // namespace driverupgrade::testing_support

#endif  // DRIVERUPGRADE_TESTS_UNIT_KUBERNETES_TRANSPORT_SERVER_H_
