#include "driver_manager/node_client.h"

#include <algorithm>

#include "driver_manager/status_text.h"

namespace driver_manager {
namespace {

using driverupgrade::CallContext;
using driverupgrade::Node;
using driverupgrade::PatchNodeParams;
using driverupgrade::Pod;
using driverupgrade::Severity;

constexpr int kTries = 7;
constexpr absl::Duration kFirstPause = absl::Seconds(1);
constexpr absl::Duration kCallTimeout = absl::Seconds(30);

}  // namespace

bool MayPass(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kUnknown: return true;
    default: return false;
  }
}

CallContext NodeClient::Context() const { return {.deadline = parts_.clock->Now() + kCallTimeout, .stop = stop_}; }

absl::Status NodeClient::Sleep(absl::Duration duration) {
  if (parts_.clock->SleepFor(duration, stop_)) return absl::OkStatus();
  return absl::CancelledError("stop requested");
}

absl::StatusOr<Node> NodeClient::Repeated(std::string_view what, const std::function<absl::StatusOr<Node>()>& request) {
  absl::Duration pause = kFirstPause;
  for (int tries = 1;; ++tries, pause *= 2) {
    absl::StatusOr<Node> answer = request();
    if (answer.ok()) return answer;
    const absl::Status failure = Named(fmt::format("{} (node {})", what, name_), answer.status());
    if (tries == kTries || !MayPass(failure)) return failure;
    parts_.log({.severity = Severity::kWarning,
                .message = "retrying",
                .fields = {{"error", std::string(failure.message())}, {"pause", absl::FormatDuration(pause)}}});
    if (absl::Status slept = Sleep(pause); !slept.ok()) return slept;
  }
}

absl::StatusOr<Node> NodeClient::Get() {
  return Repeated("read the node", [this] { return parts_.cluster->GetNode(Context(), {.name = name_}); });
}

absl::StatusOr<Node> NodeClient::TryToEdit(const NodeChange& change) {
  absl::StatusOr<Node> node = parts_.cluster->GetNode(Context(), {.name = name_});
  if (!node.ok()) return node;
  PatchNodeParams patch = change(*node);
  if (patch.empty()) return node;
  patch.name = name_;
  patch.uid = node->uid;
  patch.resource_version = node->resource_version;
  return parts_.cluster->PatchNode(Context(), patch);
}

absl::StatusOr<Node> NodeClient::Edit(std::string_view what, const NodeChange& change) {
  return Repeated(what, [&] { return TryToEdit(change); });
}

absl::StatusOr<std::vector<Pod>> NodeClient::Pods(const std::string& ns, const driverupgrade::LabelSelector& selector) {
  return parts_.cluster->ListPods(Context(), {.ns = ns, .label_selector = selector, .node_name = name_});
}

}  // namespace driver_manager
