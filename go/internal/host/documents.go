package host

import (
	"encoding/json"
	"strconv"
	"strings"

	maintenancev1alpha1 "github.com/Mellanox/maintenance-operator/api/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// object is a Kubernetes object in the form that the engine reads, without unused members ("Reduced objects" in
// docs/c-api.md). metadata comes first, so that withVersion can insert the resourceVersion. As long as nothing relevant
// changes, the object's JSON without the version stays the same.
type object struct {
	Metadata metadata `json:"metadata"`
	Kind     string   `json:"kind"`
	Revision *int64   `json:"revision,omitempty"`
	Data     any      `json:"data,omitempty"`
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
	CreationTimestamp *metav1.Time            `json:"creationTimestamp,omitempty"` // only of some pods: see reducePod
	DeletionTimestamp *metav1.Time            `json:"deletionTimestamp,omitempty"`
	DeletionGrace     *int64                  `json:"deletionGracePeriodSeconds,omitempty"`
	Finalizers        []string                `json:"finalizers,omitempty"`
	OwnerReferences   []metav1.OwnerReference `json:"ownerReferences,omitempty"`
}

func metadataOf(of metav1.Object) metadata {
	return metadata{
		Namespace: of.GetNamespace(), Name: of.GetName(), UID: string(of.GetUID()), Generation: of.GetGeneration(),
		Labels: of.GetLabels(), Annotations: of.GetAnnotations(), DeletionTimestamp: of.GetDeletionTimestamp(),
		DeletionGrace: of.GetDeletionGracePeriodSeconds(), Finalizers: of.GetFinalizers(), OwnerReferences: of.GetOwnerReferences(),
	}
}

type taint struct {
	Key       string       `json:"key"`
	Value     string       `json:"value,omitempty"`
	Effect    string       `json:"effect,omitempty"`
	TimeAdded *metav1.Time `json:"timeAdded,omitempty"`
}

type nodeSpec struct {
	Unschedulable bool    `json:"unschedulable,omitempty"`
	Taints        []taint `json:"taints,omitempty"`
}

type condition struct {
	Type               string       `json:"type"`
	Status             string       `json:"status"`
	Message            string       `json:"message,omitempty"`
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
}

type nodeStatus struct {
	Allocatable map[string]string `json:"allocatable,omitempty"`
	Conditions  []condition       `json:"conditions"`
}

func reduceNode(node *corev1.Node) object {
	conditions := make([]condition, 0, len(node.Status.Conditions))
	for _, c := range node.Status.Conditions {
		conditions = append(conditions, condition{Type: string(c.Type), Status: string(c.Status), LastTransitionTime: &c.LastTransitionTime})
	}
	spec := nodeSpec{Unschedulable: node.Spec.Unschedulable}
	for _, t := range node.Spec.Taints {
		spec.Taints = append(spec.Taints, taint{t.Key, t.Value, string(t.Effect), t.TimeAdded})
	}
	return object{Metadata: metadataOf(node), Kind: "Node", Spec: spec, Status: nodeStatus{extendedResources(node), conditions}}
}

// extendedResources returns the extended resources that the node offers, each with the quantity "1", because the
// quantities do not matter for the upgrade.
func extendedResources(node *corev1.Node) map[string]string {
	var offered map[string]string
	for name, quantity := range node.Status.Allocatable {
		if strings.Contains(string(name), "/") && !quantity.IsZero() {
			if offered == nil {
				offered = map[string]string{}
			}
			offered[string(name)] = "1"
		}
	}
	return offered
}

type empty struct{}

type volume struct {
	EmptyDir *empty `json:"emptyDir,omitempty"`
}

type affinity struct {
	NodeAffinity *corev1.NodeAffinity `json:"nodeAffinity,omitempty"`
}

func reduceAffinity(of *corev1.Affinity) *affinity {
	if of == nil || of.NodeAffinity == nil {
		return nil
	}
	return &affinity{of.NodeAffinity}
}

type container struct {
	Resources corev1.ResourceRequirements `json:"resources"`
}

type toleration struct {
	Key      string `json:"key,omitempty"`
	Operator string `json:"operator,omitempty"`
	Value    string `json:"value,omitempty"`
	Effect   string `json:"effect,omitempty"`
}

// toleratesCordon reports whether the pod can be scheduled to a cordoned node, according to this toleration.
func toleratesCordon(t corev1.Toleration) bool {
	if t.Effect != "" && t.Effect != corev1.TaintEffectNoSchedule {
		return false
	}
	if t.Operator == corev1.TolerationOpExists {
		return t.Key == "" || t.Key == corev1.TaintNodeUnschedulable
	}
	equal := t.Operator == "" || t.Operator == corev1.TolerationOpEqual
	return equal && t.Key == corev1.TaintNodeUnschedulable && t.Value == ""
}

type podSpec struct {
	NodeName            string                     `json:"nodeName,omitempty"`
	SchedulerName       string                     `json:"schedulerName,omitempty"`
	Subdomain           string                     `json:"subdomain,omitempty"`
	SchedulingGroup     *corev1.PodSchedulingGroup `json:"schedulingGroup,omitempty"`
	Affinity            *affinity                  `json:"affinity,omitempty"`
	Tolerations         []toleration               `json:"tolerations,omitempty"`
	Volumes             []volume                   `json:"volumes,omitempty"`
	InitContainers      []container                `json:"initContainers,omitempty"`
	Containers          []container                `json:"containers"`
	EphemeralContainers []container                `json:"ephemeralContainers,omitempty"`
	ResourceClaims      []corev1.PodResourceClaim  `json:"resourceClaims,omitempty"`
}

type waiting struct {
	Reason string `json:"reason,omitempty"`
}

type terminated struct {
	ExitCode int32 `json:"exitCode"`
}

type containerState struct {
	Waiting    *waiting    `json:"waiting,omitempty"`
	Terminated *terminated `json:"terminated,omitempty"`
}

type containerStatus struct {
	Name         string         `json:"name"`
	Ready        bool           `json:"ready"`
	RestartCount int32          `json:"restartCount"`
	Started      *bool          `json:"started,omitempty"`
	Image        string         `json:"image,omitempty"`
	State        containerState `json:"state"`
}

type podStatus struct {
	Phase                       corev1.PodPhase                        `json:"phase,omitempty"`
	Conditions                  []condition                            `json:"conditions,omitempty"`
	ResourceClaimStatuses       []corev1.PodResourceClaimStatus        `json:"resourceClaimStatuses,omitempty"`
	ExtendedResourceClaimStatus *corev1.PodExtendedResourceClaimStatus `json:"extendedResourceClaimStatus,omitempty"`
	InitContainerStatuses       []containerStatus                      `json:"initContainerStatuses,omitempty"`
	ContainerStatuses           []containerStatus                      `json:"containerStatuses,omitempty"`
	EphemeralContainerStatuses  []containerStatus                      `json:"ephemeralContainerStatuses,omitempty"`
}

// reduceStatuses keeps terminated states only of terminating pods, because other pods may restart their containers.
func reduceStatuses(statuses []corev1.ContainerStatus, terminating bool) []containerStatus {
	var reduced []containerStatus
	for _, s := range statuses {
		one := containerStatus{Name: s.Name, Ready: s.Ready, RestartCount: s.RestartCount, Started: s.Started}
		if s.State.Waiting != nil {
			one.State.Waiting = &waiting{s.State.Waiting.Reason}
			one.Image = s.Image // the engine reads the image only if the container cannot start
		}
		if terminating && s.State.Terminated != nil {
			one.State.Terminated = &terminated{s.State.Terminated.ExitCode}
		}
		reduced = append(reduced, one)
	}
	return reduced
}

// reducePod keeps the creation time and the tolerations only if the pod tolerates the cordon of a node. Few pods do,
// apart from the pods of DaemonSets.
func reducePod(pod *corev1.Pod) object {
	meta, terminating := metadataOf(pod), pod.DeletionTimestamp != nil
	spec := podSpec{
		NodeName: pod.Spec.NodeName, SchedulerName: pod.Spec.SchedulerName, Subdomain: pod.Spec.Subdomain,
		SchedulingGroup: pod.Spec.SchedulingGroup,
		Affinity:        reduceAffinity(pod.Spec.Affinity),
		ResourceClaims:  pod.Spec.ResourceClaims,
	}
	for _, t := range pod.Spec.Tolerations {
		if toleratesCordon(t) {
			meta.CreationTimestamp = &pod.CreationTimestamp
			spec.Tolerations = append(spec.Tolerations, toleration{t.Key, string(t.Operator), t.Value, string(t.Effect)})
		}
	}
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
	status := podStatus{
		Phase: pod.Status.Phase, Conditions: reduceConditions(pod.Status.Conditions),
		ResourceClaimStatuses:       pod.Status.ResourceClaimStatuses,
		ExtendedResourceClaimStatus: pod.Status.ExtendedResourceClaimStatus,
		InitContainerStatuses:       reduceStatuses(pod.Status.InitContainerStatuses, terminating),
		ContainerStatuses:           reduceStatuses(pod.Status.ContainerStatuses, terminating),
	}
	if terminating {
		status.EphemeralContainerStatuses = reduceStatuses(pod.Status.EphemeralContainerStatuses, terminating)
	}
	return object{Metadata: meta, Kind: "Pod", Spec: spec, Status: status}
}

// reduceConditions keeps Ready with its transition time and, if the pod is not bound, PodScheduled with the scheduler's
// message.
func reduceConditions(conditions []corev1.PodCondition) []condition {
	var reduced []condition
	for _, c := range conditions {
		switch {
		case c.Type == corev1.PodReady:
			reduced = append(reduced, condition{Type: string(c.Type), Status: string(c.Status), LastTransitionTime: &c.LastTransitionTime})
		case c.Type == corev1.PodScheduled && c.Status != corev1.ConditionTrue:
			reduced = append(reduced, condition{Type: string(c.Type), Status: string(c.Status), Message: c.Message})
		}
	}
	return reduced
}

type daemonSetSpec struct {
	Selector       *metav1.LabelSelector          `json:"selector"`
	UpdateStrategy appsv1.DaemonSetUpdateStrategy `json:"updateStrategy"`
	Template       corev1.PodTemplateSpec         `json:"template"`
}

func reduceDaemonSet(set *appsv1.DaemonSet) object {
	return object{Metadata: metadataOf(set), Kind: "DaemonSet", Status: set.Status, Spec: daemonSetSpec{
		Selector: set.Spec.Selector, UpdateStrategy: set.Spec.UpdateStrategy, Template: set.Spec.Template,
	}}
}

// revisionData is the data of a DaemonSet's ControllerRevision.
type revisionData struct {
	Spec struct {
		Template *corev1.PodTemplateSpec `json:"template"`
	} `json:"spec"`
}

// reduceRevision keeps the pod template, because the engine looks for the revision with the DaemonSet's current
// template: revision numbers can be wrong (kubernetes#80698). The data is not passed on unchanged. Both templates must
// have the same form, and the DaemonSet's template has lost the fields that the Kubernetes libraries do not know.
func reduceRevision(revision *appsv1.ControllerRevision) object {
	reduced := object{Metadata: metadataOf(revision), Kind: "ControllerRevision", Revision: &revision.Revision}
	var data revisionData
	if json.Unmarshal(revision.Data.Raw, &data) == nil && data.Spec.Template != nil {
		reduced.Data = data
	}
	return reduced
}

func reduceMaintenance(maintenance *maintenancev1alpha1.NodeMaintenance) object {
	return object{Metadata: metadataOf(maintenance), Kind: "NodeMaintenance", Spec: maintenance.Spec, Status: maintenance.Status}
}

const beforeVersion = `{"metadata":{`

// withVersion returns the JSON of an object with the resourceVersion inserted. It allocates memory only once.
func withVersion(text []byte, version string) []byte {
	whole := make([]byte, 0, len(text)+len(version)+24)
	whole = append(whole, beforeVersion+`"resourceVersion":`...)
	whole = strconv.AppendQuote(whole, version)
	whole = append(whole, ',')
	return append(whole, text[len(beforeVersion):]...)
}

// list returns a list of these objects, as an API server would send it.
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
		panic("an object of the API cannot be written as JSON: " + err.Error()) // impossible with these types
	}
	return text
}
