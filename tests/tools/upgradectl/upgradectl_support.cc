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

// Returns only the first line in which the texts differ, because the complete texts would hide the difference.
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
  static const std::map<std::string, std::string> kinds = {
      {"nodes", "Node"},
      {"pods", "Pod"},
      {"daemonsets", "DaemonSet"},
      {"controllerrevisions", "ControllerRevision"},
      {"events", "Event"},
      {"leases", "Lease"},
      {"deployments", "Deployment"},
      {"configmaps", "ConfigMap"},
      {"poddisruptionbudgets", "PodDisruptionBudget"},
      {"mutatingwebhookconfigurations", "MutatingWebhookConfiguration"},
      {"validatingwebhookconfigurations", "ValidatingWebhookConfiguration"},
      {"devicetaintrules", "DeviceTaintRule"},
      {"resourceclaims", "ResourceClaim"},
      {"resourceslices", "ResourceSlice"},
      {"clusterpolicies", "ClusterPolicy"},
      {"fpgas", "Fpga"}};
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

// Returns whether the item matches a field selector such as `spec.nodeName=n1` or `metadata.namespace!=x`.
bool MatchesField(const json::Value& item, const std::string& selector) {
  if (selector.starts_with("spec.nodeName=")) return Text(item, {"spec", "nodeName"}) == selector.substr(14);
  if (selector.starts_with("metadata.name=")) return Text(item, {"metadata", "name"}) == selector.substr(14);
  if (selector.starts_with("metadata.namespace!=")) return Text(item, {"metadata", "namespace"}) != selector.substr(20);
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

std::string DumpOfRollout(const std::string& record, const std::string& approvals) {
  std::string items;
  const auto add = [&](const std::string& name, const std::string& pool, const std::string& state,
                       const std::string& hash) {
    items += fmt::format(
        R"({{"kind":"Node","metadata":{{"name":"{0}","uid":"uid-{0}","resourceVersion":"1","labels":{{"pool":"{1}","nvidia.com/gpu-driver-upgrade-state":"{2}"}}}},"status":{{"conditions":[{{"type":"Ready","status":"True"}}]}}}},
{{"kind":"Pod","metadata":{{"namespace":"gpu-operator","name":"driver-{0}","uid":"pod-{0}","labels":{{"app":"nvidia-driver-daemonset","controller-revision-hash":"{3}"}},
"ownerReferences":[{{"apiVersion":"apps/v1","kind":"DaemonSet","name":"driver","uid":"ds","controller":true}}]}},"spec":{{"nodeName":"{0}"}},"status":{{"phase":"Running","containerStatuses":[{{"name":"c","ready":true}}]}}}},
)",
        name, pool, state, hash);
  };
  add("canary-1", "canary", "upgrade-done", "new");
  add("canary-2", "canary", "upgrade-done", "new");
  add("gpu-1", "rest", "upgrade-required", "old");
  add("gpu-2", "rest", "upgrade-required", "old");
  json::Document data(json::kObjectType);
  data.AddMember("_rollout_nvidia.com_gpu", json::Value(record, data.GetAllocator()), data.GetAllocator());
  return fmt::format(
      R"({{"kind":"List","items":[{}
{{"kind":"DaemonSet","apiVersion":"apps/v1","metadata":{{"namespace":"gpu-operator","name":"driver","uid":"ds","resourceVersion":"55","generation":2,"labels":{{"app":"nvidia-driver-daemonset"}},
"annotations":{{"nvidia.com/gpu-driver-upgrade.approved":"{}"}}}},"spec":{{"selector":{{"matchLabels":{{"app":"nvidia-driver-daemonset"}}}},"updateStrategy":{{"type":"OnDelete"}}}},"status":{{"observedGeneration":2}}}},
{{"kind":"ControllerRevision","apiVersion":"apps/v1","metadata":{{"namespace":"gpu-operator","name":"driver-new","labels":{{"app":"nvidia-driver-daemonset","controller-revision-hash":"new"}},
"ownerReferences":[{{"apiVersion":"apps/v1","kind":"DaemonSet","name":"driver","uid":"ds","controller":true}}]}},"revision":2,"data":{{}}}},
{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"namespace":"gpu-operator","name":"nvidia-gpu-driver-upgrade"}},"data":{}}},
{{"apiVersion":"nvidia.com/v1","kind":"ClusterPolicy","metadata":{{"name":"cluster-policy","uid":"uid-policy","resourceVersion":"77"}},"spec":{{"driver":{{"upgradePolicy":{{"autoUpgrade":true,
"rollout":{{"stages":[{{"name":"canary","nodeSelector":"pool=canary","soakSeconds":3600,"approval":"Manual"}}]}}}}}}}}}}]}})",
      items, approvals, Compact(data));
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

std::vector<std::pair<std::string, std::string>> DumpServer::headers() const {
  const std::lock_guard lock(mutex_);
  return headers_;
}

void DumpServer::AddWatchLine(const std::string& path, std::string line) {
  const std::lock_guard lock(mutex_);
  lines_[path].push_back(std::move(line));
  told_.notify_all();
}

void DumpServer::CutOff(std::string path, int times) {
  const std::lock_guard lock(mutex_);
  cut_off_[std::move(path)] = times;
}

void DumpServer::Restore() {
  const std::lock_guard lock(mutex_);
  cut_off_.clear();
}

bool DumpServer::IsCutOff(const std::string& path) {
  for (auto& [beginning, times] : cut_off_) {
    if (!path.starts_with(beginning) || times == 0) continue;
    if (times > 0) --times;
    return true;
  }
  return false;
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
  headers_ = request.headers;
  if (const auto answer = answers_.find(request.path); answer != answers_.end()) return answer->second;
  if (IsCutOff(request.path)) return absl::UnavailableError("connection refused");
  for (const std::string& path : forbidden_) {
    if (request.path.starts_with(path)) {
      return HttpResponse{.status = 403,
                          .body = R"({"kind":"Status","code":403,"reason":"Forbidden","message":"not for you"})"};
    }
  }
  if (request.path.ends_with("subjectaccessreviews")) {
    const bool denied = std::any_of(denied_.begin(), denied_.end(), [&](const std::string& text) {
      return request.body.find(text) != std::string::npos;
    });
    return HttpResponse{.status = 201, .body = fmt::format(R"({{"status":{{"allowed":{}}}}})", !denied)};
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
  {
    const std::lock_guard lock(mutex_);
    if (IsCutOff(request.path)) return absl::UnavailableError("connection refused");
  }
  sink.OnOpen({.status = 200});
  while (!context.stop.stop_requested()) {
    std::vector<std::string> lines;
    {
      std::unique_lock lock(mutex_);
      told_.wait(lock, context.stop, [&] { return !lines_[request.path].empty(); });
      lines = std::exchange(lines_[request.path], {});
    }
    for (const std::string& line : lines) {
      if (!sink.OnLine(line)) return HttpResponse{.status = 200};
    }
  }
  return absl::CancelledError("stopped");
}

std::string Fleet(int nodes, const std::string& more) {
  std::string items;
  for (int i = 0; i < nodes; ++i) {
    items += fmt::format(R"({}{{"kind":"Node","metadata":{{"name":"n{:04}","uid":"n{}","resourceVersion":"1"}}}},
{{"kind":"Pod","metadata":{{"namespace":"gpu-operator","name":"d{}","uid":"d{}","labels":{{"app":"nvidia-driver-daemonset"}},
"ownerReferences":[{{"apiVersion":"apps/v1","kind":"DaemonSet","name":"driver","uid":"ds","controller":true}}]}},
"spec":{{"nodeName":"n{:04}"}},"status":{{"phase":"Running","containerStatuses":[{{"name":"c","ready":true}}]}}}},
{{"kind":"Pod","metadata":{{"namespace":"shop","name":"web-{}","uid":"w{}","labels":{{"app":"web"}},
"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"rs","controller":true}}]}},
"spec":{{"nodeName":"n{:04}"}},"status":{{"phase":"Running","containerStatuses":[{{"name":"c","ready":true}}]}}}})",
                         i == 0 ? "" : ",\n", i, i, i, i, i, i, i, i);
  }
  return fmt::format(R"({{"kind":"List","items":[{}{}]}})", items, more);
}

std::string Slice(int node, int devices) {
  std::string list;
  for (int i = 0; i < devices; ++i) {
    list += fmt::format(R"({}{{"name":"gpu-{}","attributes":{{"driverVersion":{{"version":"570.1.0"}}}}}})",
                        i == 0 ? "" : ",", i);
  }
  return fmt::format(R"(,
{{"kind":"ResourceSlice","apiVersion":"resource.k8s.io/v1","metadata":{{"name":"n{0:04}-gpu","uid":"s{0}"}},
"spec":{{"driver":"gpu.nvidia.com","nodeName":"n{0:04}","pool":{{"name":"n{0:04}","generation":1,"resourceSliceCount":1}},
"devices":[{1}]}}}})",
                     node, list);
}

std::string PodWithClaim(const std::string& name, int node, int devices, const std::string& owner,
                         const std::string& labels) {
  std::string results;
  for (int i = 0; i < devices; ++i) {
    results += fmt::format(R"({}{{"request":"gpu","driver":"gpu.nvidia.com","pool":"n{:04}","device":"gpu-{}"}})",
                           i == 0 ? "" : ",", node, i);
  }
  return fmt::format(R"(,
{{"kind":"Pod","metadata":{{"namespace":"lab","name":"{0}","uid":"{0}","labels":{4},
"ownerReferences":[{{{3},"uid":"owner-of-{0}","controller":true}}]}},
"spec":{{"nodeName":"n{1:04}","resourceClaims":[{{"name":"gpu","resourceClaimTemplateName":"gpu"}}]}},
"status":{{"phase":"Running","containerStatuses":[{{"name":"c","ready":true}}],
"resourceClaimStatuses":[{{"name":"gpu","resourceClaimName":"{0}-gpu"}}]}}}},
{{"kind":"ResourceClaim","apiVersion":"resource.k8s.io/v1","metadata":{{"namespace":"lab","name":"{0}-gpu","uid":"claim-{0}",
"ownerReferences":[{{"apiVersion":"v1","kind":"Pod","name":"{0}","uid":"{0}","controller":true}}]}},
"status":{{"allocation":{{"devices":{{"results":[{2}]}}}},"reservedFor":[{{"resource":"pods","name":"{0}","uid":"{0}"}}]}}}})",
                     name, node, results, owner, labels);
}

std::string FleetWithDevices(int nodes, int devices, int claimed) {
  std::string more;
  for (int i = 0; i < nodes; ++i) {
    more += Slice(i, devices) + PodWithClaim(fmt::format("train-{}", i), i, claimed, kTrainSet);
  }
  return Fleet(nodes, more);
}

}  // namespace upgradectl
