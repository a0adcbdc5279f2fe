#include "wire/wanted_members.h"

#include <cstddef>

namespace driverupgrade::internal {
namespace {

template <std::size_t kCount>
constexpr WantedMember Of(std::string_view key, const WantedMember (&members)[kCount]) {
  return {key, members, kCount};
}

// Stands for every member that no other entry names.
constexpr std::string_view kAnyOther;

constexpr WantedMember kCondition[] = {{"type"}, {"status"}, {"lastTransitionTime"}};
constexpr WantedMember kWaiting[] = {{"reason"}};
constexpr WantedMember kTerminated[] = {{"exitCode"}};
constexpr WantedMember kContainerState[] = {Of("waiting", kWaiting), Of("terminated", kTerminated)};
constexpr WantedMember kContainerStatus[] = {{"name"},    {"ready"}, {"restartCount"},
                                             {"started"}, {"image"}, Of("state", kContainerState)};

constexpr WantedMember kMetadata[] = {{"namespace"},
                                      {"name"},
                                      {"uid"},
                                      {"resourceVersion"},
                                      {"labels"},
                                      {"annotations"},
                                      {"ownerReferences"},
                                      {"creationTimestamp"},
                                      {"deletionTimestamp"},
                                      {"deletionGracePeriodSeconds"},
                                      {"finalizers"}};

// The list of each kind also contains members of a Status, such as `kind` and `code`, because a watch may send a Status
// instead of an object.
constexpr WantedMember kTaint[] = {{"key"}, {"value"}, {"effect"}, {"timeAdded"}};
constexpr WantedMember kNodeSpec[] = {{"unschedulable"}, Of("taints", kTaint)};
constexpr WantedMember kNodeStatus[] = {{"allocatable"}, Of("conditions", kCondition)};
constexpr WantedMember kNode[] = {{"kind"},
                                  {"apiVersion"},
                                  Of("metadata", kMetadata),
                                  Of("spec", kNodeSpec),
                                  {"code"},
                                  Of("status", kNodeStatus),
                                  {"reason"},
                                  {"message"},
                                  {"details"}};

constexpr WantedMember kMatchField[] = {{"key"}, {"operator"}, {"values"}};
constexpr WantedMember kNodeTerm[] = {Of("matchFields", kMatchField)};
constexpr WantedMember kNodeTerms[] = {Of("nodeSelectorTerms", kNodeTerm)};
constexpr WantedMember kNodeAffinity[] = {Of("requiredDuringSchedulingIgnoredDuringExecution", kNodeTerms)};
constexpr WantedMember kAffinity[] = {Of("nodeAffinity", kNodeAffinity)};
constexpr WantedMember kVolumeSource[] = {{"path"}};
constexpr WantedMember kVolume[] = {{"name"}, Of(kAnyOther, kVolumeSource)};
constexpr WantedMember kContainer[] = {{"resources"}};
constexpr WantedMember kToleration[] = {{"key"}, {"operator"}, {"value"}, {"effect"}};
constexpr WantedMember kSchedulingGroup[] = {{"podGroupName"}};
constexpr WantedMember kPodSpec[] = {{"nodeName"},
                                     {"schedulerName"},
                                     {"subdomain"},
                                     Of("schedulingGroup", kSchedulingGroup),
                                     Of("affinity", kAffinity),
                                     Of("volumes", kVolume),
                                     Of("initContainers", kContainer),
                                     Of("containers", kContainer),
                                     Of("ephemeralContainers", kContainer),
                                     Of("tolerations", kToleration),
                                     {"resourceClaims"}};
constexpr WantedMember kExtendedClaim[] = {{"resourceClaimName"}};
constexpr WantedMember kPodCondition[] = {{"type"}, {"status"}, {"message"}, {"lastTransitionTime"}};
constexpr WantedMember kPodStatus[] = {{"phase"},
                                       Of("conditions", kPodCondition),
                                       {"resourceClaimStatuses"},
                                       Of("extendedResourceClaimStatus", kExtendedClaim),
                                       Of("initContainerStatuses", kContainerStatus),
                                       Of("containerStatuses", kContainerStatus),
                                       Of("ephemeralContainerStatuses", kContainerStatus)};
constexpr WantedMember kPod[] = {{"kind"},
                                 {"apiVersion"},
                                 Of("metadata", kMetadata),
                                 Of("spec", kPodSpec),
                                 {"code"},
                                 Of("status", kPodStatus),
                                 {"reason"},
                                 {"message"},
                                 {"details"}};

constexpr WantedMember kAllocatedDevice[] = {{"driver"}, {"pool"}, {"adminAccess"}};
constexpr WantedMember kAllocatedDevices[] = {Of("results", kAllocatedDevice)};
constexpr WantedMember kAllocation[] = {Of("devices", kAllocatedDevices), {"allocationTimestamp"}};
constexpr WantedMember kClaimStatus[] = {Of("allocation", kAllocation), {"reservedFor"}};
constexpr WantedMember kClaim[] = {
    {"kind"},    {"apiVersion"}, Of("metadata", kMetadata), {"code"}, Of("status", kClaimStatus), {"reason"},
    {"message"}, {"details"}};

constexpr WantedMember kDeviceAttributes[] = {{"driverVersion"}};
constexpr WantedMember kDevice[] = {{"name"}, Of("attributes", kDeviceAttributes)};
constexpr WantedMember kSliceSpec[] = {{"nodeName"}, {"driver"}, {"pool"}, Of("devices", kDevice)};
constexpr WantedMember kSlice[] = {
    {"kind"},    {"apiVersion"}, Of("metadata", kMetadata), Of("spec", kSliceSpec), {"code"}, {"status"}, {"reason"},
    {"message"}, {"details"}};

constexpr WantedMember kListMetadata[] = {{"continue"}, {"resourceVersion"}};
constexpr WantedMember kNodeList[] = {{"kind"}, Of("metadata", kListMetadata), Of("items", kNode)};
constexpr WantedMember kPodList[] = {{"kind"}, Of("metadata", kListMetadata), Of("items", kPod)};
constexpr WantedMember kClaimList[] = {{"kind"}, Of("metadata", kListMetadata), Of("items", kClaim)};
constexpr WantedMember kSliceList[] = {{"kind"}, Of("metadata", kListMetadata), Of("items", kSlice)};
constexpr WantedMember kNodeEvent[] = {{"type"}, Of("object", kNode)};
constexpr WantedMember kPodEvent[] = {{"type"}, Of("object", kPod)};
constexpr WantedMember kClaimEvent[] = {{"type"}, Of("object", kClaim)};
constexpr WantedMember kSliceEvent[] = {{"type"}, Of("object", kSlice)};

}  // namespace

WantedMembers Wanted<Node>::Object() { return kNode; }
WantedMembers Wanted<Node>::List() { return kNodeList; }
WantedMembers Wanted<Node>::WatchEvent() { return kNodeEvent; }
WantedMembers Wanted<Pod>::Object() { return kPod; }
WantedMembers Wanted<Pod>::List() { return kPodList; }
WantedMembers Wanted<Pod>::WatchEvent() { return kPodEvent; }
WantedMembers Wanted<ResourceClaim>::Object() { return kClaim; }
WantedMembers Wanted<ResourceClaim>::List() { return kClaimList; }
WantedMembers Wanted<ResourceClaim>::WatchEvent() { return kClaimEvent; }
WantedMembers Wanted<ResourceSlice>::Object() { return kSlice; }
WantedMembers Wanted<ResourceSlice>::List() { return kSliceList; }
WantedMembers Wanted<ResourceSlice>::WatchEvent() { return kSliceEvent; }

}  // namespace driverupgrade::internal
