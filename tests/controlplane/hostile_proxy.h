// A proxy between a client and the API server: it forwards requests, and occasionally behaves like a bad network or a
// faulty server.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_HOSTILE_PROXY_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_HOSTILE_PROXY_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "driverupgrade/kubernetes/http_transport.h"
#include "property/seeded_random.h"
#include "unit/kubernetes/loopback_server.h"

namespace driverupgrade::e2e {

enum class Fault {
  kNone,
  kReset,       // the connection breaks before the request is forwarded
  kRefusal,     // 409, 410, 429, 500 or 503, and the request is not forwarded
  kHtml,        // an HTML page in place of JSON, and the request is not forwarded
  kDelay,       // the request is forwarded later
  kDropAnswer,  // the request is forwarded, and the connection breaks without a response
  kCutAnswer,   // the request is forwarded, and the connection breaks in the middle of its response
  kCutStream,   // a watch breaks in the middle of a line
};
const char* ToString(Fault fault);

struct HostileProxyOptions {
  std::uint64_t seed = 1;
  // Number of requests per 1,000 that encounter a fault. A line of a watch encounters one with a fifth of this
  // probability.
  int faults_of_1000 = 50;
  // Called before a request is forwarded, from several threads at the same time. The function may block.
  std::function<void(const HttpRequest&)> before = [](const HttpRequest&) {};
};

// Listens on its own port until it is destroyed. The seed and the order of the requests determine which fault each
// request encounters.
class HostileProxy {
 public:
  // Forwards requests to the server that `kubeconfig` names, with the credentials in that file. Throws
  // std::runtime_error if `kubeconfig` is not valid.
  HostileProxy(const std::filesystem::path& kubeconfig, const HostileProxyOptions& options);
  ~HostileProxy();
  HostileProxy(const HostileProxy&) = delete;
  HostileProxy& operator=(const HostileProxy&) = delete;

  // Writes a kubeconfig for the client, with this proxy as the server and a token that the proxy ignores.
  void WriteKubeconfig(const std::filesystem::path& file) const;

  // Returns how many requests and watch lines each fault has affected so far. The value for kNone is the number of
  // requests and lines that no fault affected.
  std::map<Fault, int> faults() const;

 private:
  bool Handle(testing_support::Connection& connection, const std::string& text);
  bool PassOn(testing_support::Connection& connection, const HttpRequest& request, Fault fault);
  bool PassOnWatch(testing_support::Connection& connection, const HttpRequest& request);
  bool Refuse(testing_support::Connection& connection);
  Fault Draw(bool is_watch);
  bool DrawCut();

  const HostileProxyOptions options_;
  std::shared_ptr<HttpTransport> api_server_;
  std::stop_source stop_;
  mutable std::mutex mutex_;
  tests::SeededRandom random_;
  std::map<Fault, int> faults_;
  testing_support::LoopbackServer server_;  // declared last, so stopped first: its threads use the other members
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_HOSTILE_PROXY_H_
