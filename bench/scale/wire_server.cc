#include "scale/wire_server.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string_view>

#include "fmt/format.h"
#include "scale/wire_objects.h"
#include "unit/kubernetes/loopback_server.h"

namespace driverupgrade::bench {
namespace {

using testing_support::Connection;
using testing_support::LoopbackServer;

bool Has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Returns the number that follows `name` in the query, or -1.
int Number(std::string_view target, std::string_view name) {
  const std::size_t at = target.find(name);
  return at == std::string_view::npos ? -1 : std::atoi(std::string(target.substr(at + name.size(), 12)).c_str());
}

class Api {
 public:
  Api(int nodes, int pods_per_node) : nodes_(nodes), pods_per_node_(pods_per_node) {}

  bool Handle(Connection& connection, const std::string& request) {
    const std::string_view line = std::string_view(request).substr(0, request.find('\r'));
    const std::string_view target = line.substr(line.find(' ') + 1);
    if (target.starts_with(kFeedPath)) {
      const std::lock_guard lock(mutex_);
      feeding_ = true;
      feed_.notify_all();
      return connection.Answer(200, "{}");
    }
    if (Has(target, "watch=1")) return Watch(connection, target);
    if (target.starts_with("/api/v1/nodes")) {
      return List(connection, target, "NodeList", nodes_, [](int node) { return NodeJson(node, kListedVersion); });
    }
    if (Has(target, "/namespaces/gpu-operator/pods")) {
      return List(connection, target, "PodList", nodes_, [](int node) { return PodJson(node, 0, kListedVersion); });
    }
    if (Has(target, "/pods")) {
      const int node = std::max(0, Number(target, "gpu-worker-"));
      return List(connection, target, "PodList", pods_per_node_,
                  [node](int number) { return PodJson(node, number, kListedVersion); });
    }
    const bool daemon_sets = Has(target, "/daemonsets");
    return List(connection, target, daemon_sets ? "DaemonSetList" : "ControllerRevisionList", 0, nullptr);
  }

 private:
  // Sends the page of the list that the query selects.
  bool List(Connection& connection, std::string_view target, std::string_view kind, int count,
            const std::function<std::string(int)>& make) const {
    const int begin = std::max(0, Number(target, "continue="));
    const int limit = Number(target, "limit=");
    const int end = limit > 0 ? std::min(count, begin + limit) : count;
    std::string body = fmt::format(
        R"({{"kind":"{}","apiVersion":"{}","metadata":{{"resourceVersion":"{}","continue":"{}"}},"items":[)", kind,
        kind == "NodeList" || kind == "PodList" ? "v1" : "apps/v1", kListedVersion,
        end < count ? std::to_string(end) : "");
    for (int i = begin; i < end; ++i) body += (i == begin ? "" : ",") + make(i);
    return connection.Answer(200, body + "]}", "Content-Type: application/json\r\n");
  }

  bool Watch(Connection& connection, std::string_view target) {
    connection.Write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
    if (target.starts_with("/api/v1/pods")) {
      {
        std::unique_lock lock(mutex_);
        feed_.wait(lock, [this] { return feeding_; });
      }
      Feed(connection);
    }
    connection.WaitForClose();
    return false;
  }

  void Feed(Connection& connection) const {
    for (int node = 0; node < nodes_; ++node) {
      std::string chunk;
      for (int pod = 0; pod < pods_per_node_; ++pod) {
        const std::int64_t version = kChangedVersion + std::int64_t{node} * pods_per_node_ + pod;
        chunk += fmt::format(R"({{"type":"MODIFIED","object":{}}})", PodJson(node, pod, version));
        chunk += '\n';
      }
      if (!connection.WriteChunk(chunk)) return;
    }
  }

  const int nodes_;
  const int pods_per_node_;
  std::mutex mutex_;
  std::condition_variable feed_;
  bool feeding_ = false;
};

// Serves until the other end of `alive` is closed.
[[noreturn]] void Serve(int nodes, int pods_per_node, int port_out, int alive) {
  Api api(nodes, pods_per_node);
  const LoopbackServer server(
      [&](Connection& connection, const std::string& request) { return api.Handle(connection, request); });
  const int port = server.port();
  char byte = 0;
  if (write(port_out, &port, sizeof(port)) == static_cast<ssize_t>(sizeof(port))) {
    while (read(alive, &byte, 1) > 0) {
    }
  }
  _exit(0);
}

}  // namespace

WireServer::WireServer(int nodes, int pods_per_node) {
  int port_pipe[2] = {-1, -1};
  int alive_pipe[2] = {-1, -1};
  if (pipe(port_pipe) != 0 || pipe(alive_pipe) != 0) return;
  pid_ = fork();
  if (pid_ == 0) {
    close(alive_pipe[1]);
    Serve(nodes, pods_per_node, port_pipe[1], alive_pipe[0]);
  }
  close(port_pipe[1]);
  close(alive_pipe[0]);
  alive_ = alive_pipe[1];
  int port = 0;
  if (pid_ > 0 && read(port_pipe[0], &port, sizeof(port)) == static_cast<ssize_t>(sizeof(port))) {
    url_ = fmt::format("http://127.0.0.1:{}", port);
  }
  close(port_pipe[0]);
}

WireServer::~WireServer() {
  close(alive_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

}  // namespace driverupgrade::bench
