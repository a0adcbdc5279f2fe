#include "steps.h"

#include <algorithm>

#include "support.h"
#include "support/catch.h"

namespace driverupgrade::e2e {
namespace {

constexpr int kPasses = 3;

int CountPasses(AuditLog& audit) {
  const auto& requests = audit.Read();
  return static_cast<int>(std::count_if(requests.begin(), requests.end(), [](const AuditedRequest& request) {
    return request.verb == "list" && request.resource == "nodes";
  }));
}

}  // namespace

bool AwaitState(const World& world, const std::string& node, const std::string& state) {
  return Eventually(kStepLimit, [&] { return world.Nodes().at(node).state == state; });
}

bool AwaitPasses(AuditLog& audit) {
  const int before = CountPasses(audit);
  return Eventually(kStepLimit, [&] { return CountPasses(audit) >= before + kPasses; });
}

std::optional<AuditedRequest> FindRequest(AuditLog& audit,
                                          const std::function<bool(const AuditedRequest&)>& is_wanted) {
  std::optional<AuditedRequest> found;
  for (const AuditedRequest& request : audit.Read()) {
    if (!request.may_have_been_done() || !is_wanted(request)) continue;
    if (!found.has_value() || request.received < found->received) found = request;
  }
  return found;
}

std::optional<AuditedRequest> FindEntry(AuditLog& audit, const std::string& node, const std::string& state) {
  return FindRequest(audit, [&](const AuditedRequest& request) {
    return request.node.has_value() && request.name == node && request.node->state == state;
  });
}

std::optional<AuditedRequest> FindWrite(AuditLog& audit, const std::string& verb, const std::string& resource,
                                        const std::string& name) {
  return FindRequest(audit, [&](const AuditedRequest& request) {
    return request.verb == verb && request.resource == resource && request.name == name;
  });
}

void ExpectInOrder(const std::optional<AuditedRequest>& first, const std::optional<AuditedRequest>& second) {
  REQUIRE(first.has_value());
  REQUIRE(second.has_value());
  INFO(first->verb << " " << first->resource << "/" << first->name << " at " << first->received << ", " << second->verb
                   << " " << second->resource << "/" << second->name << " at " << second->received);
  CHECK(first->received < second->received);
}

}  // namespace driverupgrade::e2e
