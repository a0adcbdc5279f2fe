// An API server that stores nothing: each node and pod is created on request. It runs in a separate process, so that
// its memory does not count as the client's.
#ifndef DRIVERUPGRADE_BENCH_SCALE_WIRE_SERVER_H_
#define DRIVERUPGRADE_BENCH_SCALE_WIRE_SERVER_H_

#include <sys/types.h>

#include <string>

namespace driverupgrade::bench {

// A GET of this path starts the changes: the watch on all pods reports every pod once.
inline constexpr char kFeedPath[] = "/feed";
// The `resourceVersion` of pods starts at kListedVersion before a GET of kFeedPath, and at kChangedVersion after it.
inline constexpr long long kChangedVersion = 200'000'000;
inline constexpr long long kListedVersion = 100'000'000;

class WireServer {
 public:
  // Forks, and must therefore be called before the process has threads.
  WireServer(int nodes, int pods_per_node);
  // Ends the server process.
  ~WireServer();
  WireServer(const WireServer&) = delete;
  WireServer& operator=(const WireServer&) = delete;

  // "http://127.0.0.1:port"; empty if the server could not be started.
  const std::string& url() const { return url_; }

 private:
  pid_t pid_ = -1;
  int alive_ = -1;  // the server runs as long as this descriptor is open
  std::string url_;
};

}  // namespace driverupgrade::bench

#endif  // DRIVERUPGRADE_BENCH_SCALE_WIRE_SERVER_H_
