#include "audit_log.h"

#include <iomanip>
#include <tuple>
#include <utility>

#include "json.h"
#include "support.h"

namespace driverupgrade::e2e {
namespace {

AuditedRequest ToRequest(const rapidjson::Value& event) {
  AuditedRequest request;
  request.verb = Text(event, {"verb"});
  request.resource = Text(event, {"objectRef", "resource"});
  const std::string subresource = Text(event, {"objectRef", "subresource"});
  if (!subresource.empty()) request.resource += "/" + subresource;
  if (request.resource.empty()) request.resource = Text(event, {"requestURI"});  // /version and the like
  request.ns = Text(event, {"objectRef", "namespace"});
  request.name = Text(event, {"objectRef", "name"});
  request.code = static_cast<int>(Integer(event, {"responseStatus", "code"}));
  request.received = Text(event, {"requestReceivedTimestamp"});
  request.answered = Text(event, {"stageTimestamp"});
  const rapidjson::Value* response = Find(event, {"responseObject"});
  if (response != nullptr && Text(*response, {"kind"}) == "Node") request.node = ToNodeVersion(*response);
  return request;
}

}  // namespace

AuditLog::AuditLog(std::filesystem::path file) : file_(std::move(file)), offset_(ReadFile(file_).size()) {}

const std::vector<AuditedRequest>& AuditLog::Read() {
  const std::string text = ReadFile(file_, offset_);
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    requests_.push_back(ToRequest(ParseJson(text.substr(begin, end - begin), "audit log")));
    begin = end + 1;
  }
  offset_ += begin;  // the next call reads a line that is still being written
  return requests_;
}

NodeTimeline AuditLog::Timeline(const std::map<std::string, NodeVersion>& before) {
  NodeTimeline timeline;
  for (const auto& [_, node] : before) timeline.Add(node);
  for (const AuditedRequest& request : Read()) {
    if (request.node.has_value()) timeline.Add(*request.node);
  }
  return timeline;
}

int AuditLog::CountWrites() {
  int writes = 0;
  for (const AuditedRequest& request : Read()) writes += request.is_write() ? 1 : 0;
  return writes;
}

void PrintRequests(std::ostream& out, const std::vector<AuditedRequest>& requests, std::size_t nodes) {
  std::map<std::tuple<std::string, std::string, int>, int> counts;
  for (const AuditedRequest& request : requests) ++counts[{request.verb, request.resource, request.code}];
  const auto print_row = [&](const std::string& verb, const std::string& resource, const std::string& code, int count) {
    out << "  " << std::left << std::setw(8) << verb << std::setw(26) << resource << std::setw(6) << code << std::right
        << std::setw(8) << count << std::setw(10) << std::fixed << std::setprecision(1)
        << static_cast<double>(count) / static_cast<double>(nodes) << "\n";
  };
  out << "  verb    resource                  code  requests  per node\n";
  for (const auto& [key, count] : counts) {
    const auto& [verb, resource, code] = key;
    print_row(verb, resource, std::to_string(code), count);
  }
  print_row("all", "", "", static_cast<int>(requests.size()));
}

}  // namespace driverupgrade::e2e
