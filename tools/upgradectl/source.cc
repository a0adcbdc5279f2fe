#include "upgradectl/source.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/kubernetes/kube_config.h"
#include "driverupgrade/upgrade_state.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#ifdef UPGRADECTL_HAS_TRANSPORT
#include "support/chosen_transport.h"
#endif
#include "upgradectl/dump_text.h"
#include "upgradectl/json_view.h"
#include "upgradectl/text.h"

namespace upgradectl {
namespace {

using driverupgrade::DriverIdentity;
using driverupgrade::HttpRequest;
using driverupgrade::HttpResponse;
using driverupgrade::HttpTransport;
using driverupgrade::KubeConfig;

constexpr std::string_view kPage = "500";

struct Collection {
  std::string path = {};
  std::string api_version = {};
  std::string kind = {};
  std::vector<std::pair<std::string, std::string>> query = {};
};

absl::Status Refusal(const Collection& collection, const HttpResponse& answer) {
  const std::optional<driverupgrade::ApiStatus> status = driverupgrade::ParseApiStatus(answer.body);
  // An API server sends this response if it does not serve the group or the version, for example because a CRD is not
  // installed.
  const bool is_unserved = answer.status == 404 && answer.body.starts_with("404 page not found");
  const std::string why = status        ? status->message
                          : is_unserved ? "the cluster does not serve this resource"
                                        : "the response is not from an API server";
  const std::string text = fmt::format("list {}: {}: {}", collection.path, answer.status, why);
  if (answer.status == 403) return absl::PermissionDeniedError(text);
  if (answer.status == 404) return absl::NotFoundError(text);
  return absl::UnavailableError(text);
}

absl::Status List(HttpTransport& transport, const Collection& collection, MixedList& list) {
  std::string next;
  do {
    HttpRequest request{.path = collection.path, .query = collection.query};
    request.query.emplace_back("limit", kPage);
    if (!next.empty()) request.query.emplace_back("continue", next);
    const absl::StatusOr<HttpResponse> answer = transport.Send({.deadline = absl::Now() + absl::Minutes(1)}, request);
    if (!answer.ok()) {
      return absl::Status(answer.status().code(),
                          fmt::format("list {}: {}", collection.path, Message(answer.status())));
    }
    if (answer->status != 200) return Refusal(collection, *answer);
    json::Document page;
    page.Parse<json::kParseIterativeFlag>(answer->body.data(), answer->body.size());
    if (page.HasParseError() || !page.IsObject()) {
      return absl::UnavailableError(fmt::format("list {}: the response is not JSON", collection.path));
    }
    if (page.HasMember("items") && page["items"].IsArray()) {
      for (json::Value& item : page["items"].GetArray())
        list.Add(item, collection.kind, collection.api_version, page.GetAllocator());
    } else {
      list.Add(page, collection.kind, collection.api_version, page.GetAllocator());  // a single object
    }
    next = Text(page, {"metadata", "continue"});
  } while (!next.empty());
  return absl::OkStatus();
}

std::string Namespaced(std::string_view group, const std::string& ns, std::string_view resource) {
  return fmt::format("{}/namespaces/{}/{}", group, ns, resource);
}

// Returns the collections that a LiveView watches.
std::vector<Collection> Followed(const DriverPlace& place, const Wanted& wanted) {
  const std::pair<std::string, std::string> selected = {"labelSelector", place.labels};
  const Collection pods = wanted.all_pods
                              ? Collection{"/api/v1/pods", "v1", "Pod", {}}
                              : Collection{Namespaced("/api/v1", place.ns, "pods"), "v1", "Pod", {selected}};
  return {{"/api/v1/nodes", "v1", "Node", {}},
          pods,
          {Namespaced("/apis/apps/v1", place.ns, "daemonsets"), "apps/v1", "DaemonSet", {selected}}};
}

constexpr char kLeaseGroup[] = "coordination.k8s.io/v1";

Collection Leases(const std::string& ns) {
  return {Namespaced(fmt::format("/apis/{}", kLeaseGroup), ns, "leases"), kLeaseGroup, "Lease", {}};
}

// Returns true if the list contains the custom resource with the section of the policy.
bool HasPolicy(const MixedList& list, const DriverPlace& place) {
  const absl::StatusOr<Facts> facts = ReadFacts(list.Text(), "", place.policy);
  return facts.ok() && facts->policy && !facts->policy->section_json.empty();
}

std::vector<Collection> Extras(const DriverPlace& place, const Wanted& wanted) {
  std::vector<Collection> extras;
  if (wanted.budgets) {
    extras.push_back({"/apis/policy/v1/poddisruptionbudgets", "policy/v1", "PodDisruptionBudget", {}});
  }
  if (wanted.leases) {
    extras.push_back(Leases(place.lease_ns));
    extras.push_back({Namespaced("/apis/apps/v1", place.lease_ns, "deployments"), "apps/v1", "Deployment", {}});
  }
  if (wanted.webhooks) {
    const std::string group = "admissionregistration.k8s.io/v1";
    for (const auto& [resource, kind] : {std::pair("validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
                                         std::pair("mutatingwebhookconfigurations", "MutatingWebhookConfiguration")}) {
      extras.push_back({fmt::format("/apis/{}/{}", group, resource), group, kind, {}});
    }
  }
  if (wanted.devices) {
    const std::string group = "resource.k8s.io/v1";
    for (const auto& [resource, kind] :
         {std::pair("devicetaintrules", "DeviceTaintRule"), std::pair("resourceclaims", "ResourceClaim"),
          std::pair("resourceslices", "ResourceSlice")}) {
      extras.push_back({fmt::format("/apis/{}/{}", group, resource), group, kind, {}});
    }
  }
  // Lists the ledger instead of reading it by name, because a missing ledger is not an error.
  if (!place.ledger.empty() && wanted.ledger) {
    extras.push_back({Namespaced("/api/v1", place.ledger_ns, "configmaps"),
                      "v1",
                      "ConfigMap",
                      {{"fieldSelector", "metadata.name=" + place.ledger}}});
  }
  if (!place.requestor_ns.empty()) {
    extras.push_back({Namespaced("/apis/maintenance.nvidia.com/v1alpha1", place.requestor_ns, "nodemaintenances"),
                      "maintenance.nvidia.com/v1alpha1",
                      "NodeMaintenance",
                      {}});
  }
  return extras;
}

}  // namespace

void MixedList::Add(json::Value& item, const std::string& kind, const std::string& api_version,
                    json::Document::AllocatorType& allocator) {
  if (!item.IsObject()) return;
  // `kind` can be the name of a resource if the object was read on its own, because the object then contains its kind.
  const std::string key = kind + "/" + upgradectl::Text(item, {"metadata", "namespace"}) + "/" +
                          upgradectl::Text(item, {"metadata", "name"});
  if (known_.contains(key)) return;
  if (!item.HasMember("kind")) item.AddMember("kind", json::StringRef(kind.c_str()), allocator);
  if (!item.HasMember("apiVersion")) item.AddMember("apiVersion", json::StringRef(api_version.c_str()), allocator);
  Add(key, Compact(item));
}

void MixedList::Add(const std::string& key, std::string text) {
  if (known_.insert(key).second) items_.emplace_back(key, std::move(text));
}

void MixedList::AddAll(const MixedList& other, const std::set<std::string>& without) {
  for (const auto& [key, text] : other.items_) {
    if (!without.contains(key)) Add(key, text);
  }
}

void MixedList::AddText(const std::string& object, const std::string& kind, const std::string& api_version) {
  json::Document document;
  document.Parse<json::kParseIterativeFlag>(object.data(), object.size());
  if (!document.HasParseError()) Add(document, kind, api_version, document.GetAllocator());
}

bool MixedList::Contains(std::string_view text) const {
  return std::any_of(items_.begin(), items_.end(),
                     [&](const auto& item) { return item.second.find(text) != std::string::npos; });
}

std::string MixedList::Text() const {
  std::string text = R"({"apiVersion":"v1","kind":"List","items":[)";
  for (const auto& [key, item] : items_) {
    if (&item != &items_.front().second) text += ",\n";
    text += item;
  }
  return text + "]}";
}

absl::StatusOr<std::string> ReadAll(std::istream& in, std::string_view name, std::size_t bytes_max) {
  std::string content;
  std::array<char, std::size_t{64} << 10> block;
  while (in) {
    in.read(block.data(), block.size());
    content.append(block.data(), static_cast<std::size_t>(in.gcount()));
    if (content.size() > bytes_max) {
      return absl::ResourceExhaustedError(fmt::format("{}: longer than {} bytes", name, bytes_max));
    }
  }
  if (in.bad()) return absl::UnavailableError(fmt::format("{}: cannot be read", name));
  return content;
}

absl::StatusOr<std::string> ReadFile(const std::string& path, std::size_t bytes_max) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(fmt::format("{}: cannot be opened", path));
  return ReadAll(file, path, bytes_max);
}

absl::StatusOr<std::string> ReadDump(const SourceOptions& options, std::istream& in, std::size_t bytes_max) {
  const bool is_standard = options.cluster == "-";
  absl::StatusOr<std::string> dump =
      is_standard ? ReadAll(in, "standard input", bytes_max) : ReadFile(options.cluster, bytes_max);
  if (absl::IsResourceExhausted(dump.status())) {
    return absl::ResourceExhaustedError(
        fmt::format("{}; leave out namespaces whose pods do not matter, or let upgradectl read the cluster itself: "
                    "--kubeconfig FILE, --in-cluster",
                    Message(dump.status())));
  }
  if (!dump.ok()) return dump;
  return DumpText(is_standard ? "standard input" : std::string_view(options.cluster), *std::move(dump));
}

absl::StatusOr<std::shared_ptr<HttpTransport>> Connect(const SourceOptions& options,
                                                       const std::string& default_kubeconfig) {
#ifndef UPGRADECTL_HAS_TRANSPORT
  (void)options, (void)default_kubeconfig;
  return absl::UnimplementedError("this build has no HTTP backend; set --cluster FILE to read a dump");
#else
  const auto environment = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  const std::string file = options.kubeconfig.empty() ? default_kubeconfig : options.kubeconfig;
  if (!options.in_cluster && file.empty()) {
    return absl::InvalidArgumentError("no cluster is selected; set --cluster FILE, --kubeconfig FILE or --in-cluster");
  }
  const absl::StatusOr<KubeConfig> config =
      options.in_cluster ? KubeConfig::InCluster({.host = environment("KUBERNETES_SERVICE_HOST"),
                                                  .port = environment("KUBERNETES_SERVICE_PORT")})
                         : KubeConfig::LoadFile(file, {.context = options.context, .allow_exec = options.allow_exec});
  if (!config.ok()) return config.status();
  auto transport = examples::MakeChosenTransport(examples::TransportNames().front(), *config);
  if (!transport.ok()) return transport.status();
  return driverupgrade::MakeRetryingTransport(*std::move(transport));
#endif
}

absl::StatusOr<std::string> ReadLive(HttpTransport& transport, const DriverIdentity& identity, const DriverPlace& place,
                                     const Wanted& wanted, std::vector<std::string>& notes) {
  MixedList list;
  for (const Collection& collection : Followed(place, wanted)) {
    if (const absl::Status status = List(transport, collection, list); !status.ok()) return status;
  }
  if (wanted.events) {
    const Collection events{Namespaced("/api/v1", "default", "events"),
                            "v1",
                            "Event",
                            {{"fieldSelector", fmt::format("reason={}", identity.EventReason())}}};
    const absl::Status status = List(transport, events, list);
    if (!status.ok()) notes.emplace_back(Message(status));
  }
  if (wanted.assignments) {
    const Collection events{
        Namespaced("/api/v1", place.ns, "events"), "v1", "Event", {{"fieldSelector", "reason=Scheduled"}}};
    const absl::Status status = List(transport, events, list);
    if (!status.ok()) notes.emplace_back(Message(status));
  }
  const absl::StatusOr<MixedList> beside = ReadBeside(transport, place, wanted, notes);
  if (!beside.ok()) return beside.status();
  list.AddAll(*beside);
  if (!wanted.all_pods) {
    const absl::StatusOr<std::set<std::string>> nodes = NodesOfInterest(list.Text(), identity, wanted);
    if (!nodes.ok()) return nodes.status();
    for (const std::string& node : *nodes) {
      const absl::StatusOr<MixedList> pods = ReadPodsOf(transport, node);
      if (!pods.ok()) return pods.status();
      list.AddAll(*pods);
    }
  }
  if (wanted.claims) AddClaims(transport, list, notes);
  return list.Text();
}

absl::StatusOr<std::string> ListDaemonSets(HttpTransport& transport, const std::string& labels) {
  MixedList list;
  const absl::Status status =
      List(transport, {"/apis/apps/v1/daemonsets", "apps/v1", "DaemonSet", {{"labelSelector", labels}}}, list);
  if (!status.ok()) return status;
  return list.Text();
}

absl::StatusOr<std::string> ListLeases(HttpTransport& transport, const std::string& ns) {
  // Excludes kube-node-lease, which contains a Lease for every node.
  const Collection all{fmt::format("/apis/{}/leases", kLeaseGroup),
                       kLeaseGroup,
                       "Lease",
                       {{"fieldSelector", "metadata.namespace!=kube-node-lease"}}};
  MixedList list;
  if (const absl::Status status = List(transport, ns.empty() ? all : Leases(ns), list); !status.ok()) return status;
  return list.Text();
}

absl::StatusOr<MixedList> ReadBeside(HttpTransport& transport, const DriverPlace& place, const Wanted& wanted,
                                     std::vector<std::string>& notes) {
  MixedList list;
  const Collection revisions{
      Namespaced("/apis/apps/v1", place.ns, "controllerrevisions"), "apps/v1", "ControllerRevision", {}};
  if (const absl::Status status = List(transport, revisions, list); !status.ok()) return status;
  const auto add = [&](const Collection& collection, MixedList& to) {
    const absl::Status status = List(transport, collection, to);
    if (!status.ok()) notes.emplace_back(Message(status));
  };
  for (const Collection& collection : Extras(place, wanted)) add(collection, list);
  MixedList policy;
  if (place.policy && wanted.policy) {
    add({fmt::format("/apis/{}/{}/{}", place.policy->group_version, place.policy->resource, place.policy->name),
         place.policy->group_version,
         place.policy->resource,
         {}},
        policy);
  }
  list.AddAll(policy);
  if (wanted.reported && !wanted.leases && !HasPolicy(policy, place)) add(Leases(place.lease_ns), list);
  return list;
}

absl::StatusOr<std::set<std::string>> NodesOfInterest(std::string_view list, const DriverIdentity& identity,
                                                      const Wanted& wanted) {
  const absl::StatusOr<driverupgrade::ClusterObjects> objects =
      driverupgrade::ParseMixedList(list, driverupgrade::OnUnreadable::kMark);
  if (!objects.ok()) return objects.status();
  std::set<std::string> names;
  for (const driverupgrade::Node& node : objects->nodes) {
    const auto label = node.labels.find(identity.StateLabel());
    const auto state =
        label == node.labels.end() ? std::nullopt : driverupgrade::ParseUpgradeState(std::string(label->second));
    // Includes cordoned nodes, because the first pass over a cordoned node already needs the node's pods.
    const bool named = std::find(wanted.nodes.begin(), wanted.nodes.end(), node.name) != wanted.nodes.end();
    if (named || node.unschedulable || (state && driverupgrade::IsInProgress(*state))) names.insert(node.name);
  }
  return names;
}

void AddClaims(HttpTransport& transport, MixedList& list, std::vector<std::string>& notes) {
  if (!list.Contains(R"("resourceClaimName":)")) return;
  absl::Status status;
  for (const std::string_view version : {"v1", "v1beta2", "v1beta1"}) {
    const std::string group = fmt::format("resource.k8s.io/{}", version);
    status = List(transport, {fmt::format("/apis/{}/resourceclaims", group), group, "ResourceClaim", {}}, list);
    if (!absl::IsNotFound(status)) break;
  }
  if (!status.ok()) notes.emplace_back(Message(status));
}

absl::StatusOr<MixedList> ReadPodsOf(HttpTransport& transport, const std::string& node) {
  MixedList list;
  const Collection pods{"/api/v1/pods", "v1", "Pod", {{"fieldSelector", fmt::format("spec.nodeName={}", node)}}};
  if (const absl::Status status = List(transport, pods, list); !status.ok()) return status;
  return list;
}

}  // namespace upgradectl
