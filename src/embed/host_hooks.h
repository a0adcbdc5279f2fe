// Implements NodeHooks without callbacks: the host passes in the results.
#ifndef DRIVERUPGRADE_SRC_EMBED_HOST_HOOKS_H_
#define DRIVERUPGRADE_SRC_EMBED_HOST_HOOKS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "driverupgrade/cluster_types.h"
#include "read/node_views.h"

namespace driverupgrade::internal {

// UIDs of a node's pods that use the driver, and errors, by pod UID, for pods that the host could not check.
struct PodAnswers {
  std::set<std::string> uids = {};
  std::map<std::string, std::string> errors = {};
};

// A question to the host: can `pod` be replaced without evacuating the node?
struct HostQuestion {
  std::string id = {};
  std::string node = {};
  PodRef pod = {};
  std::string pod_version = {};
  // Names of the two ControllerRevisions to compare, even if the DaemonSet has changed in the meantime.
  std::string running = {};
  std::string wanted = {};
};

class HostHooks final : public NodeHooks {
 public:
  void SetPods(const std::string& node, PodAnswers answers) { pods_[node] = std::move(answers); }
  std::vector<HostQuestion> Questions() const;
  // Returns true if a question about the node has not been answered yet.
  bool Asks(const std::string& node) const;
  // Stores the answer and returns the question's node, or an empty string if the question was dropped.
  std::string Tell(const std::string& id, absl::StatusOr<bool> answer);

  // Starts a new view of the node. Questions that the new view does not repeat are dropped, together with their
  // answers.
  void Begin(const std::string& node) override;
  void Forget(const std::string& node) override;
  // Returns true while a question is open. Also returns true for pod filter errors, because the host passes in its
  // answers together with the pods.
  bool WillTell(const NodeView& view) const override { return view.restart_only_error.empty() || Asks(view.node.name); }
  absl::StatusOr<bool> UsesDriver(const Pod& pod) override;
  // Returns each answer only once, so the caller must keep the answer. Errors: Unavailable until the host has answered.
  absl::StatusOr<bool> RestartOnly(const Pod& pod, const ControllerRevision& running,
                                   const ControllerRevision& wanted) override;

 private:
  struct Asked {
    HostQuestion question = {};
    std::optional<absl::StatusOr<bool>> answer = std::nullopt;
  };
  using Questioned = std::map<std::string, Asked>;  // by ID

  std::map<std::string, PodAnswers> pods_;   // by node
  std::map<std::string, Questioned> asked_;  // by node
  Questioned before_;                        // questions of the node whose view is being created
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_EMBED_HOST_HOOKS_H_
