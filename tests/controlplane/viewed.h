// A rollout whose operator serves its status page. The user alice views the page through the API server, with the
// permissions of deploy/rbac/viewer and tools/upgradectl/rbac.yaml.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_VIEWED_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_VIEWED_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kubectl.h"
#include "operator_program.h"
#include "process.h"
#include "world.h"

namespace driverupgrade::e2e {

class Viewed {
 public:
  // Creates a world with `nodes` nodes that have a driver. Prints a warning and returns nullptr if the API
  // server's proxy cannot reach any address of this machine.
  static std::unique_ptr<Viewed> Make(const std::string& name, int nodes = 2, std::string_view policy = kPatient);
  ~Viewed();
  Viewed(const Viewed&) = delete;
  Viewed& operator=(const Viewed&) = delete;

  // A policy that upgrades two nodes at a time and waits five minutes for their pods.
  static constexpr std::string_view kPatient = R"(
autoUpgrade: true
maxParallelUpgrades: 2
maxUnavailable: 100%
podDeletion: {timeoutSeconds: 300}
)";

  const World& world() const { return world_; }
  const Kubectl& admin() const { return world_.control_plane().admin(); }
  const std::string& ns() const { return world_.driver_ns(); }
  const std::string& node() const { return world_.nodes()[0]; }

  void StartOperator();
  void KillOperator() { operator_.reset(); }
  // Starts the Go module's example operator instead of gpu_operator.
  void StartGoOperator();
  void LetAliceRead() const;
  // Starts the operator, allows alice to read its page, and waits until `upgradectl status` shows a pass and reports
  // all nodes as done.
  void Begin();
  // Installs a change-freeze webhook whose server is down. It blocks only the operator's requests.
  void Freeze(const std::string& operation, const std::string& resource) const;

  // Returns the output of upgradectl, run as alice.
  std::string Show(std::vector<std::string> words) const;
  // Runs upgradectl as alice until the output contains `text` at least `times` times. If the time limit expires first,
  // fails the test and returns false.
  bool Tells(const std::vector<std::string>& words, const std::string& text, int times = 1) const;
  // Compares the output of `status` and `explain` with troubles/`name`.txt.
  void CheckPictures(const std::string& name, const std::vector<std::string>& more = {}) const;
  // Requests the page through the API server's proxy as the administrator, without a viewer's token.
  KubectlResult Raw() const;

 private:
  Viewed(const std::string& name, const std::string& address, int nodes, std::string_view policy);
  std::string InNamespace(const std::string& manifest) const;
  // Creates the operator's pod, with only the fields that the API server's proxy needs.
  void CreatePod(const std::string& name) const;

  World world_;
  const std::string address_;
  const std::string port_;
  std::string alice_;
  std::unique_ptr<OperatorProgram> operator_;
  std::unique_ptr<Process> go_operator_;
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_VIEWED_H_
