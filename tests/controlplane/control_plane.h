// A real Kubernetes control plane on loopback: the released etcd, API server, controller manager and scheduler, with
// kwok in place of the kubelets.
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

// A node with this label has its own kubelet. kwok simulates the kubelets of all other nodes.
inline constexpr char kRealNodeLabel[] = "driverupgrade.test/real";

// Directory of the manifests that an administrator would apply for the operator.
std::filesystem::path RbacFolder();

// A control plane with three users. `admin` has all permissions. The operator is the ServiceAccount of deploy/rbac,
// with its permissions and its admission policy; the audit log contains all requests of the operator. The third user is
// the ServiceAccount of deploy/rbac/ofed. The processes are children that exit with the test.
class ControlPlane {
 public:
  // Returns the control plane of this test run. The first call starts the control plane, which ends when the test
  // program exits. Throws std::runtime_error, with the reason, if the control plane does not start, for example if
  // DRIVERUPGRADE_CONTROLPLANE_BINARY does not name the program that build.sh builds.
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
  // Returns the controller manager's CA certificate, which the API server does not use.
  std::filesystem::path other_ca_file() const {
    return folder() / "controller-manager-certs/kube-controller-manager.crt";
  }
  const std::filesystem::path& folder() const { return folder_.path(); }

  std::string url() const { return UrlOf(ports_.api_server); }
  // Returns a URL on which no server listens.
  static std::string UnusedUrl();

  // Time from the start of the first process until all processes were ready.
  double seconds_to_start() const { return seconds_to_start_; }

  // Returns the minor version of Kubernetes: 37 for 1.37.
  int MinorVersion() const;

  // Returns whether the API server serves `resource`, in kubectl's notation: "nodes",
  // "devicetaintrules.v1.resource.k8s.io".
  bool Serves(const std::string& resource) const;

  // Installs the resource NodeMaintenance (kNodeMaintenances for kubectl) unless the API server has it.
  void InstallNodeMaintenances();

  // Installs the custom resources of deploy/crds unless the API server has them.
  void InstallPolicies();

  // Kills the API server immediately. All other processes continue without a server.
  void KillApiServer();
  // Restarts the API server on the same port, with the existing data. Returns when the server is ready. Throws
  // std::runtime_error if the server does not become ready in time.
  void StartApiServerAgain();

  // Invalidates all earlier tokens of service accounts. This restarts the API server.
  void ReplaceServiceAccountKey();

  // Copies etcd's data. This takes the whole control plane down for a few seconds.
  void SaveData();
  // Restores the saved data, as an administrator would after a disaster. Etcd, the API server and the cluster's own
  // components restart with this data. All other clients that watch the cluster have already seen versions that are
  // later than the restored ones.
  void RestoreData();

  // Returns the names of exited processes, with their last lines of output, or an empty string if all processes are
  // running. Add this text to the message of every wait that times out.
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
  std::vector<Part> parts_;  // declared last: the processes stop before the directory is removed
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_CONTROL_PLANE_H_
