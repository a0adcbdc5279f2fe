// Sets up scenes for the cases, and reads the objects of a scene.

#include <utility>

#include "base/status_macros.h"
#include "testing/facade_contract_cases.h"

namespace driverupgrade::testing::internal {

namespace {

constexpr int kAttempts = 5;

template <class T>
using Reading = std::function<absl::StatusOr<T>()>;

template <class T>
bool AreSame(const absl::StatusOr<T>& a, const absl::StatusOr<T>& b) {
  return a.ok() && b.ok() ? *a == *b : a.status().code() == b.status().code();
}

// Reads an object with `get` and with `list`; one of the two may be null. Because other clients of a real cluster also
// write to the object, a list is compared with a get only if a second get shows that the object has not changed in the
// meantime.
template <class T>
absl::StatusOr<T> ReadEveryWay(const Reading<T>& get, const Reading<T>& list) {
  if (!get) return list();
  if (!list) return get();
  for (int i = 0; i < kAttempts; ++i) {
    const absl::StatusOr<T> before = get();
    absl::StatusOr<T> listed = list();
    const absl::StatusOr<T> after = get();
    if (!AreSame(before, after)) continue;
    if (AreSame(listed, after)) return listed;
    return absl::UnknownError(fmt::format("a list and a get return different objects: {}; {}",
                                          listed.status().ToString(), after.status().ToString()));
  }
  return absl::UnknownError("every get returns a different object");
}

// Returns the only object in `objects` for which `is` returns true; NotFound if there is no such object.
template <class T, class Is>
absl::StatusOr<T> TheOnly(const std::vector<T>& objects, const std::string& name, const Is& is) {
  const T* found = nullptr;
  for (const T& object : objects) {
    if (!is(object)) continue;
    if (found != nullptr) return absl::UnknownError(fmt::format("{} is listed twice", name));
    found = &object;
  }
  if (found == nullptr) return absl::NotFoundError(fmt::format("{} is not listed", name));
  return *found;
}

}  // namespace

absl::StatusOr<ContractScene> MakeScene(ContractWorld& world) {
  ContractScene scene;
  DRIVERUPGRADE_ASSIGN_OR_RETURN(scene.ns, world.MakeNamespace());
  DRIVERUPGRADE_ASSIGN_OR_RETURN(scene.node, world.MakeNode({.name = world.prefix() + "a"}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(scene.pod, world.MakePod({.ref = {.ns = scene.ns, .name = "web"},
                                                           .node_name = scene.node.name,
                                                           .labels = {{"app", "web"}}}));
  return scene;
}

absl::StatusOr<Node> ListedNode(ContractWorld& world, const std::string& name) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<Node> nodes, world.facade().ListNodes(world.context(), {}));
  return TheOnly(nodes, name, [&](const Node& node) { return node.name == name; });
}

absl::StatusOr<Pod> ListedPod(ContractWorld& world, const PodRef& ref) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<Pod> pods, world.facade().ListPods(world.context(), {.ns = ref.ns}));
  return TheOnly(pods, ref.ToString(), [&](const Pod& pod) { return pod.ref.ToString() == ref.ToString(); });
}

absl::StatusOr<Node> ReadNode(ContractWorld& world, const std::string& name) {
  ClusterFacade& facade = world.facade();
  Reading<Node> get;
  Reading<Node> list;
  if (facade.Supports(Operation::kGetNode)) get = [&] { return facade.GetNode(world.context(), {.name = name}); };
  if (facade.Supports(Operation::kListNodes)) list = [&] { return ListedNode(world, name); };
  return ReadEveryWay(get, list);
}

absl::StatusOr<Pod> ReadPod(ContractWorld& world, const PodRef& ref) {
  ClusterFacade& facade = world.facade();
  Reading<Pod> get;
  Reading<Pod> list;
  if (facade.Supports(Operation::kGetPod)) get = [&] { return facade.GetPod(world.context(), {ref.ns, ref.name}); };
  if (facade.Supports(Operation::kListPods)) list = [&] { return ListedPod(world, ref); };
  return ReadEveryWay(get, list);
}

absl::StatusOr<Node> PatchNow(ContractWorld& world, PatchNodeParams patch) {
  absl::StatusOr<Node> patched = absl::AbortedError("not tried");
  for (int i = 0; i < kAttempts && absl::IsAborted(patched.status()); ++i) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const Node node, ReadNode(world, patch.name));
    patch.uid = node.uid;
    patch.resource_version = node.resource_version;
    patched = world.facade().PatchNode(world.context(), patch);
  }
  return patched;
}

}  // namespace driverupgrade::testing::internal
