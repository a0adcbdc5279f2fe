// Sends a GET request over a socket, without using any code of the server under test.
#ifndef DRIVERUPGRADE_TESTS_SUPPORT_HTTP_GET_H_
#define DRIVERUPGRADE_TESTS_SUPPORT_HTTP_GET_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>

namespace driverupgrade::tests {

struct HttpGetOptions {
  /// Value of the Host header.
  std::string host = "localhost";
  /// Additional header lines, e.g. `If-None-Match: "a"`.
  std::string header = {};
  /// String at which reading stops. Empty: the function reads the entire response.
  std::string until = {};
};

/// Returns the response from the server at 127.0.0.1:`port`, including its headers, or an empty string if there is no
/// response.
inline std::string HttpGet(int port, const std::string& path, const HttpGetOptions& options = {}) {
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    std::string request = "GET " + path + " HTTP/1.1\r\nHost: " + options.host + "\r\nConnection: close\r\n";
    if (!options.header.empty()) request += options.header + "\r\n";
    request += "\r\n";
    send(connection, request.data(), request.size(), MSG_NOSIGNAL);
    std::array<char, 4096> buffer = {};
    for (ssize_t size = 0; (size = recv(connection, buffer.data(), buffer.size(), 0)) > 0;) {
      answer.append(buffer.data(), static_cast<std::size_t>(size));
      if (!options.until.empty() && answer.find(options.until) != std::string::npos) break;
    }
  }
  close(connection);
  return answer;
}

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SUPPORT_HTTP_GET_H_
