// Any HttpTransport as a server on 127.0.0.1: what it answers goes over a socket, lines of a stream as they come.
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
  // Calls Send of `behind` one at a time, and Stream for each request that has "watch" in its query. A failure of it is
  // a connection that breaks.
  explicit TransportServer(std::shared_ptr<HttpTransport> behind);

  std::string url() const { return server_.url(); }
  int connections() const { return server_.connections(); }

 private:
  bool Serve(Connection& connection, const std::string& text);
  bool ServeStream(Connection& connection, const HttpRequest& request);

  const std::shared_ptr<HttpTransport> behind_;
  std::mutex mutex_;
  LoopbackServer server_;  // Last: its threads use the rest.
};

// The request as the client's transport was given it. Aborts the test on one that is not HTTP.
HttpRequest ParseRequest(const std::string& text);

}  // namespace driverupgrade::testing_support

#endif  // DRIVERUPGRADE_TESTS_UNIT_KUBERNETES_TRANSPORT_SERVER_H_
