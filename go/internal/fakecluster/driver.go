package fakecluster

import "fmt"

// AddNode has a driver pod of the newest revision.
func (c *Cluster) AddNode(name string) {
	c.put("nodes", Object{"metadata": Object{"name": name, "labels": Object{"kubernetes.io/hostname": name}}, "spec": Object{},
		"status": Object{"conditions": []any{Object{"type": "Ready", "status": "True"}}}})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addDriverPod(name)
}

// AddWorkload is a pod that can be evicted.
func (c *Cluster) AddWorkload(name, node string) {
	c.put("pods", Object{
		"metadata": Object{"name": name, "namespace": "work", "labels": Object{"app": "work"},
			"ownerReferences": []any{Object{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "work", "uid": "rs", "controller": true}}},
		"spec":   Object{"nodeName": node, "containers": []any{Object{"name": "work"}}},
		"status": Object{"phase": "Running"},
	})
}

// HasWorkload tells whether the pod of AddWorkload is still there.
func (c *Cluster) HasWorkload(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects["pods"]["work/"+name] != nil
}

// SetValidator has a validation pod on the node, labelled app=validator.
func (c *Cluster) SetValidator(node string, ready bool) {
	c.put("pods", Object{
		"metadata": Object{"name": "validator-" + node, "namespace": Namespace, "labels": Object{"app": "validator"},
			"ownerReferences": []any{Object{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "validator", "uid": "v", "controller": true}}},
		"spec": Object{"nodeName": node, "containers": []any{Object{"name": "validator"}}},
		"status": Object{"phase": "Running",
			"containerStatuses": []any{Object{"name": "validator", "ready": ready, "restartCount": 0}}},
	})
}

// Maintenance is the name of the NodeMaintenance of the node; empty: there is none.
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

// Maintain is what a maintenance operator does: cordon and evacuate the node, and say that the node is ready for its maintenance.
func (c *Cluster) Maintain(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.objects["nodemaintenances"] {
		if text(one["spec"].(Object), "nodeName") != node {
			continue
		}
		cordoned := clone(c.objects["nodes"]["/"+node])
		cordoned["spec"].(Object)["unschedulable"] = true
		c.putLocked("nodes", cordoned)
		changed := clone(one)
		changed["status"] = Object{"conditions": []any{Object{"type": "Ready", "status": "True", "reason": "Ready"}}}
		c.putLocked("nodemaintenances", changed)
	}
}

// NewDriver is another revision of the driver.
func (c *Cluster) NewDriver() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revision++
	c.putLocked("controllerrevisions", Object{
		"metadata": Object{"name": fmt.Sprintf("driver-%d", c.revision), "namespace": Namespace,
			"labels":          Object{"app": "driver", "controller-revision-hash": c.hash()},
			"ownerReferences": []any{c.owner()}},
		"revision": c.revision, "data": Object{},
	})
	set := clone(c.objects["daemonsets"][Namespace+"/driver"])
	meta(set)["generation"] = c.revision
	set["status"] = Object{"observedGeneration": c.revision}
	c.putLocked("daemonsets", set)
}

func (c *Cluster) hash() string { return fmt.Sprintf("hash-%d", c.revision) }

func (c *Cluster) owner() Object {
	uid := text(meta(c.objects["daemonsets"][Namespace+"/driver"]), "uid")
	return Object{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "driver", "uid": uid, "controller": true}
}

func (c *Cluster) addDriverPod(node string) {
	c.uids++
	c.putLocked("pods", Object{
		"metadata": Object{"name": fmt.Sprintf("driver-%d", c.uids), "namespace": Namespace, "uid": fmt.Sprintf("uid-%d", c.uids),
			"labels":          Object{"app": "driver", "controller-revision-hash": c.hash()},
			"ownerReferences": []any{c.owner()}},
		"spec": Object{"nodeName": node, "containers": []any{Object{"name": "driver", "image": "driver"}}},
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

// StartUnready has new driver pods not ready before SetReady.
func (c *Cluster) StartUnready() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unready = true
}

// SetReady makes the driver pod on the node ready.
func (c *Cluster) SetReady(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pod := range c.driverPodsOn(node) {
		changed := clone(pod)
		changed["status"].(Object)["containerStatuses"] = []any{Object{"name": "driver", "ready": true, "restartCount": 0}}
		c.putLocked("pods", changed)
	}
}

// LoseDriverPod takes the driver pod away, and RestoreDriverPod makes a new one.
func (c *Cluster) LoseDriverPod(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pod := range c.driverPodsOn(node) {
		c.deleteLocked("pods", keyOf(pod))
	}
}

// RestoreDriverPod is what the DaemonSet controller does in the end.
func (c *Cluster) RestoreDriverPod(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.driverPodsOn(node)) == 0 {
		c.addDriverPod(node)
	}
}

// SetLabel gives a node a label, and RemoveLabel takes one away.
func (c *Cluster) SetLabel(node, key, value string) { c.label(node, key, value) }

// RemoveLabel see SetLabel.
func (c *Cluster) RemoveLabel(node, key string) { c.label(node, key, nil) }

func (c *Cluster) label(node, key string, value any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := clone(c.objects["nodes"]["/"+node])
	merge(changed, Object{"metadata": Object{"labels": Object{key: value}}})
	c.putLocked("nodes", changed)
}

// State is the node's state label.
func (c *Cluster) State(node string) string {
	return c.Label(node, "nvidia.com/gpu-driver-upgrade-state")
}

// States of all nodes at one moment.
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

// Label of a node.
func (c *Cluster) Label(node, key string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	labels, _ := meta(c.objects["nodes"]["/"+node])["labels"].(Object)
	return text(labels, key)
}

// UID of a node.
func (c *Cluster) UID(node string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return text(meta(c.objects["nodes"]["/"+node]), "uid")
}

// Cordoned tells whether the node is unschedulable.
func (c *Cluster) Cordoned(node string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	spec, _ := c.objects["nodes"]["/"+node]["spec"].(Object)
	cordoned, _ := spec["unschedulable"].(bool)
	return cordoned
}

// Revision of the driver pod on the node; empty: there is none.
func (c *Cluster) Revision(node string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pod := range c.driverPodsOn(node) {
		return text(meta(pod)["labels"].(Object), "controller-revision-hash")
	}
	return ""
}

// Changed is closed at the next change of an object.
func (c *Cluster) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.news
}
