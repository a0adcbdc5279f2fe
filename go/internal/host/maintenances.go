package host

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"driverupgrade.example/go/internal/engine"
)

// watchMaintenances watches the NodeMaintenances in the requestor's namespace. In requestor mode, calls fail until these
// objects have been listed. If requestor mode is off, only nodes that are still in requestor mode depend on the objects.
func (h *Host) watchMaintenances() {
	from := h.source(h.connection.maintenances, "nodemaintenances")
	from.namespace, from.labels = h.options.Requestor.Namespace, ""
	if h.options.Requestor.Enabled {
		h.maintenances = start(h, from, engine.NodeMaintenances, reduceMaintenance)
		return
	}
	m := newMirrorOf(h, engine.NodeMaintenances, reduceMaintenance)
	m.whole = true // calls do not wait for the first list, so they could see a part of it
	h.maintenances = m
	h.running.Go(func() { from.follow(h.ctx, h.log, m, h.maintenancesFailed) })
}

// maintenancesFailed is called when the NodeMaintenances could not be listed although requestor mode is off. It lets
// calls continue without the list. Once the objects have been listed, a later failure does not concern the calls. If the
// cluster does not serve the kind, no NodeMaintenance exists. After any other error, the objects are unknown: nodes that
// are still in requestor mode wait, and all other nodes continue. The next list corrects both.
func (h *Host) maintenancesFailed(err error) {
	m := h.maintenances
	if m.isReady() {
		return
	}
	if apierrors.IsNotFound(err) {
		err = m.Replace(nil, "")
	} else {
		h.log.Error(err, "nodes that are still in requestor mode wait, because their NodeMaintenances are not known")
		unknown := marshal(object{Metadata: metadata{Namespace: h.options.Requestor.Namespace, Name: "*"}, Kind: "NodeMaintenance",
			Spec: "not known"}) // an object that the engine cannot read may belong to any node
		err = m.take(func() error { return m.put(list(m.kind, [][]byte{withVersion(unknown, "0")}, "")) }, func() {})
		m.setReady()
	}
	if err != nil {
		h.log.Error(err, "the engine rejected the notice about the NodeMaintenances")
	}
	h.ring()
}
