package upgrade

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// W12.
func TestAllContainersAndClaimsOfAPodAreUsers(t *testing.T) {
	use := DeviceUse{
		IsDevice: func(name corev1.ResourceName) bool { return strings.HasPrefix(string(name), "nvidia.com/gpu") },
		Driver:   "gpu.nvidia.com",
		Claim: func(_, name string) (*resourcev1.ResourceClaim, error) {
			if name == "lost" {
				return nil, errors.New("no such claim")
			}
			return &resourcev1.ResourceClaim{Status: resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{
				Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Driver: name}}},
			}}}, nil
		},
	}
	gpu := corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}}
	extended := func(claim string) corev1.Pod {
		return corev1.Pod{Status: corev1.PodStatus{
			ExtendedResourceClaimStatus: &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: claim}}}
	}
	claim := "gpu.nvidia.com"
	for name, row := range map[string]struct {
		pod  corev1.Pod
		uses bool
	}{
		"regular":  {corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: gpu}}}}, true},
		"sidecar":  {corev1.Pod{Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Resources: gpu}}}}, true},
		"extended": {extended("gpu.nvidia.com"), true},
		"unread":   {extended("lost"), true},
		"other":    {extended("nic.example.com"), false},
		"template": {corev1.Pod{Status: corev1.PodStatus{
			ResourceClaimStatuses: []corev1.PodResourceClaimStatus{{Name: "a", ResourceClaimName: &claim}}}}, true},
		"ended": {corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Status: corev1.PodStatus{Phase: corev1.PodSucceeded},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: gpu}}}}, false},
	} {
		if uses := use.Filter(row.pod); uses != row.uses {
			t.Errorf("%s: %v", name, uses)
		}
	}
}

func TestOnlyClaimsCountWithoutIsDevice(t *testing.T) {
	claim := "gpu"
	use := DeviceUse{Driver: "gpu.nvidia.com", Claim: func(_, name string) (*resourcev1.ResourceClaim, error) {
		return nil, errors.New("no claim " + name)
	}}
	pod := corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
		Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}}}}}}
	if use.Filter(pod) {
		t.Error("a resource counts as a device")
	}
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: claim, ResourceClaimName: &claim}}
	if !use.Filter(pod) {
		t.Error("a claim does not count")
	}
}

// A claim that cannot be read for a moment must not cause an eviction.
func TestACheckFailsOnlyIfNothingElseShowsTheUse(t *testing.T) {
	away := errors.New("no response")
	use := DeviceUse{
		IsDevice: func(name corev1.ResourceName) bool { return name == "nvidia.com/gpu" },
		Driver:   "gpu.nvidia.com",
		Claim: func(_, name string) (*resourcev1.ResourceClaim, error) {
			if name == "away" {
				return nil, away
			}
			return &resourcev1.ResourceClaim{Status: resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{
				Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Driver: name}}},
			}}}, nil
		},
	}
	gpu := []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}}}}
	for name, row := range map[string]struct {
		containers []corev1.Container
		claims     []string
		phase      corev1.PodPhase
		uses       bool
		err        error
	}{
		"no claim":                 {},
		"an unread claim":          {claims: []string{"away"}, err: away},
		"an unread and a used one": {claims: []string{"away", "gpu.nvidia.com"}, uses: true},
		"an unread and another":    {claims: []string{"nic.example.com", "away"}, err: away},
		"a resource":               {containers: gpu, claims: []string{"away"}, uses: true},
		"an ended pod":             {claims: []string{"away"}, phase: corev1.PodFailed},
	} {
		t.Run(name, func(t *testing.T) {
			pod := corev1.Pod{Spec: corev1.PodSpec{Containers: row.containers}, Status: corev1.PodStatus{Phase: row.phase}}
			for _, claim := range row.claims {
				pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: claim, ResourceClaimName: &claim})
			}
			uses, err := use.Check(pod)
			if uses != row.uses || !errors.Is(err, row.err) || (err == nil) != (row.err == nil) {
				t.Errorf("got %v, %v", uses, err)
			}
			if filtered := use.Filter(pod); filtered != (row.uses || row.err != nil) {
				t.Errorf("the filter returns %v", filtered)
			}
		})
	}
}

func TestPodDeletionIsEnabledWithACheck(t *testing.T) {
	w := newWorld(t, 1)
	w.manager.WithPodDeletionCheck(nil)
	if w.manager.IsPodDeletionEnabled() {
		t.Error("enabled without a check")
	}
	w.manager.WithPodDeletionCheck(DeviceUse{}.Check)
	if !w.manager.IsPodDeletionEnabled() {
		t.Error("not enabled with a check")
	}
}
