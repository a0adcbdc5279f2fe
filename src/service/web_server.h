// Answers GET for a few pages: the probes of a kubelet, Prometheus, and the page of a rollout.
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
  // The bearer token; empty without one. kReaderTokenHeader counts before Authorization.
  std::string token = {};
  // `?key=`.
  std::string key = {};
  // The header Cookie: `a=1; b=2`.
  std::string cookie = {};
};

// Header of a bearer token that passes the API server's proxy to pods, which removes Authorization.
inline constexpr char kReaderTokenHeader[] = "X-Driver-Upgrade-Token";

struct Page {
  int status = 200;
  std::string body = {};
  std::string content_type = "text/plain; charset=utf-8";
  // Tag of the body, in quotes: a client that sends this tag gets 304. Empty: no tag.
  std::string etag = {};
  std::map<std::string, std::string> headers = {};
  // Returns the next piece of a stream, which replaces `body`; called again until the client or the server ends. It may wait for
  // a second before it returns. An empty piece is not sent; nullopt ends the stream.
  std::function<std::optional<std::string>()> next = nullptr;
};
/// Called by several threads at once.
using PageMaker = std::function<Page(const PageRequest&)>;

/// 200 `ok`, or 503 with the error's text.
PageMaker ProbePage(std::function<absl::Status()> probe);

/// Whether the address, as for WebServer::Start, is one that only this machine, or this pod, reaches.
bool IsLoopback(const std::string& address);
/// The same of the name or address of a host.
bool IsLoopbackHost(const std::string& host);
/// Returns the port of such an address; 0 for any other text.
int PortOf(const std::string& address);

/// All pages of one address.
struct Pages {
  // With a certificate of the server's own (MakeServerCertificate).
  bool tls = false;
  // The keys are paths: `/healthz`.
  std::map<std::string, PageMaker> by_path = {};
};

/// Serves until it is destroyed.
class WebServer {
 public:
  /// The most streams (Page::next) at once, because each needs a thread; a further request gets 503, and its page polls.
  static constexpr int kStreamsMax = 8;

  /// `address` is `host:port`, `[::1]:port` or `:port` for all interfaces; port 0 takes any that is free. `pages`: by
  /// path, `/healthz`. Errors: InvalidArgument for what is no address; Unavailable if it cannot be listened on;
  /// Unimplemented if there is no TLS in this build of cpp-httplib.
  static absl::StatusOr<std::unique_ptr<WebServer>> Start(const std::string& address, Pages pages);
  ~WebServer();
  int port() const;

 private:
  class Impl;
  explicit WebServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Each address has a server.
using PagesByAddress = std::map<std::string, Pages>;
/// Errors: as for WebServer::Start. Writes the ports to `log`.
absl::StatusOr<std::vector<std::unique_ptr<WebServer>>> StartServers(PagesByAddress pages, const LogSink& log);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_SERVICE_WEB_SERVER_H_
