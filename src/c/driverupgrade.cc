#include "driverupgrade/c/driverupgrade.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/rapidjson.h"
#include "base/status_macros.h"
#include "c/document.h"
#include "driverupgrade/drain_manager.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/label_selector.h"
#include "driverupgrade/policy_codec.h"
#include "driverupgrade/version.h"
#include "fmt/format.h"
#include "whatif/plan_json.h"
#include "whatif/what_if.h"

namespace {

using driverupgrade::DriverIdentity;
using driverupgrade::LabelSelector;
using driverupgrade::PolicyDefaults;
using driverupgrade::internal::Document;
using driverupgrade::internal::Message;
using driverupgrade::whatif::Question;

namespace json = ::driverupgrade_rapidjson;

constexpr auto kNoMemory = static_cast<du_code>(absl::StatusCode::kResourceExhausted);
constexpr auto kDefect = static_cast<du_code>(absl::StatusCode::kInternal);

du_code Give(absl::StatusCode code, std::string_view text, du_buf& out) noexcept {
  auto* data = static_cast<char*>(du_alloc(text.size() + 1));
  if (data == nullptr) return kNoMemory;
  std::copy(text.begin(), text.end(), data);
  data[text.size()] = '\0';
  out = {.data = data, .size = text.size()};
  return static_cast<du_code>(code);
}

bool IsNone(const du_str& text) { return text.data == nullptr && text.size > 0; }

std::string_view View(const du_str& text) { return {text.data, text.size}; }

// The one edge: what `answer` returns or throws is in `out`.
template <typename F>
du_code Guard(du_buf* out, std::initializer_list<du_str> documents, F answer) noexcept {
  if (out == nullptr) return static_cast<du_code>(absl::StatusCode::kInvalidArgument);
  if (out->data != nullptr || out->size != 0) return static_cast<du_code>(absl::StatusCode::kInvalidArgument);
  try {
    if (std::any_of(documents.begin(), documents.end(), IsNone)) {
      return Give(absl::StatusCode::kInvalidArgument, "a document of some bytes has no address", *out);
    }
    const absl::StatusOr<std::string> text = answer();
    return text.ok() ? Give(absl::StatusCode::kOk, *text, *out)
                     : Give(text.status().code(), Message(text.status()), *out);
  } catch (const std::bad_alloc&) {
    return kNoMemory;
  } catch (const std::exception& e) {
    Give(absl::StatusCode::kInternal, e.what(), *out);
    return kDefect;
  } catch (...) {
    return kDefect;
  }
}

absl::Status Named(std::string_view what, const absl::Status& status) {
  return absl::Status(status.code(), fmt::format("{}: {}", what, Message(status)));
}

absl::StatusOr<DriverIdentity> IdentityOf(const Document& document) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string domain, document.Text("domain"));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string driver, document.Text("driver"));
  return DriverIdentity::Create(domain, driver);
}

absl::StatusOr<std::string> Keys(std::string_view text) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Document document, Document::Parse("identity", text, {"domain", "driver"}));
  const absl::StatusOr<DriverIdentity> identity = IdentityOf(document);
  if (!identity.ok()) return Named("identity", identity.status());
  const std::array<std::pair<const char*, std::string>, 16> keys = {{
      {"stateLabel", identity->StateLabel()},
      {"skipUpgradeLabel", identity->SkipUpgradeLabel()},
      {"skipDrainPodLabel", identity->SkipDrainPodLabel()},
      {"safeLoadAnnotation", identity->SafeLoadAnnotation()},
      {"initiallyUnschedulableAnnotation", identity->InitiallyUnschedulableAnnotation()},
      {"podCompletionStartAnnotation", identity->PodCompletionStartAnnotation()},
      {"validationStartAnnotation", identity->ValidationStartAnnotation()},
      {"upgradeRequestedAnnotation", identity->UpgradeRequestedAnnotation()},
      {"requestorModeAnnotation", identity->RequestorModeAnnotation()},
      {"stageAnnotation", identity->StageAnnotation()},
      {"failedRevisionAnnotation", identity->FailedRevisionAnnotation()},
      {"failuresAnnotation", identity->FailuresAnnotation()},
      {"restartPodAnnotation", identity->RestartPodAnnotation()},
      {"restartOnlyAnnotation", identity->RestartOnlyAnnotation()},
      {"cordonedByAnnotation", std::string(driverupgrade::kCordonedByAnnotation)},
      {"eventReason", identity->EventReason()},
  }};
  json::StringBuffer buffer;
  json::Writer<json::StringBuffer> writer(buffer);
  writer.StartObject();
  for (const auto& [name, key] : keys) {
    writer.Key(name);
    writer.String(key);
  }
  writer.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize());
}

absl::StatusOr<std::string> NormalizedPolicy(std::string_view text) {
  const absl::StatusOr<driverupgrade::UpgradePolicy> policy = driverupgrade::ParseUpgradePolicy(text);
  if (!policy.ok()) return Named("policy", policy.status());
  return driverupgrade::FormatUpgradePolicy(*policy);
}

absl::StatusOr<absl::Time> TimeOf(const Document& request, std::string_view member) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string text, request.Text(member));
  absl::Time time;
  std::string error;
  // The first character: ParseTime knows infinite times and leading blanks as well.
  const bool digit = !text.empty() && text[0] >= '0' && text[0] <= '9';
  if (digit && absl::ParseTime(absl::RFC3339_full, text, &time, &error)) return time;
  return request.Wrong(member, "must be an RFC 3339 time such as 2026-01-02T03:04:05Z");
}

absl::StatusOr<LabelSelector> SelectorOf(const Document& request, std::string_view member) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string text, request.Text(member));
  absl::StatusOr<LabelSelector> selector = LabelSelector::Parse(text);
  if (!selector.ok()) return request.Wrong(member, Message(selector.status()));
  if (selector->empty()) return request.Wrong(member, "must not be empty, that would select every pod");
  return selector;
}

absl::Status ReadPolicy(const Document& request, Question& question) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string defaults, request.TextOr("policyDefaults", ""));
  if (!defaults.empty() && defaults != "gpu-operator" && defaults != "network-operator") {
    return request.Wrong("policyDefaults", "must be gpu-operator or network-operator");
  }
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::string text, request.Embedded("policy"));
  absl::StatusOr<driverupgrade::UpgradePolicy> policy =
      driverupgrade::ParseUpgradePolicy(text, defaults == "gpu-operator"       ? PolicyDefaults::GpuOperator()
                                              : defaults == "network-operator" ? PolicyDefaults::NetworkOperator()
                                                                               : PolicyDefaults{});
  if (!policy.ok()) return request.Wrong("policy", Message(policy.status()));
  question.policy = *std::move(policy);
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const bool spare, request.FlagOr("spareSkippedPods", true));
  if (spare && question.policy.drain) {
    LabelSelector& drained = question.policy.drain->pod_selector;
    drained = drained.And(driverupgrade::DrainablePods(question.identity));
  }
  return absl::OkStatus();
}

absl::Status ReadRequestor(const Document& request, Question& question) {
  if (!request.Has("requestor")) return absl::OkStatus();
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Document document, request.Object("requestor", {"id", "namespace"}));
  driverupgrade::RequestorOptions requestor;
  DRIVERUPGRADE_ASSIGN_OR_RETURN(requestor.id, document.Text("id"));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(requestor.ns, document.Text("namespace"));
  if (const absl::Status valid = driverupgrade::Validate(requestor); !valid.ok()) {
    return request.Wrong("requestor", Message(valid));
  }
  question.snapshot.requestor = requestor;
  question.machine.requestor = std::move(requestor);
  return absl::OkStatus();
}

absl::Status ReadDriver(const Document& request, Question& question) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(question.snapshot.ns, request.Text("namespace"));
  if (question.snapshot.ns.empty()) return request.Wrong("namespace", "must not be empty");
  DRIVERUPGRADE_ASSIGN_OR_RETURN(question.snapshot.driver_labels, SelectorOf(request, "driverLabels"));
  if (request.Has("validationSelector")) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(question.machine.validation_selector, SelectorOf(request, "validationSelector"));
  }
  if (!request.Has("usesDriverUids")) return absl::OkStatus();
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<std::string> uids, request.Texts("usesDriverUids"));
  question.machine.pod_deletion = true;
  question.snapshot.uses_driver = [uids = std::set<std::string>(uids.begin(), uids.end())](
                                      const driverupgrade::CallContext&,
                                      const driverupgrade::Pod& pod) -> absl::StatusOr<bool> {
    return uids.contains(pod.ref.uid);
  };
  return absl::OkStatus();
}

absl::StatusOr<std::string> PlanOf(std::string_view request_text, std::string_view cluster_text) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(
      const Document request,
      Document::Parse("request", request_text,
                      {"identity", "namespace", "driverLabels", "policy", "policyDefaults", "at", "activeSince",
                       "validationSelector", "usesDriverUids", "requestor", "spareSkippedPods"}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const Document named, request.Object("identity", {"domain", "driver"}));
  absl::StatusOr<DriverIdentity> identity = IdentityOf(named);
  if (!identity.ok()) return request.Wrong("identity", Message(identity.status()));
  Question question{.identity = *std::move(identity)};
  DRIVERUPGRADE_ASSIGN_OR_RETURN(question.at, TimeOf(request, "at"));
  if (request.Has("activeSince")) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(question.active_since, TimeOf(request, "activeSince"));
  }
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadDriver(request, question));
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadRequestor(request, question));
  DRIVERUPGRADE_RETURN_IF_ERROR(ReadPolicy(request, question));
  absl::StatusOr<driverupgrade::ClusterObjects> cluster =
      driverupgrade::ParseMixedList(cluster_text, driverupgrade::OnUnreadable::kMark);
  if (!cluster.ok()) return Named("cluster", cluster.status());
  question.cluster = *std::move(cluster);
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const driverupgrade::whatif::Report report,
                                 driverupgrade::whatif::Answer(std::move(question)));
  return driverupgrade::whatif::FormatJson(report);
}

}  // namespace

uint32_t du_abi_version(void) { return 1; }

const char* du_version(void) { return DRIVERUPGRADE_VERSION_STRING; }

void* du_alloc(size_t size) { return std::malloc(std::max<size_t>(size, 1)); }

void du_free(void* memory) { std::free(memory); }

du_code du_keys(du_str identity, du_buf* out) {
  return Guard(out, {identity}, [&] { return Keys(View(identity)); });
}

du_code du_policy_normalize(du_str policy, du_buf* out) {
  return Guard(out, {policy}, [&] { return NormalizedPolicy(View(policy)); });
}

du_code du_plan(du_str request, du_str cluster, du_buf* out) {
  return Guard(out, {request, cluster}, [&] { return PlanOf(View(request), View(cluster)); });
}
