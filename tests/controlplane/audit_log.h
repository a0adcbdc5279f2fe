// The API server's own record of what the operator asked for: a witness that no code of ours stands behind.
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
  std::string resource;  // with its subresource: nodes, pods/eviction
  std::string ns;
  std::string name;
  int code = 0;
  std::string received;  // when, as text that sorts by time
  std::string answered;
  std::optional<NodeVersion> node;  // the node that a successful PATCH made

  bool is_write() const { return verb != "get" && verb != "list" && verb != "watch"; }
  // It was, or the sender did not wait for the answer. A refusal (4xx) is clear.
  bool may_have_been_done() const { return code < 400 || code >= 499; }
};

// Everything since the log was opened (by the constructor). A request is in the log a moment after it was
// answered, so wait (Eventually) for what must be in it.
class AuditLog {
 public:
  explicit AuditLog(std::filesystem::path file);

  const std::vector<AuditedRequest>& Read();

  // The nodes as the operator's writes made them. `before` is what they were when the log was opened.
  NodeTimeline Timeline(const std::map<std::string, NodeVersion>& before);

  int CountWrites();

 private:
  std::filesystem::path file_;
  std::size_t offset_;
  std::vector<AuditedRequest> requests_;
};

// A table of `requests` by verb, resource and answer, with the number per node.
void PrintRequests(std::ostream& out, const std::vector<AuditedRequest>& requests, std::size_t nodes);

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_AUDIT_LOG_H_
