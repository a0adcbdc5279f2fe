#include "host/host_hooks.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

namespace driverupgrade::internal {

void HostHooks::Forget(const std::string& node) {
  pods_.erase(node);
  std::erase_if(questions_, [&](const auto& question) { return question.second.node == node; });
}

std::vector<HostQuestion> HostHooks::Questions() const {
  std::vector<HostQuestion> questions;
  for (const auto& [id, question] : questions_) questions.push_back(question);
  return questions;
}

bool HostHooks::Asks(const std::string& node) const {
  return std::any_of(questions_.begin(), questions_.end(),
                     [&](const auto& question) { return question.second.node == node; });
}

std::string HostHooks::Tell(const std::string& id, absl::StatusOr<bool> answer) {
  const auto question = questions_.find(id);
  if (question == questions_.end()) return {};
  std::string node = std::move(question->second.node);
  questions_.erase(question);
  answers_.insert_or_assign(id, std::move(answer));
  return node;
}

absl::StatusOr<bool> HostHooks::UsesDriver(const Pod& pod) {
  const auto answers = pods_.find(pod.node_name);
  if (answers == pods_.end()) return absl::UnavailableError("the host has not said whether the pod uses the driver");
  const auto error = answers->second.errors.find(pod.ref.uid);
  if (error != answers->second.errors.end()) return absl::UnknownError(error->second);
  return answers->second.uids.contains(pod.ref.uid);
}

absl::StatusOr<bool> HostHooks::RestartOnly(const Pod& pod, const ControllerRevision& running,
                                            const ControllerRevision& wanted) {
  const std::string id = fmt::format("{}/{}/{}", pod.ref.uid, running.name, wanted.name);
  if (auto answer = answers_.extract(id)) return std::move(answer.mapped());
  questions_[id] = {
      .id = id, .node = pod.node_name, .pod = pod.ref.ToString(), .running = running.name, .wanted = wanted.name};
  return absl::UnavailableError("the host has not answered yet");
}

}  // namespace driverupgrade::internal
