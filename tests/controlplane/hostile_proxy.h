// Between a client and the API server: passes requests on, and now and then does what a bad network or a server in
// trouble does.
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
  kReset,       // the connection breaks before the request is passed on
  kRefusal,     // 409, 410, 429, 500 or 503, and the request is not passed on
  kHtml,        // a page for people where JSON should be, and the request is not passed on
  kDelay,       // the request is passed on later
  kDropAnswer,  // the request is passed on, and the connection breaks without an answer
  kCutAnswer,   // the request is passed on, and the connection breaks in the middle of its answer
  kCutStream,   // a watch breaks in the middle of a line
};
const char* ToString(Fault fault);

struct HostileProxyOptions {
  std::uint64_t seed = 1;
  // Of 1,000 requests, those that meet a fault; a line of a watch does so with a fifth of it.
  int faults_of_1000 = 50;
  // Called before a request is passed on, on several threads at once; it may wait.
  std::function<void(const HttpRequest&)> before = [](const HttpRequest&) {};
};

// Listens on a port of its own until it is destroyed. Which request meets which fault depends on the seed and on the
// order in which requests come.
class HostileProxy {
 public:
  // Passes requests on to the server of `kubeconfig`, with its credentials. Throws std::runtime_error if it is no good.
  HostileProxy(const std::filesystem::path& kubeconfig, const HostileProxyOptions& options);
  ~HostileProxy();
  HostileProxy(const HostileProxy&) = delete;
  HostileProxy& operator=(const HostileProxy&) = delete;

  // For the client: this proxy as server, with any token.
  void WriteKubeconfig(const std::filesystem::path& file) const;

  // How many requests and lines met each fault so far; kNone: those that met none.
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
  testing_support::LoopbackServer server_;  // last: its threads use the rest
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_HOSTILE_PROXY_H_
