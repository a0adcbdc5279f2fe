#include "go_library.h"

#include <string>

namespace driverupgrade::e2e {

void GrantGoLibrary(const ControlPlane& control_plane) {
  const std::string name = "go-library";
  const Kubectl& admin = control_plane.admin();
  if (!admin.Run({"get", "clusterrolebinding", name, "--ignore-not-found", "--output=name"}).out.empty()) return;
  admin.Must({"create", "clusterrole", name, "--verb=get,list,create,update,patch,delete",
              "--resource=nodes,pods,pods/eviction,daemonsets.apps,controllerrevisions.apps,events"});
  admin.Must(
      {"create", "clusterrolebinding", name, "--clusterrole=" + name, "--serviceaccount=gpu-operator:driver-upgrade"});
}

}  // namespace driverupgrade::e2e
