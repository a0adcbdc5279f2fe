package upgrade

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// PodDeletionCheck is a PodDeletionFilter that can fail, for example because it reads other objects.
type PodDeletionCheck func(corev1.Pod) (bool, error)

func (f PodDeletionFilter) check(pod corev1.Pod) (bool, error) { return f(pod), nil }

// WithPodDeletionCheck is WithPodDeletionEnabled with a filter that can fail. If it fails for a pod, the pod's node waits.
// The Manager then calls the check again after five seconds, and later at growing intervals of at most a minute.
func (m *Manager) WithPodDeletionCheck(check PodDeletionCheck) ClusterUpgradeStateManager {
	if check == nil {
		return m.WithPodDeletionEnabled(nil)
	}
	return m.change(func() {
		m.podDeletion = func(pod corev1.Pod) bool {
			uses, err := check(pod)
			return uses || err != nil
		}
		m.options.UsesDriver = check
	})
}

// DeviceUse recognizes pods that use a driver's devices. Pass its Check to WithPodDeletionCheck or, if Driver is empty,
// its Filter to WithPodDeletionEnabled.
type DeviceUse struct {
	// IsDevice reports whether a resource that containers request is such a device, for example nvidia.com/gpu. If nil,
	// only claims count.
	IsDevice func(corev1.ResourceName) bool
	// Driver is the driver of such devices in ResourceClaims, for example gpu.nvidia.com. If empty, claims are ignored.
	Driver string
	// Claim reads a ResourceClaim. It is required if Driver is set.
	Claim func(namespace, name string) (*resourcev1.ResourceClaim, error)
}

// Filter is Check, except that a claim that cannot be read counts as use. The result is not corrected when the claim can
// be read again, so the pod may be evicted although it does not use a device.
func (u DeviceUse) Filter(pod corev1.Pod) bool {
	uses, err := u.Check(pod)
	return uses || err != nil
}

// Check reports whether a pod that has not ended uses a device. It checks all containers, including init containers and
// sidecars, and all ResourceClaims of the pod, including claims generated from a template and the claim behind an extended
// resource. It returns an error if a claim cannot be read, and nothing else shows that the pod uses a device.
func (u DeviceUse) Check(pod corev1.Pod) (bool, error) {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return false, nil
	}
	if u.requests(pod.Spec) {
		return true, nil
	}
	if u.Driver == "" {
		return false, nil
	}
	var failures []error
	for _, name := range claimsOf(pod) {
		holds, err := u.holds(pod.Namespace, name)
		if holds {
			return true, nil
		}
		failures = append(failures, err)
	}
	return false, errors.Join(failures...)
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

// holds reports whether the claim has devices of the driver. Like NVIDIA's GPU operator, it ignores devices with admin
// access.
func (u DeviceUse) holds(namespace, name string) (bool, error) {
	claim, err := u.Claim(namespace, name)
	if err != nil {
		return false, fmt.Errorf("read ResourceClaim %s/%s: %w", namespace, name, err)
	}
	if claim.Status.Allocation == nil {
		return false, nil
	}
	return slices.ContainsFunc(claim.Status.Allocation.Devices.Results, func(device resourcev1.DeviceRequestAllocationResult) bool {
		return device.Driver == u.Driver && (device.AdminAccess == nil || !*device.AdminAccess)
	}), nil
}
