#include "support/health_server.h"

#include <exception>
#include <utility>

#include "cpprest/http_listener.h"
#include "fmt/format.h"

namespace examples {

using web::http::experimental::listener::http_listener;

class HealthServer::Impl {
 public:
  Impl(const std::string& address, Probe healthy, Probe ready)
      : healthy_(std::move(healthy)), ready_(std::move(ready)), listener_("http://" + address) {
    listener_.support(web::http::methods::GET, [this](const web::http::http_request& request) { Answer(request); });
    listener_.open().wait();
  }
  ~Impl() {
    try {
      listener_.close().wait();
    } catch (const std::exception&) {  // it ends with the process at the latest
    }
  }

 private:
  void Answer(const web::http::http_request& request) const {
    const std::string path = request.relative_uri().path();
    if (path != "/healthz" && path != "/readyz") {
      request.reply(web::http::status_codes::NotFound, "only /healthz and /readyz are here\n");
      return;
    }
    const absl::Status status = path == "/healthz" ? healthy_() : ready_();
    if (status.ok()) {
      request.reply(web::http::status_codes::OK, "ok\n");
    } else {
      request.reply(web::http::status_codes::ServiceUnavailable, std::string(status.message()) + "\n");
    }
  }

  const Probe healthy_;
  const Probe ready_;
  http_listener listener_;
};

absl::StatusOr<std::unique_ptr<HealthServer>> HealthServer::Start(const std::string& address, Probe healthy,
                                                                  Probe ready) {
  if (address.find(':') == std::string::npos || address.find('/') != std::string::npos) {
    return absl::InvalidArgumentError(fmt::format("`{}` is no address like 0.0.0.0:8081", address));
  }
  try {
    return std::unique_ptr<HealthServer>(
        new HealthServer(std::make_unique<Impl>(address, std::move(healthy), std::move(ready))));
  } catch (const std::exception& error) {
    return absl::UnavailableError(fmt::format("cannot listen on {}: {}", address, error.what()));
  }
}

HealthServer::HealthServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HealthServer::~HealthServer() = default;

}  // namespace examples
