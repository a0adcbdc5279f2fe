// Code that the HTTP backend tests share. The same tests are built into a separate program for each backend, with that
// backend's TryMakeTransport and kBackend.
#ifndef DRIVERUPGRADE_TESTS_UNIT_KUBERNETES_TRANSPORT_UNDER_TEST_H_
#define DRIVERUPGRADE_TESTS_UNIT_KUBERNETES_TRANSPORT_UNDER_TEST_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/kubernetes/kube_config.h"

namespace driverupgrade::testing_support {

// Properties in which backends may differ.
struct Backend {
  bool takes_ipv6_literals = false;
  // The backend does not retry requests on its own, except for GET.
  bool sends_writes_once = false;
  // The backend reports correctly whether a request was sent, even if the call ended early.
  bool knows_what_was_sent = false;
};
extern const Backend kBackend;

absl::StatusOr<std::shared_ptr<HttpTransport>> TryMakeTransport(const KubeConfig& config,
                                                                const TransportOptions& options = {});

inline std::shared_ptr<HttpTransport> MakeTransport(const KubeConfig& config, const TransportOptions& options = {}) {
  absl::StatusOr<std::shared_ptr<HttpTransport>> transport = TryMakeTransport(config, options);
  if (transport.ok()) return *std::move(transport);
  std::cerr << std::string(transport.status().message()) << "\n";
  std::abort();  // The test itself is broken.
}

// Time after which a test gives up. A correct transport needs less time, even on a busy machine.
constexpr absl::Duration kPatience = absl::Minutes(2);

inline CallContext Within(absl::Duration duration) { return {.deadline = absl::Now() + duration}; }
inline CallContext Patiently() { return Within(kPatience); }

// Calls `attempt` with increasing times until the call returns true. Use this function if a deadline must not expire
// before a step that can be slow on a busy machine. Returns false if no attempt succeeds.
inline bool WithEnoughTime(const std::function<bool(absl::Duration)>& attempt) {
  for (absl::Duration time = absl::Milliseconds(100); time < kPatience; time *= 2) {
    if (attempt(time)) return true;
  }
  return false;
}

// A signal from one thread of a test to another.
class Event {
 public:
  void Set() {
    const std::lock_guard<std::mutex> lock(mutex_);
    set_ = true;
    changed_.notify_all();
  }
  // Returns false if Set is not called in time.
  bool Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, absl::ToChronoSeconds(kPatience), [this] { return set_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

inline HttpRequest Get(std::string path) { return {.verb = HttpVerb::kGet, .path = std::move(path)}; }

inline std::string Message(const absl::Status& status) { return std::string(status.message()); }

// Returns true if one of the requests that the server received is a GET of `path`.
inline bool HasSeen(const std::vector<std::string>& requests, const std::string& path) {
  return std::any_of(requests.begin(), requests.end(),
                     [&](const std::string& request) { return request.starts_with("GET " + path + " "); });
}

// Returns the request with exactly one space after the colon of each header. HTTP lets a client write any number of
// spaces there.
inline std::string WithSpaces(const std::string& request) {
  std::string result;
  bool in_name = false;  // The request line contains no header name.
  for (std::size_t i = 0; i < request.size(); ++i) {
    result.push_back(request[i]);
    if (request[i] == '\n') in_name = true;
    if (request[i] != ':' || !in_name) continue;
    in_name = false;
    if (i + 1 < request.size() && request[i + 1] != ' ') result.push_back(' ');
  }
  return result;
}

// Stores the lines and calls `on_line` for each of them.
class Lines : public LineSink {
 public:
  explicit Lines(std::function<bool(std::string_view)> on_line = nullptr) : on_line_(std::move(on_line)) {}
  void OnOpen(const HttpResponse& head) override { statuses.push_back(head.status); }
  bool OnLine(std::string_view line) override {
    lines.emplace_back(line);
    return on_line_ == nullptr || on_line_(line);
  }
  std::vector<int> statuses;
  std::vector<std::string> lines;

 private:
  std::function<bool(std::string_view)> on_line_;
};

}  // namespace driverupgrade::testing_support

#endif  // DRIVERUPGRADE_TESTS_UNIT_KUBERNETES_TRANSPORT_UNDER_TEST_H_
