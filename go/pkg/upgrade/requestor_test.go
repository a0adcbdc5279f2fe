package upgrade

import (
	"reflect"
	"testing"
	"time"

	maintenancev1alpha1 "github.com/Mellanox/maintenance-operator/api/v1alpha1"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

func TestRequestorOptionsComeFromTheEnvironment(t *testing.T) {
	for _, name := range []string{"ENABLED", "REQUESTOR_ID", "REQUESTOR_NAMESPACE", "NODE_MAINTENANCE_PREFIX"} {
		t.Setenv("MAINTENANCE_OPERATOR_"+name, "")
	}
	want := RequestorOptions{MaintenanceOPRequestorNS: "default", NodeMaintenanceNamePrefix: "nvidia-operator"}
	if got := GetRequestorOptsFromEnvs(); !reflect.DeepEqual(got, want) {
		t.Errorf("an empty environment: got %+v, want %+v", got, want)
	}
	t.Setenv("MAINTENANCE_OPERATOR_ENABLED", "true")
	t.Setenv("MAINTENANCE_OPERATOR_REQUESTOR_ID", "gpu.nvidia.com")
	t.Setenv("MAINTENANCE_OPERATOR_REQUESTOR_NAMESPACE", "gpu-operator")
	t.Setenv("MAINTENANCE_OPERATOR_NODE_MAINTENANCE_PREFIX", "gpu")
	want = RequestorOptions{UseMaintenanceOperator: true, MaintenanceOPRequestorID: "gpu.nvidia.com",
		MaintenanceOPRequestorNS: "gpu-operator", NodeMaintenanceNamePrefix: "gpu"}
	if got := GetRequestorOptsFromEnvs(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestRequestorIDPredicateMatchesOwnersAndAdditionalRequestors(t *testing.T) {
	passes := NewRequestorIDPredicate(logr.Discard(), "me").Generic
	object := func(owner string, more ...string) client.Object {
		return &maintenancev1alpha1.NodeMaintenance{Spec: maintenancev1alpha1.NodeMaintenanceSpec{
			RequestorID: owner, AdditionalRequestors: more}}
	}
	for _, c := range []struct {
		object client.Object
		want   bool
	}{
		{object("me"), true}, {object("you", "they", "me"), true}, {object("you"), false}, {&corev1.Node{}, false},
	} {
		if got := passes(event.GenericEvent{Object: c.object}); got != c.want {
			t.Errorf("%+v: got %v, want %v", c.object, got, c.want)
		}
	}
}

func TestConditionChangedPredicateComparesConditionsInAnyOrderAndLeavesTheObjectsAlone(t *testing.T) {
	a, b := metav1.Condition{Type: "A"}, metav1.Condition{Type: "B"}
	ready := metav1.Condition{Type: "A", Status: metav1.ConditionTrue}
	deleted := metav1.NewTime(time.Unix(1, 0))
	object := func(finalizers []string, deletion *metav1.Time, conditions ...metav1.Condition) client.Object {
		return &maintenancev1alpha1.NodeMaintenance{
			ObjectMeta: metav1.ObjectMeta{Finalizers: finalizers, DeletionTimestamp: deletion},
			Status:     maintenancev1alpha1.NodeMaintenanceStatus{Conditions: conditions},
		}
	}
	held := []string{"maintenance"}
	for _, c := range []struct {
		what          string
		before, after client.Object
		want          bool
	}{
		{"nothing", object(nil, nil, a, b), object(nil, nil, a, b), false},
		{"the order", object(nil, nil, b, a), object(nil, nil, a, b), false},
		{"a condition", object(nil, nil, b, a), object(nil, nil, ready, b), true},
		{"one condition more", object(nil, nil, a), object(nil, nil, a, b), true},
		{"the last finalizer of a deleted object", object(held, &deleted), object(nil, &deleted), true},
		{"the last finalizer of an object that stays", object(held, nil), object(nil, nil), false},
		{"an object of another kind", &corev1.Node{}, object(nil, nil), false},
		{"an event without its object", object(nil, nil), nil, false},
	} {
		predicate := NewConditionChangedPredicate(logr.Discard(), "me")
		if got := predicate.Update(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}); got != c.want {
			t.Errorf("%s changed: got %v, want %v", c.what, got, c.want)
		}
	}
	unsorted := object(nil, nil, b, a).(*maintenancev1alpha1.NodeMaintenance)
	NewConditionChangedPredicate(logr.Discard(), "me").Update(event.UpdateEvent{ObjectOld: unsorted, ObjectNew: unsorted})
	if unsorted.Status.Conditions[0].Type != "B" {
		t.Error("the predicate has sorted the conditions of the cached object")
	}
}
