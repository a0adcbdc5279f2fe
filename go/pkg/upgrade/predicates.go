package upgrade

import (
	"cmp"
	"reflect"
	"slices"

	maintenancev1alpha1 "github.com/Mellanox/maintenance-operator/api/v1alpha1"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// NewRequestorIDPredicate accepts the NodeMaintenance objects that requestorID owns or has joined.
func NewRequestorIDPredicate(log logr.Logger, requestorID string) predicate.Funcs {
	return predicate.NewPredicateFuncs(func(object client.Object) bool {
		maintenance := nodeMaintenance(log, object)
		return maintenance != nil && (maintenance.Spec.RequestorID == requestorID ||
			slices.Contains(maintenance.Spec.AdditionalRequestors, requestorID))
	})
}

// ConditionChangedPredicate accepts an update to a NodeMaintenance object if a condition has changed, regardless of the
// order of the conditions. It also accepts the removal of the last finalizer from an object that is being deleted.
type ConditionChangedPredicate struct {
	predicate.Funcs
	log logr.Logger
}

// NewConditionChangedPredicate creates a predicate that ignores the requestor; use NewRequestorIDPredicate to select by
// requestor.
func NewConditionChangedPredicate(log logr.Logger, _ string) ConditionChangedPredicate {
	return ConditionChangedPredicate{log: log}
}

// Update implements predicate.Predicate. It does not change the objects, because they belong to a cache.
func (p ConditionChangedPredicate) Update(e event.TypedUpdateEvent[client.Object]) bool {
	before, after := nodeMaintenance(p.log, e.ObjectOld), nodeMaintenance(p.log, e.ObjectNew)
	if before == nil || after == nil {
		return false
	}
	released := len(before.Finalizers) > 0 && len(after.Finalizers) == 0 && !after.DeletionTimestamp.IsZero()
	return released || !reflect.DeepEqual(byType(before.Status.Conditions), byType(after.Status.Conditions))
}

func byType(conditions []metav1.Condition) []metav1.Condition {
	return slices.SortedFunc(slices.Values(conditions),
		func(a, b metav1.Condition) int { return cmp.Compare(a.Type, b.Type) })
}

// nodeMaintenance returns the object as a NodeMaintenance. If the object has another kind, because the predicate is on
// the wrong watch, nodeMaintenance logs an error and returns nil.
func nodeMaintenance(log logr.Logger, object client.Object) *maintenancev1alpha1.NodeMaintenance {
	maintenance, _ := object.(*maintenancev1alpha1.NodeMaintenance)
	if maintenance == nil {
		log.Error(nil, "ignored an event about an object that is not a NodeMaintenance")
	}
	return maintenance
}
