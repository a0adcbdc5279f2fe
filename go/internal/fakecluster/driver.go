package fakecluster

import (
	"encoding/json"
	"fmt"
	"strings"
)

// AddNode adds a node with a driver pod of the newest revision.
func (c *Cluster) AddNode(name string) { c.AddOwnedNode(name, "") }

// AddOwnedNode adds a node that belongs to an owner, with a pod of the owner's driver.
func (c *Cluster) AddOwnedNode(name, owner string) {
	labels := Object{"kubernetes.io/hostname": name}
	if owner != "" {
		labels[OwnerLabel] = owner
	}
	c.put("nodes", Object{"metadata": Object{"name": name, "labels": labels}, "spec": Object{},
		"status": Object{"conditions": []any{Object{"type": "Ready", "status": "True"}}}})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addDriverPod(name)
}

// AddKubeletNode adds a node like AddNode, with about 10 kB of data that kubelets and similar clients write: labels,
// annotations, addresses, conditions, images and managed fields.
func (c *Cluster) AddKubeletNode(name string) {
	labels, annotations := Object{"kubernetes.io/hostname": name}, Object{}
	for i := range 25 {
		labels[fmt.Sprintf("feature.node.kubernetes.io/cpu-cpuid.feature-%d", i)] = "true"
	}
	for i := range 8 {
		annotations[fmt.Sprintf("nfd.node.kubernetes.io/annotation-%d", i)] = strings.Repeat("value,", 10)
	}
	var images, conditions, managed []any
	for i := range 22 {
		images = append(images, Object{"sizeBytes": 100_000_000 + i, "names": []any{
			fmt.Sprintf("registry.example.com/project/image-%d@sha256:%064d", i, i), fmt.Sprintf("registry.example.com/project/image-%d:v1.2.3", i)}})
	}
	for _, kind := range []string{"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"} {
		conditions = append(conditions, Object{"type": kind, "status": map[bool]string{true: "True", false: "False"}[kind == "Ready"],
			"reason": "Kubelet" + kind, "message": "kubelet says so", "lastHeartbeatTime": "2026-01-01T00:00:00Z"})
	}
	for _, manager := range []string{"kubelet", "nfd-master"} {
		fields := Object{}
		for key := range labels {
			fields["f:"+key] = Object{}
		}
		managed = append(managed, Object{"manager": manager, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
			"fieldsV1": Object{"f:metadata": Object{"f:labels": fields}}})
	}
	c.put("nodes", Object{
		"metadata": Object{"name": name, "labels": labels, "annotations": annotations, "managedFields": managed},
		"spec":     Object{"podCIDR": "10.0.0.0/24", "providerID": "cloud:///" + name},
		"status":   Object{"conditions": conditions, "images": images, "addresses": []any{Object{"type": "InternalIP", "address": "10.0.0.1"}}}})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addDriverPod(name)
}

// Size returns the size of a node's JSON in bytes.
func (c *Cluster) Size(node string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	text, _ := json.Marshal(c.objects["nodes"]["/"+node])
	return len(text)
}

// AddWorkload adds a pod that can be evicted.
func (c *Cluster) AddWorkload(name, node string) {
	c.put("pods", Object{
		"metadata": Object{"name": name, "namespace": "work", "labels": Object{"app": "work"},
			"ownerReferences": []any{Object{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "work", "uid": "rs", "controller": true}}},
		"spec":   Object{"nodeName": node, "containers": []any{Object{"name": "work"}}},
		"status": Object{"phase": "Running"},
	})
}

// AddJob adds a pod of a JobSet to the node. The fake cluster does not replace the pod.
func (c *Cluster) AddJob(job, name, node string) {
	c.put("pods", Object{
		"metadata": Object{"name": name, "namespace": "work", "labels": Object{"jobset.sigs.k8s.io/jobset-name": job},
			"ownerReferences": []any{Object{"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": "uid-" + job, "controller": true}}},
		"spec":   Object{"nodeName": node, "containers": []any{Object{"name": "work"}}},
		"status": Object{"phase": "Running"},
	})
}

// LabelWorkload sets a label of a pod that AddWorkload created.
func (c *Cluster) LabelWorkload(name, key, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := clone(c.objects["pods"]["work/"+name])
	merge(changed, Object{"metadata": Object{"labels": Object{key: value}}})
	c.putLocked("pods", changed)
}

// DeleteWorkload deletes a pod that AddWorkload created.
func (c *Cluster) DeleteWorkload(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deleteLocked("pods", "work/"+name)
}

// HasWorkload reports whether a pod that AddWorkload created still exists.
func (c *Cluster) HasWorkload(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects["pods"]["work/"+name] != nil
}

// SetValidator puts a validation pod with the label app=validator on the node.
func (c *Cluster) SetValidator(node string, ready bool) {
	c.put("pods", Object{
		"metadata": Object{"name": "validator-" + node, "namespace": Namespace, "labels": Object{"app": "validator"},
			"ownerReferences": []any{Object{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "validator", "uid": "v", "controller": true}}},
		"spec": Object{"nodeName": node, "containers": []any{Object{"name": "validator"}}},
		"status": Object{"phase": "Running",
			"containerStatuses": []any{Object{"name": "validator", "ready": ready, "restartCount": 0}}},
	})
}

// AddLookalike adds a pod that has the labels of the driver's pods, but whose DaemonSet lacks these labels.
func (c *Cluster) AddLookalike(name, node string) {
	c.put("pods", Object{
		"metadata": Object{"name": name, "namespace": Namespace, "labels": Object{"app": "driver"},
			"ownerReferences": []any{Object{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "other", "uid": "other", "controller": true}}},
		"spec":   Object{"nodeName": node, "containers": []any{Object{"name": "other"}}},
		"status": Object{"phase": "Running"},
	})
}

// AddMaintenance adds a NodeMaintenance of another requestor.
func (c *Cluster) AddMaintenance(namespace, name, node, requestor string) {
	c.put("nodemaintenances", Object{"metadata": Object{"name": name, "namespace": namespace},
		"spec": Object{"nodeName": node, "requestorID": requestor}})
}

// Requestors returns the owner of a NodeMaintenance and the requestors that have joined it.
func (c *Cluster) Requestors(namespace, name string) (requestors []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.objects["nodemaintenances"][namespace+"/"+name]
	if one == nil {
		return nil
	}
	spec := one["spec"].(Object)
	requestors = append(requestors, text(spec, "requestorID"))
	more, _ := spec["additionalRequestors"].([]any)
	for _, requestor := range more {
		requestors = append(requestors, requestor.(string))
	}
	return requestors
}

// Failure returns the failure that the requestors of the node's NodeMaintenance report, or an empty string if they
// report none.
func (c *Cluster) Failure(node string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.objects["nodemaintenances"] {
		status, _ := one["status"].(Object)
		conditions, _ := status["conditions"].([]any)
		for _, condition := range conditions {
			of := condition.(Object)
			if text(one["spec"].(Object), "nodeName") == node && text(of, "type") == "RequestorFailed" && text(of, "status") == "True" {
				return text(of, "message")
			}
		}
	}
	return ""
}

// Maintenance returns the name of the node's NodeMaintenance, or an empty string if the node has no NodeMaintenance.
func (c *Cluster) Maintenance(node string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.objects["nodemaintenances"] {
		if text(one["spec"].(Object), "nodeName") == node {
			return text(meta(one), "name")
		}
	}
	return ""
}

// Maintain acts as a maintenance operator: it cordons and evacuates the node, and reports that the node is ready for
// maintenance.
func (c *Cluster) Maintain(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cordoned := clone(c.objects["nodes"]["/"+node])
	cordoned["spec"].(Object)["unschedulable"] = true
	c.putLocked("nodes", cordoned)
	for _, one := range c.objects["nodemaintenances"] {
		if text(one["spec"].(Object), "nodeName") == node {
			changed := clone(one)
			changed["status"] = Object{"conditions": []any{Object{"type": "Ready", "status": "True", "reason": "Ready"}}}
			c.putLocked("nodemaintenances", changed)
		}
	}
}

// NewDriver adds another revision of each driver, with the configuration digest of the previous revision.
func (c *Cluster) NewDriver() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range c.drivers {
		c.newDriver(of)
	}
}

// NewDriverFor adds another revision of the owner's driver.
func (c *Cluster) NewDriverFor(owner string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range c.drivers {
		if of.owner == owner {
			c.newDriver(of)
		}
	}
}

// NewDriverOf adds another revision of the first driver with this configuration digest; empty means no digest.
func (c *Cluster) NewDriverOf(digest string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drivers[0].digest = digest
	c.newDriver(c.drivers[0])
}

// NewDriverNumbered adds another revision of the first driver, whose ControllerRevision has this number. Numbers can be
// wrong if the DaemonSet controller does not know the latest revision yet.
func (c *Cluster) NewDriverNumbered(number int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.newDriverNumbered(c.drivers[0], number)
}

func (c *Cluster) newDriver(of *driver) { c.newDriverNumbered(of, of.revision+1) }

func (c *Cluster) newDriverNumbered(of *driver, number int) {
	of.revision++
	template := of.podTemplate()
	template["$patch"] = "replace" // as the DaemonSet controller does
	data := Object{"spec": Object{"template": template}}
	if of == c.drivers[0] && of.revision == c.templateless {
		data = Object{}
	}
	c.putLocked("controllerrevisions", Object{
		"metadata": Object{"name": fmt.Sprintf("%s-%d", of.name(), of.revision), "namespace": Namespace,
			"labels":          Object{"app": "driver", "controller-revision-hash": of.hash()},
			"ownerReferences": []any{c.setOf(of)}},
		"revision": number, "data": data,
	})
	set := clone(c.objects["daemonsets"][Namespace+"/"+of.name()])
	meta(set)["generation"] = of.revision
	set["spec"].(Object)["template"] = of.podTemplate()
	set["status"] = Object{"observedGeneration": of.revision}
	c.putLocked("daemonsets", set)
}

// SetObserved makes the DaemonSet controller observe the DaemonSet up to this generation.
func (c *Cluster) SetObserved(generation int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	set := clone(c.objects["daemonsets"][Namespace+"/driver"])
	set["status"] = Object{"observedGeneration": generation}
	c.putLocked("daemonsets", set)
}

// LoseTemplate removes the template from a ControllerRevision of the first driver, even if the ControllerRevision does
// not exist yet.
func (c *Cluster) LoseTemplate(revision int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.templateless = revision
	if existing := c.objects["controllerrevisions"][fmt.Sprintf("%s/driver-%d", Namespace, revision)]; existing != nil {
		changed := clone(existing)
		changed["data"] = Object{}
		c.putLocked("controllerrevisions", changed)
	}
}

// setOf returns an owner reference to the driver's DaemonSet.
func (c *Cluster) setOf(of *driver) Object {
	uid := text(meta(c.objects["daemonsets"][Namespace+"/"+of.name()]), "uid")
	return Object{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": of.name(), "uid": uid, "controller": true}
}

// driverOf returns the driver of the node's owner.
func (c *Cluster) driverOf(node string) *driver {
	labels, _ := meta(c.objects["nodes"]["/"+node])["labels"].(Object)
	for _, of := range c.drivers {
		if of.owner == text(labels, OwnerLabel) {
			return of
		}
	}
	return c.drivers[0]
}

func (c *Cluster) addDriverPod(node string) {
	of := c.driverOf(node)
	c.uids++
	spec := of.podTemplate()["spec"].(Object)
	spec["nodeName"] = node
	c.putLocked("pods", Object{
		"metadata": Object{"name": fmt.Sprintf("driver-%d", c.uids), "namespace": Namespace, "uid": fmt.Sprintf("uid-%d", c.uids),
			"labels":          Object{"app": "driver", "controller-revision-hash": of.hash()},
			"ownerReferences": []any{c.setOf(of)}},
		"spec": spec,
		"status": Object{"phase": "Running",
			"containerStatuses": []any{Object{"name": "driver", "ready": !c.unready, "restartCount": 0}}},
	})
}

func (c *Cluster) driverPodsOn(node string) (found []Object) {
	for _, pod := range c.objects["pods"] {
		labels, _ := meta(pod)["labels"].(Object)
		if text(labels, "app") == "driver" && text(pod["spec"].(Object), "nodeName") == node {
			found = append(found, pod)
		}
	}
	return found
}

// StartUnready makes new driver pods start without being ready; SetReady makes them ready.
func (c *Cluster) StartUnready() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unready = true
}

func (c *Cluster) SetReady(node string) {
	c.setDriver(node, Object{"name": "driver", "ready": true, "restartCount": 0})
}

// FailDriver makes the driver pod on the node restart repeatedly.
func (c *Cluster) FailDriver(node string) {
	c.setDriver(node, Object{"name": "driver", "ready": false, "restartCount": 11,
		"state": Object{"waiting": Object{"reason": "CrashLoopBackOff"}}})
}

func (c *Cluster) setDriver(node string, container Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pod := range c.driverPodsOn(node) {
		changed := clone(pod)
		changed["status"].(Object)["containerStatuses"] = []any{container}
		c.putLocked("pods", changed)
	}
}

// LoseDriverPod deletes the driver pod on the node. The pod is not replaced until RestoreDriverPod is called.
func (c *Cluster) LoseDriverPod(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pod := range c.driverPodsOn(node) {
		c.deleteLocked("pods", keyOf(pod))
	}
}

// RestoreDriverPod creates a missing driver pod, as the DaemonSet controller eventually does.
func (c *Cluster) RestoreDriverPod(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.driverPodsOn(node)) == 0 {
		c.addDriverPod(node)
	}
}

func (c *Cluster) SetLabel(node, key, value string) { c.label(node, key, value) }

func (c *Cluster) RemoveLabel(node, key string) { c.label(node, key, nil) }

func (c *Cluster) label(node, key string, value any) {
	c.change(node, Object{"metadata": Object{"labels": Object{key: value}}})
}

// Annotate sets an annotation of the node.
func (c *Cluster) Annotate(node, key, value string) {
	c.change(node, Object{"metadata": Object{"annotations": Object{key: value}}})
}

// Cordon makes the node unschedulable, as an administrator does.
func (c *Cluster) Cordon(node string) { c.change(node, Object{"spec": Object{"unschedulable": true}}) }

func (c *Cluster) change(node string, patch Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := clone(c.objects["nodes"]["/"+node])
	merge(changed, patch)
	c.putLocked("nodes", changed)
}

// State returns the node's state label.
func (c *Cluster) State(node string) string {
	return c.Label(node, "nvidia.com/gpu-driver-upgrade-state")
}

// States returns the states of all nodes at the same moment.
func (c *Cluster) States() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	states := map[string]string{}
	for _, node := range c.objects["nodes"] {
		labels, _ := meta(node)["labels"].(Object)
		states[text(meta(node), "name")] = text(labels, "nvidia.com/gpu-driver-upgrade-state")
	}
	return states
}

func (c *Cluster) Label(node, key string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	labels, _ := meta(c.objects["nodes"]["/"+node])["labels"].(Object)
	return text(labels, key)
}

// TimesAnnotated counts how often this annotation was set on the node.
func (c *Cluster) TimesAnnotated(node, key string) int {
	return c.times(node, func(object Object) bool {
		annotations, _ := meta(object)["annotations"].(Object)
		return annotations[key] != nil
	})
}

// TimesCordoned counts how often the node became unschedulable.
func (c *Cluster) TimesCordoned(node string) int {
	return c.times(node, func(object Object) bool { return object["spec"].(Object)["unschedulable"] == true })
}

// times counts how often a condition became true for the node.
func (c *Cluster) times(node string, holds func(Object) bool) (times int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := false
	for _, one := range c.events {
		if one.resource != "nodes" || text(meta(one.object), "name") != node {
			continue
		}
		if now := holds(one.object); now != held {
			held = now
			if now {
				times++
			}
		}
	}
	return times
}

// Keys returns the keys of all labels and annotations that the node ever had.
func (c *Cluster) Keys(node string) map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := map[string]bool{}
	for _, one := range c.events {
		if one.resource != "nodes" || text(meta(one.object), "name") != node {
			continue
		}
		for _, kind := range []string{"labels", "annotations"} {
			of, _ := meta(one.object)[kind].(Object)
			for key := range of {
				keys[key] = true
			}
		}
	}
	return keys
}

func (c *Cluster) UID(node string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return text(meta(c.objects["nodes"]["/"+node]), "uid")
}

func (c *Cluster) Cordoned(node string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	spec, _ := c.objects["nodes"]["/"+node]["spec"].(Object)
	cordoned, _ := spec["unschedulable"].(bool)
	return cordoned
}

// Revision returns the revision of the driver pod on the node; empty if there is no pod.
func (c *Cluster) Revision(node string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pod := range c.driverPodsOn(node) {
		return text(meta(pod)["labels"].(Object), "controller-revision-hash")
	}
	return ""
}

// Changed returns a channel that is closed at the next change to an object.
func (c *Cluster) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.news
}
