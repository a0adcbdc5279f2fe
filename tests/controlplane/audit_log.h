// The API server's own record of the operator's requests. This witness does not depend on our code.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_AUDIT_LOG_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_AUDIT_LOG_H_

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "node_timeline.h"

namespace driverupgrade::e2e {

struct AuditedRequest {
  std::string verb;
  std::string resource;  // including the subresource: nodes, pods/eviction
  std::string ns;
  std::string name;
  int code = 0;
  std::string received;  // time as a string that sorts chronologically
  std::string answered;
  std::optional<NodeVersion> node;  // the node after a successful PATCH

  bool is_write() const { return verb != "get" && verb != "list" && verb != "watch"; }
  // True if the request was carried out, or if it may have been carried out because its sender did not wait for the
  // response. A request that was refused (4xx) was not carried out.
  bool may_have_been_done() const { return code < 400 || code >= 499; }
};

// Reads all requests that were recorded after the constructor opened the log. An entry appears a moment after the
// response to its request, so use Eventually to wait for an expected entry.
class AuditLog {
 public:
  explicit AuditLog(std::filesystem::path file);

  const std::vector<AuditedRequest>& Read();

  // Returns the history of the nodes, based on the operator's writes. `before` is the nodes' state when the log was
  // opened.
  NodeTimeline Timeline(const std::map<std::string, NodeVersion>& before);

  int CountWrites();

 private:
  std::filesystem::path file_;
  std::size_t offset_;
  std::vector<AuditedRequest> requests_;
};

// Prints a table with one row for each combination of verb, resource and status code in `requests`, and a row for all
// requests. Each row shows the number of requests, and this number divided by `nodes`.
void PrintRequests(std::ostream& out, const std::vector<AuditedRequest>& requests, std::size_t nodes);

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_AUDIT_LOG_H_
