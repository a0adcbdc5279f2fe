// An HTTP/1.1 server on 127.0.0.1 whose responses a test writes byte by byte. The server uses blocking calls, and one
// thread per connection.
#ifndef DRIVERUPGRADE_TESTS_UNIT_KUBERNETES_LOOPBACK_SERVER_H_
#define DRIVERUPGRADE_TESTS_UNIT_KUBERNETES_LOOPBACK_SERVER_H_

#include <openssl/ssl.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "test_certificates.h"

namespace driverupgrade::testing_support {

struct TlsServerOptions {
  Identity identity = {};
  // PEM certificate of the CA that must have signed the client's certificate. Empty: no client certificate is required.
  std::string client_ca = {};
  int version_max = 0;  // Highest TLS version. 0: no limit.
};

// A connection to a client, as passed to the server's handler.
class Connection {
 public:
  Connection(int fd, SSL* ssl) : fd_(fd), ssl_(ssl) {}

  // Returns the header block and the body of the next request, or nullopt if the client has disconnected.
  std::optional<std::string> ReadRequest();
  // Returns false if the client has disconnected.
  bool Write(std::string_view bytes);
  // Writes "HTTP/1.1 <status> X", the headers (each terminated by "\r\n"), Content-Length and the body.
  bool Answer(int status, std::string_view body, std::string_view headers = "");
  bool WriteChunk(std::string_view bytes);
  // Blocks until the client closes the connection. Without TLS, another thread may write at the same time.
  void WaitForClose();
  // Shuts down both directions after all data has been written. May be called from any thread.
  void Shutdown();

 private:
  long Read(char* data, std::size_t size);

  int fd_;
  SSL* ssl_;
  std::string pending_;
};

class LoopbackServer {
 public:
  // Called for each request, on the connection's thread. A handler returns false to close the connection.
  using Handler = std::function<bool(Connection&, const std::string& request)>;

  explicit LoopbackServer(Handler handler, std::optional<TlsServerOptions> tls = std::nullopt);
  // Closes all connections and joins their threads.
  ~LoopbackServer();
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  int port() const { return port_; }
  // Returns "http://127.0.0.1:PORT", or the same URL with https if the server uses TLS.
  std::string url() const;
  // Number of connections accepted so far.
  int connections() const { return connections_; }
  std::vector<std::string> requests() const;
  // Refuses new connections from now on and keeps the existing ones.
  void StopListening();

 private:
  void Accept();
  void Serve(int fd);

  const Handler handler_;
  SSL_CTX* context_ = nullptr;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<int> connections_{0};
  std::atomic<bool> listening_{true};
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::vector<int> open_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace driverupgrade::testing_support

#endif  // DRIVERUPGRADE_TESTS_UNIT_KUBERNETES_LOOPBACK_SERVER_H_
