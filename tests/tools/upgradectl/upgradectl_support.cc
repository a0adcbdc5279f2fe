#include "upgradectl_support.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "driverupgrade/cluster_types.h"
#include "fmt/format.h"

namespace upgradectl {
namespace {

using driverupgrade::HttpRequest;
using driverupgrade::HttpResponse;
using driverupgrade::HttpVerb;

// The first line in which the texts differ: whole ones would hide it.
std::string FirstDifference(const std::string& text, const std::string& expected) {
  std::istringstream texts(text);
  std::istringstream expectations(expected);
  for (int number = 1;; ++number) {
    std::string line;
    std::string expected_line;
    const bool more = static_cast<bool>(std::getline(texts, line));
    const bool more_expected = static_cast<bool>(std::getline(expectations, expected_line));
    if (!more && !more_expected) return "only in line ends";
    if (line == expected_line && more == more_expected) continue;
    return fmt::format("line {}: got `{}`, expected `{}`", number, line, expected_line);
  }
}

std::string KindOf(const std::string& resource) {
  static const std::map<std::string, std::string> kinds = {{"nodes", "Node"},
                                                           {"pods", "Pod"},
                                                           {"daemonsets", "DaemonSet"},
                                                           {"controllerrevisions", "ControllerRevision"},
                                                           {"events", "Event"},
                                                           {"leases", "Lease"},
                                                           {"poddisruptionbudgets", "PodDisruptionBudget"},
                                                           {"clusterpolicies", "ClusterPolicy"}};
  const auto kind = kinds.find(resource);
  return kind == kinds.end() ? std::string() : kind->second;
}

std::vector<std::string> Segments(const std::string& path) {
  std::vector<std::string> segments;
  std::istringstream in(path);
  for (std::string segment; std::getline(in, segment, '/');) {
    if (!segment.empty()) segments.push_back(segment);
  }
  return segments;
}

// `spec.nodeName=n1` and `reason=x`.
bool MatchesField(const json::Value& item, const std::string& selector) {
  if (selector.starts_with("spec.nodeName=")) return Text(item, {"spec", "nodeName"}) == selector.substr(14);
  if (selector.starts_with("reason=")) return Text(item, {"reason"}) == selector.substr(7);
  return selector.empty();
}

HttpResponse NotFound(const std::string& path) {
  return {.status = 404, .body = fmt::format(R"({{"kind":"Status","code":404,"message":"no {}"}})", path)};
}

}  // namespace

Answer RunIn(const std::vector<std::string>& arguments, const Surroundings& surroundings) {
  std::vector<const char*> argv = {"upgradectl"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  std::istringstream in(surroundings.standard_input);
  std::ostringstream out;
  std::ostringstream err;
  Streams streams{.in = in,
                  .out = out,
                  .err = err,
                  .screen = surroundings.screen,
                  .interactive = surroundings.interactive,
                  .between_pictures = absl::ZeroDuration()};
  if (surroundings.server) streams.connect = [&](const SourceOptions&) { return surroundings.server; };
  const int exit_code = Run(static_cast<int>(argv.size()), argv.data(), streams);
  return {.exit_code = exit_code, .out = out.str(), .err = err.str()};
}

Answer RunWith(const std::vector<std::string>& arguments, const std::string& standard_input) {
  return RunIn(arguments, {.standard_input = standard_input});
}

std::string ContentOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

ScratchFile::ScratchFile(std::string_view content) {
  std::string pattern = (fs::temp_directory_path() / "upgradectl-XXXXXX").string();
  const int file = mkstemp(pattern.data());
  REQUIRE(file >= 0);
  close(file);
  path_ = pattern;
  std::ofstream(path_, std::ios::binary) << content;
}

void CheckGolden(const std::string& name, const std::string& text) {
  const fs::path path = kTestData / name;
  if (std::getenv("DRIVERUPGRADE_REWRITE") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  const std::string expected = ContentOf(path);
  if (text != expected) FAIL_CHECK(path.string() << " differs: " << FirstDifference(text, expected));
}

DumpServer::DumpServer(std::string_view dump) { dump_.Parse(dump.data(), dump.size()); }

std::vector<HttpRequest> DumpServer::writes() const {
  const std::lock_guard lock(mutex_);
  return writes_;
}

std::vector<std::string> DumpServer::paths() const {
  const std::lock_guard lock(mutex_);
  return paths_;
}

std::string DumpServer::ListOf(const std::string& path, const std::map<std::string, std::string>& query) {
  const std::vector<std::string> segments = Segments(path);
  const auto namespaces = std::find(segments.begin(), segments.end(), "namespaces");
  const std::string ns = namespaces == segments.end() ? "" : *(namespaces + 1);
  const std::string kind = KindOf(segments.back());
  const auto labels = query.find("labelSelector");
  const auto selector = driverupgrade::LabelSelector::Parse(labels == query.end() ? "" : labels->second);
  const auto field = query.find("fieldSelector");
  std::string items;
  for (const json::Value& item : Items(dump_, {"items"})) {
    if (Text(item, {"kind"}) != kind || (!ns.empty() && Text(item, {"metadata", "namespace"}) != ns)) continue;
    driverupgrade::StringMap of_item;
    if (const json::Value* found = Find(item, {"metadata", "labels"}); found != nullptr) {
      for (const auto& member : found->GetObject()) of_item[member.name.GetString()] = member.value.GetString();
    }
    if (!selector->Matches(of_item) || !MatchesField(item, field == query.end() ? "" : field->second)) continue;
    items += (items.empty() ? "" : ",") + Compact(item);
  }
  return fmt::format(R"({{"kind":"{}List","apiVersion":"v1","metadata":{{"resourceVersion":"100"}},"items":[{}]}})",
                     kind, items);
}

absl::StatusOr<HttpResponse> DumpServer::Send(const driverupgrade::CallContext&, const HttpRequest& request) {
  const std::lock_guard lock(mutex_);
  paths_.push_back(request.path);
  for (const std::string& path : forbidden_) {
    if (request.path.starts_with(path)) {
      return HttpResponse{.status = 403,
                          .body = R"({"kind":"Status","code":403,"reason":"Forbidden","message":"not for you"})"};
    }
  }
  if (request.verb != HttpVerb::kGet) {
    writes_.push_back(request);
    return HttpResponse{.status = 200, .body = patch_answer_.empty() ? request.body : patch_answer_};
  }
  const std::map<std::string, std::string> query(request.query.begin(), request.query.end());
  const std::vector<std::string> segments = Segments(request.path);
  if (!KindOf(segments.back()).empty()) return HttpResponse{.status = 200, .body = ListOf(request.path, query)};
  for (const json::Value& item : Items(dump_, {"items"})) {
    const bool is_kind = Text(item, {"kind"}) == KindOf(segments[segments.size() - 2]);
    if (is_kind && Text(item, {"metadata", "name"}) == segments.back()) {
      return HttpResponse{.status = 200, .body = Compact(item)};
    }
  }
  return NotFound(request.path);
}

absl::StatusOr<HttpResponse> DumpServer::Stream(const driverupgrade::CallContext& context, const HttpRequest& request,
                                                driverupgrade::LineSink& sink) {
  std::vector<std::string> lines;
  {
    const std::lock_guard lock(mutex_);
    lines = std::exchange(lines_[request.path], {});
  }
  sink.OnOpen({.status = 200});
  for (const std::string& line : lines) {
    if (!sink.OnLine(line)) return HttpResponse{.status = 200};
  }
  std::unique_lock lock(mutex_);
  stopped_.wait(lock, context.stop, [] { return false; });
  return absl::CancelledError("stopped");
}

}  // namespace upgradectl
