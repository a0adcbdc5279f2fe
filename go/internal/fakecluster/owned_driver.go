package fakecluster

import "fmt"

// OwnerLabel is the key of the node label that names the node's owner.
const OwnerLabel = "example.com/owner"

// driver is a DaemonSet of a driver, with its newest revision.
type driver struct {
	owner    string // empty: the driver runs on all nodes
	revision int
	digest   string // configuration digest of the newest revision
}

func (d *driver) name() string {
	if d.owner == "" {
		return "driver"
	}
	return "driver-" + d.owner
}

func (d *driver) hash() string {
	if d.owner == "" {
		return fmt.Sprintf("hash-%d", d.revision)
	}
	return fmt.Sprintf("%s-%d", d.owner, d.revision)
}

func (d *driver) daemonSet() Object {
	return Object{
		"metadata": Object{"name": d.name(), "namespace": Namespace, "labels": Object{"app": "driver"}, "generation": 1},
		"spec": Object{"selector": Object{"matchLabels": Object{"app": "driver"}}, "updateStrategy": Object{"type": "OnDelete"},
			"template": Object{}},
		"status": Object{"observedGeneration": 1},
	}
}

func (d *driver) podTemplate() Object {
	container := Object{"name": "driver", "image": fmt.Sprintf("driver:%d", d.revision)}
	if d.digest != "" {
		container["env"] = []any{Object{"name": "DRIVER_CONFIG_DIGEST", "value": d.digest}}
	}
	spec := Object{"containers": []any{container}}
	if d.owner != "" {
		spec["nodeSelector"] = Object{OwnerLabel: d.owner}
	}
	return Object{"metadata": Object{"labels": Object{"app": "driver"}}, "spec": spec}
}
