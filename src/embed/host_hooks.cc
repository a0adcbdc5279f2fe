#include "embed/host_hooks.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

// An ID starts with the name of the node, which cannot contain a slash.
std::string IdOf(const Pod& pod, const ControllerRevision& running, const ControllerRevision& wanted) {
  return fmt::format("{}/{}/{}/{}/{}", pod.node_name, pod.ref.uid, pod.resource_version, running.name, wanted.name);
}

std::string NodeOf(const std::string& id) { return id.substr(0, id.find('/')); }

}  // namespace

void HostHooks::Forget(const std::string& node) {
  pods_.erase(node);
  asked_.erase(node);
}

void HostHooks::Begin(const std::string& node) {
  before_.clear();
  if (auto asked = asked_.extract(node)) before_ = std::move(asked.mapped());
}

std::vector<HostQuestion> HostHooks::Questions() const {
  std::vector<HostQuestion> questions;
  for (const auto& [node, asked] : asked_) {
    for (const auto& [id, one] : asked) {
      if (!one.answer) questions.push_back(one.question);
    }
  }
  return questions;
}

bool HostHooks::Asks(const std::string& node) const {
  const auto asked = asked_.find(node);
  return asked != asked_.end() &&
         std::any_of(asked->second.begin(), asked->second.end(), [](const auto& one) { return !one.second.answer; });
}

std::string HostHooks::Tell(const std::string& id, absl::StatusOr<bool> answer) {
  std::string node = NodeOf(id);
  const auto asked = asked_.find(node);
  if (asked == asked_.end()) return {};
  const auto one = asked->second.find(id);
  if (one == asked->second.end() || one->second.answer) return {};
  one->second.answer = std::move(answer);
  return node;
}

absl::StatusOr<bool> HostHooks::UsesDriver(const Pod& pod) {
  const auto answers = pods_.find(pod.node_name);
  if (answers == pods_.end())
    return absl::UnavailableError("the host has not reported whether the pod uses the driver");
  const auto error = answers->second.errors.find(pod.ref.uid);
  if (error != answers->second.errors.end()) return absl::UnknownError(error->second);
  return answers->second.uids.contains(pod.ref.uid);
}

absl::StatusOr<bool> HostHooks::RestartOnly(const Pod& pod, const ControllerRevision& running,
                                            const ControllerRevision& wanted) {
  std::string id = IdOf(pod, running, wanted);
  if (const auto known = before_.find(id); known != before_.end() && known->second.answer) {
    return *std::move(known->second.answer);
  }
  asked_[pod.node_name][id].question = {.id = id,
                                        .node = pod.node_name,
                                        .pod = pod.ref,
                                        .pod_version = pod.resource_version,
                                        .running = running.name,
                                        .wanted = wanted.name};
  return absl::UnavailableError("the host has not answered yet");
}

}  // namespace driverupgrade::internal
