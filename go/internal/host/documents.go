package host

import (
	"encoding/json"
	"strconv"

	maintenancev1alpha1 "github.com/Mellanox/maintenance-operator/api/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Objects as the engine reads them, without what it does not read ("Reduced objects" in docs/c-api.md). metadata comes first,
// and its version is put in by withVersion: what is left is equal if nothing that matters has changed.
type object struct {
	Metadata metadata `json:"metadata"`
	Kind     string   `json:"kind"`
	Revision *int64   `json:"revision,omitempty"`
	Spec     any      `json:"spec,omitempty"`
	Status   any      `json:"status,omitempty"`
}

type metadata struct {
	Namespace         string                  `json:"namespace,omitempty"`
	Name              string                  `json:"name"`
	UID               string                  `json:"uid"`
	Generation        int64                   `json:"generation,omitempty"`
	Labels            map[string]string       `json:"labels,omitempty"`
	Annotations       map[string]string       `json:"annotations,omitempty"`
	DeletionTimestamp *metav1.Time            `json:"deletionTimestamp,omitempty"`
	Finalizers        []string                `json:"finalizers,omitempty"`
	OwnerReferences   []metav1.OwnerReference `json:"ownerReferences,omitempty"`
}

func metadataOf(of metav1.Object) metadata {
	return metadata{
		Namespace: of.GetNamespace(), Name: of.GetName(), UID: string(of.GetUID()), Generation: of.GetGeneration(),
		Labels: of.GetLabels(), Annotations: of.GetAnnotations(), DeletionTimestamp: of.GetDeletionTimestamp(),
		Finalizers: of.GetFinalizers(), OwnerReferences: of.GetOwnerReferences(),
	}
}

type nodeSpec struct {
	Unschedulable bool `json:"unschedulable,omitempty"`
}

type condition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
}

type nodeStatus struct {
	Conditions []condition `json:"conditions"`
}

func reduceNode(node *corev1.Node) object {
	conditions := make([]condition, 0, len(node.Status.Conditions))
	for _, c := range node.Status.Conditions {
		conditions = append(conditions, condition{string(c.Type), string(c.Status)})
	}
	return object{Metadata: metadataOf(node), Kind: "Node", Spec: nodeSpec{node.Spec.Unschedulable}, Status: nodeStatus{conditions}}
}

type empty struct{}

type volume struct {
	EmptyDir *empty `json:"emptyDir,omitempty"`
}

type podCondition struct {
	Type               string       `json:"type"`
	Status             string       `json:"status"`
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
}

type container struct {
	Resources corev1.ResourceRequirements `json:"resources"`
}

type podSpec struct {
	NodeName            string                    `json:"nodeName,omitempty"`
	Volumes             []volume                  `json:"volumes,omitempty"`
	InitContainers      []container               `json:"initContainers,omitempty"`
	Containers          []container               `json:"containers"`
	EphemeralContainers []container               `json:"ephemeralContainers,omitempty"`
	ResourceClaims      []corev1.PodResourceClaim `json:"resourceClaims,omitempty"`
}

type waiting struct {
	Reason string `json:"reason,omitempty"`
}

type containerState struct {
	Waiting *waiting `json:"waiting,omitempty"`
}

type containerStatus struct {
	Name         string         `json:"name"`
	Ready        bool           `json:"ready"`
	RestartCount int32          `json:"restartCount"`
	Image        string         `json:"image,omitempty"`
	State        containerState `json:"state"`
}

type podStatus struct {
	Phase                       corev1.PodPhase                        `json:"phase,omitempty"`
	Conditions                  []podCondition                         `json:"conditions,omitempty"`
	ResourceClaimStatuses       []corev1.PodResourceClaimStatus        `json:"resourceClaimStatuses,omitempty"`
	ExtendedResourceClaimStatus *corev1.PodExtendedResourceClaimStatus `json:"extendedResourceClaimStatus,omitempty"`
	InitContainerStatuses       []containerStatus                      `json:"initContainerStatuses,omitempty"`
	ContainerStatuses           []containerStatus                      `json:"containerStatuses,omitempty"`
}

func reduceStatuses(statuses []corev1.ContainerStatus) []containerStatus {
	var reduced []containerStatus
	for _, s := range statuses {
		one := containerStatus{Name: s.Name, Ready: s.Ready, RestartCount: s.RestartCount}
		if s.State.Waiting != nil {
			one.State.Waiting = &waiting{s.State.Waiting.Reason}
			one.Image = s.Image // read only of a container that cannot start
		}
		reduced = append(reduced, one)
	}
	return reduced
}

func reducePod(pod *corev1.Pod) object {
	spec := podSpec{NodeName: pod.Spec.NodeName, ResourceClaims: pod.Spec.ResourceClaims}
	for _, v := range pod.Spec.Volumes {
		reduced := volume{}
		if v.EmptyDir != nil {
			reduced.EmptyDir = &empty{}
		}
		spec.Volumes = append(spec.Volumes, reduced)
	}
	for _, c := range pod.Spec.InitContainers {
		spec.InitContainers = append(spec.InitContainers, container{c.Resources})
	}
	for _, c := range pod.Spec.Containers {
		spec.Containers = append(spec.Containers, container{c.Resources})
	}
	for _, c := range pod.Spec.EphemeralContainers {
		spec.EphemeralContainers = append(spec.EphemeralContainers, container{c.Resources})
	}
	return object{Metadata: metadataOf(pod), Kind: "Pod", Spec: spec, Status: podStatus{
		Phase: pod.Status.Phase, Conditions: reduceConditions(pod.Status.Conditions),
		ResourceClaimStatuses:       pod.Status.ResourceClaimStatuses,
		ExtendedResourceClaimStatus: pod.Status.ExtendedResourceClaimStatus,
		InitContainerStatuses:       reduceStatuses(pod.Status.InitContainerStatuses),
		ContainerStatuses:           reduceStatuses(pod.Status.ContainerStatuses),
	}}
}

// reduceConditions keeps the condition Ready: since when a validation pod, or the driver pod, has been ready.
func reduceConditions(conditions []corev1.PodCondition) []podCondition {
	for _, c := range conditions {
		if c.Type == corev1.PodReady {
			return []podCondition{{string(c.Type), string(c.Status), &c.LastTransitionTime}}
		}
	}
	return nil
}

type daemonSetSpec struct {
	Selector       *metav1.LabelSelector          `json:"selector"`
	UpdateStrategy appsv1.DaemonSetUpdateStrategy `json:"updateStrategy"`
}

func reduceDaemonSet(set *appsv1.DaemonSet) object {
	return object{Metadata: metadataOf(set), Kind: "DaemonSet", Spec: daemonSetSpec{set.Spec.Selector, set.Spec.UpdateStrategy}, Status: set.Status}
}

func reduceRevision(revision *appsv1.ControllerRevision) object {
	return object{Metadata: metadataOf(revision), Kind: "ControllerRevision", Revision: &revision.Revision}
}

func reduceMaintenance(maintenance *maintenancev1alpha1.NodeMaintenance) object {
	return object{Metadata: metadataOf(maintenance), Kind: "NodeMaintenance", Spec: maintenance.Spec, Status: maintenance.Status}
}

const beforeVersion = `{"metadata":{`

// withVersion has room in `text`, an object, for nothing but the version.
func withVersion(text []byte, version string) []byte {
	whole := make([]byte, 0, len(text)+len(version)+24)
	whole = append(whole, beforeVersion+`"resourceVersion":`...)
	whole = strconv.AppendQuote(whole, version)
	whole = append(whole, ',')
	return append(whole, text[len(beforeVersion):]...)
}

// list is the answer of an API server that has these objects.
func list(kind string, items [][]byte, version string) []byte {
	whole := append([]byte(`{"kind":"`+kind+`List","metadata":{"resourceVersion":`), strconv.AppendQuote(nil, version)...)
	whole = append(whole, `},"items":[`...)
	for i, item := range items {
		if i > 0 {
			whole = append(whole, ',')
		}
		whole = append(whole, item...)
	}
	return append(whole, `]}`...)
}

func watchLine(kind string, text []byte) []byte {
	line := append([]byte(`{"type":"`+kind+`","object":`), text...)
	return append(line, '}')
}

func marshal(reduced object) []byte {
	text, err := json.Marshal(reduced)
	if err != nil {
		panic("an object of the API cannot be written as JSON: " + err.Error()) // its types can
	}
	return text
}
