package upgrade

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// DeviceUse recognizes pods that use a driver's devices. Pass its Filter to WithPodDeletionEnabled.
type DeviceUse struct {
	// IsDevice reports whether a resource that containers request is such a device, for example nvidia.com/gpu. If nil,
	// only claims count.
	IsDevice func(corev1.ResourceName) bool
	// Driver is the driver of such devices in ResourceClaims, for example gpu.nvidia.com. If empty, claims are ignored.
	Driver string
	// Claim reads a ResourceClaim. It is required if Driver is set.
	Claim func(namespace, name string) (*resourcev1.ResourceClaim, error)
}

// Filter reports whether a pod that has not ended uses a device. It checks all containers, including init containers
// and sidecars, and all ResourceClaims of the pod, including claims generated from a template and the claim behind an
// extended resource. A claim that cannot be read counts as use.
func (u DeviceUse) Filter(pod corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return false
	}
	return u.requests(pod.Spec) || slices.ContainsFunc(claimsOf(pod), func(name string) bool {
		return u.Driver != "" && u.holds(pod.Namespace, name)
	})
}

func (u DeviceUse) requests(spec corev1.PodSpec) bool {
	resources := make([]corev1.ResourceRequirements, 0, len(spec.InitContainers)+len(spec.Containers))
	for _, c := range spec.InitContainers {
		resources = append(resources, c.Resources)
	}
	for _, c := range spec.Containers {
		resources = append(resources, c.Resources)
	}
	for _, c := range spec.EphemeralContainers {
		resources = append(resources, c.Resources)
	}
	return slices.ContainsFunc(resources, func(r corev1.ResourceRequirements) bool {
		return u.names(r.Limits) || u.names(r.Requests)
	})
}

func (u DeviceUse) names(list corev1.ResourceList) bool {
	for name := range list {
		if u.IsDevice != nil && u.IsDevice(name) {
			return true
		}
	}
	return false
}

func claimsOf(pod corev1.Pod) []string {
	var names []string
	for _, claim := range pod.Spec.ResourceClaims {
		if claim.ResourceClaimName != nil {
			names = append(names, *claim.ResourceClaimName)
		}
	}
	for _, claim := range pod.Status.ResourceClaimStatuses {
		if claim.ResourceClaimName != nil {
			names = append(names, *claim.ResourceClaimName)
		}
	}
	if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
		names = append(names, extended.ResourceClaimName)
	}
	return names
}

// holds reports whether the claim has devices of the driver, or cannot be read. Like NVIDIA's GPU operator, it ignores
// devices with admin access.
func (u DeviceUse) holds(namespace, name string) bool {
	claim, err := u.Claim(namespace, name)
	if err != nil {
		return true
	}
	if claim.Status.Allocation == nil {
		return false
	}
	return slices.ContainsFunc(claim.Status.Allocation.Devices.Results, func(device resourcev1.DeviceRequestAllocationResult) bool {
		return device.Driver == u.Driver && (device.AdminAccess == nil || !*device.AdminAccess)
	})
}
