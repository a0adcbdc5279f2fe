// A real Kubernetes control plane on loopback: etcd, API server, controller manager and scheduler as
// released, with kwok in the place of the kubelets.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_CONTROL_PLANE_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_CONTROL_PLANE_H_

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "kubectl.h"
#include "process.h"
#include "support.h"

namespace driverupgrade::e2e {

inline constexpr char kNodeMaintenances[] = "nodemaintenances.maintenance.nvidia.com";

// A node with this label has a kubelet of its own; kwok plays all others.
inline constexpr char kRealNodeLabel[] = "driverupgrade.test/real";

// What an administrator would apply for the operator.
std::filesystem::path RbacFolder();

// Its users: `admin`, who may do everything; the operator, who is the ServiceAccount of deploy/rbac, has its rights, is
// bound by its admission policy, and whose every request is in the audit log; that of deploy/rbac/ofed. Nothing of it
// outlives the test: the processes are children that die with it.
class ControlPlane {
 public:
  // The one of this run: started when first asked for, ended at exit. Throws std::runtime_error, with the
  // reason, if it does not start; in particular if DRIVERUPGRADE_CONTROLPLANE_BINARY does not name the
  // program of build.sh.
  static ControlPlane& Shared();

  ControlPlane();
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;

  const Kubectl& admin() const { return *admin_; }
  const Kubectl& as_operator() const { return *operator_; }

  std::filesystem::path operator_kubeconfig() const { return folder() / "operator.kubeconfig"; }
  std::filesystem::path ofed_kubeconfig() const { return folder() / "ofed.kubeconfig"; }
  std::filesystem::path audit_log() const { return folder() / "audit.log"; }
  std::filesystem::path ca_file() const { return folder() / "apiserver-certs/apiserver.crt"; }
  // A certificate that the API server does not have: the controller manager's.
  std::filesystem::path other_ca_file() const {
    return folder() / "controller-manager-certs/kube-controller-manager.crt";
  }
  const std::filesystem::path& folder() const { return folder_.path(); }

  std::string url() const { return UrlOf(ports_.api_server); }
  // Where nothing listens.
  static std::string UnusedUrl();

  // How long it took from the first process to the last one that was ready.
  double seconds_to_start() const { return seconds_to_start_; }

  // Returns the minor version of Kubernetes: 37 for 1.37.
  int MinorVersion() const;

  // Returns whether the API server serves `resource`, in kubectl's words: "nodes", "devicetaintrules.v1.resource.k8s.io".
  bool Serves(const std::string& resource) const;

  // Makes the API server know NodeMaintenances, kNodeMaintenances for kubectl, if it does not yet.
  void InstallNodeMaintenances();

  // Makes the API server know the custom resources of deploy/crds, if it does not yet.
  void InstallPolicies();

  // Ends it in the middle of whatever it does. Everybody else goes on, and has nobody to talk to.
  void KillApiServer();
  // Starts it anew on its port, with the data that there are; returns when it is ready. Throws std::runtime_error.
  void StartApiServerAgain();

  // From then on no token of a service account is good that was issued before; the API server begins anew for that.
  void ReplaceServiceAccountKey();

  // Copies etcd's data, for which all of the control plane is away for some seconds.
  void SaveData();
  // Everything is as it was when the data were saved, as after a disaster: etcd, the API server and those that come
  // with the cluster begin anew with them. Whoever else watches knows more than the cluster does.
  void RestoreData();

  // Which of its processes have ended and what they said last; empty if all is well. Belongs into the message
  // of every wait that was in vain.
  std::string Troubles();

 private:
  struct Ports {
    int etcd = 0;
    int etcd_peer = 0;
    int api_server = 0;
    int controller_manager = 0;
    int scheduler = 0;
    int kwok = 0;
  };
  struct Part {
    std::string name;
    std::unique_ptr<Process> process;
  };

  static std::string UrlOf(int port);
  void WriteFiles();
  void WriteServiceAccountKey();
  void WriteKubeconfig(const std::string& user, const std::filesystem::path& file) const;
  bool TryToStart();
  void StartPart(const std::string& name, const std::vector<std::string>& flags);
  void StartEtcd();
  void StartApiServer();
  void StartClients();
  void Kill(const std::string& name);
  void AwaitApiServer();
  bool IsApiServerReady() const;
  bool AllRunning();

  std::filesystem::path program_;
  TemporaryFolder folder_;
  Ports ports_;
  double seconds_to_start_ = 0;
  bool has_node_maintenances_ = false;
  std::unique_ptr<Kubectl> admin_;
  std::unique_ptr<Kubectl> operator_;
  std::vector<Part> parts_;  // last: ended before the folder goes
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_CONTROL_PLANE_H_
