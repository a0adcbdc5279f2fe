#include "policies.h"

#include "json.h"
#include "support.h"

namespace driverupgrade::e2e {

Policies::Policies(ControlPlane& control_plane, std::string_view manifest) : admin_(control_plane.admin()) {
  control_plane.InstallPolicies();
  admin_.Create(manifest);
}

Policies::~Policies() { admin_.Run({"delete", "clusterpolicies,nvidiadrivers", "--all"}); }

void Policies::Patch(const std::string& kind, const std::string& name, const std::string& patch) const {
  admin_.Must({"patch", kind, name, "--type=merge", "--patch=" + patch});
}

std::string Policies::Condition(const std::string& kind, const std::string& name, const std::string& type) const {
  const rapidjson::Document object = admin_.Get({kind, name});
  for (const rapidjson::Value& condition : Items(object, {"status", "conditions"})) {
    if (Text(condition, {"type"}) != type) continue;
    return Text(condition, {"status"}) + ": " + Text(condition, {"message"});
  }
  return {};
}

OperatorProgram Start(const World& world, std::vector<std::string> options, const std::string& program) {
  options.insert(options.end(), {"--cluster-policy", "--namespace", world.driver_ns(), "--driver-labels", "app=driver",
                                 "--validation-selector", "", "--metrics-address", "127.0.0.1:0"});
  return {world.control_plane(), program, world.control_plane().operator_kubeconfig(), options};
}

int CountInState(const World& world, const std::string& state) {
  int count = 0;
  for (const auto& [_, node] : world.Nodes()) count += node.state == state;
  return count;
}

bool AwaitDone(const World& world, int count) {
  return Eventually(kRolloutLimit, [&] { return CountInState(world, "upgrade-done") == count; });
}

}  // namespace driverupgrade::e2e
