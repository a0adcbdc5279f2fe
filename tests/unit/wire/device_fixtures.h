// Objects of Dynamic Resource Allocation (DRA), as a Kubernetes 1.37 API server returns them.
#ifndef DRIVERUPGRADE_TESTS_UNIT_WIRE_DEVICE_FIXTURES_H_
#define DRIVERUPGRADE_TESTS_UNIT_WIRE_DEVICE_FIXTURES_H_

namespace driverupgrade::fixtures {

inline constexpr char kDeviceTaintRule[] = R"({
  "kind": "DeviceTaintRule", "apiVersion": "resource.k8s.io/v1",
  "metadata": {"name": "gpu.nvidia.com-5f2c", "uid": "7b0d52c4-3a57-4a11-8a6a-0f3c8c1b2d10", "resourceVersion": "5531",
               "generation": 2, "creationTimestamp": "2026-11-26T09:00:00Z",
               "labels": {"app.kubernetes.io/managed-by": "driverupgrade"},
               "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "gpu-7", "uid": "u-7"}],
               "managedFields": [{"manager": "driverupgrade", "operation": "Update", "apiVersion": "resource.k8s.io/v1",
                                  "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:taint": {"f:effect": {}}}}}]},
  "spec": {"deviceSelector": {"driver": "gpu.nvidia.com", "pool": "gpu-7"},
           "taint": {"key": "nvidia.com/gpu-driver-upgrade", "value": "upgrading", "effect": "NoSchedule",
                     "timeAdded": "2026-11-26T09:00:01Z"}},
  "status": {"conditions": [{"type": "EvictionInProgress", "status": "False", "reason": "OtherEffect",
                             "message": "Evicting pods is not needed for this effect.", "observedGeneration": 2,
                             "lastTransitionTime": "2026-11-26T09:00:01Z"}]}
})";

inline constexpr char kResourceClaim[] = R"({
  "kind": "ResourceClaim", "apiVersion": "resource.k8s.io/v1",
  "metadata": {"name": "train-0-gpu-9hm2c", "generateName": "train-0-gpu-", "namespace": "team-a", "uid": "u-claim",
               "resourceVersion": "6001", "creationTimestamp": "2026-11-26T08:00:00Z",
               "annotations": {"resource.kubernetes.io/pod-claim-name": "gpu"},
               "finalizers": ["resource.kubernetes.io/delete-protection"],
               "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "train-0", "uid": "u-train",
                                    "controller": true, "blockOwnerDeletion": true}]},
  "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com",
                                                                "allocationMode": "ExactCount", "count": 2}}]}},
  "status": {
    "allocation": {
      "devices": {"results": [
        {"request": "gpu", "driver": "gpu.nvidia.com", "pool": "gpu-7", "device": "gpu-1"},
        {"request": "monitor", "driver": "gpu.nvidia.com", "pool": "gpu-7", "device": "gpu-1", "adminAccess": true},
        {"request": "channel", "driver": "compute-domain.nvidia.com", "pool": "gpu-7", "device": "channel-0"}]},
      "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In",
                                                               "values": ["gpu-7"]}]}]},
      "allocationTimestamp": "2026-11-26T08:00:02Z"},
    "reservedFor": [{"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "train", "uid": "u-zz"},
                    {"resource": "pods", "name": "train-0", "uid": "u-train"}]}
})";

inline constexpr char kResourceSlice[] = R"({
  "kind": "ResourceSlice", "apiVersion": "resource.k8s.io/v1",
  "metadata": {"name": "0-gpu.nvidia.com-gpu-7-x2k4z", "generateName": "0-gpu.nvidia.com-gpu-7-", "uid": "u-slice",
               "resourceVersion": "42", "generation": 1,
               "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "gpu-7", "uid": "u-7",
                                    "controller": true}]},
  "spec": {"driver": "gpu.nvidia.com", "nodeName": "gpu-7",
           "pool": {"name": "gpu-7", "generation": 3, "resourceSliceCount": 1},
           "devices": [
             {"name": "gpu-0",
              "attributes": {"addressingMode": {"string": "HMM"}, "cudaComputeCapability": {"version": "9.0.0"},
                             "cudaDriverVersion": {"version": "13.0.0"}, "driverVersion": {"version": "580.126.20"},
                             "resource.kubernetes.io/pciBusID": {"string": "0000:00:00.0"}, "type": {"string": "gpu"}},
              "capacity": {"memory": {"value": "80Gi"}}},
             {"name": "gpu-1", "attributes": {"driverVersion": {"string": "580.126.20-open"}}},
             {"name": "nic-0"}]}
})";

}  // namespace driverupgrade::fixtures

#endif  // DRIVERUPGRADE_TESTS_UNIT_WIRE_DEVICE_FIXTURES_H_
