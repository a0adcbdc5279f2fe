package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// unmarked is called when a watch shows that the node's state label was removed. If another client removed the label,
// no further node of the order starts before the next call. That client may be an operator whose upgrades are switched
// off: such an operator removes the labels one node at a time, and makes no call. A node in progress whose label was
// removed continues, because it would otherwise stay cordoned. Any other node whose label was removed is left alone
// until a call names it.
func (h *Host) unmarked(node *corev1.Node) {
	started := h.options.Identity.hasStarted(node)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.unmarking[node.Name] { // the engine removed the label
		delete(h.unmarking, node.Name)
		return
	}
	for _, o := range h.orders {
		if o.policy == nil || !o.nodes[node.Name] {
			continue
		}
		if o.held == "" {
			o.held = fmt.Sprintf("another client removed the state label of node %s; no node starts before the next ApplyState", node.Name)
			h.log.Info("no further node starts before the next call, because another client removed a state label", "node", node.Name)
		}
		if !started {
			delete(o.nodes, node.Name)
			o.name()
		}
	}
	for task := range h.underWay {
		left := task.node == node.Name && !started
		if task.order.policy != nil && (left || (task.starts && h.isHeld(task))) {
			task.withdraw()
		}
	}
}

// isHeld reports whether a hold keeps the task's node from starting. The order of the task may have been replaced in
// the meantime, so isHeld also checks other orders that contain the node.
func (h *Host) isHeld(t *task) bool {
	return slices.ContainsFunc(h.orders, func(o *order) bool { return o.held != "" && (o == t.order || o.nodes[t.node]) })
}

const pausedReason = "Paused" // reason of the gates of a paused policy

// held returns the reason why a node must not start, by node. The engine does not know this reason: it receives a paused
// policy instead.
func (h *Host) held() map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	reasons := map[string]string{}
	for _, o := range h.orders {
		if o.held == "" || o.policy == nil {
			continue
		}
		for node := range o.nodes {
			reasons[node] = o.held
		}
	}
	return reasons
}

// explainHeld replaces the detail of the gates of held nodes in the document of a rollout.
func explainHeld(text json.RawMessage, held map[string]string) (json.RawMessage, error) {
	var document map[string]json.RawMessage
	var nodes []map[string]any
	if err := errors.Join(json.Unmarshal(text, &document), json.Unmarshal(document["nodes"], &nodes)); err != nil {
		return nil, fmt.Errorf("the document of the rollout: %w", err)
	}
	for _, node := range nodes {
		name, _ := node["name"].(string)
		gate, _ := node["gate"].(map[string]any)
		if reason := held[name]; reason != "" && gate["reason"] == pausedReason {
			gate["detail"] = reason
		}
	}
	explained, err := json.Marshal(nodes)
	if err != nil {
		return nil, fmt.Errorf("the document of the rollout: %w", err)
	}
	document["nodes"] = explained
	return json.Marshal(document)
}

// policyNow returns the policy to apply, which is paused while the order is held. A nil policy releases the nodes.
func (o *order) policyNow() []byte {
	if o.held == "" || o.policy == nil {
		return o.policy
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(o.policy, &members); err != nil {
		return o.policy // the engine rejects it
	}
	members["paused"] = json.RawMessage("true")
	text, _ := json.Marshal(members)
	return text
}
