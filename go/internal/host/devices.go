package host

import (
	"encoding/json"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"driverupgrade.example/go/internal/engine"
)

// watchDevices watches the objects of Dynamic Resource Allocation for the engine if the operator names DRA drivers. No
// call waits for the initial lists of these objects: until the lists arrive, nodes either wait or are cordoned as a
// whole when they start.
func (h *Host) watchDevices() {
	if len(h.options.DeviceDrivers) == 0 {
		return
	}
	h.watchKind("devicetaintrules", engine.DeviceTaintRules, reduceRule)
	h.watchKind("resourceclaims", engine.ResourceClaims, reduceClaim)
	h.watchKind("resourceslices", engine.ResourceSlices, reduceSlice)
}

func (h *Host) watchKind(resource string, kind engine.Kind, reduce func(*unstructured.Unstructured) object) {
	objects := h.source(h.connection.resources, resource)
	objects.namespace, objects.labels = "", ""
	m := newMirrorOf(h, kind, reduce)
	objects = h.watched(objects)
	objects.health.optional = true
	m.whole = true // a pass during the list must not mistake a few claims for all of them
	h.running.Go(func() {
		objects.follow(h.ctx, h.log, m, func(err error) {
			if h.deviceListFailed(kind, err) {
				objects.health.isNotServed()
			}
		})
	})
}

// deviceListFailed notifies the engine if the cluster does not serve the kind, and then returns true. It ignores other
// errors, because the next list may succeed.
func (h *Host) deviceListFailed(kind engine.Kind, err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	answer := status.Status()
	answer.Kind, answer.APIVersion = "Status", "v1"
	text, err := json.Marshal(answer)
	if err == nil {
		err = h.engine.Put(kind, text)
	}
	if err != nil {
		h.log.Error(err, "the engine rejected the notice that the cluster does not serve a kind", "kind", kind.String())
	}
	h.ring()
	return err == nil
}

// part returns the member at this path of an object, or nil if there is no such member.
func part(of map[string]any, path ...string) any {
	found, _, _ := unstructured.NestedFieldNoCopy(of, path...)
	return found
}

// items returns the objects of a list, each reduced to these members.
func items(list any, members ...string) []map[string]any {
	all, _ := list.([]any)
	reduced := make([]map[string]any, 0, len(all))
	for _, one := range all {
		whole, _ := one.(map[string]any)
		kept := map[string]any{}
		for _, member := range members {
			if value, ok := whole[member]; ok {
				kept[member] = value
			}
		}
		reduced = append(reduced, kept)
	}
	return reduced
}

func reduceRule(rule *unstructured.Unstructured) object {
	return object{Metadata: metadataOf(rule), Kind: "DeviceTaintRule", Spec: rule.Object["spec"], Status: rule.Object["status"]}
}

type allocatedDevices struct {
	Results []map[string]any `json:"results"`
}

type allocation struct {
	Devices             allocatedDevices `json:"devices"`
	AllocationTimestamp any              `json:"allocationTimestamp,omitempty"`
}

type claimStatus struct {
	Allocation  *allocation      `json:"allocation,omitempty"`
	ReservedFor []map[string]any `json:"reservedFor,omitempty"`
}

func reduceClaim(claim *unstructured.Unstructured) object {
	status := claimStatus{ReservedFor: items(part(claim.Object, "status", "reservedFor"), "resource", "name", "uid")}
	if part(claim.Object, "status", "allocation") != nil {
		status.Allocation = &allocation{
			Devices: allocatedDevices{items(part(claim.Object, "status", "allocation", "devices", "results"),
				"driver", "pool", "adminAccess")},
			AllocationTimestamp: part(claim.Object, "status", "allocation", "allocationTimestamp"),
		}
	}
	reduced := metadataOf(claim)
	reduced.Annotations, reduced.Labels, reduced.Finalizers = nil, nil, nil
	return object{Metadata: reduced, Kind: "ResourceClaim", Status: status}
}

type sliceSpec struct {
	Driver   any               `json:"driver"`
	NodeName any               `json:"nodeName,omitempty"`
	Pool     any               `json:"pool"`
	Devices  []publishedDevice `json:"devices"`
}

type publishedDevice struct {
	Name       any            `json:"name"`
	Attributes map[string]any `json:"attributes,omitempty"`
}

func reduceSlice(slice *unstructured.Unstructured) object {
	spec := sliceSpec{Driver: part(slice.Object, "spec", "driver"), NodeName: part(slice.Object, "spec", "nodeName"),
		Pool: part(slice.Object, "spec", "pool")}
	devices, _ := part(slice.Object, "spec", "devices").([]any)
	for _, one := range devices {
		whole, _ := one.(map[string]any)
		reduced := publishedDevice{Name: whole["name"]}
		if version := part(whole, "attributes", "driverVersion"); version != nil {
			reduced.Attributes = map[string]any{"driverVersion": version}
		}
		spec.Devices = append(spec.Devices, reduced)
	}
	return object{Metadata: metadataOf(slice), Kind: "ResourceSlice", Spec: spec}
}
