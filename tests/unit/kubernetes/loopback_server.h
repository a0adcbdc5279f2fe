// An HTTP/1.1 server on 127.0.0.1 whose answers a test writes byte by byte. Blocking, one thread per
// connection.
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
  // Client certificates signed by it are demanded; none when empty.
  std::string client_ca = {};
  int version_max = 0;  // 0: the newest.
};

// One connection, for its handler.
class Connection {
 public:
  Connection(int fd, SSL* ssl) : fd_(fd), ssl_(ssl) {}

  // Header block and body of the next request; nullopt when the client has gone.
  std::optional<std::string> ReadRequest();
  // False when the client has gone.
  bool Write(std::string_view bytes);
  // "HTTP/1.1 <status> X", the headers (each ended by "\r\n"), Content-Length and the body.
  bool Answer(int status, std::string_view body, std::string_view headers = "");
  bool WriteChunk(std::string_view bytes);
  // Blocks until the client closes. Without TLS another thread may write meanwhile.
  void WaitForClose();
  // Ends both directions, after what has been written. From any thread.
  void Shutdown();

 private:
  long Read(char* data, std::size_t size);

  int fd_;
  SSL* ssl_;
  std::string pending_;
};

class LoopbackServer {
 public:
  // Called for each request; false closes the connection. Runs on the connection's thread.
  using Handler = std::function<bool(Connection&, const std::string& request)>;

  explicit LoopbackServer(Handler handler, std::optional<TlsServerOptions> tls = std::nullopt);
  // Closes all connections and joins their threads.
  ~LoopbackServer();
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  int port() const { return port_; }
  // "http://127.0.0.1:port", or https.
  std::string url() const;
  // Accepted so far.
  int connections() const { return connections_; }
  std::vector<std::string> requests() const;
  // Refuses new connections from here on; keeps those it has.
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
