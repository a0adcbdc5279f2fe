package host

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Members that the reader accepts in lists, watch events or a Status, but not in objects.
var notOfObjects = map[string]bool{"apiVersion": true, "resourceVersion": true, "code": true, "details": true, "continue": true, "items": true, "object": true}

func ptr[T any](value T) *T { return &value }

func fullNode() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Namespace: "-", Name: "n1", UID: "u", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"a": "b"},
			DeletionTimestamp: &metav1.Time{}, Finalizers: []string{"f"}, OwnerReferences: []metav1.OwnerReference{{Name: "o"}}},
		Spec: corev1.NodeSpec{Unschedulable: true, Taints: []corev1.Taint{{Key: "karpenter.sh/disrupted", Value: "v", Effect: corev1.TaintEffectNoExecute, TimeAdded: &metav1.Time{}}}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8"), "nvidia.com/mig-1g.10gb": resource.MustParse("0"),
			"cpu": resource.MustParse("4")}, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: "False", LastTransitionTime: metav1.Now()}}},
	}
}

func fullPod() *corev1.Pod {
	containers := []corev1.Container{{Name: "c"}}
	statuses := []corev1.ContainerStatus{{Name: "c", Image: "i", Started: ptr(false), State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}},
		{Name: "ended", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}}}
	term := corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: []string{"n1"}}}}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "driver", UID: "u", CreationTimestamp: metav1.Unix(1_700_000_000, 0), DeletionTimestamp: &metav1.Time{},
			DeletionGracePeriodSeconds: ptr(int64(0))},
		Spec: corev1.PodSpec{
			NodeName: "n1", SchedulerName: "s", Subdomain: "d", InitContainers: containers, Containers: containers,
			SchedulingGroup:     &corev1.PodSchedulingGroup{PodGroupName: ptr("g")},
			Tolerations:         []corev1.Toleration{{Key: "node.kubernetes.io/unschedulable", Operator: "Exists", Effect: "NoSchedule"}},
			EphemeralContainers: []corev1.EphemeralContainer{{}}, ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu"}},
			Volumes: []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodPending, ResourceClaimStatuses: []corev1.PodResourceClaimStatus{{Name: "gpu"}},
			ExtendedResourceClaimStatus: &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "gpu"},
			InitContainerStatuses:       statuses, ContainerStatuses: statuses, EphemeralContainerStatuses: statuses,
			Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: "False", Message: "no room"}, {Type: corev1.PodReady, Status: "False"}},
		},
	}
}

func untyped(text string) *unstructured.Unstructured {
	made := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), made); err != nil {
		panic(err)
	}
	return made
}

func fullClaim() *unstructured.Unstructured {
	return untyped(`{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"web-gpu","namespace":"ns","uid":"u"},
		"status":{"allocation":{"allocationTimestamp":"2026-11-26T00:00:00Z","nodeSelector":{},"devices":{"results":[
			{"request":"gpu","driver":"gpu.nvidia.com","pool":"n1","device":"gpu-0","adminAccess":true}]}},
			"reservedFor":[{"resource":"pods","name":"web","uid":"p"}]}}`)
}

func fullSlice() *unstructured.Unstructured {
	return untyped(`{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"n1-gpu","uid":"u"},
		"spec":{"driver":"gpu.nvidia.com","nodeName":"n1","pool":{"name":"n1","generation":1,"resourceSliceCount":1},"devices":[
			{"name":"gpu-0","attributes":{"driverVersion":{"version":"580.1.0"},"brand":{"string":"Nvidia"}},"capacity":{"memory":{"value":"80Gi"}}}]}}`)
}

func TestDevicesAreReducedToWhatTheEngineReads(t *testing.T) {
	for want, of := range map[string]object{
		`"status":{"allocation":{"devices":{"results":[{"adminAccess":true,"driver":"gpu.nvidia.com","pool":"n1"}]},` +
			`"allocationTimestamp":"2026-11-26T00:00:00Z"},"reservedFor":[{"name":"web","resource":"pods","uid":"p"}]}}`: reduceClaim(fullClaim()),
		`"devices":[{"name":"gpu-0","attributes":{"driverVersion":{"version":"580.1.0"}}}]}}`: reduceSlice(fullSlice()),
		`"status":{"allocatable":{"nvidia.com/gpu":"1"},`:                                     reduceNode(fullNode()),
	} {
		text, err := json.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
}

// The engine's decisions depend on all members that it reads, such as taints, the scheduler's message, and the time at
// which a node's Ready condition last changed.
func TestTheEngineGetsAllMembersThatItReads(t *testing.T) {
	source, err := os.ReadFile("../../../src/wire/wanted_members.cc")
	if os.IsNotExist(err) {
		t.Skip("the engine's sources are not beside the module")
	}
	if err != nil {
		t.Fatal(err)
	}
	var reduced string
	for _, of := range []object{reduceNode(fullNode()), reducePod(fullPod()), reduceClaim(fullClaim()), reduceSlice(fullSlice())} {
		text, err := json.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		reduced += string(text)
	}
	// The host passes on only the kind of a volume, because the engine does not use the host path. Of a container that has
	// ended, the engine uses only the fact.
	notOfObjects["path"], notOfObjects["exitCode"] = true, true
	for _, name := range regexp.MustCompile(`(?:\{|Of\()"(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		if !notOfObjects[name[1]] && !strings.Contains(reduced, `"`+name[1]+`":`) {
			t.Errorf("%s is read, and the host leaves it out", name[1])
		}
	}
}

func text(t *testing.T, of object) string {
	t.Helper()
	text, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestOnlyTerminatingPodsKeepTerminatedStates(t *testing.T) {
	pod := fullPod()
	if reduced := text(t, reducePod(pod)); strings.Count(reduced, `"terminated":{"exitCode":`) != 3 || !strings.Contains(reduced, `"ephemeralContainerStatuses"`) {
		t.Error(reduced)
	}
	pod.DeletionTimestamp = nil
	if reduced := text(t, reducePod(pod)); strings.Contains(reduced, "terminated") || strings.Contains(reduced, "ephemeralContainerStatuses") {
		t.Error(reduced)
	}
}

func TestOnlyPodsThatTolerateACordonKeepTheirTolerations(t *testing.T) {
	const key = corev1.TaintNodeUnschedulable
	for _, row := range []struct {
		toleration corev1.Toleration
		kept       string
	}{
		{corev1.Toleration{Operator: "Exists"}, `{"operator":"Exists"}`},
		{corev1.Toleration{Key: key, Operator: "Exists", Effect: "NoSchedule"}, `{"key":"` + key + `","operator":"Exists","effect":"NoSchedule"}`},
		{corev1.Toleration{Key: key}, `{"key":"` + key + `"}`},
		{corev1.Toleration{Key: key, Operator: "Equal"}, `{"key":"` + key + `","operator":"Equal"}`},
		{corev1.Toleration{Key: key, Operator: "Equal", Value: "true"}, ""},
		{corev1.Toleration{Key: key, Operator: "Exists", Effect: "NoExecute"}, ""},
		{corev1.Toleration{Key: "nvidia.com/gpu", Operator: "Exists"}, ""},
		{corev1.Toleration{Key: key, Operator: "Lt", Value: "3"}, ""},
	} {
		pod := fullPod()
		pod.Spec.Tolerations = []corev1.Toleration{{Key: "other", Operator: "Exists"}, row.toleration}
		reduced := text(t, reducePod(pod))
		kept := row.kept != ""
		if strings.Contains(reduced, `"creationTimestamp":"2023-11-14T22:13:20Z"`) != kept || strings.Contains(reduced, `"tolerations":[`+row.kept+`]`) != kept {
			t.Errorf("%+v: %s", row.toleration, reduced)
		}
	}
}

// A library that is older than the server drops unknown fields of the DaemonSet, so it must drop them here, too.
func TestARevisionHasItsTemplateInTheFormOfTheDaemonSet(t *testing.T) {
	set := &appsv1.DaemonSet{}
	set.Spec.Template.Spec.NodeSelector = map[string]string{"nvidia.com/gpu.deploy.driver": "true"}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "driver", Image: "driver:1"}}
	template := func(of object) string {
		_, found, _ := strings.Cut(text(t, of), `"template":`)
		var first json.RawMessage
		if err := json.NewDecoder(strings.NewReader(found)).Decode(&first); err != nil {
			t.Fatal(err)
		}
		return string(first)
	}
	revision := &appsv1.ControllerRevision{}
	revision.Data.Raw = []byte(`{"spec":{"template":{"$patch":"replace","spec":{"newerThanTheLibrary":1,
		"containers":[{"image":"driver:1","name":"driver"}],"nodeSelector":{"nvidia.com/gpu.deploy.driver":"true"}}}}}`)
	if of, in := template(reduceDaemonSet(set)), template(reduceRevision(revision)); of != in || !strings.Contains(of, "driver:1") {
		t.Errorf("the DaemonSet has %s, its revision %s", of, in)
	}
	for _, data := range []string{"", `{}`, `{"spec":{"template":7}}`} {
		revision.Data.Raw = []byte(data)
		if reduced := text(t, reduceRevision(revision)); strings.Contains(reduced, `"data"`) {
			t.Errorf("%s: %s", data, reduced)
		}
	}
}
