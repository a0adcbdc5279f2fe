// Answers GET for a few pages: the probes of a kubelet, and Prometheus.
#ifndef DRIVERUPGRADE_SRC_SERVICE_WEB_SERVER_H_
#define DRIVERUPGRADE_SRC_SERVICE_WEB_SERVER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace driverupgrade::internal {

struct Page {
  int status = 200;
  std::string body = {};
  std::string content_type = "text/plain; charset=utf-8";
};
/// Called by several threads at once.
using PageMaker = std::function<Page()>;

/// 200 `ok`, or 503 with the error's text.
PageMaker ProbePage(std::function<absl::Status()> probe);

/// Serves until it is destroyed.
class WebServer {
 public:
  /// `address` is `host:port`, `[::1]:port` or `:port` for all interfaces; port 0 takes any that is free. `pages`: by
  /// path, `/healthz`. Errors: InvalidArgument for what is no address; Unavailable if it cannot be listened on.
  static absl::StatusOr<std::unique_ptr<WebServer>> Start(const std::string& address,
                                                          std::map<std::string, PageMaker> pages);
  ~WebServer();
  int port() const;

 private:
  class Impl;
  explicit WebServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_SERVICE_WEB_SERVER_H_
