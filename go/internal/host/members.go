package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	maintenancev1alpha1 "github.com/Mellanox/maintenance-operator/api/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"driverupgrade.example/go/internal/engine"
)

// Member is a driver pod with its node. The caller owns the objects.
type Member struct {
	State       string
	Node        *corev1.Node
	Pod         *corev1.Pod
	DaemonSet   *appsv1.DaemonSet
	Maintenance *maintenancev1alpha1.NodeMaintenance
}

// Podless is one of the driver's nodes that currently has no driver pod.
type Podless struct {
	Name   string
	Labels map[string]string
}

// Members waits as catchUp does, and then returns the driver pods with their nodes. It sends no requests itself.
func (h *Host) Members(ctx context.Context) (members []Member, podless []Podless, err error) {
	if err := h.begins(); err != nil {
		return nil, nil, err
	}
	defer h.ends()
	if err := h.catchUp(ctx); err != nil {
		return nil, nil, err
	}
	reading, err := h.read()
	switch {
	case err != nil && !isDefect(err) && h.Closed():
		return nil, nil, ErrClosed
	case err != nil:
		return nil, nil, err
	}
	members, podless = h.join(reading)
	return members, podless, nil
}

// catchUp waits until every kind has been listed once and the watches have shown the module's own writes.
func (h *Host) catchUp(ctx context.Context) error {
	if err := h.waitForLists(ctx); err != nil {
		return err
	}
	return h.waitForOwnWrites(ctx)
}

func (h *Host) waitForLists(ctx context.Context) error {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.ctx, cancel)()
	waits := []waiter{h.nodes.waiter(), h.pods.waiter(), h.sets.waiter(), h.revisions.waiter()}
	if h.maintenances != nil {
		waits = append(waits, h.maintenances.waiter())
	}
	patience, forget := context.WithTimeout(waiting, attemptMax)
	defer forget()
	for _, wait := range waits {
		if err := wait(waiting, patience); err != nil {
			if ctx.Err() == nil && h.ctx.Err() != nil { // the host has ended, and the caller has not canceled the call
				return ErrClosed
			}
			return err
		}
	}
	return nil
}

// read reads the driver's nodes, and answers the engine's questions until none is left.
func (h *Host) read() (engine.Reading, error) {
	for {
		reading, err := h.engine.Read(h.options.Clock.Now())
		if err != nil || len(reading.Questions) == 0 {
			return reading, err
		}
		var answers []engine.Answer
		for _, question := range reading.Questions {
			answers = append(answers, h.restartOnly(question))
		}
		if err := h.engine.Tell(answers); err != nil {
			return reading, err
		}
	}
}

// restartOnly calls the predicate with the templates of the two revisions in the question. It does not use the
// DaemonSet's template, which may still be the template of the running revision, because DaemonSets and
// ControllerRevisions arrive through different watches.
func (h *Host) restartOnly(question engine.Question) engine.Answer {
	answer := engine.Answer{ID: question.ID}
	running, err := h.templateOf(question.Running)
	wanted, wantedErr := h.templateOf(question.Wanted)
	if err := errors.Join(err, wantedErr); err != nil { // do not wait for a revision that may never arrive
		h.log.Error(err, "upgrading a node in full, because its driver cannot be compared with the new driver", "node", question.Node,
			"pod", question.Pod)
		answer.Error, answer.RevisionUnknown = err.Error(), true
		return answer
	}
	answer.Answer, err = h.options.RestartOnly(running, wanted)
	if err != nil {
		answer.Error = err.Error()
	}
	return answer
}

// templateOf returns the pod template in a ControllerRevision of the driver's namespace. The caller owns the result.
func (h *Host) templateOf(revision string) (*corev1.PodSpec, error) {
	found, known := h.revisions.find(h.options.Namespace + "/" + revision)
	if !known {
		return nil, fmt.Errorf("ControllerRevision %s is not known", revision)
	}
	var data revisionData
	if err := json.Unmarshal(found.Data.Raw, &data); err != nil {
		return nil, fmt.Errorf("the template of ControllerRevision %s: %w", revision, err)
	}
	if data.Spec.Template == nil {
		return nil, fmt.Errorf("ControllerRevision %s has no template", revision)
	}
	return &data.Spec.Template.Spec, nil
}

func (h *Host) setsByUID() map[string]*appsv1.DaemonSet {
	sets := map[string]*appsv1.DaemonSet{}
	for _, set := range h.sets.all() {
		sets[string(set.UID)] = set
	}
	return sets
}

func (h *Host) ownerOf(pod *corev1.Pod, sets map[string]*appsv1.DaemonSet) *appsv1.DaemonSet {
	if owner := metav1.GetControllerOf(pod); owner != nil {
		return sets[string(owner.UID)]
	}
	return nil
}

func (h *Host) join(reading engine.Reading) (members []Member, podless []Podless) {
	sets := h.setsByUID()
	for _, read := range reading.Nodes {
		node, found := h.nodes.find(read.Name)
		if !found {
			continue
		}
		before := len(members)
		for _, key := range read.DriverPods {
			pod, found := h.pods.find(key)
			if !found {
				continue
			}
			set := h.ownerOf(pod, sets)
			if set == nil && len(pod.OwnerReferences) > 0 {
				continue // another controller owns the pod, although the pod has the driver's labels
			}
			members = append(members, Member{State: read.State, Node: node.DeepCopy(), Pod: pod.DeepCopy(),
				DaemonSet: set.DeepCopy(), Maintenance: h.maintenanceOf(read.Name).DeepCopy()})
		}
		if len(members) == before {
			podless = append(podless, Podless{Name: read.Name, Labels: maps.Clone(node.Labels)})
		}
	}
	return members, podless
}

// maintenanceOf returns the NodeMaintenance that is named after this node, no matter which requestor created it; nil if
// there is no such object.
func (h *Host) maintenanceOf(node string) *maintenancev1alpha1.NodeMaintenance {
	if h.maintenances == nil {
		return nil
	}
	found, _ := h.maintenances.find(h.options.Requestor.Namespace + "/" + h.options.Requestor.NamePrefix + "-" + node)
	return found
}
