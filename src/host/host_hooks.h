// The answers of a host's own callbacks, which it hands in.
#ifndef DRIVERUPGRADE_SRC_HOST_HOST_HOOKS_H_
#define DRIVERUPGRADE_SRC_HOST_HOST_HOOKS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "driverupgrade/cluster_types.h"
#include "read/node_views.h"

namespace driverupgrade::internal {

// Which of a node's pods use the driver, and of which the host could not say, by UID.
struct PodAnswers {
  std::set<std::string> uids = {};
  std::map<std::string, std::string> errors = {};
};

// Whether replacing `pod` needs no evacuated node.
struct HostQuestion {
  std::string id = {};
  std::string node = {};
  std::string pod = {};
  std::string running = {};
  std::string wanted = {};
};

class HostHooks final : public NodeHooks {
 public:
  void SetPods(const std::string& node, PodAnswers answers) { pods_[node] = std::move(answers); }
  void Forget(const std::string& node);
  std::vector<HostQuestion> Questions() const;
  // A question about the node has not been answered yet.
  bool Asks(const std::string& node) const;
  // The node that the question is about; empty if nobody asks it any more. The answer is given once: who asked remembers it.
  std::string Tell(const std::string& id, absl::StatusOr<bool> answer);

  absl::StatusOr<bool> UsesDriver(const Pod& pod) override;
  // Errors: Unavailable until the host has answered.
  absl::StatusOr<bool> RestartOnly(const Pod& pod, const ControllerRevision& running,
                                   const ControllerRevision& wanted) override;

 private:
  std::map<std::string, PodAnswers> pods_;         // by node
  std::map<std::string, HostQuestion> questions_;  // by id
  std::map<std::string, absl::StatusOr<bool>> answers_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_HOST_HOST_HOOKS_H_
