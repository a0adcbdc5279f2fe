#include "loopback_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

namespace driverupgrade::testing_support {
namespace {

void Require(bool ok) {
  if (!ok) std::abort();  // The test itself is broken.
}

SSL_CTX* MakeContext(const TlsServerOptions& options) {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  Require(context != nullptr);
  BIO* text = BIO_new_mem_buf(options.identity.certificate.data(), -1);
  X509* certificate = PEM_read_bio_X509(text, nullptr, nullptr, nullptr);
  BIO_free(text);
  text = BIO_new_mem_buf(options.identity.key.data(), -1);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(text, nullptr, nullptr, nullptr);
  BIO_free(text);
  Require(SSL_CTX_use_certificate(context, certificate) == 1 && SSL_CTX_use_PrivateKey(context, key) == 1);
  X509_free(certificate);
  EVP_PKEY_free(key);
  if (options.version_max != 0) {
    SSL_CTX_set_security_level(context, 0);
    SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context, options.version_max);
  }
  if (!options.client_ca.empty()) {
    text = BIO_new_mem_buf(options.client_ca.data(), -1);
    X509* authority = PEM_read_bio_X509(text, nullptr, nullptr, nullptr);
    BIO_free(text);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority);
    X509_free(authority);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return context;
}

std::size_t ContentLength(std::string_view head) {
  constexpr std::string_view kName = "Content-Length:";
  const std::size_t at = head.find(kName);
  return at == std::string_view::npos ? 0 : std::stoul(std::string(head.substr(at + kName.size(), 12)));
}

}  // namespace

long Connection::Read(char* data, std::size_t size) {
  return ssl_ == nullptr ? recv(fd_, data, size, 0) : SSL_read(ssl_, data, static_cast<int>(size));
}

std::optional<std::string> Connection::ReadRequest() {
  while (true) {
    const std::size_t end = pending_.find("\r\n\r\n");
    if (end != std::string::npos) {
      const std::size_t size = end + 4 + ContentLength(std::string_view(pending_).substr(0, end + 2));
      if (pending_.size() >= size) {
        std::string request = pending_.substr(0, size);
        pending_.erase(0, size);
        return request;
      }
    }
    char block[8192];
    const long count = Read(block, sizeof(block));
    if (count <= 0) return std::nullopt;
    pending_.append(block, static_cast<std::size_t>(count));
  }
}

bool Connection::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const long count =
        ssl_ == nullptr ? send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL)
                        : SSL_write(ssl_, bytes.data(), static_cast<int>(std::min<std::size_t>(bytes.size(), 1 << 20)));
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool Connection::Answer(int status, std::string_view body, std::string_view headers) {
  return Write(fmt::format("HTTP/1.1 {} X\r\nContent-Length: {}\r\n{}\r\n{}", status, body.size(), headers, body));
}

bool Connection::WriteChunk(std::string_view bytes) {
  return Write(fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes));
}

void Connection::WaitForClose() {
  char block[1024];
  while (Read(block, sizeof(block)) > 0) {
  }
}

void Connection::Shutdown() { shutdown(fd_, SHUT_RDWR); }

LoopbackServer::LoopbackServer(Handler handler, std::optional<TlsServerOptions> tls) : handler_(std::move(handler)) {
  std::signal(SIGPIPE, SIG_IGN);  // SSL_write has no MSG_NOSIGNAL.
  if (tls.has_value()) context_ = MakeContext(*tls);
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  Require(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  Require(listen(listener_, 128) == 0);
  Require(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

LoopbackServer::~LoopbackServer() {
  StopListening();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (int fd : open_) shutdown(fd, SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
  SSL_CTX_free(context_);
}

void LoopbackServer::StopListening() {
  if (!listening_.exchange(false)) return;
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  close(listener_);
}

std::string LoopbackServer::url() const {
  return fmt::format("{}://127.0.0.1:{}", context_ == nullptr ? "http" : "https", port_);
}

std::vector<std::string> LoopbackServer::requests() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return requests_;
}

void LoopbackServer::Accept() {
  while (true) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    ++connections_;
    const int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    const std::lock_guard<std::mutex> lock(mutex_);
    open_.push_back(fd);
    threads_.emplace_back([this, fd] { Serve(fd); });
  }
}

void LoopbackServer::Serve(int fd) {
  SSL* ssl = nullptr;
  if (context_ != nullptr) {
    ssl = SSL_new(context_);
    SSL_set_fd(ssl, fd);
  }
  if (ssl != nullptr && SSL_accept(ssl) != 1) {
    // Closing a socket with unread bytes would reset the connection, and the client would not see the TLS alert.
    shutdown(fd, SHUT_WR);
    char block[1024];
    while (recv(fd, block, sizeof(block), 0) > 0) {
    }
  } else {
    Connection connection(fd, ssl);
    while (std::optional<std::string> request = connection.ReadRequest()) {
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        requests_.push_back(*request);
      }
      if (!handler_(connection, *request)) break;
    }
  }
  SSL_free(ssl);
  const std::lock_guard<std::mutex> lock(mutex_);
  open_.erase(std::find(open_.begin(), open_.end(), fd));
  close(fd);
}

}  // namespace driverupgrade::testing_support
