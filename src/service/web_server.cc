#include "service/web_server.h"

#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "fmt/format.h"
#include "httplib.h"
#include "service/server_certificate.h"

namespace driverupgrade::internal {
namespace {

// Number of threads for pages: a few are enough, because pages are small and have few readers. Each stream has a
// separate thread.
constexpr std::size_t kThreads = 4;

struct Address {
  std::string host;
  int port = 0;
};

std::optional<Address> ParseAddress(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || text.find('/') != std::string::npos) return std::nullopt;
  Address address{.host = text.substr(0, colon)};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, address.port);
  if (error != std::errc() || rest != end || address.port < 0 || address.port > 65535) return std::nullopt;
  if (address.host.empty()) address.host = "0.0.0.0";
  if (address.host.starts_with('[') && address.host.ends_with(']')) {
    address.host = address.host.substr(1, address.host.size() - 2);
  } else if (address.host.find(':') != std::string::npos) {
    return std::nullopt;
  }
  return address.host.empty() ? std::nullopt : std::optional(address);
}

#ifdef CPPHTTPLIB_OPENSSL_SUPPORT
absl::StatusOr<std::unique_ptr<httplib::Server>> MakeTlsServer() {
  const absl::StatusOr<ServerCertificate> made = MakeServerCertificate();
  if (!made.ok()) return made.status();
  std::unique_ptr<httplib::Server> server =
      std::make_unique<httplib::SSLServer>(made->certificate.get(), made->key.get());
  if (!server->is_valid()) return absl::InternalError("OpenSSL does not accept the certificate of the server");
  return server;
}
#else
absl::StatusOr<std::unique_ptr<httplib::Server>> MakeTlsServer() {
  return absl::UnimplementedError("this build of cpp-httplib has no TLS (CPPHTTPLIB_OPENSSL_SUPPORT)");
}
#endif

absl::StatusOr<std::unique_ptr<httplib::Server>> MakeServer(bool tls) {
  if (tls) return MakeTlsServer();
  return std::make_unique<httplib::Server>();
}

}  // namespace

bool IsLoopbackHost(const std::string& host) {
  // Accepts only numeric addresses: 127.0.0.1.example.com is a name that anyone can register.
  const bool is_ipv4 = host.find_first_not_of("0123456789.") == std::string::npos;
  return host == "localhost" || host == "::1" || (is_ipv4 && host.starts_with("127."));
}

bool IsLoopback(const std::string& address) {
  const std::optional<Address> parsed = ParseAddress(address);
  return parsed && IsLoopbackHost(parsed->host);
}

int PortOf(const std::string& address) {
  const std::optional<Address> parsed = ParseAddress(address);
  return parsed ? parsed->port : 0;
}

PageMaker ProbePage(std::function<absl::Status()> probe) {
  return [probe = std::move(probe)](const PageRequest&) -> Page {
    const absl::Status status = probe();
    if (status.ok()) return {.body = "ok\n"};
    return {.status = 503, .body = std::string(status.message()) + "\n"};
  };
}

class WebServer::Impl {
 public:
  Impl(std::unique_ptr<httplib::Server> server, std::map<std::string, PageMaker> pages) : server_(std::move(server)) {
    server_->new_task_queue = [] { return new httplib::ThreadPool(kThreads + WebServer::kStreamsMax); };
    // Without this limit, a client that keeps its connection open would occupy a thread.
    server_->set_keep_alive_max_count(1);
    // With SO_REUSEPORT, the library's default, two processes could listen on the same port without noticing.
    server_->set_socket_options([](socket_t socket) {
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    });
    for (auto& [path, page] : pages) {
      server_->Get(path, [this, page = std::move(page)](const httplib::Request& request, httplib::Response& response) {
        Send(page({.watch = request.get_param_value("watch") == "true",
                   .host = HostOf(request),
                   .token = TokenOf(request),
                   .key = request.get_param_value("key"),
                   .cookie = request.get_header_value("Cookie")}),
             request, response);
      });
    }
  }
  ~Impl() {
    if (!thread_.joinable()) return;
    ends_ = true;
    server_->stop();
    thread_.join();
  }

  bool Listen(const Address& address) {
    port_ = address.port;
    if (address.port == 0) {
      port_ = server_->bind_to_any_port(address.host);
      if (port_ < 0) return false;
    } else if (!server_->bind_to_port(address.host, address.port)) {
      return false;
    }
    thread_ = std::thread([this] { server_->listen_after_bind(); });
    // Waits until the server runs, because a stop before that would be lost.
    while (!server_->is_running()) std::this_thread::yield();
    return true;
  }
  int port() const { return port_; }

 private:
  static std::string HostOf(const httplib::Request& request) {
    std::string host = request.get_header_value("Host");
    const std::size_t port = host.rfind(':');
    if (port != std::string::npos && host.find(']', port) == std::string::npos) host.resize(port);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    return host;
  }

  static std::string TokenOf(const httplib::Request& request) {
    std::string token = request.get_header_value(kReaderTokenHeader);
    if (!token.empty()) return token;
    const std::string authorization = request.get_header_value("Authorization");
    constexpr std::string_view kBearer = "Bearer ";
    return authorization.starts_with(kBearer) ? authorization.substr(kBearer.size()) : "";
  }

  void Send(Page page, const httplib::Request& request, httplib::Response& response) {
    for (const auto& [name, value] : page.headers) response.set_header(name, value);
    response.status = page.status;
    if (page.next != nullptr) return Stream(std::move(page), response);
    if (!page.etag.empty()) {
      response.set_header("ETag", page.etag);
      // Accepts a weak tag: httplib compresses the body, and a proxy may have weakened the tag because of the
      // compression.
      std::string known = request.get_header_value("If-None-Match");
      if (known.starts_with("W/")) known = known.substr(2);
      if (known == page.etag) {
        response.status = 304;
        return;
      }
    }
    response.set_content(page.body, page.content_type.c_str());
  }

  void Stream(Page page, httplib::Response& response) {
    if (streams_.fetch_add(1) >= WebServer::kStreamsMax) {
      --streams_;
      response.status = 503;
      response.set_content("too many streams\n", "text/plain; charset=utf-8");
      return;
    }
    response.set_chunked_content_provider(
        page.content_type.c_str(),
        [this, next = std::move(page.next)](std::size_t, httplib::DataSink& sink) {
          const std::optional<std::string> piece = next();
          if (!piece) sink.done();
          return !ends_ && (!piece || piece->empty() || sink.write(piece->data(), piece->size()));
        },
        [this](bool) { --streams_; });
  }

  std::atomic<bool> ends_ = false;
  std::atomic<int> streams_ = 0;
  const std::unique_ptr<httplib::Server> server_;
  std::thread thread_;
  int port_ = 0;
};

absl::StatusOr<std::unique_ptr<WebServer>> WebServer::Start(const std::string& address, Pages pages) {
  const std::optional<Address> parsed = ParseAddress(address);
  if (!parsed) return absl::InvalidArgumentError(fmt::format("`{}` is not an address like 0.0.0.0:8081", address));
  absl::StatusOr<std::unique_ptr<httplib::Server>> server = MakeServer(pages.tls);
  if (!server.ok()) return server.status();
  auto impl = std::make_unique<Impl>(*std::move(server), std::move(pages.by_path));
  errno = 0;
  if (!impl->Listen(*parsed)) {
    const std::string why = errno == 0 ? "the host name cannot be resolved" : std::generic_category().message(errno);
    return absl::UnavailableError(fmt::format("cannot listen on {}: {}", address, why));
  }
  return std::unique_ptr<WebServer>(new WebServer(std::move(impl)));
}

absl::StatusOr<std::vector<std::unique_ptr<WebServer>>> StartServers(PagesByAddress pages, const LogSink& log) {
  std::vector<std::unique_ptr<WebServer>> servers;
  for (auto& [address, made] : pages) {
    absl::StatusOr<std::unique_ptr<WebServer>> server = WebServer::Start(address, std::move(made));
    if (!server.ok()) return server.status();
    log({.message = "listening", .fields = {{"address", address}, {"port", fmt::format("{}", (*server)->port())}}});
    servers.push_back(*std::move(server));
  }
  return servers;
}

WebServer::WebServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WebServer::~WebServer() = default;
int WebServer::port() const { return impl_->port(); }

}  // namespace driverupgrade::internal
