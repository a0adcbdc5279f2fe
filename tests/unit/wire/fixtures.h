// Documents in the format that a real API server returns, reduced to one example of each relevant member and some
// members that must be ignored.
#ifndef DRIVERUPGRADE_TESTS_UNIT_WIRE_FIXTURES_H_
#define DRIVERUPGRADE_TESTS_UNIT_WIRE_FIXTURES_H_

namespace driverupgrade::fixtures {

inline constexpr char kNode[] = R"({
  "kind": "Node", "apiVersion": "v1",
  "metadata": {
    "name": "gpu-7", "uid": "0a6b9c1e-6f0a-4f0c-9d4c-3b1c1f1f7e07", "resourceVersion": "184467",
    "creationTimestamp": "2026-01-02T03:04:05Z",
    "labels": {"kubernetes.io/hostname": "gpu-7", "nvidia.com/gpu-driver-upgrade-state": "drain-required"},
    "annotations": {"nvidia.com/gpu-driver-upgrade-enabled": "true", "note": "Größe \"XL\"\n\u00b5"},
    "managedFields": [{"manager": "kubelet", "operation": "Update",
                       "fieldsV1": {"f:metadata": {"f:labels": {".": {}}}}}]
  },
  "spec": {"podCIDR": "10.244.7.0/24", "unschedulable": true,
           "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]},
  "status": {
    "capacity": {"cpu": "96", "nvidia.com/gpu": "8"},
    "conditions": [
      {"type": "MemoryPressure", "status": "False", "reason": "KubeletHasSufficientMemory"},
      {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "lastHeartbeatTime": null}
    ],
    "images": [{"names": ["registry.example/driver@sha256:0123"], "sizeBytes": 1234567890123}]
  }
})";

inline constexpr char kPod[] = R"({
  "kind": "Pod", "apiVersion": "v1",
  "metadata": {
    "name": "driver-x7k2p", "generateName": "driver-", "namespace": "gpu-operator",
    "uid": "11111111-2222-3333-4444-555555555555", "resourceVersion": "90071992547409931",
    "creationTimestamp": "2026-01-02T03:04:05Z", "deletionTimestamp": "2026-01-02T03:14:05Z",
    "deletionGracePeriodSeconds": 60,
    "labels": {"app": "driver", "controller-revision-hash": "5d7c8f9b6c", "pod-template-generation": "3"},
    "annotations": {"kubernetes.io/config.mirror": ""},
    "finalizers": ["example.com/unload"],
    "ownerReferences": [
      {"apiVersion": "v1", "kind": "ConfigMap", "name": "plain", "uid": "u-plain"},
      {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "driver", "uid": "u-ds", "controller": true,
       "blockOwnerDeletion": true}
    ]
  },
  "spec": {
    "nodeName": "gpu-7",
    "schedulerName": "default-scheduler",
    "volumes": [{"name": "host", "hostPath": {"path": "/run", "type": ""}}, {"name": "tmp", "emptyDir": {}},
                {"name": "disk", "csi": {"driver": "disk.example.com"}, "nfs": null}],
    "initContainers": [{"name": "wait", "resources": {"limits": {"example.com/init-only": "1"}}}],
    "containers": [
      {"name": "driver", "image": "driver:2",
       "resources": {"requests": {"cpu": "100m", "nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}},
      {"name": "sidecar", "resources": {"limits": {"memory": "1Gi"}}},
      {"name": "bare", "resources": {}}
    ],
    "ephemeralContainers": [{"name": "debug", "resources": {"limits": {"example.com/debug": "1"}}}],
    "tolerations": [{"operator": "Exists"}],
    "resourceClaims": [{"name": "a", "resourceClaimName": "shared"}, {"name": "b", "resourceClaimTemplateName": "one"}]
  },
  "status": {
    "phase": "Running",
    "conditions": [{"type": "Initialized", "status": "True", "lastTransitionTime": "2026-01-02T03:04:30Z"},
                   {"type": "Ready", "status": "True", "lastProbeTime": null,
                    "lastTransitionTime": "2026-01-02T03:05:00Z"}],
    "initContainerStatuses": [{"name": "wait", "ready": true, "restartCount": 0,
                               "state": {"terminated": {"exitCode": 0}}}],
    "containerStatuses": [
      {"name": "driver", "ready": false, "restartCount": 11,
       "state": {"waiting": {"reason": "CrashLoopBackOff"}}},
      {"name": "sidecar", "ready": true, "restartCount": 0}
    ],
    "resourceClaimStatuses": [{"name": "a", "resourceClaimName": "shared"},
                              {"name": "b", "resourceClaimName": "driver-x7k2p-b-9hm2c"}],
    "extendedResourceClaimStatus": {"resourceClaimName": "driver-x7k2p-extended-resources-4zk8f",
                                    "requestMappings": [{"containerName": "driver", "resourceName": "example.com/fast"}]}
  }
})";

inline constexpr char kDaemonSetList[] = R"({
  "kind": "DaemonSetList", "apiVersion": "apps/v1", "metadata": {"resourceVersion": "777"},
  "items": [{
    "metadata": {"name": "driver", "namespace": "gpu-operator", "uid": "u-ds", "generation": 4,
                 "labels": {"app": "driver"}, "annotations": {"deprecated.daemonset.template.generation": "4"}},
    "spec": {
      "selector": {"matchLabels": {"app": "driver"},
                   "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["cache", "batch"]},
                                        {"key": "debug", "operator": "DoesNotExist"}]},
      "template": {"spec": {"containers": [{"name": "driver"}]}},
      "updateStrategy": {"type": "OnDelete"}, "revisionHistoryLimit": 10
    },
    "status": {"currentNumberScheduled": 6, "desiredNumberScheduled": 6, "numberReady": 6, "observedGeneration": 3}
  }]
})";

inline constexpr char kControllerRevision[] = R"({
  "kind": "ControllerRevision", "apiVersion": "apps/v1",
  "metadata": {"name": "driver-5d7c8f9b6c", "namespace": "gpu-operator",
               "labels": {"app": "driver", "controller-revision-hash": "5d7c8f9b6c"},
               "ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "u-x", "controller": false},
                                   {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "driver", "uid": "u-ds",
                                    "controller": true, "blockOwnerDeletion": true}]},
  "data": {"spec": {"template": {"$patch": "replace", "metadata": {"labels": {"app": "driver"}}}}},
  "revision": 9007199254740993
})";

inline constexpr char kBudget[] = R"({
  "kind": "PodDisruptionBudget", "apiVersion": "policy/v1",
  "metadata": {"name": "web", "namespace": "shop", "uid": "u-pdb", "generation": 1},
  "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"app": "web"}}},
  "status": {"currentHealthy": 4, "desiredHealthy": 3, "disruptionsAllowed": 1, "expectedPods": 5,
             "conditions": [{"type": "DisruptionAllowed", "status": "True"}], "observedGeneration": 1}
})";

inline constexpr char kNodeMaintenance[] = R"({
  "kind": "NodeMaintenance", "apiVersion": "maintenance.nvidia.com/v1alpha1",
  "metadata": {"name": "nvidia-operator-gpu-7", "namespace": "default", "uid": "u-nm", "resourceVersion": "812",
               "generation": 2, "creationTimestamp": "2026-01-02T03:04:05Z", "deletionTimestamp": "2026-01-02T04:04:05Z",
               "deletionGracePeriodSeconds": 0, "finalizers": ["maintenance.nvidia.com/finalizer"],
               "annotations": {"maintenance.nvidia.com/node-initial-state.unschedulable": "false",
                               "maintenance.nvidia.com/garbage-collector.ignore": "true"},
               "ownerReferences": [{"apiVersion": "example.com/v1", "kind": "Node", "name": "gpu-7", "uid": "u-other"},
                                   {"apiVersion": "v1", "kind": "Node", "name": "gpu-7", "uid": "u-7"}]},
  "spec": {"requestorID": "nvidia.gpu.operator", "additionalRequestors": ["nvidia.network.operator", "nic"],
           "nodeName": "gpu-7", "cordon": false,
           "waitForPodCompletion": {"podSelector": "app=job", "timeoutSeconds": 60},
           "drainSpec": {"force": true, "podSelector": "!skip", "timeoutSeconds": 0, "deleteEmptyDir": true,
                         "podEvictionFilters": [{"byResourceNameRegex": "nvidia.com/gpu.*"},
                                                {"byResourceNameRegex": "nvidia.com/rdma"}]}},
  "status": {
    "conditions": [
      {"type": "Ready", "status": "True", "reason": "Ready", "message": "", "observedGeneration": 2,
       "lastTransitionTime": "2026-01-02T03:14:05Z"},
      {"type": "RequestorFailed", "status": "False", "reason": "FailedMaintenance", "message": "driver \"x\"",
       "lastTransitionTime": "2026-01-02T03:15:05+01:00"}
    ],
    "drain": {"totalPods": 3, "evictionPods": 2, "drainProgress": 100},
    "waitForCompletion": ["shop/job"]
  }
})";

}  // namespace driverupgrade::fixtures

#endif  // DRIVERUPGRADE_TESTS_UNIT_WIRE_FIXTURES_H_
