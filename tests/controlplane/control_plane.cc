#include "control_plane.h"

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "json.h"
#include "loopback.h"

#ifndef DRIVERUPGRADE_CONTROLPLANE_SOURCE_DIR
#error "DRIVERUPGRADE_CONTROLPLANE_SOURCE_DIR must name the folder of this file"
#endif

namespace driverupgrade::e2e {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kStartLimit{60};
constexpr int kStartAttempts = 3;
constexpr int kLogLines = 5;

const fs::path kSourceDir = DRIVERUPGRADE_CONTROLPLANE_SOURCE_DIR;

// Token, name, UID and groups of each user, in the format of --token-auth-file. The operators have the names of the
// ServiceAccounts in deploy/rbac.
constexpr std::string_view kTokens =
    "admin-token,admin,admin,\"system:masters\"\n"
    "operator-token,system:serviceaccount:gpu-operator:driver-upgrade,operator,"
    "\"system:serviceaccounts,system:serviceaccounts:gpu-operator\"\n"
    "ofed-token,system:serviceaccount:nvidia-network-operator:ofed-driver-upgrade,ofed,"
    "\"system:serviceaccounts,system:serviceaccounts:nvidia-network-operator\"\n";

constexpr std::string_view kKubeconfig = R"(apiVersion: v1
kind: Config
current-context: e2e
clusters: [{name: e2e, cluster: {server: "$URL", certificate-authority: "$CA"}}]
users: [{name: $USER, user: {token: $USER-token}}]
contexts: [{name: e2e, context: {cluster: e2e, user: $USER}}]
)";

fs::path FindProgram() {
  const char* name = std::getenv("DRIVERUPGRADE_CONTROLPLANE_BINARY");
  if (name == nullptr || *name == '\0') {
    throw std::runtime_error(
        "DRIVERUPGRADE_CONTROLPLANE_BINARY is not set: these tests need a control plane. Run scripts/e2e.sh, "
        "or set it "
        "to what tests/controlplane/build.sh prints");
  }
  if (!fs::exists(name)) {
    throw std::runtime_error(std::string("DRIVERUPGRADE_CONTROLPLANE_BINARY does not name a file: ") + name);
  }
  return fs::absolute(name);
}

// Pods of a real node reach the API server at the address and port of the Service `kubernetes`. This address exists in
// the network namespace of this process (node/namespaces.sh). The pods have their own tokens.
constexpr char kServiceAddress[] = "10.0.0.1";
constexpr int kServicePort = 443;
bool IsForPods() { return std::getenv("DRIVERUPGRADE_REAL_NODE") != nullptr; }

std::string Flag(std::string_view name, const std::string& value) { return "--" + std::string(name) + "=" + value; }

}  // namespace

fs::path RbacFolder() { return kSourceDir.parent_path().parent_path() / "deploy/rbac"; }

ControlPlane& ControlPlane::Shared() {
  static ControlPlane control_plane;
  return control_plane;
}

ControlPlane::ControlPlane() : program_(FindProgram()) {
  WriteFiles();
  admin_ = std::make_unique<Kubectl>(program_, folder() / "admin.kubeconfig", folder() / "kubectl-admin");
  operator_ = std::make_unique<Kubectl>(program_, operator_kubeconfig(), folder() / "kubectl-operator");
  for (int attempt = 1; !TryToStart(); ++attempt) {
    // Another process can take a free port before the control plane uses it.
    if (attempt == kStartAttempts) throw std::runtime_error("the control plane does not start\n" + Troubles());
  }
  // The other files contain namespaced objects, which each World creates in its own namespaces.
  for (const char* file :
       {"base/cluster.yaml", "base/default-namespace.yaml", "admission/nodes.yaml",
        "cluster-policy/cluster-policies.yaml", "ofed/cluster.yaml", "ofed/default-namespace.yaml"}) {
    admin_->Must({"create", "-f", (RbacFolder() / file).string()});
  }
}

void ControlPlane::WriteFiles() {
  WriteFile(folder() / "tokens.csv", kTokens);
  WriteServiceAccountKey();
}

void ControlPlane::WriteServiceAccountKey() {
  ProcessOptions options;
  options.out = folder() / "service-account-key.log";
  Process key({program_.string(), "service-account-key", folder().string()}, options);
  if (key.Wait(kStartLimit) != 0) {
    throw std::runtime_error(program_.string() + " does not run: " + LastLines(options.out, kLogLines));
  }
}

void ControlPlane::WriteKubeconfig(const std::string& user, const fs::path& file) const {
  WriteFile(file,
            Substitute(std::string(kKubeconfig), {{"$URL", url()}, {"$CA", ca_file().string()}, {"$USER", user}}));
}

bool ControlPlane::TryToStart() {
  parts_.clear();
  fs::remove_all(folder() / "etcd");
  const std::vector<int> ports = FindFreePorts(6);
  ports_ = {ports[0], ports[1], ports[2], ports[3], ports[4], ports[5]};
  if (IsForPods()) ports_.api_server = kServicePort;
  WriteKubeconfig("admin", folder() / "admin.kubeconfig");
  WriteKubeconfig("operator", operator_kubeconfig());
  WriteKubeconfig("ofed", ofed_kubeconfig());

  const Stopwatch stopwatch;
  StartEtcd();
  StartApiServer();
  // kubectl takes a long time to report a closed port, so first check with the kernel whether a process listens.
  const auto is_listening = [this](int port) { return !AllRunning() || IsListening(port); };
  Eventually(kStartLimit, [&] { return is_listening(ports_.api_server); });
  Eventually(kStartLimit, [this] { return !AllRunning() || IsApiServerReady(); });
  StartClients();
  for (const int port : {ports_.controller_manager, ports_.scheduler, ports_.kwok}) {
    Eventually(kStartLimit, [&] { return is_listening(port); });
  }
  seconds_to_start_ = stopwatch.seconds();
  return AllRunning() && IsApiServerReady();
}

void ControlPlane::StartPart(const std::string& name, const std::vector<std::string>& flags) {
  ProcessOptions options;
  options.out = folder() / (name + ".log");
  options.folder = folder();
  options.environment = {{"HOME", folder().string()}};
  std::vector<std::string> command = {program_.string(), name};
  command.insert(command.end(), flags.begin(), flags.end());
  parts_.push_back({name, std::make_unique<Process>(command, options)});
}

void ControlPlane::StartEtcd() {
  const std::string client = "http://127.0.0.1:" + std::to_string(ports_.etcd);
  const std::string peer = "http://127.0.0.1:" + std::to_string(ports_.etcd_peer);
  StartPart("etcd", {
                        "--data-dir=etcd",
                        "--unsafe-no-fsync",  // the data lives only as long as the test
                        "--log-level=warn",
                        Flag("listen-client-urls", client),
                        Flag("advertise-client-urls", client),
                        Flag("listen-peer-urls", peer),
                        Flag("initial-advertise-peer-urls", peer),
                        Flag("initial-cluster", "default=" + peer),
                    });
}

void ControlPlane::StartApiServer() {
  std::vector<std::string> flags = {
      Flag("etcd-servers", "http://127.0.0.1:" + std::to_string(ports_.etcd)),
      Flag("secure-port", std::to_string(ports_.api_server)),
      "--cert-dir=apiserver-certs",  // directory for the self-signed certificate that the API server creates
      "--token-auth-file=tokens.csv",
      "--authorization-mode=RBAC",
      "--service-account-issuer=https://kubernetes.default.svc",
      "--service-account-key-file=sa.pub",
      "--service-account-signing-key-file=sa.key",
      "--service-cluster-ip-range=10.0.0.0/24",
      "--profiling=false",
      "--allow-privileged=true",
      Flag("audit-policy-file", (kSourceDir / "audit-policy.yaml").string()),
      Flag("audit-log-path", audit_log().string()),
      "--audit-log-maxsize=100000",  // MB; by default the log is rotated after 100 MB, and readers lose their position
  };
  if (IsForPods()) {
    flags.insert(flags.end(), {"--bind-address=0.0.0.0", Flag("advertise-address", kServiceAddress)});
  } else {
    // Admits pods even before the controller has created the default service account of their namespace.
    flags.insert(flags.end(), {"--bind-address=127.0.0.1", "--disable-admission-plugins=ServiceAccount"});
  }
  StartPart("kube-apiserver", flags);
}

void ControlPlane::StartClients() {
  const std::string kubeconfig = Flag("kubeconfig", (folder() / "admin.kubeconfig").string());
  StartPart(
      "kube-controller-manager",
      {
          kubeconfig,
          "--bind-address=127.0.0.1",
          Flag("secure-port", std::to_string(ports_.controller_manager)),
          "--cert-dir=controller-manager-certs",
          "--leader-elect=false",
          "--service-account-private-key-file=sa.key",
          Flag("root-ca-file", ca_file().string()),
          // The default limits are too low for the number of requests during a rollout.
          "--kube-api-qps=500",
          "--kube-api-burst=1000",
          "--concurrent-daemonset-syncs=10",
          // While the API server is unavailable, the nodes' Leases are not renewed. If the controller manager considers
          // a node lost, it marks the node's pods as not ready. kwok, unlike a kubelet, does not report them as ready
          // again.
          "--node-monitor-grace-period=5m",
          "--controllers=daemonset,deployment,replicaset,statefulset,job,disruption,podgc,garbagecollector,"
          "namespace,nodelifecycle,serviceaccount,taint-eviction-controller,root-ca-certificate-publisher-controller,"
          "resourceclaim-controller,device-taint-eviction-controller",
      });
  StartPart("kube-scheduler", {
                                  kubeconfig,
                                  "--bind-address=127.0.0.1",
                                  Flag("secure-port", std::to_string(ports_.scheduler)),
                                  "--cert-dir=scheduler-certs",
                                  "--leader-elect=false",
                                  "--kube-api-qps=500",
                                  "--kube-api-burst=1000",
                              });
  StartPart("kwok", {
                        kubeconfig,
                        Flag("config", (kSourceDir / "kubernetes/stages.yaml").string()),
                        // --manage-all-nodes, because a selector would exclude nodes without labels.
                        IsForPods() ? Flag("manage-nodes-with-label-selector", "!" + std::string(kRealNodeLabel))
                                    : "--manage-all-nodes=true",
                        "--node-lease-duration-seconds=40",  // otherwise the nodes become NotReady after 40 s
                        "--node-ip=127.0.0.1",
                        // Without an address, kwok listens on all interfaces.
                        Flag("server-address", "127.0.0.1:" + std::to_string(ports_.kwok)),
                    });
}

void ControlPlane::Kill(const std::string& name) {
  std::erase_if(parts_, [&](const Part& part) { return part.name == name; });
}

void ControlPlane::AwaitApiServer() {
  Eventually(kStartLimit, [this] { return !AllRunning() || IsListening(ports_.api_server); });
  if (!Eventually(kStartLimit, [this] { return !AllRunning() || IsApiServerReady(); }) || !AllRunning()) {
    throw std::runtime_error("the control plane does not start again\n" + Troubles());
  }
}

void ControlPlane::KillApiServer() { Kill("kube-apiserver"); }

void ControlPlane::StartApiServerAgain() {
  StartApiServer();
  AwaitApiServer();
}

void ControlPlane::ReplaceServiceAccountKey() {
  KillApiServer();
  WriteServiceAccountKey();
  StartApiServerAgain();
}

void ControlPlane::SaveData() {
  parts_.clear();
  fs::remove_all(folder() / "etcd.saved");
  fs::copy(folder() / "etcd", folder() / "etcd.saved", fs::copy_options::recursive);
  StartEtcd();
  StartApiServerAgain();
  // Restarts the clients, because clients that have lost their server reconnect late and at different times.
  StartClients();
}

void ControlPlane::RestoreData() {
  parts_.clear();
  fs::remove_all(folder() / "etcd");
  fs::copy(folder() / "etcd.saved", folder() / "etcd", fs::copy_options::recursive);
  StartEtcd();
  StartApiServerAgain();
  StartClients();
}

int ControlPlane::MinorVersion() const {
  const rapidjson::Document version = ParseJson(admin_->Must({"get", "--raw", "/version"}), "the API server's version");
  return std::stoi(std::string(Text(version, {"minor"})));
}

bool ControlPlane::Serves(const std::string& resource) const {
  return admin_->Run({"get", resource, "--all-namespaces"}).exit_code == 0;
}

void ControlPlane::InstallNodeMaintenances() {
  if (has_node_maintenances_) return;
  admin_->Must({"create", "--validate=false", "-f", (kSourceDir / "nodemaintenance-crd.yaml").string()});
  const auto is_served = [this] { return Serves(kNodeMaintenances); };
  if (!Eventually(kStartLimit, is_served)) throw std::runtime_error("NodeMaintenances are not served\n" + Troubles());
  has_node_maintenances_ = true;
}

void ControlPlane::InstallPolicies() {
  const fs::path crds = RbacFolder().parent_path() / "crds";
  for (const char* kind : {"clusterpolicies", "nvidiadrivers", "nicclusterpolicies", "nicnodepolicies"}) {
    const auto is_served = [&] { return Serves(kind); };
    if (is_served()) continue;
    admin_->Must({"create", "--validate=false", "-f", (crds / (std::string(kind) + ".yaml")).string()});
    if (!Eventually(kStartLimit, is_served))
      throw std::runtime_error(std::string(kind) + " are not served\n" + Troubles());
  }
}

bool ControlPlane::IsApiServerReady() const { return admin_->Run({"get", "--raw", "/readyz"}).out == "ok"; }

bool ControlPlane::AllRunning() {
  for (const Part& part : parts_) {
    if (!part.process->IsRunning()) return false;
  }
  return true;
}

std::string ControlPlane::Troubles() {
  std::string text;
  for (const Part& part : parts_) {
    if (part.process->IsRunning()) continue;
    text += part.name + " exited; its last lines:\n" + LastLines(folder() / (part.name + ".log"), kLogLines);
  }
  return text;
}

std::string ControlPlane::UrlOf(int port) {
  return "https://" + std::string(IsForPods() ? kServiceAddress : "127.0.0.1") + ":" + std::to_string(port);
}

std::string ControlPlane::UnusedUrl() { return UrlOf(FindFreePorts(1).front()); }

}  // namespace driverupgrade::e2e
