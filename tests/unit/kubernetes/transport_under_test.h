// What the tests of the HTTP backends have in common. A second backend is tested by another MakeTransport.
#ifndef DRIVERUPGRADE_TESTS_UNIT_KUBERNETES_TRANSPORT_UNDER_TEST_H_
#define DRIVERUPGRADE_TESTS_UNIT_KUBERNETES_TRANSPORT_UNDER_TEST_H_

#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "driverupgrade/kubernetes/cpprest_transport.h"

namespace driverupgrade::testing_support {

using TransportOptions = CpprestOptions;

inline absl::StatusOr<std::shared_ptr<HttpTransport>> TryMakeTransport(const KubeConfig& config,
                                                                       const TransportOptions& options = {}) {
  return MakeCpprestTransport(config, options);
}

inline std::shared_ptr<HttpTransport> MakeTransport(const KubeConfig& config, const TransportOptions& options = {}) {
  absl::StatusOr<std::shared_ptr<HttpTransport>> transport = TryMakeTransport(config, options);
  if (transport.ok()) return *std::move(transport);
  std::cerr << std::string(transport.status().message()) << "\n";
  std::abort();  // The test itself is broken.
}

inline CallContext Within(absl::Duration duration) { return {.deadline = absl::Now() + duration}; }

inline HttpRequest Get(std::string path) { return {.verb = HttpVerb::kGet, .path = std::move(path)}; }

inline std::string Message(const absl::Status& status) { return std::string(status.message()); }

// Keeps the lines, and calls `on_line` for each.
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
