#include "loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <system_error>

namespace driverupgrade::e2e {
namespace {

class Socket {
 public:
  Socket() : descriptor_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "cannot make a socket");
  }
  Socket(Socket&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  Socket& operator=(Socket&&) = delete;
  ~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<in_port_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Returns a port below the range that the kernel uses for outgoing connections, so that no outgoing connection can take
// the port before the server does.
int RandomPort() {
  static std::mt19937 random(std::random_device{}());
  return std::uniform_int_distribution<int>(20000, 32000)(random);
}

int BindToFreePort(const Socket& socket) {
  constexpr int kAttempts = 1000;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const int port = RandomPort();
    const sockaddr_in address = Loopback(port);
    if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return port;
  }
  throw std::system_error(errno, std::generic_category(), "no free port on 127.0.0.1");
}

}  // namespace

std::vector<int> FindFreePorts(int count) {
  std::vector<Socket> held;  // opened at the same time, so that no port appears twice
  std::vector<int> ports;
  for (int i = 0; i < count; ++i) ports.push_back(BindToFreePort(held.emplace_back()));
  return ports;
}

bool IsListening(int port) {
  const Socket socket;
  const sockaddr_in address = Loopback(port);
  return connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

}  // namespace driverupgrade::e2e
