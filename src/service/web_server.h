// Serves GET requests for a few pages: health probes, metrics, and the rollout page.
#ifndef DRIVERUPGRADE_SRC_SERVICE_WEB_SERVER_H_
#define DRIVERUPGRADE_SRC_SERVICE_WEB_SERVER_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driverupgrade/observer.h"

namespace driverupgrade::internal {

struct PageRequest {
  // `?watch=true`.
  bool watch = false;
  // The header Host without its port: `localhost`.
  std::string host = {};
  // The bearer token; empty if there is no token. kReaderTokenHeader takes precedence over Authorization.
  std::string token = {};
  // `?key=`.
  std::string key = {};
  // The header Cookie: `a=1; b=2`.
  std::string cookie = {};
};

// Header for a bearer token. Unlike Authorization, this header is not removed by the API server's proxy to pods.
inline constexpr char kReaderTokenHeader[] = "X-Driver-Upgrade-Token";

struct Page {
  int status = 200;
  std::string body = {};
  std::string content_type = "text/plain; charset=utf-8";
  // Tag of the body, in quotes: a client that sends this tag gets 304. Empty: no tag.
  std::string etag = {};
  std::map<std::string, std::string> headers = {};
  // Set instead of `body` for a stream. Returns the next piece of the stream, and is called again until the client or
  // the server ends the stream. A call may block for up to a second. An empty piece is not sent; nullopt ends the
  // stream.
  std::function<std::optional<std::string>()> next = nullptr;
};
/// Creates the page for a request. Called by several threads at the same time.
using PageMaker = std::function<Page(const PageRequest&)>;

/// Returns a page with status 200 and the text `ok`, or status 503 and the error message.
PageMaker ProbePage(std::function<absl::Status()> probe);

/// Returns true if `address`, in the format that WebServer::Start accepts, is reachable only from this machine or pod.
bool IsLoopback(const std::string& address);
/// Same as IsLoopback, for a host name or address without a port.
bool IsLoopbackHost(const std::string& host);
/// Returns the port in an address, in the format that WebServer::Start accepts; 0 for any other string.
int PortOf(const std::string& address);

/// All pages of one address.
struct Pages {
  // True: served with TLS and a self-signed certificate (MakeServerCertificate).
  bool tls = false;
  // The keys are paths: `/healthz`.
  std::map<std::string, PageMaker> by_path = {};
};

/// Serves until it is destroyed.
class WebServer {
 public:
  /// Maximum number of simultaneous streams (Page::next). The number is limited because each stream needs a thread.
  /// Further requests for streams get 503, and their readers poll instead.
  static constexpr int kStreamsMax = 8;

  /// `address` is `host:port`, `[::1]:port` or `:port` for all interfaces; port 0 selects any free port. `pages`: the
  /// pages to serve. Errors: InvalidArgument for a string that is not an address; Unavailable if the server cannot
  /// listen on the address; Unimplemented if this build of cpp-httplib has no TLS.
  static absl::StatusOr<std::unique_ptr<WebServer>> Start(const std::string& address, Pages pages);
  ~WebServer();
  int port() const;

 private:
  class Impl;
  explicit WebServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The pages of all servers, by address; each address has one server.
using PagesByAddress = std::map<std::string, Pages>;
/// Starts all servers and logs their ports. Errors: the errors of WebServer::Start.
absl::StatusOr<std::vector<std::unique_ptr<WebServer>>> StartServers(PagesByAddress pages, const LogSink& log);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_SERVICE_WEB_SERVER_H_
